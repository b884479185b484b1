"""Stored totals, page by page: for answers of any length, which hold no transaction while they are sent.

A page begins behind the last row of the one before. So a row that is there all the time is met once, and has the
numbers of the moment in which its page was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from svc.store.tx import Tx, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Row

PAGE = 1_000


class StoredTotal(NamedTuple):
    """What is stored of a target's day or hour. `imported`: another product counted it."""

    target: str
    at: int  # of a day its number, of an hour its begin (epoch ms)
    views: int
    bots: int
    visitors: int
    final: bool = True
    imported: bool = False


def days_page(
    targets: Sequence[str], first: int, last: int, after: StoredTotal | None = None, limit: int = PAGE
) -> Tx[list[StoredTotal]]:
    """A page of the targets' days in [first, last], in the order of the targets' ids and of the days.

    `targets`: ids of one kind, at most some hundred. `after`: the last one of the page before.
    """
    columns = "day as at, views, bots, visitors, final, imported"
    rows = yield from _page("days", "day", columns, targets, first, last, after, limit)
    return [
        StoredTotal(
            row["target"],
            row["at"],
            row["views"],
            row["bots"],
            row["visitors"],
            row["final"] == 1,
            row["imported"] == 1,
        )
        for row in rows
    ]


def hours_page(
    targets: Sequence[str], first: int, last: int, after: StoredTotal | None = None, limit: int = PAGE
) -> Tx[list[StoredTotal]]:
    """A page of the targets' hours that begin in [first, last] (epoch ms); otherwise as `days_page`."""
    rows = yield from _page("hours", "at", "at, views, bots, visitors", targets, first, last, after, limit)
    return [StoredTotal(row["target"], row["at"], row["views"], row["bots"], row["visitors"]) for row in rows]


def _page(
    table: Literal["days", "hours"],
    key: Literal["day", "at"],
    columns: str,
    targets: Sequence[str],
    first: int,
    last: int,
    after: StoredTotal | None,
    limit: int,
) -> Tx[list[Row]]:
    # Ids of one kind differ in small letters and digits only, which every collation puts in one order.
    target, begin = ("", 0) if after is None else after[:2]
    ids = [each for each in targets if each >= target]
    rows = yield sql(
        f"select target, {columns} from {table} where {key} >= $1 and {key} <= $2"  # noqa: S608  # names of this file and placeholders
        f" and (target <> $3 or {key} > $4) and target in ({placeholders(len(ids), first=6)})"
        f" order by target, {key} limit $5",
        first,
        last,
        target,
        begin,
        limit,
        *ids,
    )
    return rows
