"""GraphQL analytics: an account's usage, from the emulator's counters or from the control interface.

Cloudflare docs: analytics/graphql-api, d1/observability/metrics-analytics. The response does not use the API's
envelope, and errors have HTTP status 200.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quart import Blueprint, Response

from edge_worker.emulator.api.access import identify
from edge_worker.emulator.api.graphql import Field, QueryError, parse
from edge_worker.emulator.api.permissions import allows
from edge_worker.emulator.api.wire import body_object
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import DAY_MS, Account, Usage, iso

if TYPE_CHECKING:
    from collections.abc import Callable

routes = Blueprint("analytics", __name__)
Row = dict[str, Any]  # keys "dimensions", "sum", "max", "avg", "kept", "variance": field → value; key "count": a number
_LEVEL = 0.95
_DEVIATIONS = 1.96


def day_text(day: int) -> str:
    """Return an epoch day as an ISO date."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def _invocations(day: str, usage: Usage, account: Account) -> list[Row]:  # noqa: ARG001 (all datasets are alike)
    rows: list[Row] = []
    named = 0
    for script, counts in usage.scripts.items():
        named += counts["requests"]
        dimensions = {"date": day, "scriptName": script, "status": "success"}
        rows.append({"dimensions": dimensions, "sum": dict(counts)})
    if usage.requests > named:  # requests set through the control interface, or of deleted scripts
        other = {"requests": usage.requests - named, "errors": 0, "subrequests": 0}
        rows.append({"dimensions": {"date": day, "scriptName": "other", "status": "success"}, "sum": other})
    return rows


def _pages(day: str, usage: Usage, account: Account) -> list[Row]:  # noqa: ARG001
    if not usage.pages_requests:
        return []
    dimensions = {"date": day, "scriptName": "pages-worker--1-production", "status": "success"}
    return [{"dimensions": dimensions, "sum": {"requests": usage.pages_requests, "errors": 0, "subrequests": 0}}]


def _databases(account: Account) -> list[str]:
    return list(account.databases) or ["00000000-0000-0000-0000-000000000000"]


def _d1(day: str, usage: Usage, account: Account) -> list[Row]:
    sums = {
        "rowsRead": usage.rows_read,
        "rowsWritten": usage.rows_written,
        "readQueries": usage.read_queries,
        "writeQueries": usage.write_queries,
    }
    if not any(sums.values()):
        return []
    # The limit applies to the whole account, so there is one count for all databases. The response contains this count
    # only for the account's first database.
    return [{"dimensions": {"date": day, "databaseId": _databases(account)[0]}, "sum": sums}]


def _storage(day: str, usage: Usage, account: Account) -> list[Row]:
    sizes = dict(usage.measured_sizes)
    if usage.size is not None:
        sizes[_databases(account)[0]] = usage.size
    return [
        {"dimensions": {"date": day, "databaseId": uuid}, "max": {"databaseSizeBytes": size}}
        for uuid, size in sizes.items()
    ]


def _page_loads(day: str, usage: Usage, account: Account) -> list[Row]:  # noqa: ARG001
    return [
        {"dimensions": {"date": day, "requestHost": host}, "count": views, "sum": {"visits": visits}}
        for host, (views, visits) in usage.web_views.items()
    ]


@dataclass(frozen=True)
class Dataset:
    """A dataset: the function that returns its rows for one day, its retention, and the longest range that a query may
    have.
    """

    rows: Callable[[str, Usage, Account], list[Row]]
    oldest_days: int
    widest_days: int = 32


# Cloudflare docs: Workers data is kept for three months, and a query can span one month. D1 data is kept for 31 days.
# The limits of Web Analytics are taken from error messages that users report.
DATASETS = {
    "workersInvocationsAdaptive": Dataset(_invocations, 91),
    "pagesFunctionsInvocationsAdaptiveGroups": Dataset(_pages, 91),
    "d1AnalyticsAdaptiveGroups": Dataset(_d1, 31),
    "d1QueriesAdaptiveGroups": Dataset(_d1, 31),
    "d1StorageAdaptiveGroups": Dataset(_storage, 31),
    "rumPageloadEventsAdaptiveGroups": Dataset(_page_loads, 184, 93),
}
MAX_ROWS = 10_000


def _check_range(account: Account, condition: dict[str, Any], dataset: Dataset) -> None:
    """Check that the dataset can be queried for these days. The error messages are those of the platform, taken from
    user reports.
    """
    first = next((_moment(value) for key, value in condition.items() if key.endswith(("_geq", "_gt"))), None)
    last = next((_moment(value) for key, value in condition.items() if key.endswith(("_leq", "_lt"))), None)
    now = platform().now()
    if first is None:
        return
    if first < now - dataset.oldest_days * DAY_MS:
        raise QueryError(
            f'account "{account.id}" cannot request data older than {_weeks(dataset.oldest_days)}, but your query'
            f" requests data from {_weeks((now - first) // DAY_MS)} ago",
            "quota",
        )
    if min(last or now, now) - first > dataset.widest_days * DAY_MS:
        raise QueryError(
            f'account "{account.id}" cannot request a time range wider than {_weeks(dataset.widest_days)}, but your'
            f" query time range spans {_weeks((min(last or now, now) - first) // DAY_MS)}",
            "quota",
        )


def _moment(text: Any) -> int:
    """Parse a GraphQL `Date` or `Time` and return epoch ms."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise QueryError(f"error parsing args: failed to recognize time format {text!r}", "parser") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _weeks(days: int) -> str:
    return f"{days // 7}w{days % 7}d"


def _bounds(condition: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Return a function that checks a row's dimensions against a filter.

    It compares times by day, because usage is stored by day.
    """

    def fits(dimensions: dict[str, Any]) -> bool:
        for key, wanted in condition.items():
            name, _, operator = key.partition("_")
            if name in ("datetime", "datetimeHour", "datetimeMinute"):
                name, wanted = "date", str(wanted)[:10]
            if name not in dimensions:
                raise QueryError(f"unknown filter {key}")
            value = dimensions[name]
            tests = {
                "": value == wanted,
                "geq": value >= wanted,
                "gt": value > wanted,
                "leq": value <= wanted,
                "lt": value < wanted,
                "in": isinstance(wanted, list) and value in wanted,
                "neq": value != wanted,
            }
            if operator not in tests:
                raise QueryError(f"unknown filter {key}")
            if not tests[operator]:
                return False
        return True

    return fits


def _merge(rows: list[Row], dimensions: list[Field]) -> list[Row]:
    """Merge rows whose selected dimensions are equal, as the platform does if a query selects only some dimensions."""
    merged: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        try:
            key = tuple(row["dimensions"][field.name] for field in dimensions)
        except KeyError as error:
            raise QueryError(f"unknown dimension {error}") from None
        if key not in merged:
            merged[key] = {part: dict(values) if isinstance(values, dict) else values for part, values in row.items()}
            continue
        if "count" in row:
            merged[key]["count"] += row["count"]
        for part in ("sum", "kept", "variance"):
            for name, value in row.get(part, {}).items():
                merged[key][part][name] += value
        for name, value in row.get("max", {}).items():
            merged[key]["max"][name] = max(merged[key]["max"][name], value)
    return list(merged.values())


def _order(rows: list[Row], order: Any) -> list[Row]:
    for key in reversed(order if isinstance(order, list) else [order] if order else []):
        name, _, direction = key.rpartition("_")

        def value(row: Row, name: str = name) -> Any:
            return row["dimensions"].get(
                name, next((p[name] for p in row.values() if isinstance(p, dict) and name in p), 0)
            )

        rows = sorted(rows, key=value, reverse=direction == "DESC")
    return rows


def _select(values: dict[str, Any], fields: list[Field]) -> dict[str, Any]:
    try:
        return {field.alias: values[field.name] for field in fields}
    except KeyError as error:
        raise QueryError(f"unknown field {error}") from None


def _dataset(account: Account, field: Field) -> list[dict[str, Any]]:
    dataset = DATASETS.get(field.name)
    if dataset is None:
        raise QueryError(f"unknown field {field.name!r}")
    limit = field.arguments.get("limit")
    if not isinstance(limit, int) or not 1 <= limit <= MAX_ROWS:
        raise QueryError(f"limit must be positive number and not greater than {MAX_ROWS}")
    condition = field.arguments.get("filter") or {}
    _check_range(account, condition, dataset)
    rows = [
        _sampled(row, usage.sample_interval)
        for day, usage in sorted(account.usage.items())
        for row in dataset.rows(day_text(day), usage, account)
    ]
    fits = _bounds(condition)
    rows = [row for row in rows if fits(row["dimensions"])]
    dimensions = next((part.fields for part in field.fields if part.name == "dimensions"), [])
    rows = _order(_merge(rows, dimensions), field.arguments.get("orderBy"))[:limit]
    empty: dict[str, Any] = {}
    return [
        {
            part.alias: _confidence(row, part)
            if part.name == "confidence"
            else _count(row)
            if part.name == "count"
            else _select(row.get(part.name, empty), part.fields)
            for part in field.fields
        }
        for row in rows
    ]


def _count(row: Row) -> int:
    if "count" not in row:
        raise QueryError("unknown field 'count'")
    count: int = row["count"]
    return count


def _sampled(row: Row, interval: float) -> Row:
    """Return a row as sampled analytics report it: they keep one in `interval` events, and count each kept event
    `interval` times.
    """
    if "sum" not in row:
        return row
    kept = {name: round(value / interval) for name, value in row["sum"].items()}
    estimates = {name: round(count * interval) for name, count in kept.items()}
    # The variance of a sum if each event was kept with probability 1 / interval. The variance is 0 if all events were
    # kept.
    variance = {name: count * interval * (interval - 1) for name, count in kept.items()}
    if "count" in row:
        row = {**row, "count": round(round(row["count"] / interval) * interval)}
    return {**row, "sum": estimates, "kept": kept, "variance": variance, "avg": {"sampleInterval": interval}}


def _confidence(row: Row, part: Field) -> dict[str, Any]:
    """Return confidence intervals. Only the level 0.95 is supported.

    Cloudflare docs: graphql-api/features/confidence-intervals.
    """
    if part.arguments.get("level") != _LEVEL or "variance" not in row or any(one.name != "sum" for one in part.fields):
        raise QueryError("confidence is available for sums with level 0.95 only")
    response: dict[str, Any] = {}
    for one in part.fields:
        response[one.alias] = {}
        for field in one.fields:
            if field.name not in row["variance"]:
                raise QueryError(f"unknown field {field.name!r}")
            half = _DEVIATIONS * math.sqrt(row["variance"][field.name])
            estimate = row["sum"][field.name]
            known = {
                "estimate": estimate, "lower": estimate - half, "upper": estimate + half,
                "sampleSize": row["kept"][field.name], "isValid": True,
            }  # fmt: skip
            response[one.alias][field.alias] = _select(known, field.fields)
    return response


def _resolve(fields: list[Field], account: Account, *, allowed: bool) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for viewer in fields:
        if viewer.name != "viewer":
            raise QueryError(f"unknown field {viewer.name!r}")
        data[viewer.alias] = {}
        for accounts in viewer.fields:
            if accounts.name != "accounts":
                raise QueryError(f"unknown field {accounts.name!r}")
            tag = (accounts.arguments.get("filter") or {}).get("accountTag")
            if tag != account.id or not allowed:
                raise QueryError("not authorized for that account", "authz")
            rows = {field.alias: _dataset(account, field) for field in accounts.fields}
            data[viewer.alias][accounts.alias] = [rows]
    return data


@routes.post("/graphql")
async def graphql() -> Response:
    """Respond to a query with the account's usage up to now."""
    account, token = identify()
    body = await body_object()
    await platform().runtime.collect()
    await measure_storage(account)
    allowed = allows(token, ("Account Analytics Read",), account.id, None)
    response: dict[str, Any]
    try:
        fields = parse(str(body.get("query", "")), body.get("variables") or {})
        response = {"data": _resolve(fields, account, allowed=allowed), "errors": None}
    except QueryError as error:
        extensions = {"code": error.code, "timestamp": iso(platform().now())}
        problem = {"message": str(error), "path": None, "extensions": extensions}
        response = {"data": None, "errors": [problem]}
    return Response(json.dumps(response), content_type="application/json")


async def measure_storage(account: Account) -> None:
    """Record the current size of each database in today's usage."""
    runtime = platform().runtime
    sizes = {uuid: (await runtime.database_stats(uuid))["file_size"] for uuid in list(account.databases)}
    account.day(runtime.today()).measured_sizes |= sizes
