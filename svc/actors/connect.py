"""Connecting an edge account: a one-day bootstrap token in, a narrow working token out.

The bootstrap token lives only in the call. What is made outside is named before it is made (`svc-<operation id>`), and
the operation's row says so until that token is known to be gone or is the account's own. So at whatever moment the
process dies, a call is refused or an answer is lost, each token that may be alive has a name that the service can tell.

    accepted ──► pending (row) ──► token made ──► token stored, install begun ──► lost tries' tokens deleted,
                    │                                                             then the bootstrap token itself
                    │ transient failure: stays pending; the same request goes on, under a new name
                    │ refused for good: no record, or bootstrap_lost where a token may be alive
                    │ an hour, or the process died: bootstrap_lost; error names the tokens
"""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.clock import DAY_MS
from svc.edge import d1, routes, tokens, workers, zones
from svc.edge.client import LATE_MS
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown, ServiceError, StoreUnavailable
from svc.ids import new_id
from svc.store import accounts, connects, operations
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import SecretStr

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.edge.client import Access
    from svc.edge.tokens import NewToken, TokenStatus
    from svc.model import Account, JsonObject, Operation

R = TypeVar("R")

log = logging.getLogger(__name__)

_TOKENS_WRITE = "Account API Tokens Write"
# A step of an operation whose process is alive and waits for the user's next try; any other step of a connect that
# is found at a start was cut short by the process's death.
WAITING = "waiting"
# A new token may be refused until the platform knows it everywhere: mostly seconds, a minute in field reports. This is
# the part of it that fits into the request (edge.connect_s); the install after it is more patient.
_SETTLING_S = 15.0


def token_name(operation_id: str) -> str:
    """The name of the working token that an operation makes."""
    return f"svc-{operation_id}"


async def connect(
    context: Context, edge_account_id: str, user_id: int, bootstrap_token: SecretStr, commit: Commit[Account, R]
) -> R:
    """Connect `edge_account_id` for a user and begin the install.

    Raises Conflict account_taken, already_connected, operation_in_progress; Forbidden limit_reached; ServiceError
    service_full, invalid_bootstrap, bootstrap_permission_error, permission_catalog, token_rights_mismatch,
    token_check_failed, orphan_not_deleted; EdgeUnavailable (the account stays `pending`: ask again). A refusal that
    leaves tokens which may be alive names them in `details.revoke_tokens`.
    """
    limits = context.config.limits
    await context.store.read(connects.may_connect(user_id, edge_account_id, limits))
    bootstrap = context.edge.access(edge_account_id, bootstrap_token.get_secret_value(), user_id)
    try:
        with trio.fail_after(context.config.edge.connect_s):
            own, name = await _check_bootstrap(bootstrap)
            account, operation = await context.store.run(
                connects.begin_connect(
                    account_id=new_id("acc"),
                    operation_id=new_id("op"),
                    user_id=user_id,
                    edge_account_id=edge_account_id,
                    name=name,
                    limits=limits,
                    now=context.clock(),
                )
            )
            try:
                operation, token = await _mint(context, bootstrap, account, operation)
            except (EdgeUnavailable, StoreUnavailable):
                raise
            except ServiceError as refusal:
                raise await _give_up(context, bootstrap, account, refusal) from None
    except trio.TooSlowError:
        await _leave_waiting(context, edge_account_id)
        raise EdgeUnavailable("The edge platform took too long; repeat the request to go on.") from None
    except EdgeUnavailable:
        await _leave_waiting(context, edge_account_id)
        raise
    lost = await context.store.read(operations.with_open_token(account.id))
    sealed = context.vault.seal(token.value.get_secret_value(), account.id)
    connected = await context.store.run(
        commit(
            connects.finish_connect(
                account_id=account.id,
                operation_id=operation.id,
                install_operation_id=new_id("op"),
                token_id=token.id,
                token_name=token.name,
                token_expires_at=token.expires_at,
                sealed_token=sealed,
                bootstrap_expires_at=own.expires_at or context.clock() + DAY_MS,
                revoke_tokens=[token_name(other.id) for other in lost if other.id != operation.id],
                now=context.clock(),
            )
        )
    )
    # What it does not come to stays as a warning: the account is connected, and its answer is stored.
    with trio.move_on_after(context.config.edge.connect_s), suppress(StoreUnavailable):
        await _delete_bootstrap(context, bootstrap, own.id, account)
    return connected


async def expire_when_due(context: Context, account: Account, timers: Timers) -> float:
    """A connect that was cut short, or waited for its user too long, is `bootstrap_lost`."""
    del timers
    if account.state != "pending" or account.sealed_token is not None:
        return math.inf
    operation = await context.store.read(operations.latest(account.id))
    if operation is None:
        raise AssertionError("a pending account has no operation")
    ends_at = account.created_at + int(context.config.timing.pending_ttl_s * 1000)
    if operation.step == WAITING and context.clock() < ends_at:
        return trio.current_time() + (ends_at - context.clock()) / 1000
    lost = await context.store.read(operations.with_open_token(account.id))
    await _lose(context, account, lost or [operation])
    return math.inf


async def forget_bootstrap_when_due(context: Context, account: Account, timers: Timers) -> float:
    """The warning of a bootstrap token that could not be deleted ends with the token's own time."""
    del timers
    if account.bootstrap_expires_at is None:
        return math.inf
    left_s = (account.bootstrap_expires_at - context.clock()) / 1000
    if left_s > 0:
        return trio.current_time() + left_s
    await context.store.run(connects.bootstrap_gone(account.id))
    return math.inf


async def _check_bootstrap(bootstrap: Access) -> tuple[TokenStatus, str]:
    """What the platform says of the bootstrap token, and the account's name.

    Raises ServiceError invalid_bootstrap (unknown, expired, of another account), bootstrap_permission_error.
    """
    try:
        own = await tokens.verify(bootstrap)
    except EdgeRefused as error:
        raise ServiceError("invalid_bootstrap", details=error.details) from None
    if own.status != "active":
        raise ServiceError("invalid_bootstrap", f"The bootstrap token is {own.status}.")
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
        raise ServiceError("bootstrap_permission_error", details={"missing": missing})
    return own, name


async def _mint(
    context: Context, bootstrap: Access, account: Account, operation: Operation
) -> tuple[Operation, NewToken]:
    """A working token with exactly the rights needed, checked; and the operation whose name it has."""
    await _delete_lost(context, bootstrap, account)
    try:
        policies = tokens.policies_for(account.edge_account_id, await tokens.permission_groups(bootstrap))
        try:
            token = await _create(context, bootstrap, operation, policies)
        except EdgeUnknown:
            operation = await context.store.run(operations.replace_running(operation, new_id("op"), context.clock()))
            await _delete_lost(context, bootstrap, account)
            token = await _create(context, bootstrap, operation, policies)
    except EdgeRefused as error:
        if error.code == "permission_error":  # it may read tokens, but not write them
            raise ServiceError("bootstrap_permission_error", details={"missing": [_TOKENS_WRITE]}) from None
        raise ServiceError("token_check_failed", error.message, error.details) from None
    if not tokens.same_rights(policies, token.policies):
        raise ServiceError("token_rights_mismatch")
    try:
        await _probe(context.edge.access(account.edge_account_id, token.value.get_secret_value(), account.user_id))
    except EdgeRefused as error:
        raise ServiceError("token_check_failed", details=error.details) from None
    return operation, token


async def _create(context: Context, bootstrap: Access, operation: Operation, policies: list[tokens.Policy]) -> NewToken:
    """Ask for the token, once, under the operation's name. Raises EdgeUnknown: it may have been made."""
    now = context.clock()
    expires_at = now // 1000 * 1000 + context.config.timing.token_days * DAY_MS
    await context.store.run(operations.token_asked(operation.id, now))
    try:
        token = await tokens.create(bootstrap, token_name(operation.id), policies, expires_at)
    except EdgeUnknown:
        raise
    except (EdgeRefused, EdgeUnavailable):  # nothing was made
        await context.store.run(operations.token_settled(operation.id))
        raise
    await context.store.run(operations.token_made(operation.id, token.id))
    return token


async def _delete_lost(context: Context, bootstrap: Access, account: Account) -> None:
    """Delete what connects of this account have left: by its id, else by its name.

    One that is not there may still come, if it was asked for lately. Raises ServiceError orphan_not_deleted,
    EdgeUnavailable.
    """
    lost = await context.store.read(operations.with_open_token(account.id))
    if not lost:
        return
    try:
        listed = await tokens.list_all(bootstrap)
        for operation in lost:
            ids = {token.id for token in listed if token.name == token_name(operation.id)}
            if operation.token_id is not None:
                ids.add(operation.token_id)
            for token_id in ids:
                await tokens.delete(bootstrap, token_id)
            if ids or operation.token_asked_at is None or context.clock() - operation.token_asked_at > LATE_MS:
                await context.store.run(operations.token_settled(operation.id))
    except EdgeRefused as error:
        raise ServiceError("orphan_not_deleted", details=error.details) from None


async def _give_up(context: Context, bootstrap: Access, account: Account, refusal: ServiceError) -> ServiceError:
    """A connect was refused for good: no record of it stays, unless a token may be alive that only the record names.

    Returns the refusal, which then names the tokens, too.
    """
    if refusal.code != "orphan_not_deleted":
        try:
            await _delete_lost(context, bootstrap, account)
        except ServiceError as error:
            log.warning("token not deleted", extra={"account": account.id, "code": error.code})
    lost = await context.store.read(operations.with_open_token(account.id))
    if not lost:
        await context.store.run(connects.drop_connect(account.id))
        return refusal
    await _lose(context, account, lost)
    return ServiceError(refusal.code, refusal.message, {**(refusal.details or {}), **_to_revoke(lost)})


async def _lose(context: Context, account: Account, lost: Sequence[Operation]) -> None:
    error = ServiceError(
        "bootstrap_lost",
        "The connect was cut short. Revoke the named tokens at the edge platform, if they are there; connect again.",
        _to_revoke(lost),
    )
    await context.store.run(connects.lose_bootstrap(account.id, error.note(), context.clock()))


def _to_revoke(lost: Sequence[Operation]) -> JsonObject:
    """The names of the tokens that may be alive; the newest also by itself."""
    names = [token_name(operation.id) for operation in lost]
    return {"revoke_token": names[-1], "revoke_tokens": names}


async def _probe(working: Access) -> None:
    """Use every right of the working token once. Raises EdgeRefused when one does not work."""
    settled = working.settling(_SETTLING_S)
    await tokens.verify(settled)
    await workers.get_script(settled, SCRIPT_NAME)
    await d1.find(settled, DATABASE_NAME)
    found, _ = await zones.list_zones(settled, limit=1)
    if found:  # rights on zones cannot be tried on an account without any
        await routes.list_routes(settled, found[0].id)


async def _leave_waiting(context: Context, edge_account_id: str) -> None:
    await context.store.run(connects.leave_pending(edge_account_id, WAITING, context.clock()))


async def _delete_bootstrap(context: Context, bootstrap: Access, bootstrap_id: str, account: Account) -> None:
    """The last calls with the bootstrap token: it deletes what came late of lost tries, then itself.

    After that nothing can come any more. What fails stays as a warning, which finish_connect has written.
    """
    try:
        await _delete_lost(context, bootstrap, account)
    except ServiceError as error:
        log.warning("lost tokens not deleted", extra={"account": account.id, "code": error.code})
    else:
        await context.store.run(accounts.unwarn(account.id, "orphan_not_deleted"))
    try:
        await tokens.delete(bootstrap, bootstrap_id)
    except (EdgeRefused, EdgeUnavailable) as error:
        if error.code != "revoked":  # that is said of a token that is gone: an earlier try's answer was lost
            log.warning("bootstrap token not deleted", extra={"account": account.id, "code": error.code})
            return
    await context.store.run(connects.bootstrap_gone(account.id))
