"""A user's audit log: append-only events, each stored in the transaction of the change that it records.

A transaction yields its events among its statements. The events are written as the last step before the commit. Each
user has a counter for event numbers. The counter's row stays locked until the commit, so a number becomes visible only
after all lower numbers. A reader who follows the log therefore misses no event. (Numbers from a database sequence are
assigned earlier and can appear out of order.) The lock cannot cause a deadlock: it is acquired last, and the counters
of several users are locked in a fixed order.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from svc.model import Event
from svc.store.tx import Changed, Row, Statement, Tx, Unchanged, many, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from svc.model import AccountAction, Action, EventOrder
    from svc.store.tx import Parameter

T = TypeVar("T")

# By the prefix of an object's id: its table, and the expression for its name.
_NAMES = {
    "acc": ("accounts", "name"),
    "key": ("keys", "coalesce(name, prefix || '…')"),
    "lnk": ("links", "code"),
    "shr": ("shares", "name"),
    "site": ("sites", "host"),
}
_INSERT = (
    "insert into events (user_id, number, at, via, ip, action, target, outcome, edge_account_id, count)"
    " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
)
# The maximum number of events that are searched for one page, which takes about 5 ms. The search skips events that the
# reader is not allowed to see.
_MAX_SEARCHED = 5_000


def statements_of(tx: Tx[T], changes: set[str]) -> Generator[Statement, list[Row], T]:
    """Yield the statements of a transaction, followed by the statements that write its events.

    Adds the ids of changed accounts to `changes`. The engines run every transaction with this function.
    """
    happened: list[Event] = []
    changed = True
    with closing(tx):
        try:
            step = next(tx)
            while True:
                if isinstance(step, Event):
                    happened.append(step)
                    step = tx.send([])
                elif isinstance(step, Changed):
                    changes.add(step.edge_account_id)
                    step = tx.send([])
                elif isinstance(step, Unchanged):
                    changed = False
                    step = tx.send([])
                else:
                    step = tx.send((yield step))
        except StopIteration as done:
            value: T = done.value
    if happened and changed:
        yield from _write_events(happened)
    return value


def begin_audit_log(user_id: int) -> Tx[None]:
    """Start the audit log of a new user. Does nothing if there is no user with this id."""
    yield sql("insert into trails (user_id) select id from users where id = $1", user_id)


def by_service(
    user_id: int, account_id: str, edge_account_id: str, action: AccountAction, outcome: str, now: int
) -> Event:
    """Return an event for something that the service did to an account outside a request, such as ending an install."""
    return Event(user_id, now, "service", None, action, account_id, outcome, edge_account_id)


def by_operator(
    user_id: int,
    action: Action,
    now: int,
    target: str | None = None,
    edge_account_id: str | None = None,
    count: int = 1,
) -> Event:
    """Return an event for a change that the operator made with a command."""
    return Event(user_id, now, "operator", None, action, target, "done", edge_account_id, count)


def page(
    user_id: int,
    order: EventOrder,
    after: int | None,
    limit: int,
    edge_accounts: Sequence[str] | None = None,
    *,
    own: bool = True,
) -> Tx[tuple[list[Event], int | None]]:
    """Return a page of events, and the value of `after` for the next page. That value is None on the last page.

    The page starts after the event with the number `after`; None means from the start. `edge_accounts`: include only
    events about these Cloudflare accounts; None means all. `own`: include events that concern no Cloudflare account.
    Each page searches a limited number of events. It may therefore have fewer than `limit` events, or none, although
    more events follow.
    """
    kept = yield sql(
        "select t.length, e.number as first from trails t join events e on e.user_id = t.user_id"
        " where t.user_id = $1 order by e.number limit 1",
        user_id,
    )
    if not kept:
        return [], None
    first, last = kept[0]["first"], kept[0]["length"]
    if order == "newest":
        upper = last if after is None else min(last, after - 1)
        lower = max(first, upper - _MAX_SEARCHED + 1)
    else:
        lower = max(first, (after or 0) + 1)
        upper = min(last, lower + _MAX_SEARCHED - 1)
    seen = "edge_account_id is not null"
    if edge_accounts is not None:
        seen = f"edge_account_id in ({placeholders(len(edge_accounts), first=5)})"
    if own:
        seen = f"({seen} or edge_account_id is null)"
    rows = yield sql(
        f"select * from events where user_id = $1 and number between $2 and $3 and {seen}"  # noqa: S608  # SQL of this function
        f" order by number {'desc' if order == 'newest' else 'asc'} limit $4",
        user_id,
        lower,
        upper,
        limit + 1,
        *(edge_accounts or ()),
    )
    events = [event_of(row) for row in rows[:limit]]
    if len(rows) > limit:
        return events, events[-1].number
    if order == "newest":
        return events, lower if lower > first else None
    return events, upper if upper < last else None


def add_names(user_id: int, events: Sequence[Event]) -> Tx[list[Event]]:
    """Return the user's events with the current names of their objects and API keys, if these still exist.

    The names are the hosts of sites, the codes of links, and the names of accounts, API keys and shares. A key without
    a name is shown as the beginning of its value.
    """
    ids = sorted({each for event in events for each in (event.target, event.via) if each})
    names: dict[str, str] = {}
    for prefix, (table, name) in _NAMES.items():
        wanted = tuple(each for each in ids if each.startswith(f"{prefix}_"))
        if wanted:
            rows = yield sql(
                f"select id, {name} as name from {table} where id = any($1) and user_id = $2",  # noqa: S608  # names of this file
                wanted,
                user_id,
            )
            names.update({row["id"]: row["name"] for row in rows})
    return [
        replace(event, target_name=names.get(event.target or ""), via_name=names.get(event.via)) for event in events
    ]


def _write_events(happened: Sequence[Event]) -> Generator[Statement, list[Row], None]:
    """Write the events in order. Discard events of deleted users."""
    by_user: defaultdict[int, list[Event]] = defaultdict(list)
    for event in happened:
        by_user[event.user_id].append(event)
    for user_id, events in sorted(by_user.items()):
        rows = yield sql(
            "update trails set length = length + $2 where user_id = $1 returning length", user_id, len(events)
        )
        if rows:
            first = rows[0]["length"] - len(events) + 1
            yield many(_INSERT, [_row(event, number) for number, event in enumerate(events, first)])


def _row(event: Event, number: int) -> tuple[Parameter, ...]:
    return (
        event.user_id,
        number,
        event.at,
        event.via,
        event.ip,
        event.action,
        event.target,
        event.outcome,
        event.edge_account_id,
        event.count,
    )


def event_of(row: Row) -> Event:
    """Return the event that is stored in a row of `events`."""
    return Event(
        user_id=row["user_id"],
        at=row["at"],
        via=row["via"],
        ip=row["ip"],
        action=row["action"],
        target=row["target"],
        outcome=row["outcome"],
        edge_account_id=row["edge_account_id"],
        count=row["count"],
        number=row["number"],
    )
