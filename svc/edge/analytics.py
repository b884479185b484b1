"""An account's daily usage from Cloudflare's GraphQL analytics.

The datasets are `adaptive`: figures can be estimates from samples, even for small accounts (reports by users of
Cloudflare). Each figure is therefore read with its confidence interval (Cloudflare docs:
graphql-api/features/confidence-intervals). Days without usage have no row. Requests and database rows are read with
separate queries, so that a failure of one dataset does not affect the other.

All functions raise EdgeUnavailable, and EdgeRefused if a permission is missing or a dataset is unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from datetime import date  # noqa: TC003  # used at run time by pydantic
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from svc.clock import day_number, day_text
from svc.edge.responses import Shape
from svc.errors import EdgeRefused
from svc.model import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc.edge.access import Access

# The number of past days that can be read: four full weeks, which is less than the 31 days that Cloudflare keeps (docs:
# d1/observability/metrics-analytics).
DAYS_AVAILABLE = 28
# Maximum number of rows per query. Usually there is one row per day, but a dataset may split a day into several rows.
# The API allows 10,000 rows.
_ROWS = 1_000
_FILTER = f"limit: {_ROWS}, filter: {{date_geq: $first, date_leq: $last"
# The largest accepted figure, which is far above real figures. Even the sum of thousands of such figures fits into the
# integers of the store and of API clients.
_MOST = 10**15
_INTERVAL = "{ estimate lower upper }"

# Requests to Pages Functions have a separate dataset, but count toward the same limit (Cloudflare docs:
# pages/functions/pricing).
_REQUESTS = f"""query Requests($account: String!, $first: Date!, $last: Date!) {{
  viewer {{ accounts(filter: {{accountTag: $account}}) {{
    workers: workersInvocationsAdaptive({_FILTER}}}) {{
      dimensions {{ date }} confidence(level: 0.95) {{ sum {{ requests {_INTERVAL} }} }} }}
    pages: pagesFunctionsInvocationsAdaptiveGroups({_FILTER}}}) {{
      dimensions {{ date }} confidence(level: 0.95) {{ sum {{ requests {_INTERVAL} }} }} }}
  }} }}
}}"""
_SCRIPT = f"""query Script($account: String!, $script: String!, $first: Date!, $last: Date!) {{
  viewer {{ accounts(filter: {{accountTag: $account}}) {{
    workers: workersInvocationsAdaptive({_FILTER}, scriptName: $script}}) {{
      dimensions {{ date }} confidence(level: 0.95) {{ sum {{ requests {_INTERVAL} }} }} }}
  }} }}
}}"""
_DATABASES = f"""query Databases($account: String!, $database: String!, $first: Date!, $last: Date!) {{
  viewer {{ accounts(filter: {{accountTag: $account}}) {{
    rows: d1AnalyticsAdaptiveGroups({_FILTER}}}) {{
      dimensions {{ date }} confidence(level: 0.95) {{ sum {{ rowsRead {_INTERVAL} rowsWritten {_INTERVAL} }} }} }}
    size: d1StorageAdaptiveGroups({_FILTER}, databaseId: $database}}) {{
      dimensions {{ date }} max {{ databaseSizeBytes }} }}
  }} }}
}}"""


@dataclass(frozen=True)
class DatabaseDays:
    """Figures for each day: rows read and written in all databases of the account, and the size of one database.

    `sizes` contains only days with a known size.
    """

    reads: tuple[Figure, ...]
    writes: tuple[Figure, ...]
    sizes: tuple[Figure, ...]


class _Dimensions(Shape):
    date: date

    @property
    def day(self) -> int:
        return day_number(self.date.isoformat())


class _Interval(Shape):
    estimate: Annotated[float, Field(ge=0, le=_MOST)]
    lower: Annotated[float, Field(ge=-_MOST, le=_MOST)]
    upper: Annotated[float, Field(ge=0, le=_MOST)]


class _RequestsSum(Shape):
    requests: _Interval


class _RequestsConfidence(Shape):
    sum: _RequestsSum


class _RequestsRow(Shape):
    dimensions: _Dimensions
    confidence: _RequestsConfidence


class _RequestsAccount(Shape):
    workers: tuple[_RequestsRow, ...]
    pages: tuple[_RequestsRow, ...]


class _RequestsViewer(Shape):
    accounts: tuple[_RequestsAccount, ...]


class _Requests(Shape):
    viewer: _RequestsViewer


class _ScriptAccount(Shape):
    workers: tuple[_RequestsRow, ...]


class _ScriptViewer(Shape):
    accounts: tuple[_ScriptAccount, ...]


class _Script(Shape):
    viewer: _ScriptViewer


class _RowsSum(Shape):
    rowsRead: _Interval  # noqa: N815  # Cloudflare's names
    rowsWritten: _Interval  # noqa: N815


class _RowsConfidence(Shape):
    sum: _RowsSum


class _RowsRow(Shape):
    dimensions: _Dimensions
    confidence: _RowsConfidence


class _Max(Shape):
    databaseSizeBytes: Annotated[int, Field(ge=0, le=_MOST)]  # noqa: N815


class _SizeRow(Shape):
    dimensions: _Dimensions
    max: _Max


class _DatabasesAccount(Shape):
    rows: tuple[_RowsRow, ...]
    size: tuple[_SizeRow, ...]


class _DatabasesViewer(Shape):
    accounts: tuple[_DatabasesAccount, ...]


class _Databases(Shape):
    viewer: _DatabasesViewer


async def request_days(access: Access, first_day: int, last_day: int) -> tuple[Figure, ...]:
    """Return the daily number of requests to all Workers of the account, from `first_day` to `last_day` (inclusive)."""
    data = await access.graphql(_Requests, _REQUESTS, _variables(access, first_day, last_day))
    _check_visible(data.viewer.accounts)
    return _by_day(
        first_day,
        last_day,
        (
            (row.dimensions.day, row.confidence.sum.requests)
            for account in data.viewer.accounts
            for row in (*account.workers, *account.pages)
        ),
    )


async def script_requests(access: Access, script: str, day: int) -> Figure | None:
    """Return the number of requests to one Worker on a day (day number), including cron runs.

    Returns None if there is no row for that day. None means that the number is unknown, not that it is 0, because a
    Worker with a cron trigger receives requests every day.
    """
    variables = _variables(access, day, day) | {"script": script}
    data = await access.graphql(_Script, _SCRIPT, variables)
    rows = [
        row.confidence.sum.requests
        for account in data.viewer.accounts
        for row in account.workers
        if row.dimensions.day == day
    ]
    return _figure(day, rows) if rows else None


async def database_days(access: Access, database_id: str, first_day: int, last_day: int) -> DatabaseDays:
    """Return the account's daily database usage, from `first_day` to `last_day` (inclusive).

    The numbers of rows are sums over all databases of the account. The size is the size of the database `database_id`.
    """
    variables = _variables(access, first_day, last_day) | {"database": database_id}
    data = await access.graphql(_Databases, _DATABASES, variables)
    _check_visible(data.viewer.accounts)
    rows = [row for account in data.viewer.accounts for row in account.rows]
    sizes: dict[int, int] = {}
    for account in data.viewer.accounts:
        for row in account.size:
            day = row.dimensions.day
            if first_day <= day <= last_day:
                sizes[day] = max(sizes.get(day, 0), row.max.databaseSizeBytes)
    return DatabaseDays(
        reads=_by_day(first_day, last_day, ((row.dimensions.day, row.confidence.sum.rowsRead) for row in rows)),
        writes=_by_day(first_day, last_day, ((row.dimensions.day, row.confidence.sum.rowsWritten) for row in rows)),
        sizes=tuple(Figure.exact(day, size) for day, size in sorted(sizes.items())),
    )


def _variables(access: Access, first_day: int, last_day: int) -> dict[str, object]:
    return {"account": access.edge_account_id, "first": day_text(first_day), "last": day_text(last_day)}


def _check_visible(accounts: Sequence[object]) -> None:
    """Raise EdgeRefused if the response omits the account.

    This happens if the token lacks a permission (reported by users of Cloudflare).
    """
    if not accounts:
        raise EdgeRefused("cloudflare_error", "Cloudflare's analytics returned no data for this account.")


def _by_day(first_day: int, last_day: int, rows: Iterable[tuple[int, _Interval]]) -> tuple[Figure, ...]:
    """Return one figure for each day: the sum of the day's rows, or 0 without rows."""
    sums: dict[int, list[_Interval]] = defaultdict(list)
    for day, interval in rows:
        sums[day].append(interval)
    return tuple(_figure(day, sums[day]) for day in range(first_day, last_day + 1))


def _figure(day: int, rows: list[_Interval]) -> Figure:
    return Figure(
        day,
        value=round(sum(row.estimate for row in rows)),
        at_least=max(0, math.floor(sum(row.lower for row in rows))),
        at_most=math.ceil(sum(row.upper for row in rows)),
    )
