"""Reads Matomo's daily reports as CSV: `API.get`, `VisitsSummary.get` or `Actions.get` with `period=day` and a range.

The first column is the date. The other columns are metrics, with their API names or their English names
(`translateColumnNames`). The encoding is UTF-16, unless the user requested the file with `convertToUnicode=0` (Matomo,
core/DataTable/Renderer/Csv.php). Only `API.get` and `Actions.get` have page views. The actions of `VisitsSummary.get`
also include downloads, outlinks and site searches (developer.matomo.org/api-reference/reporting-api).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.imports.reader import NotReadable
from svc.imports.totals.reading import SITES_ZONE, Reading, add_days

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Tally

_VIEWS = ("nb_pageviews", "pageviews")
_ACTIONS = ("nb_actions", "actions")
_VISITORS = ("nb_uniq_visitors", "unique_visitors")
_VISITS = ("nb_visits", "visits")


def is_matomo(names: Sequence[str]) -> bool:
    """Return True if a table with these columns is a Matomo report by day."""
    own = {"nb_pageviews", "nb_actions", "nb_uniq_visitors", "nb_visits"} & set(names)
    translated = {"actions", "unique_visitors", "visits"} <= set(names)
    return "date" in names and (bool(own) or translated)


def read_matomo(table: Table, tally: Tally) -> Reading:
    """Add the days of a report to the tally, which collects daily totals.

    Raises NotReadable if the report covers several websites, or if it has neither page views nor actions.
    """
    if "idsite" in table.names:
        raise NotReadable("the report has several websites; export it with the idSite of one website")
    views = _first(table, (*_VIEWS, *_ACTIONS))
    if not views:
        raise NotReadable("the report has no page views; export Matomo's API.get with period=day")
    visitors = _first(table, (*_VISITORS, *_VISITS))
    notes = [SITES_ZONE.format("Matomo"), "Matomo does not export hits of bots"]
    if views in _ACTIONS:
        notes.append(
            "the report has no page views, so actions are imported, which include downloads, outlinks and searches"
        )
    if visitors in _VISITS:
        notes.append("the report has no unique visitors, so visits are imported as visitors")
    if not visitors:
        notes.append("the report has no visitors, so their number is 0 on these days")
    add_days(table, tally, "date", views, visitors)
    return Reading("a report of Matomo by day", tuple(filter(None, ("date", views, visitors))), tuple(notes))


def _first(table: Table, names: Sequence[str]) -> str:
    return next((name for name in names if name in table.names), "")
