"""Checks a bootstrap token, creates a working token with it, and deletes obsolete tokens and then the bootstrap token.

The user creates a bootstrap token, which is valid for a day, and enters it in the service. With this token, the service
creates the working token, which has only the permissions that the service needs.

The name of a working token (`svc-<operation id>`) is stored in the operation's row before the token is created. The
name stays there until the account uses the token, or the token is known to be deleted. The service therefore knows the
name of every token that may still be valid.
"""

from __future__ import annotations

import logging
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.clock import DAY_MS
from svc.edge import d1, routes, tokens, workers, zones
from svc.edge.access import LATE_MS
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown, ServiceError, StoreUnavailable
from svc.ids import new_id
from svc.model import NO_EXPIRY
from svc.security.token_page import FULL_TOKEN_PAGE, TOKEN_PAGE, TOKENS_PAGE
from svc.store import operations, working_tokens
from svc.store.working_tokens import WorkingToken
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import SecretStr

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.tokens import NewToken, TokenStatus
    from svc.errors import Code
    from svc.model import Account, JsonObject, Operation

log = logging.getLogger(__name__)

# Cloudflare's error codes for an account id that does not exist: 7000 ("No route for that URI") and 7003 ("Could not
# route to …, perhaps your object identifier is invalid?").
_NO_SUCH_ACCOUNT = frozenset({7000, 7003})
_TOKEN_DAYS = 365  # the lifetime of a working token
_TOKENS_WRITE = "Account API Tokens Write"
# After final refusals with these codes, the bootstrap token still exists at Cloudflare.
_LEAVES_BOOTSTRAP: tuple[Code, ...] = (
    "bootstrap_permission_error",
    "permission_catalog",
    "token_rights_mismatch",
    "token_check_failed",
    "orphan_not_deleted",
    "renew_lost",
    "account_taken",
    "limit_reached",
    "service_full",
)
_DELETE_BOOTSTRAP = (
    "The bootstrap token is still valid. Use it for the next attempt, or delete it in the Cloudflare dashboard under"
    " Manage Account, Account API Tokens."
)
# Errors that Cloudflare may return for a valid token in the first minute after its creation, while some servers do not
# know the token yet.
_NOT_SETTLED = ("token_refused", "permission_error")


@dataclass(frozen=True)
class Bootstrap:
    """An accepted bootstrap token, its status, and the name of its Cloudflare account.

    `left_s`: the number of seconds for which the request may still use the token.
    """

    access: Access
    own: TokenStatus
    account_name: str
    left_s: float


async def check(context: Context, edge_account_id: str, user_id: int, token: SecretStr) -> Bootstrap:
    """Check the bootstrap token, which may be only seconds old. The check does not change anything at Cloudflare.

    Checking an invalid token takes seconds, so the check runs in the HTTP request's task and not in the actor's.
    Otherwise, made-up tokens for a known account id could delay other requests for the account.

    Raises EdgeUnavailable or ServiceError. The code is invalid_bootstrap if the token is unknown, expired or from
    another account, and bootstrap_permission_error if the token lacks a permission.
    """
    access = context.edge.access(edge_account_id, token.get_secret_value(), user_id)
    began_at = trio.current_time()
    try:
        with trio.fail_after(context.config.edge.connect_s):
            own, name = await _inspect(access.settling(context.config.edge.settling_in_connect_s))
    except trio.TooSlowError:
        raise EdgeUnavailable("Cloudflare took too long; repeat the request.") from None
    left_s = context.config.edge.connect_s - (trio.current_time() - began_at)
    return Bootstrap(access, own, name, max(0.0, left_s))  # the check can end just after the deadline


@contextmanager
def explain_still_valid() -> Iterator[None]:
    """Return a context manager that adds a hint to errors of its block after which the service makes no more attempts.

    The hint says that the bootstrap token is still valid, and explains how to delete it.
    """
    try:
        yield
    except ServiceError as refusal:
        if refusal.code not in _LEAVES_BOOTSTRAP:
            raise
        left = {"valid": True, "remedy": _DELETE_BOOTSTRAP, "page": TOKENS_PAGE}
        details = {**(refusal.details or {}), "bootstrap_token": left}
        raise ServiceError(refusal.code, refusal.message, details, had_effect=refusal.had_effect) from None


def check_unused(context: Context, bootstrap: Bootstrap) -> None:
    """Raise ServiceError with the code invalid_bootstrap if an earlier request used and deleted the token.

    Cloudflare would also refuse a deleted token, but only after several retries.
    """
    if bootstrap.own.id in context.deleted_bootstraps:
        raise _invalid("The bootstrap token was used by another request and has been deleted.")


async def _inspect(bootstrap: Access) -> tuple[TokenStatus, str]:
    try:
        own = await tokens.verify(bootstrap)
    except EdgeRefused as error:
        raise _invalid(details=error.details) from None
    except EdgeUnavailable as error:
        if error.remote_code not in _NO_SUCH_ACCOUNT:
            raise
        raise _invalid(details=error.details) from None
    if own.status != "active":
        raise _invalid(f"The bootstrap token is {own.status}.", {"status": own.status})
    missing = []
    name = ""
    try:
        name = await zones.account_name(bootstrap)
    except EdgeRefused:
        missing.append("Account Settings Read")
    try:
        await tokens.list_all(bootstrap)
    except EdgeRefused:
        missing.append(_TOKENS_WRITE)
    if missing:
        raise _missing_permissions(missing)
    return own, name


def _invalid(message: str | None = None, details: Mapping[str, object] | None = None) -> ServiceError:
    return ServiceError("invalid_bootstrap", message, {**(details or {}), "token_page": TOKEN_PAGE})


def _missing_permissions(missing: list[str]) -> ServiceError:
    return ServiceError("bootstrap_permission_error", details={"missing": missing, "token_page": TOKEN_PAGE})


async def mint(
    context: Context, bootstrap: Access, account: Account, operation: Operation
) -> tuple[Operation, NewToken]:
    """Create a working token with exactly the required permissions. Return the token and the operation that records it.

    The function tests the new token, but some of Cloudflare's servers may not know it yet. The install therefore tests
    it again.

    Raises EdgeUnavailable or ServiceError (codes bootstrap_permission_error, permission_catalog, token_rights_mismatch,
    token_check_failed and orphan_not_deleted). If the token was created before the refusal, the error's `had_effect` is
    True.
    """
    await delete_lost(context, bootstrap, account)
    groups: list[tokens.PermissionGroup] = []
    try:
        groups = await tokens.permission_groups(bootstrap)
        policies = tokens.policies_for(account.edge_account_id, groups)
        try:
            token = await _create(context, bootstrap, operation, policies)
        except EdgeUnknown:
            operation = await context.store.run(operations.replace_running(operation, new_id("op"), context.clock()))
            await delete_lost(context, bootstrap, account)
            token = await _create(context, bootstrap, operation, policies)
    except EdgeRefused as error:
        if error.code == "permission_error":  # the bootstrap token can read tokens, but not create them
            raise _missing_permissions([_TOKENS_WRITE]) from None
        if tokens.cannot_grant(error, groups):
            raise _cannot_grant(error.details) from None
        raise ServiceError("token_check_failed", error.message, error.details) from None
    requested, received = tokens.permissions_of(policies), tokens.permissions_of(token.policies)
    if received < requested:
        raise _cannot_grant(had_effect=True)
    if received != requested:
        raise ServiceError("token_rights_mismatch", had_effect=True)
    working = context.edge.access(account.edge_account_id, token.value.get_secret_value(), account.user_id)
    settling_s = context.config.edge.settling_in_connect_s
    try:
        with trio.move_on_after(settling_s):
            await probe(working.settling(settling_s))
    except EdgeRefused as error:
        if error.code not in _NOT_SETTLED:
            raise ServiceError("token_check_failed", details=error.details, had_effect=True) from None
    return operation, token


def _cannot_grant(details: Mapping[str, object] | None = None, *, had_effect: bool = False) -> ServiceError:
    """Return the error for a bootstrap token that cannot grant all permissions of a working token."""
    return ServiceError(
        "bootstrap_permission_error",
        "The bootstrap token cannot grant permissions that it does not hold; details.missing names them.",
        {
            **(details or {}),
            "missing": [right.name for right in tokens.WORKING_PERMISSIONS],
            "token_page": FULL_TOKEN_PAGE,
        },
        had_effect=had_effect,
    )


async def probe(working: Access) -> None:
    """Test each permission of the working token with a call.

    Raises EdgeUnavailable, or EdgeRefused if Cloudflare refuses a call.
    """
    await tokens.verify(working)
    await workers.get_script(working, SCRIPT_NAME)
    await d1.find(working, DATABASE_NAME)
    visible, _ = await zones.list_zones(working, limit=1)
    if visible:  # without a zone, zone permissions cannot be tested
        await routes.list_routes(working, visible[0].id)


async def delete_lost(context: Context, bootstrap: Access, account: Account) -> None:
    """Delete replaced tokens of this account, and tokens that its failed operations may have created.

    The function finds these tokens by id and by name.

    A recently created token may not be in Cloudflare's list yet. The row of the operation that created it therefore
    keeps the token's name, so that a later call can delete the token. Raises ServiceError with the code
    orphan_not_deleted if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    lost = await context.store.read(operations.with_open_token(account.id))
    if not lost:
        return
    try:
        listed = await tokens.list_all(bootstrap)
        for operation in lost:
            ids = {token.id for token in listed if token.name == operation.token_name}
            if operation.token_id is not None:
                ids.add(operation.token_id)
            for token_id in ids:
                await tokens.delete(bootstrap, token_id)
            if ids or operation.token_asked_at is None or context.clock() - operation.token_asked_at > LATE_MS:
                await context.store.run(operations.token_settled(operation.id))
    except EdgeRefused as error:
        raise ServiceError("orphan_not_deleted", details=error.details) from None


async def clean_up(
    context: Context, bootstrap: Access, account: Account, refusal: ServiceError, within_s: float = math.inf
) -> Sequence[Operation]:
    """Delete the tokens of the refused operation and of earlier operations. Stop after `within_s` seconds.

    Returns the operations whose tokens may still be valid. Raises StoreUnavailable.
    """
    if refusal.code != "orphan_not_deleted":
        with trio.move_on_after(within_s):
            try:
                await delete_lost(context, bootstrap, account)
            except StoreUnavailable:
                raise
            except ServiceError as error:
                log.warning("token not deleted", extra={"account": account.id, "code": error.code})
    return await context.store.read(operations.with_open_token(account.id))


async def delete(context: Context, bootstrap: Bootstrap, account: Account) -> None:
    """Delete the replaced token, late tokens, and the bootstrap token.

    These are the last calls with the bootstrap token.

    Late tokens are tokens from earlier attempts whose responses were lost. If a deletion fails, the account keeps the
    warning that was stored with the working token.
    """
    try:
        await delete_lost(context, bootstrap.access, account)
        is_clean = True
    except ServiceError as error:
        log.warning("lost tokens not deleted", extra={"account": account.id, "code": error.code})
        is_clean = False
    await context.store.run(working_tokens.record_others(account.id, verified=is_clean))
    try:
        await tokens.delete(bootstrap.access, bootstrap.own.id)
    except (EdgeRefused, EdgeUnavailable) as error:
        # If Cloudflare refuses the token, it was already deleted, and the response to that deletion was lost.
        if error.code != "token_refused":
            log.warning("bootstrap token not deleted", extra={"account": account.id, "code": error.code})
            return
    context.deleted_bootstraps.append(bootstrap.own.id)
    await context.store.run(working_tokens.record_bootstrap_deleted(account.id))


def sealed(context: Context, account: Account, token: NewToken, bootstrap: TokenStatus) -> WorkingToken:
    """Return the new token as it is stored: encrypted, with the expiry of the bootstrap token that created it."""
    value = context.vault.seal(token.value.get_secret_value(), account.id)
    bootstrap_expires_at = NO_EXPIRY if bootstrap.expires_at is None else bootstrap.expires_at
    return WorkingToken(token.id, token.name, token.expires_at, value, bootstrap_expires_at)


def with_token_names(lost: Sequence[Operation], refusal: ServiceError) -> ServiceError:
    """Return `refusal` with details that name the tokens that may still be valid."""
    details = {**(refusal.details or {}), **tokens_to_revoke(lost)}
    return ServiceError(refusal.code, refusal.message, details, had_effect=refusal.had_effect)


def tokens_to_revoke(lost: Sequence[Operation]) -> JsonObject:
    """Return error details that name the tokens that may still be valid.

    `revoke_token` is the newest of these tokens.
    """
    names = [operation.token_name for operation in lost]
    return {"revoke_token": names[-1], "revoke_tokens": names}


async def forget_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Clear the warning about an undeleted bootstrap token once this token has expired.

    The warning about a token without an expiry stays until the next renewal, because the service cannot see whether the
    user has deleted the token.
    """
    del timers
    if account.bootstrap_expires_at is None:
        return math.inf
    left_s = (account.bootstrap_expires_at - context.clock()) / 1000
    if left_s > 0:
        return trio.current_time() + left_s
    await context.store.run(working_tokens.record_bootstrap_deleted(account.id))
    return math.inf


async def _create(context: Context, bootstrap: Access, operation: Operation, policies: list[tokens.Policy]) -> NewToken:
    """Create the token under the name that is stored in the operation's row.

    The call is not retried. Raises EdgeRefused or EdgeUnavailable if no token was created.

    Raises EdgeUnknown if Cloudflare may have created the token.
    """
    now = context.clock()
    expires_at = now // 1000 * 1000 + _TOKEN_DAYS * DAY_MS
    await context.store.run(operations.token_asked(operation.id, now))
    try:
        token = await tokens.create(bootstrap, operation.token_name, policies, expires_at)
    except EdgeUnknown:
        raise
    except (EdgeRefused, EdgeUnavailable):  # in both cases, no token was created
        await context.store.run(operations.token_settled(operation.id))
        raise
    await context.store.run(operations.token_made(operation.id, token.id))
    return token
