"""A host's page views by day in Cloudflare Web Analytics.

The browser script of Web Analytics collects these page views, independently of this service. The dataset is `adaptive`:
Cloudflare may keep only a sample of the page views and extrapolate from the sample.

Sources: Cloudflare docs (graphql-api, web-analytics/data-metrics/high-level-metrics), user reports, and public
programs. These programs use the dataset `rumPageloadEventsAdaptiveGroups` with `count`, `sum { visits }` and `avg {
sampleInterval }`. The dataset covers the last 26 weeks and 2 days, and a query at most 13 weeks and 2 days.
Question 0.11 in docs/develop/field-check.md checks whether the working token can read the dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003  # used at run time by pydantic
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from svc.clock import day_number, day_text
from svc.edge.responses import Shape
from svc.errors import EdgeRefused

if TYPE_CHECKING:
    from svc.edge.access import Access

# The number of past days that can be read. It is two days less than Cloudflare keeps, because Cloudflare deletes data
# by its exact time, not by whole days.
DAYS_AVAILABLE = 182
_DAYS_A_QUERY = 91
# Maximum number of rows per query. There is one row per day, because the query groups by the day only.
_ROWS = 1_000
_MOST = 10**12
_VIEWS = f"""query Views($account: String!, $host: String!, $first: Date!, $last: Date!) {{
  viewer {{ accounts(filter: {{accountTag: $account}}) {{
    views: rumPageloadEventsAdaptiveGroups(
      limit: {_ROWS}, filter: {{date_geq: $first, date_leq: $last, requestHost: $host}}
    ) {{ count sum {{ visits }} avg {{ sampleInterval }} dimensions {{ date }} }}
  }} }}
}}"""


@dataclass(frozen=True)
class WebDay:
    """The page views of a host on a UTC day (day number).

    `visits`: the number of views whose referrer is another host. Web Analytics has no count of visitors.

    `is_estimate`: True if Cloudflare counted only a sample of the views.
    """

    day: int
    views: int
    visits: int
    is_estimate: bool


class _Dimensions(Shape):
    date: date


class _Sum(Shape):
    visits: Annotated[int, Field(ge=0, le=_MOST)]


class _Average(Shape):
    sampleInterval: Annotated[float, Field(ge=0, le=_MOST)]  # noqa: N815  # Cloudflare's name


class _Row(Shape):
    count: Annotated[int, Field(ge=0, le=_MOST)]
    sum: _Sum
    avg: _Average
    dimensions: _Dimensions


class _Account(Shape):
    views: tuple[_Row, ...]


class _Viewer(Shape):
    accounts: tuple[_Account, ...]


class _Views(Shape):
    viewer: _Viewer


async def view_days(access: Access, host: str, first_day: int, last_day: int) -> tuple[WebDay, ...]:
    """Return the days on which the host has page views, from `first_day` to `last_day` (inclusive), in order.

    Raises EdgeUnavailable, and EdgeRefused if the permission is missing or the first day is too old.
    """
    days: list[WebDay] = []
    for first in range(first_day, last_day + 1, _DAYS_A_QUERY):
        days += await _part(access, host, first, min(first + _DAYS_A_QUERY - 1, last_day))
    return tuple(days)


async def _part(access: Access, host: str, first_day: int, last_day: int) -> list[WebDay]:
    variables: dict[str, object] = {
        "account": access.edge_account_id,
        "host": host,
        "first": day_text(first_day),
        "last": day_text(last_day),
    }
    data = await access.graphql(_Views, _VIEWS, variables)
    if not data.viewer.accounts:
        raise EdgeRefused("cloudflare_error", "Cloudflare's analytics returned no data for this account.")
    days: dict[int, WebDay] = {}
    for account in data.viewer.accounts:
        for row in account.views:
            day = day_number(row.dimensions.date.isoformat())
            before = days.get(day, WebDay(day, 0, 0, is_estimate=False))
            estimated = before.is_estimate or row.avg.sampleInterval > 1
            days[day] = WebDay(day, before.views + row.count, before.visits + row.sum.visits, is_estimate=estimated)
    return [days[day] for day in sorted(days) if first_day <= day <= last_day]
