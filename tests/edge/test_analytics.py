"""Tests of reading an account's usage from Cloudflare's analytics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import day_of, day_text, system_clock
from svc.edge import analytics, d1
from svc.edge.analytics import DAYS_AVAILABLE, DatabaseDays
from svc.errors import EdgeRefused, EdgeUnavailable
from svc.model import Figure

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge


@pytest.fixture
def today() -> int:
    return day_of(system_clock())


@pytest.mark.rule("A24")
async def test_usage_is_returned_per_day_and_unknown_sizes_are_absent(
    access: Access, emulator: Emulator, customer: Customer, today: int
) -> None:
    database = await d1.create(access, "svc-edge")
    await d1.create(access, "customers-own")
    await emulator.set_usage(
        customer.account_id,
        today - 2,
        requests=1200,
        pages_requests=34,
        rows_read=50,
        rows_written=700,
        size=400_000_000,
    )
    await emulator.set_usage(customer.account_id, today - 4, requests=9)
    days = (today - 3, today - 2, today - 1)
    requests = await analytics.request_days(access, today - 3, today - 1)
    assert requests == tuple(map(Figure.exact, days, (0, 1234, 0)))
    assert await analytics.database_days(access, database.id, today - 3, today - 1) == DatabaseDays(
        reads=tuple(map(Figure.exact, days, (0, 50, 0))),
        writes=tuple(map(Figure.exact, days, (0, 700, 0))),
        sizes=(Figure.exact(today - 2, 400_000_000),),
    )


@pytest.mark.rule("A24")
async def test_sampled_figures_are_returned_as_estimates(
    access: Access, emulator: Emulator, customer: Customer, today: int
) -> None:
    await emulator.set_usage(customer.account_id, today - 1, requests=50_000, rows_read=20_000, sample_interval=10)
    [requests] = await analytics.request_days(access, today - 1, today - 1)
    assert (requests.day, requests.value) == (today - 1, 50_000)
    assert requests.at_least < 49_000 < 51_000 < requests.at_most
    [reads] = (await analytics.database_days(access, "d", today - 1, today - 1)).reads
    assert reads.at_least < reads.value == 20_000 < reads.at_most


@pytest.mark.rule("A24")
async def test_analytics_cover_all_requested_days(access: Access, today: int) -> None:
    assert len(await analytics.request_days(access, today - DAYS_AVAILABLE, today - 1)) == DAYS_AVAILABLE
    assert len((await analytics.database_days(access, "d", today - DAYS_AVAILABLE, today - 1)).writes) == DAYS_AVAILABLE
    with pytest.raises(EdgeRefused, match="older than 4w3d"):
        await analytics.database_days(access, "d", today - 32, today - 30)


def row(day: int, **sums: Any) -> Any:
    return {"dimensions": {"date": day_text(day)}, **sums}


def interval(estimate: Any, lower: Any = None, upper: Any = None) -> Any:
    return {
        "estimate": estimate,
        "lower": estimate if lower is None else lower,
        "upper": estimate if upper is None else upper,
    }


async def set_response(emulator: Emulator, **lists: Any) -> None:
    """Make the emulator respond to analytics queries with these lists."""
    await emulator.clear_faults()
    body = json.dumps({"data": {"viewer": {"accounts": [lists]}}, "errors": None})
    await emulator.fault("html", "/graphql", status=200, body=body, times=None)


@pytest.mark.rule("A24")
@pytest.mark.parametrize("odd", [-1, 1e16, 10**400, 1.7e308, float("inf"), float("nan"), "many", None])
async def test_invalid_numbers_are_rejected(access: Access, emulator: Emulator, today: int, odd: Any) -> None:
    counted = row(today - 1, confidence={"sum": {"requests": interval(odd)}})
    await set_response(emulator, workers=[counted, counted], pages=[])
    with pytest.raises((EdgeRefused, EdgeUnavailable)):
        await analytics.request_days(access, today - 1, today - 1)
    await set_response(emulator, rows=[], size=[row(today - 1, max={"databaseSizeBytes": odd})])
    with pytest.raises((EdgeRefused, EdgeUnavailable)):
        await analytics.database_days(access, "d", today - 1, today - 1)


@pytest.mark.rule("A24", "X5")
async def test_days_outside_the_requested_range_are_ignored(access: Access, emulator: Emulator, today: int) -> None:
    days = [today - 40, today - 1, today, today + 300]
    counted = [row(day, confidence={"sum": {"requests": interval(7)}}) for day in days]
    await set_response(emulator, workers=counted, pages=[])
    assert await analytics.request_days(access, today - 1, today - 1) == (Figure.exact(today - 1, 7),)
    await set_response(emulator, workers=counted)
    assert await analytics.script_requests(access, "s", today - 1) == Figure.exact(today - 1, 7)
    await set_response(emulator, rows=[], size=[row(day, max={"databaseSizeBytes": 5}) for day in days])
    assert (await analytics.database_days(access, "d", today - 1, today - 1)).sizes == (Figure.exact(today - 1, 5),)


@pytest.mark.rule("A24")
async def test_database_size_is_the_current_size(
    access: Access, emulator: Emulator, customer: Customer, today: int
) -> None:
    database = await d1.create(access, "svc-edge")
    await d1.query(access, database.id, [("create table t (a)", ())])
    found = await d1.get(access, database.id)
    assert found is not None
    assert found.size_bytes is not None
    assert 0 < found.size_bytes < 100_000
    await emulator.set_usage(customer.account_id, today, size=450_000_000)
    found = await d1.get(access, database.id)
    assert found is not None
    assert found.size_bytes == 450_000_000
    for odd in (-1, 10**400):
        known = {"uuid": database.id, "name": "svc-edge", "created_at": "2026-11-21T00:00:00Z", "file_size": odd}
        body = json.dumps({"success": True, "errors": [], "messages": [], "result": known})
        await emulator.fault("html", "*/d1/database/*", status=200, body=body)
        found = await d1.get(access, database.id)
        assert found is not None
        assert found.size_bytes is None


@pytest.mark.rule("A24")
async def test_query_without_permission_is_refused(
    edge: Edge, emulator: Emulator, customer: Customer, today: int
) -> None:
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Write"])
    access = edge.access(customer.account_id, value)
    with pytest.raises(EdgeRefused, match="not authorized"):
        await analytics.database_days(access, "d", today, today)
    with pytest.raises(EdgeRefused, match="not authorized"):
        await analytics.request_days(access, today, today)


async def test_failed_query_is_retried_and_throttled_query_is_not(
    access: Access, emulator: Emulator, today: int
) -> None:
    await emulator.fault("html", "/graphql", method="POST", times=2)
    assert len(await analytics.request_days(access, today - 1, today)) == 2
    await emulator.fault("throttle", "/graphql", method="POST", delay_s=300)
    with pytest.raises(EdgeUnavailable) as caught:
        await analytics.request_days(access, today - 1, today)
    assert caught.value.retry_after_s == 300


@pytest.mark.rule("X5")
async def test_requests_are_counted_per_script_and_unknown_without_a_row(
    access: Access, edge: Edge, emulator: Emulator, customer: Customer, today: int
) -> None:
    await emulator.set_usage(customer.account_id, today - 1, requests=1200)
    assert await analytics.script_requests(access, "svc-edge", today - 1) is None
    found = await analytics.script_requests(access, "other", today - 1)
    assert found is not None
    assert found.at_least <= found.value <= found.at_most
    assert (found.day, found.value) == (today - 1, 1200)
    assert await analytics.script_requests(access, "other", today - 2) is None
    _, value = await emulator.create_token(customer.account_id, rights=["D1 Write"])
    with pytest.raises(EdgeRefused, match="not authorized"):
        await analytics.script_requests(edge.access(customer.account_id, value), "other", today - 1)
