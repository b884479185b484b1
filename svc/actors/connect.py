"""Connecting an edge account: a one-day bootstrap token in, a narrow working token out.

The bootstrap token lives only in the call. What is made outside is named before it is made (`svc-<operation id>`), so
that whatever moment the process dies at, the next start can say which token is to be revoked.

    accepted ──► pending (row) ──► token made ──► token stored, install begun ──► bootstrap token deleted
                    │ transient failure: stays pending; the same request goes on
                    │ an hour, or the process died: bootstrap_lost, error names the token
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.clock import DAY_MS
from svc.edge import d1, routes, tokens, workers, zones
from svc.errors import Conflict, EdgeRefused, EdgeUnavailable, EdgeUnknown, ServiceError
from svc.ids import new_id
from svc.store import accounts, operations

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc.actors.account import Timers
    from svc.actors.context import Context, Remember
    from svc.edge.client import Access
    from svc.edge.tokens import NewToken
    from svc.model import Account, Operation

log = logging.getLogger(__name__)

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
    context: Context, edge_account_id: str, user_id: int, bootstrap_token: SecretStr, remember: Remember[Account]
) -> Account:
    """Connect `edge_account_id` for a user and begin the install.

    Raises Conflict account_taken, already_connected, operation_in_progress; Forbidden limit_reached; ServiceError
    service_full, invalid_bootstrap, bootstrap_permission_error, permission_catalog, token_rights_mismatch,
    token_check_failed, orphan_not_deleted; EdgeUnavailable (the account stays `pending`: ask again).
    """
    limits = context.config.limits
    existing = await context.store.read(accounts.account_by_edge_id(edge_account_id))
    _check_free(existing, user_id)
    await context.store.read(accounts.check_room(user_id, limits.accounts, limits.accounts_total, existing))
    try:
        with trio.fail_after(context.config.edge.connect_s):
            bootstrap = context.edge.access(edge_account_id, bootstrap_token.get_secret_value())
            bootstrap_id, name = await _check_bootstrap(bootstrap)
            account, operation = await context.store.run(
                accounts.begin_connect(
                    account_id=new_id("acc"),
                    operation_id=new_id("op"),
                    user_id=user_id,
                    edge_account_id=edge_account_id,
                    name=name,
                    now=context.clock(),
                )
            )
            token = await _mint(context, bootstrap, account, operation)
    except trio.TooSlowError:
        await _leave_waiting(context, edge_account_id)
        raise EdgeUnavailable("The edge platform took too long; repeat the request to go on.") from None
    except EdgeUnavailable:
        await _leave_waiting(context, edge_account_id)
        raise
    sealed = context.vault.seal(token.value.get_secret_value(), account.id)
    connected = await context.store.run(
        remember(
            accounts.finish_connect(
                account_id=account.id,
                operation_id=operation.id,
                install_operation_id=new_id("op"),
                token_id=token.id,
                token_name=token.name,
                token_expires_at=token.expires_at,
                sealed_token=sealed,
                now=context.clock(),
            )
        )
    )
    await _delete_bootstrap(context, bootstrap, bootstrap_id, account)
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
    error = ServiceError(
        "bootstrap_lost",
        "The connect was cut short. Revoke the named token at the edge platform, if it is there, and connect again.",
        {"revoke_token": token_name(operation.id)},
    )
    await context.store.run(accounts.lose_bootstrap(account.id, operation.id, error.noted(), context.clock()))
    return math.inf


def _check_free(existing: Account | None, user_id: int) -> None:
    if existing is None:
        return
    if existing.user_id != user_id:
        raise Conflict("account_taken")
    if existing.state not in ("pending", "bootstrap_lost") or existing.sealed_token is not None:
        raise Conflict("already_connected")


async def _check_bootstrap(bootstrap: Access) -> tuple[str, str]:
    """The bootstrap token's own id and the account's name.

    Raises ServiceError invalid_bootstrap (unknown, expired, of another account), bootstrap_permission_error.
    """
    try:
        status = await tokens.verify(bootstrap)
    except EdgeRefused as error:
        raise ServiceError("invalid_bootstrap", details=error.details) from None
    if status.status != "active":
        raise ServiceError("invalid_bootstrap", f"The bootstrap token is {status.status}.")
    missing = []
    name = ""
    try:
        name = await zones.account_name(bootstrap)
    except EdgeRefused:
        missing.append("Account Settings Read")
    try:
        await tokens.list_all(bootstrap)
    except EdgeRefused:
        missing.append("Account API Tokens Write")
    if missing:
        raise ServiceError("bootstrap_permission_error", details={"missing": missing})
    return status.id, name


async def _mint(context: Context, bootstrap: Access, account: Account, operation: Operation) -> NewToken:
    """A working token with exactly the rights needed, checked. No token is left behind by a refusal."""
    await _remove_orphans(context, bootstrap, account)
    try:
        groups = await tokens.permission_groups(bootstrap)
        policies = tokens.policies_for(account.edge_account_id, groups)
        token = await _create(context, bootstrap, operation, policies)
    except EdgeRefused as error:
        if error.code == "permission_error":  # it may read tokens, but not write them
            details = {"missing": ["Account API Tokens Write"]}
            await context.store.run(accounts.drop_connect(account.id))
            raise ServiceError("bootstrap_permission_error", details=details) from None
        await context.store.run(accounts.drop_connect(account.id))
        raise ServiceError("token_check_failed", error.message, error.details) from None
    except ServiceError as error:
        if error.code == "permission_catalog":
            await context.store.run(accounts.drop_connect(account.id))
        raise
    try:
        if not tokens.same_rights(policies, token.policies):
            raise ServiceError("token_rights_mismatch")
        await _probe(context.edge.access(account.edge_account_id, token.value.get_secret_value()))
    except EdgeUnavailable:
        raise
    except ServiceError as error:
        await tokens.delete(bootstrap, token.id)
        await context.store.run(accounts.drop_connect(account.id))
        code = error.code if error.code == "token_rights_mismatch" else "token_check_failed"
        raise ServiceError(code, details=error.details) from None
    return token


async def _create(context: Context, bootstrap: Access, operation: Operation, policies: list[tokens.Policy]) -> NewToken:
    """Create the token, once: when no answer came, the one that may have been made is looked up and deleted."""
    expires_at = context.clock() // 1000 * 1000 + context.config.timing.token_days * DAY_MS
    try:
        return await tokens.create(bootstrap, token_name(operation.id), policies, expires_at)
    except EdgeUnknown:
        await _delete_named(bootstrap, {token_name(operation.id)})
        return await tokens.create(bootstrap, token_name(operation.id), policies, expires_at)


async def _remove_orphans(context: Context, bootstrap: Access, account: Account) -> None:
    """Delete the tokens of earlier connects of this account that were lost. Raises ServiceError orphan_not_deleted."""
    earlier = await context.store.read(operations.ids_of_kind(account.id, "connect"))
    try:
        await _delete_named(bootstrap, {token_name(operation_id) for operation_id in earlier})
    except EdgeRefused as error:
        await context.store.run(accounts.drop_connect(account.id))
        raise ServiceError("orphan_not_deleted", error.message, error.details) from None


async def _delete_named(bootstrap: Access, names: set[str]) -> None:
    for token in await tokens.list_all(bootstrap):
        if token.name in names:
            await tokens.delete(bootstrap, token.id)


async def _probe(working: Access) -> None:
    """Use every right of the working token once. Raises EdgeRefused when one does not work."""
    settled = working.settling(_SETTLING_S)
    await tokens.verify(settled)
    await workers.get_script(settled, "svc-edge")
    await d1.find(settled, "svc-edge")
    found, _ = await zones.list_zones(settled, limit=1)
    if found:  # rights on zones cannot be tried on an account without any
        await routes.list_routes(settled, found[0].id)


async def _leave_waiting(context: Context, edge_account_id: str) -> None:
    await context.store.run(accounts.leave_pending(edge_account_id, WAITING, context.clock()))


async def _delete_bootstrap(context: Context, bootstrap: Access, bootstrap_id: str, account: Account) -> None:
    """The last call with the bootstrap token: it deletes itself. A failure is a warning: it ends within a day."""
    try:
        await tokens.delete(bootstrap, bootstrap_id)
    except (EdgeRefused, EdgeUnavailable) as error:
        log.warning("bootstrap token not deleted", extra={"account": account.id, "code": error.code})
        await context.store.run(accounts.warn(account.id, "bootstrap_not_deleted"))
