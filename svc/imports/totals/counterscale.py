"""Reads Counterscale's totals from a JSON response of Workers Analytics Engine.

Counterscale has no export for users, so users run the query in docs/use/import-totals.md. It is the query for
Counterscale's own charts (version 3.4.1, packages/server/app/analytics/query.ts). Each row contains the start of a day,
whether the views are by new visitors, and the number of views. The rows are in the response's field `data` (Cloudflare
docs: analytics-engine/sql-api).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from svc.imports.reader import NotReadable
from svc.imports.totals.reading import Reading
from svc.imports.totals.table import Wrong, read_count, read_day
from svc.imports.totals.tally import LARGEST
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.imports.totals.tally import Tally

_MIDNIGHT = ("", " 00:00:00", "T00:00:00Z", "T00:00:00.000Z")


def is_analytics_engine(response: Mapping[str, Any]) -> bool:
    """Return True if a JSON object is a response from Workers Analytics Engine."""
    return isinstance(response.get("data"), list) and isinstance(response.get("meta"), list)


def read_counterscale(response: Mapping[str, Any], tally: Tally) -> Reading:
    """Add the days of a response to the tally, which collects daily totals.

    Raises NotReadable if a row is not valid.
    """
    views: defaultdict[int, int] = defaultdict(int)
    visitors: defaultdict[int, int] = defaultdict(int)
    for number, row in enumerate(response["data"], 1):
        try:
            day, is_visitor, count = _row(row)
        except (Wrong, AttributeError) as wrong:
            raise NotReadable(f"row {number} of the response is not valid: {wrong}") from None
        views[day] += count
        visitors[day] += count if is_visitor else 0
    for day in sorted(views):
        tally.add_day(0, day, Counts(views[day], 0, visitors[day]))
    notes = (
        "the numbers are estimates if Workers Analytics Engine has sampled the data",
        "a visitor is a view without an earlier view of the same visitor on that day",
        "Counterscale does not store hits of bots",
    )
    return Reading("a response of Workers Analytics Engine for Counterscale", ("bucket", "isVisitor", "count"), notes)


def _row(row: Mapping[str, Any]) -> tuple[int, bool, int]:
    """Return a row's day, whether its views are by new visitors, and the number of views. Raises Wrong."""
    at = str(row.get("bucket", ""))
    if at[10:] not in _MIDNIGHT:
        raise Wrong(f"{at[:40]} is not the start of a UTC day")
    return read_day(at[:10]), _integer("isVisitor", row) != 0, _integer("count", row)


def _integer(name: str, row: Mapping[str, Any]) -> int:
    """Return a row's field as an integer.

    Analytics Engine sends large integers as strings, because JSON numbers are not exact for them. Raises Wrong.
    """
    value = row.get(name, "")
    if isinstance(value, float) and value.is_integer() and 0 <= value <= LARGEST:
        value = int(value)
    return read_count(name, str(value))
