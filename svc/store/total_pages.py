"""Reads stored totals in pages, so that no transaction stays open while a long response is sent.

A row has `target`, `at` (the epoch day, or the start of the hour in epoch ms), `views`, `bots` and `visitors`. A row
for a day also has `final`, `imported` and `estimated` (0 or 1). A page continues after the last row of the previous
page. A row that exists during the whole time therefore appears exactly once, with its numbers at the time when its page
was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import Row, Tx, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = 1_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31


def days_page(
    targets: Sequence[str], first: int, last: int, after: Row | None = None, limit: int = PAGE
) -> Tx[list[Row]]:
    """Return a page of the targets' days in [first, last], ordered by target id and day.

    `targets`: the ids of sites or of links, but not both, and at most a few hundred. `after`: the last row of the
    previous page.
    """
    select = "select target, day as at, views, bots, visitors, final, imported, estimated from days where day"
    return (yield from _page(select, "day", targets, first, last, after, limit))


def hours_page(
    targets: Sequence[str], first: int, last: int, after: Row | None = None, limit: int = PAGE
) -> Tx[list[Row]]:
    """Return a page of the targets' hours that begin in [first, last] (epoch ms), like `days_page`."""
    select = "select target, at, views, bots, visitors from hours where at"
    return (yield from _page(select, "at", targets, first, last, after, limit))


def _page(
    select: str, key: str, targets: Sequence[str], first: int, last: int, after: Row | None, limit: int
) -> Tx[list[Row]]:
    target, begin = ("", 0) if after is None else (after["target"], after["at"])
    # After the prefix, ids of one kind contain only lower-case letters and digits, and these have the same order in
    # every collation.
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
