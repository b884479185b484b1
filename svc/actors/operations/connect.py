"""Connecting an edge account: a one-day bootstrap token in, a narrow working token out.

The bootstrap token lives only in the call. At whatever moment the process dies, a call is refused or an answer is lost,
each token that may be alive has a name that the service can tell (see `bootstrap`).

    accepted ──► pending (row) ──► token made ──► token stored, install begun ──► lost tries' tokens deleted,
                    │                                                             then the bootstrap token itself
                    │ transient failure, or a lost token that cannot be deleted: stays pending; the same request
                    │ continues, under a new name
                    │ refused for good: no record, or bootstrap_lost where a token may be alive
                    │ an hour, or the process died: bootstrap_lost; error names the tokens
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.operations import bootstrap
from svc.errors import Conflict, EdgeUnavailable, ServiceError, StoreUnavailable
from svc.ids import new_id
from svc.logs import tell_lines
from svc.store import connects, operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.actors.operations.bootstrap import Bootstrap
    from svc.edge.access import Access
    from svc.edge.tokens import NewToken, TokenStatus
    from svc.errors import Code
    from svc.model import Account, Location, Operation

R = TypeVar("R")

# The 5xx answers that end a connect. After any other one the account stays `pending` and the same request continues.
_FINAL: frozenset[Code] = frozenset({"permission_catalog", "token_rights_mismatch", "token_check_failed"})
# How long a connect waits for its user before it becomes `bootstrap_lost`.
_PENDING_MS = 3_600_000
_SERVER_ERROR = 500


async def check(context: Context, edge_account_id: str, user_id: int) -> bool:
    """Check that the user may connect `edge_account_id`. Return False if another user has connected it.

    A connect is checked three times: in the caller's task, before seconds are spent on the bootstrap token; in the
    actor's turn, as another connect may have finished meanwhile; and by `begin_connect`, whose transaction decides.
    The caller's task does not report False: only a user with a valid token of the account gets `account_taken`.

    Raises Conflict already_connected; Forbidden limit_reached; ServiceError not_configured, service_full.
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
    location: Location | None,
    commit: Commit[Account, R],
) -> R:
    """Connect `edge_account_id` for a user and begin the install. `location`: where the database is to be made.

    Raises Conflict account_taken, already_connected, operation_in_progress; Forbidden limit_reached; ServiceError
    service_full, invalid_bootstrap, bootstrap_permission_error, permission_catalog, token_rights_mismatch,
    token_check_failed; orphan_not_deleted, EdgeUnavailable (after both the account stays `pending`: ask again). A
    refusal that leaves tokens which may be alive names them in `details.revoke_tokens`.
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
                    name=checked.account_name,
                    location=location,
                    limits=context.config.limits,
                    now=context.clock(),
                )
            )
            tell_lines(account=account.id, operation=operation.id)
            operation, token = await _working_token(context, checked.access, account, operation)
    except (EdgeUnavailable, trio.TooSlowError) as error:
        await context.store.run(connects.leave_pending(edge_account_id, operations.WAITING, context.clock()))
        if isinstance(error, EdgeUnavailable):
            raise
        raise EdgeUnavailable("The edge platform took too long; repeat the request to go on.") from None
    connected = await _finish(context, account, operation, token, checked.own, commit)
    # What it does not come to stays as a warning: the account is connected, and its answer is stored.
    with trio.move_on_after(context.config.edge.connect_s), suppress(StoreUnavailable):
        await bootstrap.delete(context, checked, account)
    return connected


async def expire_when_due(context: Context, account: Account, timers: Timers) -> float:
    """End a connect that was cut short, or waited for its user too long, as `bootstrap_lost`."""
    del timers
    if account.state != "pending" or account.sealed_token is not None:
        return math.inf
    operation = await context.store.read(operations.latest(account.id))
    if operation is None:
        raise AssertionError("a pending account has no operation")
    ends_at = account.created_at + _PENDING_MS
    # Any other step of a connect that is found here was cut short by the death of its process.
    if operation.step == operations.WAITING and context.clock() < ends_at:
        return trio.current_time() + (ends_at - context.clock()) / 1000
    lost = await context.store.read(operations.with_open_token(account.id))
    await _lose(context, account, lost or [operation])
    return math.inf


async def _working_token(
    context: Context, access: Access, account: Account, operation: Operation
) -> tuple[Operation, NewToken]:
    """A working token, or the refusal, once the tokens that the connect left are dealt with."""
    try:
        return await bootstrap.mint(context, access, account, operation)
    except (EdgeUnavailable, StoreUnavailable):
        raise  # no refusal: the same request may go on
    except ServiceError as refusal:
        if refusal.status >= _SERVER_ERROR and refusal.code not in _FINAL:
            raise await _leave_pending(context, account, refusal) from None
        raise await _give_up(context, access, account, refusal) from None


async def _leave_pending(context: Context, account: Account, refusal: ServiceError) -> ServiceError:
    """Let the connect wait for its user's next request. The account shows the refusal.

    Returns the refusal, which names the tokens that may still be valid.
    """
    lost = await context.store.read(operations.with_open_token(account.id))
    if lost:
        refusal = bootstrap.naming(lost, refusal)
    leave = connects.leave_pending(account.edge_account_id, operations.WAITING, context.clock(), error=refusal.note())
    await context.store.run(leave)
    return refusal


async def _give_up(context: Context, access: Access, account: Account, refusal: ServiceError) -> ServiceError:
    """End a connect for good: no record of it stays, unless a token may be alive that only the record names.

    Returns the refusal, which then names the tokens, too.
    """
    lost = await bootstrap.clean_up(context, access, account, refusal)
    if not lost:
        await context.store.run(connects.drop_connect(account.id, refusal.note(), context.clock()))
        return refusal
    await _lose(context, account, lost)
    return bootstrap.naming(lost, refusal)


async def _lose(context: Context, account: Account, lost: Sequence[Operation]) -> None:
    error = ServiceError(
        "bootstrap_lost",
        "The connect was cut short. Revoke the named tokens at the edge platform, if they are there; connect again.",
        bootstrap.to_revoke(lost),
    )
    await context.store.run(connects.lose_bootstrap(account.id, error.note(), context.clock()))


async def _finish(
    context: Context,
    account: Account,
    operation: Operation,
    token: NewToken,
    own: TokenStatus,
    commit: Commit[Account, R],
) -> R:
    """Store the working token, begin the install, and keep the answer, all at once."""
    made = bootstrap.sealed(context, account, token, own)
    return await context.store.run(
        commit(connects.finish_connect(account.id, operation.id, made, new_id("op"), context.clock()))
    )
