"""Transactions for disconnects. A disconnect deletes an account, but users can still read its sites, links and totals.

The account's row is moved to `former_accounts`. Users can connect the Cloudflare account again immediately. It then
gets a new account id, and shares no data with the former account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Conflict, NotFound, ServiceError
from svc.model import FormerAccount
from svc.remaining_resource import RemainingResource
from svc.store import accounts, disconnect_requests, operations, outbox, users
from svc.store.tx import UNCHANGED, Row, Tx, from_json, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Operation, OperationKind

# The kinds of operations that the account's actor carries out in the background. All other operations run within a
# request, and the actor serves one request at a time. While the actor serves a request for a disconnect, an operation
# of these other kinds is therefore not being carried out: it is waiting for its user, or was interrupted.
_OWN_WORK: tuple[OperationKind, ...] = ("install", "update")


def former_account(user_id: int, account_id: str) -> Tx[FormerAccount | None]:
    """Return a disconnected account of this user; None if it does not exist or belongs to another user."""
    rows = yield sql("select * from former_accounts where id = $1 and user_id = $2", account_id, user_id)
    return former_of(rows[0]) if rows else None


def list_former(user_id: int, edge_accounts: Sequence[str] | None = None) -> Tx[list[FormerAccount]]:
    """Return a user's disconnected accounts. `edge_accounts`: include only these Cloudflare account ids; None: all."""
    rows = yield sql("select * from former_accounts where user_id = $1 order by disconnected_at, id", user_id)
    return [former_of(row) for row in rows if edge_accounts is None or row["edge_account_id"] in edge_accounts]


def outcome(user_id: int, account_id: str) -> Tx[FormerAccount]:
    """Return the result of a completed disconnect. Raises NotFound if the user has no such disconnected account."""
    former = yield from former_account(user_id, account_id)
    if former is None:
        raise NotFound
    yield UNCHANGED
    return former


def _operation_to_end(account_id: str) -> Tx[Operation | None]:
    """Return the running operation if a disconnect may end it. Return None if no operation is running.

    A disconnect may end an operation that is waiting for its user or its Worker. If the account's user is being
    deleted, a disconnect may end any operation. Otherwise, this function raises Conflict operation_in_progress.
    """
    busy = yield from operations.running(account_id)
    works = busy is not None and busy.kind in _OWN_WORK and busy.step != operations.SELFCHECK
    if works and not (yield from users.owner_is_leaving(account_id)):
        raise Conflict("operation_in_progress")
    return busy


def begin_disconnect(account_id: str, operation_id: str, now: int) -> Tx[Operation]:
    """Begin a disconnect, or continue a running disconnect.

    Ends an operation that is only waiting for its user or its Worker, or any operation if the user is being deleted.

    Raises NotFound if the account does not exist. Raises Conflict operation_in_progress if another operation is being
    carried out and the user is not being deleted.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    busy = yield from _operation_to_end(account_id)
    if busy is not None:
        if busy.kind == "disconnect":
            return busy
        cut_short = ServiceError("account_not_ready", "The account was disconnected in the meantime.")
        yield from operations.fail(busy.id, cut_short.to_note(), now)
    return (yield from operations.add(operation_id, account_id, account.edge_account_id, "disconnect", "routes", now))


def end_disconnect(
    operation: Operation,
    revoke_token: str | None,
    left: Sequence[RemainingResource],
    now: int,
    *,
    counts_kept: bool = False,
) -> Tx[FormerAccount]:
    """Delete the account with its keys, link host and token, and mark its sites and links as deleted.

    The totals of the sites and links are kept. If the user is being deleted, totals, sites and links are deleted in
    batches later. If the operator has requested the disconnect, the user gets an email about it.

    `revoke_token`: the name of the working token if it may still be valid, otherwise None. `left`: the resources that
    may remain at Cloudflare. `counts_kept`: True if the Worker's last counts were stored after its script was deleted.
    The Worker has counted nothing since then, so the totals are complete up to `now`. Raises NotFound if the account
    does not exist.
    """
    account = accounts.present((yield from accounts.locked(operation.account_id)))
    leaving = yield from users.is_being_deleted(account.user_id)
    requested = yield from disconnect_requests.is_requested(account.id)
    pushed = yield sql("select as_of from pushed where account_id = $1", account.id)
    counted_until = min(pushed[0]["as_of"], now) if pushed else None
    former = FormerAccount(
        id=account.id,
        user_id=account.user_id,
        edge_account_id=account.edge_account_id,
        name=account.name,
        disconnected_at=now,
        counted_until=now if counts_kept else counted_until,
        revoke_token=revoke_token,
        left=tuple(left),
        by_operator=requested,
    )
    yield sql(
        "insert into former_accounts (id, user_id, edge_account_id, name, disconnected_at, counted_until, revoke_token,"
        " things_left, told_with_user, by_operator) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        former.id,
        former.user_id,
        former.edge_account_id,
        former.name,
        former.disconnected_at,
        former.counted_until,
        former.revoke_token,
        to_json(former.left),
        int(leaving),
        int(requested),
    )
    if not leaving:
        yield from _delete_targets(account.id)
    yield from operations.finish(operation.id, now)
    yield sql("delete from accounts where id = $1", account.id)
    if requested:
        yield from _notify(former, now)
    return former


def _notify(former: FormerAccount, now: int) -> Tx[None]:
    """Queue the email about an account that the operator has disconnected, unless its user is being deleted."""
    user = yield from users.get_user(former.user_id)
    if user is not None:
        yield from outbox.post(
            "account_disconnected",
            user.email,
            now,
            now + outbox.TOLD_WITHIN_MS,
            user_id=user.id,
            facts={"name": former.title, "leftovers": former.left, "revoke_token": former.revoke_token},
        )


def _delete_targets(account_id: str) -> Tx[None]:
    yield sql(
        "delete from retiring_paths where site_id in (select id from sites where account_id = $1)",
        account_id,
    )
    yield sql(
        "update sites set state = 'deleted', route_id = null, error = null, config_error = null"
        " where account_id = $1 and state <> 'deleted'",
        account_id,
    )
    yield sql(
        "update links set state = 'deleted', config_error = null where account_id = $1 and state <> 'deleted'",
        account_id,
    )


def former_of(row: Row) -> FormerAccount:
    """Return the disconnected account that is stored in a row of `former_accounts`."""
    return FormerAccount(
        id=row["id"],
        user_id=row["user_id"],
        edge_account_id=row["edge_account_id"],
        name=row["name"],
        disconnected_at=row["disconnected_at"],
        counted_until=row["counted_until"],
        revoke_token=row["revoke_token"],
        left=tuple(RemainingResource(**each) for each in from_json(row["things_left"])),
        by_operator=bool(row["by_operator"]),
    )
