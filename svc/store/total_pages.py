"""Stored totals, page by page: for answers of any length, which hold no transaction while they are sent.

A row has the `target`, when it begins (`at`: of a day its number, of an hour epoch ms), `views`, `bots`, `visitors`;
that of a day also `final` and `imported`, 0 or 1. A page begins behind the last row of the one before. So a row that is
there all the time is met once, and has the numbers of the moment in which its page was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import Row, Tx, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = 1_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31: no day lies outside


def days_page(
    targets: Sequence[str], first: int, last: int, after: Row | None = None, limit: int = PAGE
) -> Tx[list[Row]]:
    """A page of the targets' days in [first, last], in the order of the targets' ids and of the days.

    `targets`: ids of one kind, at most some hundred. `after`: the last row of the page before.
    """
    select = "select target, day as at, views, bots, visitors, final, imported from days where day"
    return (yield from _page(select, "day", targets, first, last, after, limit))


def hours_page(
    targets: Sequence[str], first: int, last: int, after: Row | None = None, limit: int = PAGE
) -> Tx[list[Row]]:
    """A page of the targets' hours that begin in [first, last] (epoch ms); otherwise as `days_page`."""
    select = "select target, at, views, bots, visitors from hours where at"
    return (yield from _page(select, "at", targets, first, last, after, limit))


def _page(
    select: str, key: str, targets: Sequence[str], first: int, last: int, after: Row | None, limit: int
) -> Tx[list[Row]]:
    target, begin = ("", 0) if after is None else (after["target"], after["at"])
    # Ids of one kind differ in small letters and digits only, which every collation puts in one order.
    ids = [each for each in targets if each >= target]
    rows = yield sql(
        f"{select} >= $1 and {key} <= $2 and (target <> $3 or {key} > $4)"
        f" and target in ({placeholders(len(ids), first=6)}) order by target, {key} limit $5",
        first,
        last,
        target,
        begin,
        limit,
        *ids,
    )
    return rows
