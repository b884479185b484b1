"""GraphQL analytics: what an account used, from the emulator's own counters or from what control has set.

Platform docs: analytics/graphql-api, d1/observability/metrics-analytics. The answer is not the API's envelope, and
errors come with HTTP 200.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quart import Blueprint, Response

from edge_worker.emulator.api.access import identify
from edge_worker.emulator.api.graphql import Field, QueryError, parse
from edge_worker.emulator.api.rights import allows
from edge_worker.emulator.api.wire import body_object
from edge_worker.emulator.platform import platform
from edge_worker.emulator.state import DAY_MS, Account, Usage, iso

if TYPE_CHECKING:
    from collections.abc import Callable

routes = Blueprint("analytics", __name__)
Row = dict[str, dict[str, Any]]  # "dimensions", "sum", "max" → their fields


def day_text(day: int) -> str:
    """Write an epoch day as a date."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def _invocations(day: str, usage: Usage, account: Account) -> list[Row]:  # noqa: ARG001 (all datasets are alike)
    rows: list[Row] = []
    named = 0
    for script, counts in usage.scripts.items():
        named += counts["requests"]
        dimensions = {"date": day, "scriptName": script, "status": "success"}
        rows.append({"dimensions": dimensions, "sum": dict(counts)})
    if usage.requests > named:  # set by control, or counted of scripts that are gone
        other = {"requests": usage.requests - named, "errors": 0, "subrequests": 0}
        rows.append({"dimensions": {"date": day, "scriptName": "other", "status": "success"}, "sum": other})
    return rows


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
    # Counted for the account, as the limit is; shown under its first database.
    return [{"dimensions": {"date": day, "databaseId": _databases(account)[0]}, "sum": sums}]


def _storage(day: str, usage: Usage, account: Account) -> list[Row]:
    size = usage.measured_size if usage.size is None else usage.size
    if size is None:
        return []
    dimensions = {"date": day, "databaseId": _databases(account)[0]}
    return [{"dimensions": dimensions, "max": {"databaseSizeBytes": size}}]


DATASETS: dict[str, Callable[[str, Usage, Account], list[Row]]] = {
    "workersInvocationsAdaptive": _invocations,
    "d1AnalyticsAdaptiveGroups": _d1,
    "d1QueriesAdaptiveGroups": _d1,
    "d1StorageAdaptiveGroups": _storage,
}


def _bounds(condition: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Make a filter's test of one row's dimensions; times are looked at by their day, which is all that we count by."""

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
    """Make rows with the same selected dimensions one, as the server does when some are left out."""
    merged: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        try:
            key = tuple(row["dimensions"][field.name] for field in dimensions)
        except KeyError as error:
            raise QueryError(f"unknown dimension {error}") from None
        if key not in merged:
            merged[key] = {part: dict(values) for part, values in row.items()}
            continue
        for name, value in row.get("sum", {}).items():
            merged[key]["sum"][name] += value
        for name, value in row.get("max", {}).items():
            merged[key]["max"][name] = max(merged[key]["max"][name], value)
    return list(merged.values())


def _order(rows: list[Row], order: Any) -> list[Row]:
    for key in reversed(order if isinstance(order, list) else [order] if order else []):
        name, _, direction = key.rpartition("_")

        def value(row: Row, name: str = name) -> Any:
            return row["dimensions"].get(name, next((p[name] for p in row.values() if name in p), 0))

        rows = sorted(rows, key=value, reverse=direction == "DESC")
    return rows


def _select(values: dict[str, Any], fields: list[Field]) -> dict[str, Any]:
    try:
        return {field.alias: values[field.name] for field in fields}
    except KeyError as error:
        raise QueryError(f"unknown field {error}") from None


def _dataset(account: Account, field: Field) -> list[dict[str, Any]]:
    make = DATASETS.get(field.name)
    if make is None:
        raise QueryError(f"unknown field {field.name!r}")
    limit = field.arguments.get("limit")
    if not isinstance(limit, int) or limit < 1:
        raise QueryError("limit is required")
    rows = [row for day, usage in sorted(account.usage.items()) for row in make(day_text(day), usage, account)]
    fits = _bounds(field.arguments.get("filter") or {})
    rows = [row for row in rows if fits(row["dimensions"])]
    dimensions = next((part.fields for part in field.fields if part.name == "dimensions"), [])
    rows = _order(_merge(rows, dimensions), field.arguments.get("orderBy"))[:limit]
    empty: dict[str, Any] = {}
    return [{part.alias: _select(row.get(part.name, empty), part.fields) for part in field.fields} for row in rows]


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
                raise QueryError("not authorized for that account")
            rows = {field.alias: _dataset(account, field) for field in accounts.fields}
            data[viewer.alias][accounts.alias] = [rows]
    return data


@routes.post("/graphql")
async def graphql() -> Response:
    """Answer one query, with what the account has used up to now."""
    account, token = identify()
    body = await body_object()
    await platform().runtime.collect()
    await measure_storage(account)
    allowed = allows(token, ("Account Analytics Read",), account.id, None)
    answer: dict[str, Any]
    try:
        fields = parse(str(body.get("query", "")), body.get("variables") or {})
        answer = {"data": _resolve(fields, account, allowed=allowed), "errors": None}
    except QueryError as error:
        problem = {"message": str(error), "path": None, "extensions": {"timestamp": iso(platform().now())}}
        answer = {"data": None, "errors": [problem]}
    return Response(json.dumps(answer), content_type="application/json")


async def measure_storage(account: Account) -> None:
    """Note the databases' real size for today, unless control has set one."""
    runtime = platform().runtime
    usage = account.day(runtime.today())
    if usage.size is None and account.databases:
        stats = [await runtime.database_stats(uuid) for uuid in account.databases]
        usage.measured_size = sum(stat["file_size"] for stat in stats)
