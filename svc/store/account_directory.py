"""Transactions that search the connected and disconnected accounts of all users, for the operator's commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.store.conditions import Conditions
from svc.store.disconnects import former_of
from svc.store.tx import Parameter, Tx, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import AccountState, FormerAccount
    from svc.store.disconnect_requests import WaitReason
    from svc.store.tx import Row

AccountOrder = Literal["oldest", "newest"]


@dataclass(frozen=True)
class Entry:
    """An account in the operator's list.

    `email`: None while the user is being deleted. `at`: when the account was connected or disconnected (epoch ms).
    `is_requested`: True if the operator has requested a disconnect that has not ended. `waits_for`: the reason why this
    disconnect is waiting; None if it is not waiting. `former`: the disconnected account; None if the account is
    connected.
    """

    id: str
    edge_account_id: str
    name: str
    email: str | None
    state: AccountState | Literal["disconnected"]
    at: int
    sites: int
    links: int
    is_requested: bool = False
    waits_for: WaitReason | None = None
    former: FormerAccount | None = None


@dataclass(frozen=True)
class Filter:
    """The filter for the operator's list of accounts.

    `disconnected`: True to select disconnected accounts instead of connected accounts. `contains`: only accounts with
    this text in their name, in one of their ids or in their user's email address, ignoring case. `email`: only accounts
    of the user with this email address.
    """

    disconnected: bool = False
    state: AccountState | None = None
    email: str | None = None
    contains: str = ""


def page(order: AccountOrder, after: Entry | None, limit: int, chosen: Filter) -> Tx[list[Entry]]:
    """Return at most `limit` accounts that match the filter, starting after the account `after`, if any."""
    at = "t.disconnected_at" if chosen.disconnected else "t.created_at"
    parameters: list[Parameter] = []
    conditions = Conditions(parameters)
    parameter = conditions.parameter
    if after is not None:
        sign = ">" if order == "oldest" else "<"
        conditions.add(f"({at}, t.id) {sign} ({parameter(after.at)}, {parameter(after.id)})")
    if chosen.state is not None:
        conditions.add(f"t.state = {parameter(chosen.state)}")
    if chosen.email is not None:
        conditions.add(f"lower(u.email) = lower(cast({parameter(chosen.email)} as text))")
    if chosen.contains:
        conditions.add_contains([chosen.contains.lower()], "t.name", "t.id", "t.edge_account_id", "u.email")
    direction = "" if order == "oldest" else " desc"
    rows = yield sql(
        f"{_FORMER if chosen.disconnected else _CONNECTED} where {conditions}"
        f" order by {at}{direction}, t.id{direction} limit {parameter(limit)}",
        *parameters,
    )
    return [_former(row) if chosen.disconnected else _connected(row) for row in rows]


def with_ids(account_ids: Sequence[str]) -> Tx[list[Entry]]:
    """Return the accounts with these ids, connected or disconnected."""
    connected = yield sql(f"{_CONNECTED} where t.id = any($1)", tuple(account_ids))
    former = yield sql(f"{_FORMER} where t.id = any($1)", tuple(account_ids))
    return [*map(_connected, connected), *map(_former, former)]


def find(text: str) -> Tx[Entry | None]:
    """Return the account with this id or Cloudflare account id; None if there is none.

    If a Cloudflare account was connected several times, return the connected account. If none is connected, return the
    account that was disconnected last.
    """
    for select, entry, order in ((_CONNECTED, _connected, "t.id"), (_FORMER, _former, "t.disconnected_at desc, t.id")):
        rows = yield sql(f"{select} where t.id = $1 or t.edge_account_id = $1 order by {order} limit 1", text)
        for row in rows:
            return entry(row)
    return None


def count_connected() -> Tx[tuple[int, int]]:
    """Return the number of connected accounts, and the number of users who have connected accounts."""
    [row] = yield sql("select count(*) as accounts, count(distinct user_id) as users from accounts")
    return row["accounts"], row["users"]


_CONNECTED = (
    "select t.id, t.edge_account_id, t.name, t.state, t.created_at, u.email,"
    " (select count(*) from sites s where s.account_id = t.id and s.state <> 'deleted') as sites,"
    " (select count(*) from links l where l.account_id = t.id and l.state = 'active') as links,"
    " case when r.account_id is null then 0 else 1 end as requested, r.waits_for"
    " from accounts t join users u on u.id = t.user_id left join disconnect_requests r on r.account_id = t.id"
)
_FORMER = "select t.*, u.email from former_accounts t join users u on u.id = t.user_id"


def _connected(row: Row) -> Entry:
    return Entry(
        row["id"],
        row["edge_account_id"],
        row["name"],
        row["email"],
        row["state"],
        row["created_at"],
        row["sites"],
        row["links"],
        bool(row["requested"]),
        row["waits_for"],
    )


def _former(row: Row) -> Entry:
    former = former_of(row)
    return Entry(
        former.id,
        former.edge_account_id,
        former.name,
        row["email"],
        "disconnected",
        former.disconnected_at,
        0,
        0,
        former=former,
    )
