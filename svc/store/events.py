"""A user's trail of events: what was changed, by whom, from where; append-only, each written with its change.

A transaction yields its events beside its statements; they are written when it has nothing else to do, right before its
commit. That last moment makes the trail a feed that misses nothing. An event's number is the next of its user's, and
the row that counts them stays locked until the commit: a number becomes visible only when all lower ones are. (A
database's own identities are handed out early, and appear out of order.) And whoever waits for that row holds nothing
that its holder still needs; those of several users are taken in one order.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from svc.model import Event
from svc.store.tx import Changed, Row, Statement, Tx, Unchanged, many, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from svc.model import AccountAction, Action, EventOrder
    from svc.store.tx import Parameter

T = TypeVar("T")

_INSERT = (
    "insert into events (user_id, number, at, via, ip, action, target, outcome, edge_account_id, count)"
    " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
)
# Numbers that one page looks through for those that its reader sees: some 5 ms.
_LOOKED_THROUGH = 5_000


def recorded(tx: Tx[T]) -> Generator[Statement | Changed, list[Row], T]:
    """The same transaction, at whose end its events are written. The engines put it around all that they run."""
    happened: list[Event] = []
    changed = True
    with closing(tx):
        try:
            step = next(tx)
            while True:
                if isinstance(step, Event):
                    happened.append(step)
                    step = tx.send([])
                elif isinstance(step, Unchanged):
                    changed = False
                    step = tx.send([])
                else:
                    step = tx.send((yield step))
        except StopIteration as done:
            value: T = done.value
    if happened and changed:
        yield from _written(happened)
    return value


def begin_trail(user_id: int) -> Tx[None]:
    """The trail of a new user; of an id that nobody has it is none."""
    yield sql("insert into trails (user_id) select id from users where id = $1", user_id)


def by_service(
    user_id: int, account_id: str, edge_account_id: str, action: AccountAction, outcome: str, now: int
) -> Event:
    """What the service has done to an account."""
    return Event(user_id, now, "service", None, action, account_id, outcome, edge_account_id)


def by_operator(
    user_id: int,
    action: Action,
    now: int,
    target: str | None = None,
    edge_account_id: str | None = None,
    count: int = 1,
) -> Event:
    """What a command of the operator has changed."""
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
    """Events behind the number `after` (None: from the beginning), and behind which number the next page begins; None:
    there are no more.

    `edge_accounts`: only those about these, None: about any; `own`: also those that are about the user alone. A page
    looks through a bounded number of events, so it may have fewer than `limit`, even none, though others follow.
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
        lower = max(first, upper - _LOOKED_THROUGH + 1)
    else:
        lower = max(first, (after or 0) + 1)
        upper = min(last, lower + _LOOKED_THROUGH - 1)
    seen = "edge_account_id is not null"
    if edge_accounts is not None:
        seen = f"edge_account_id in ({placeholders(len(edge_accounts), first=5)})"
    if own:
        seen = f"({seen} or edge_account_id is null)"
    rows = yield sql(
        f"select * from events where user_id = $1 and number between $2 and $3 and {seen}"  # noqa: S608  # texts of this function
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


def _written(happened: Sequence[Event]) -> Generator[Statement, list[Row], None]:
    """Write them, in their order. What is told of a user who is gone is gone, too."""
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
    """A row of events."""
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
