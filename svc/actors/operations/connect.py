"""The connect operation: exchange a one-day bootstrap token for a working token with few permissions.

The bootstrap token is never stored. The service always knows the name of every token that may be valid, even after a
crash, a refused call or a lost response (see `bootstrap`).

    accepted ──► pending (row) ──► token created ──► token stored, install begun ──► tokens of lost attempts deleted,
                    │                                                                then the bootstrap token itself
                    │ transient failure, or a lost token that cannot be deleted: stays pending; the same request
                    │ continues, under a new name
                    │ final refusal: no record, or bootstrap_lost if a token may still be valid
                    │ after an hour, or if the process died: bootstrap_lost; error names the tokens
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.operations import bootstrap
from svc.errors import Conflict, EdgeUnavailable, ServiceError, StoreUnavailable
from svc.ids import new_id
from svc.logs import add_log_context
from svc.store import connects, operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.actors.operations.bootstrap import Bootstrap
    from svc.edge.access import Access
    from svc.edge.tokens import NewToken, TokenStatus
    from svc.errors import Code
    from svc.model import Account, ConnectOptions, Operation

R = TypeVar("R")

# 5xx errors that end a connect operation. After any other 5xx error, the account stays `pending`. The user can then
# repeat the request to continue the operation.
_FINAL: frozenset[Code] = frozenset({"permission_catalog", "token_rights_mismatch", "token_check_failed"})
# The time for which a connect operation stays pending, so that the user can continue it. Afterwards, the account
# becomes `bootstrap_lost`.
_PENDING_MS = 3_600_000
_SERVER_ERROR = 500


async def check(context: Context, edge_account_id: str, user_id: int) -> bool:
    """Check that the user may connect `edge_account_id`. Return False if another user has connected this account.

    The check runs three times:

    - in the caller's task, before the check of the bootstrap token, which takes seconds
    - when the actor serves the request, because another connect operation may have finished since then
    - in the transaction of `begin_connect`

    If the check in the caller's task returns False, the request continues with the check of the token. Therefore, only
    users with a valid token for the account learn that it is already connected.

    Raises Conflict (code already_connected), Forbidden (code limit_reached) or ServiceError (codes not_configured and
    service_full).
    """
    context.check_push_url()
    try:
        await context.store.read(connects.may_connect(user_id, edge_account_id, context.config.limits))
    except Conflict as conflict:
        if conflict.code != "account_taken":
            raise
        return False
    return True


async def connect(
    context: Context,
    edge_account_id: str,
    user_id: int,
    checked: Bootstrap,
    options: ConnectOptions,
    commit: Commit[Account, R],
) -> R:
    """Connect the account for a user, and begin the install.

    Raises Conflict (codes account_taken, already_connected and operation_in_progress), Forbidden (code limit_reached),
    or ServiceError (codes service_full, invalid_bootstrap, bootstrap_permission_error, permission_catalog,
    token_rights_mismatch and token_check_failed).

    After EdgeUnavailable, or ServiceError with the code orphan_not_deleted, the account stays `pending` and the caller
    can retry. If tokens may still be valid, the error's `details.revoke_tokens` names them.
    """
    if not await check(context, edge_account_id, user_id):
        raise Conflict("account_taken")
    bootstrap.check_unused(context, checked)
    try:
        with trio.fail_after(checked.left_s):
            account, operation = await context.store.run(
                connects.begin_connect(
                    account_id=new_id("acc"),
                    operation_id=new_id("op"),
                    user_id=user_id,
                    edge_account_id=edge_account_id,
                    name=options.name or checked.account_name,
                    location=options.location,
                    limits=context.config.limits,
                    now=context.clock(),
                )
            )
            add_log_context(account=account.id, operation=operation.id)
            operation, token = await _working_token(context, checked.access, account, operation)
    except (EdgeUnavailable, trio.TooSlowError) as error:
        await context.store.run(connects.pause_connect(edge_account_id, operations.WAITING, context.clock()))
        if isinstance(error, EdgeUnavailable):
            raise
        raise EdgeUnavailable("Cloudflare took too long; repeat the request to continue.") from None
    connected = await _finish(context, account, operation, token, checked.own, commit)
    # The account is now connected, and the response is stored. If tokens cannot be deleted in time, the operation still
    # succeeds, and the account shows a warning.
    with trio.move_on_after(context.config.edge.connect_s), suppress(StoreUnavailable):
        await bootstrap.delete(context, checked, account)
    return connected


async def expire_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Change an account's state to `bootstrap_lost` if its connect operation was interrupted or expired."""
    del timers
    if account.state != "pending" or account.sealed_token is not None:
        return math.inf
    operation = await context.store.read(operations.latest(account.id))
    if operation is None:
        raise AssertionError("a pending account has no operation")
    ends_at = account.created_at + _PENDING_MS
    # At any other step, the connect operation was interrupted because its process ended.
    if operation.step == operations.WAITING and context.clock() < ends_at:
        return trio.current_time() + (ends_at - context.clock()) / 1000
    lost = await context.store.read(operations.with_open_token(account.id))
    await _record_lost_tokens(context, account, lost or [operation])
    return math.inf


async def _working_token(
    context: Context, access: Access, account: Account, operation: Operation
) -> tuple[Operation, NewToken]:
    """Create a working token.

    If Cloudflare refuses a call, the function records the outcome and raises the refusal. If the refusal is final, the
    function also deletes the tokens that this and earlier attempts created.
    """
    try:
        return await bootstrap.mint(context, access, account, operation)
    except (EdgeUnavailable, StoreUnavailable):
        raise  # not a refusal, so the user can repeat the request to continue
    except ServiceError as refusal:
        if refusal.status >= _SERVER_ERROR and refusal.code not in _FINAL:
            raise await _leave_pending(context, account, refusal) from None
        raise await _give_up(context, access, account, refusal) from None


async def _leave_pending(context: Context, account: Account, refusal: ServiceError) -> ServiceError:
    """Keep the connect operation pending, so that the user can continue it. Store the refusal as the account's error.

    Returns `refusal`. Its details now contain the names of the tokens that may still be valid.
    """
    lost = await context.store.read(operations.with_open_token(account.id))
    if lost:
        refusal = bootstrap.with_token_names(lost, refusal)
    leave = connects.pause_connect(
        account.edge_account_id, operations.WAITING, context.clock(), error=refusal.to_note()
    )
    await context.store.run(leave)
    return refusal


async def _give_up(context: Context, access: Access, account: Account, refusal: ServiceError) -> ServiceError:
    """End a refused connect operation.

    Deletes the account, unless tokens may still be valid. In that case, the account stays, and its error lists the
    tokens.

    Returns `refusal`. Its details now contain the names of the tokens that may still be valid.
    """
    lost = await bootstrap.clean_up(context, access, account, refusal)
    if not lost:
        await context.store.run(connects.drop_connect(account.id, refusal.to_note(), context.clock()))
        return refusal
    await _record_lost_tokens(context, account, lost)
    return bootstrap.with_token_names(lost, refusal)


async def _record_lost_tokens(context: Context, account: Account, lost: Sequence[Operation]) -> None:
    error = ServiceError(
        "bootstrap_lost",
        "The connect operation was interrupted. Delete the named tokens at Cloudflare, then connect again.",
        bootstrap.tokens_to_revoke(lost),
    )
    await context.store.run(connects.fail_connect(account.id, error.to_note(), context.clock()))


async def _finish(
    context: Context,
    account: Account,
    operation: Operation,
    token: NewToken,
    own: TokenStatus,
    commit: Commit[Account, R],
) -> R:
    """Store the working token, begin the install and store the response, all in one transaction."""
    made = bootstrap.sealed(context, account, token, own)
    return await context.store.run(
        commit(connects.finish_connect(account.id, operation.id, made, new_id("op"), context.clock()))
    )
