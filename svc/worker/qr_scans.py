"""The scans of an account's QR codes, from the Worker's database. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.worker.rows import Row, Statement

# Scans are clicks with the source `qr` (edge_worker/src/sources.js). The statement reads one row per existing link, and
# one row for each day on which the link was clicked. Deleted links are omitted, because their configuration rows have
# no body.
_SCANS = (
    "select coalesce(sum(day.totals ->> '$.sources.qr'), 0) as scans from config"
    " join day on day.target = config.body ->> 'target' and day.day between cast(?1 as integer) and cast(?2 as integer)"
    " where config.key >= 'link:' and config.key < 'link;' and config.body is not null"
)
_KEPT_FROM = "select coalesce(value ->> 'kept_from', 0) as kept_from from meta where key = 'state'"


class Scans(NamedTuple):
    """The number of scans of all existing links since the day `since`.

    `since` is the first requested day, or a later day if days were deleted.
    """

    scans: int
    since: int


def scan_statements(first_day: int, last_day: int) -> list[Statement]:
    """Return parameterized statements that read the scans on these days."""
    return [(_SCANS, [str(first_day), str(last_day)]), (_KEPT_FROM, [])]


def scans_of(results: Sequence[Sequence[Row]], first_day: int) -> Scans:
    """Return the scans. Raises ValueError, KeyError or TypeError if a row is malformed."""
    [[sums], states] = results
    kept_from = max((int(str(row["kept_from"])) for row in states), default=0)
    return Scans(int(str(sums["scans"])), max(first_day, kept_from))
