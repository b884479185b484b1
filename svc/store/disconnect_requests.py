"""Transactions on the operator's requests to disconnect accounts.

The running service carries out the requests (`actors/service/operator_disconnects.py`). When a disconnect ends, the
account's row is deleted together with the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.store.locks import lock_accounts
from svc.store.tx import Tx, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

# The maximum number of requests that one transaction adds.
BATCH = 1_000

# The reason why a disconnect is waiting: Cloudflare does not respond, the account has reached today's limit on database
# rows, another operation is running, or an internal error occurred.
WaitReason = Literal["unreachable", "daily_limit", "operation_in_progress", "internal"]


@dataclass(frozen=True)
class DisconnectRequest:
    """The operator's request to disconnect an account.

    If `is_forced` is True, the disconnect does not wait for Cloudflare.
    """

    account_id: str
    edge_account_id: str
    user_id: int
    is_forced: bool


def request(account_ids: Sequence[str], now: int, *, forced: bool) -> Tx[None]:
    """Request that these accounts be disconnected. Accounts that do not exist are ignored.

    A repeated request has no effect, except that it can set `forced`.
    """
    yield from lock_accounts(account_ids)
    yield sql(
        "insert into disconnect_requests (account_id, requested_at, forced)"
        " select id, cast($2 as bigint), cast($3 as bigint) from accounts where id = any($1)"
        " on conflict (account_id) do update set forced = case when excluded.forced = 1 then 1"
        " else disconnect_requests.forced end",
        tuple(account_ids),
        now,
        int(forced),
    )


def pending(limit: int, besides: Sequence[str]) -> Tx[list[DisconnectRequest]]:
    """Return at most `limit` requests, oldest first, except requests for the accounts in `besides`."""
    rows = yield sql(
        "select r.account_id, a.edge_account_id, a.user_id, r.forced"
        " from disconnect_requests r join accounts a on a.id = r.account_id"
        " where not (r.account_id = any($1)) order by r.requested_at, r.account_id limit $2",
        tuple(besides),
        limit,
    )
    return [
        DisconnectRequest(row["account_id"], row["edge_account_id"], row["user_id"], bool(row["forced"]))
        for row in rows
    ]


def set_waiting(account_id: str, reason: WaitReason | None) -> Tx[None]:
    """Record the reason why the disconnect waits; None means that it no longer waits."""
    yield sql("update disconnect_requests set waits_for = $2 where account_id = $1", account_id, reason)


def is_requested(account_id: str) -> Tx[bool]:
    """Return True if the operator has requested to disconnect this account."""
    return bool((yield sql("select 1 from disconnect_requests where account_id = $1", account_id)))
