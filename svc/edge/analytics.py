"""What an account used of its daily limits (platform docs: GraphQL analytics): estimates, for advice only.

Every function raises EdgeRefused, EdgeUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import day_number, day_text
from svc.edge.answers import Shape

if TYPE_CHECKING:
    from svc.edge.access import Access

# Normally one row a day; the datasets may split a day into several. The platform allows up to 10,000.
_ROWS = 1_000

_QUERY = f"""query Usage($account: String!, $database: String!, $first: Date!, $last: Date!) {{
  viewer {{ accounts(filter: {{accountTag: $account}}) {{
    requests: workersInvocationsAdaptive(limit: {_ROWS}, filter: {{date_geq: $first, date_leq: $last}}) {{
      sum {{ requests }} dimensions {{ date }} }}
    rows: d1AnalyticsAdaptiveGroups(limit: {_ROWS}, filter: {{date_geq: $first, date_leq: $last}}) {{
      sum {{ rowsRead rowsWritten }} dimensions {{ date }} }}
    size: d1StorageAdaptiveGroups(
      limit: {_ROWS}, filter: {{date_geq: $first, date_leq: $last, databaseId: $database}}
    ) {{ max {{ databaseSizeBytes }} dimensions {{ date }} }}
  }} }}
}}"""


@dataclass(frozen=True)
class DayUsage:
    """One UTC day: requests and rows of the whole account, the size of one database.

    A day without any use is not in the platform's answer: its counts are 0; its size is not known: None.
    """

    day: int
    requests: int
    rows_read: int
    rows_written: int
    size_bytes: int | None


class _Dimensions(Shape):
    date: str


class _Sum(Shape):
    requests: int = 0
    rowsRead: int = 0  # noqa: N815  # the platform's names
    rowsWritten: int = 0  # noqa: N815


class _Max(Shape):
    databaseSizeBytes: int  # noqa: N815


class _Counted(Shape):
    sum: _Sum
    dimensions: _Dimensions


class _Sized(Shape):
    max: _Max
    dimensions: _Dimensions


class _Account(Shape):
    requests: tuple[_Counted, ...]
    rows: tuple[_Counted, ...]
    size: tuple[_Sized, ...]


class _Viewer(Shape):
    accounts: tuple[_Account, ...]


class _Data(Shape):
    viewer: _Viewer


async def usage(access: Access, database_id: str, first_day: int, last_day: int) -> list[DayUsage]:
    """The use of each day from first to last, both included, day numbers; at most 31 days back (D1 datasets).

    Raises EdgeRefused (the token may not read it, or one dataset failed: no number is guessed), EdgeUnavailable.
    """
    variables = {
        "account": access.edge_account_id,
        "database": database_id,
        "first": day_text(first_day),
        "last": day_text(last_day),
    }
    data = await access.graphql(_Data, _QUERY, dict(variables))
    days = range(first_day, last_day + 1)
    requests, read, written = dict.fromkeys(days, 0), dict.fromkeys(days, 0), dict.fromkeys(days, 0)
    sizes: dict[int, int] = {}
    for account in data.viewer.accounts:
        for row in account.requests:
            requests[day_number(row.dimensions.date)] += row.sum.requests
        for row in account.rows:
            read[day_number(row.dimensions.date)] += row.sum.rowsRead
            written[day_number(row.dimensions.date)] += row.sum.rowsWritten
        for sized in account.size:
            day = day_number(sized.dimensions.date)
            sizes[day] = max(sizes.get(day, 0), sized.max.databaseSizeBytes)
    return [DayUsage(day, requests[day], read[day], written[day], sizes.get(day)) for day in days]
