"""Tests of the metrics of API calls. The number of calls per outcome matches the emulator's count."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import trio

from svc import metrics as table
from svc.config import EdgeConfig
from svc.edge import d1, routes, tokens, workers, zones
from svc.edge.client import open_edge
from svc.edge.endpoints import area_from_path
from svc.edge.fair_limiter import SlotRequest
from svc.errors import EdgeRefused, EdgeUnavailable, EdgeUnknown
from svc.metrics import Metrics
from tests.scraped import Scraped, scrape

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator

ACCOUNT = "0123456789abcdef0123456789abcdef"


def calls_of(found: Scraped) -> dict[tuple[str, ...], float]:
    return found.counts("svc_platform_call_seconds_count", "area", "outcome")


@pytest.mark.parametrize(
    ("path", "area"),
    [
        (f"/accounts/{ACCOUNT}", "accounts"),
        (f"/accounts/{ACCOUNT}/tokens/verify", "tokens"),
        (f"/accounts/{ACCOUNT}/tokens", "tokens"),
        (f"/accounts/{ACCOUNT}/d1/database/x/query", "d1"),
        (f"/accounts/{ACCOUNT}/workers/scripts/svc-edge/schedules", "workers"),
        ("/zones/z1/workers/routes/r1", "routes"),
        ("/zones/z1/dns_records", "dns"),
        ("/zones", "zones"),
        ("/graphql", "analytics"),
        (f"/accounts/{ACCOUNT}/new/product", "other"),
        ("/zones/z1", "other"),
        ("", "other"),
    ],
)
def test_area_is_derived_from_the_path(path, area):
    assert area_from_path(path) == area
    assert area == "other" or area in table.CALL_SECONDS.labels["area"]


@pytest.mark.rule("X14")
async def test_calls_are_counted_by_area_and_outcome(emulator: Emulator, customer: Customer, zone: str):
    metrics = Metrics()
    config = EdgeConfig(api_base_url=emulator.api, retries=0, timeout_s=5)
    async with open_edge(config, first_wait_s=0.01, metrics=metrics) as edge:
        access = edge.access(customer.account_id, customer.bootstrap_token)
        await tokens.verify(access)
        await zones.account_name(access)
        _, working = await emulator.create_token(
            customer.account_id, rights=[r.name for r in tokens.WORKING_PERMISSIONS]
        )
        access = edge.access(customer.account_id, working)
        await emulator.forget_requests()
        metrics_then = Counter(calls_of(scrape(metrics)))
        assert await workers.schedules(access, "nothing-here") == set()
        await d1.find(access, "svc-edge")
        await routes.list_routes(access, customer.zones[zone])
        await emulator.fault("throttle", "*/workers/scripts", method="GET", times=1)
        with pytest.raises(EdgeUnavailable):
            await workers.get_script(access, "svc-edge")
        await emulator.fault("drop_after", "*/d1/database", method="POST", times=1)
        with pytest.raises(EdgeUnknown):
            await d1.create(access, "svc-edge")
        refused = edge.access(customer.account_id, "not-a-token")
        with pytest.raises(EdgeRefused):
            await zones.account_name(refused)
        requests_received = await emulator.requests()
        found = scrape(metrics)
    assert sum(calls_of(found).values()) - metrics_then.total() == len(requests_received)
    by_area = Counter(area_from_path(re.sub(r"^/client/v4", "", each["path"])) for each in requests_received)
    counted = Counter(calls_of(found)) - metrics_then
    assert Counter({area: sum(n for of, n in counted.items() if of[0] == area) for area, _ in counted}) == by_area
    assert counted["workers", "missing"] == 1
    assert counted["workers", "throttled"] == 1
    assert counted["d1", "unknown"] == 1
    assert counted["routes", "ok"] == 1
    assert counted["accounts", "refused"] >= 1
    assert found.total("svc_platform_wait_seconds_count") == sum(calls_of(found).values())
    for secret in (customer.account_id, customer.bootstrap_token, working, zone, *customer.zones.values()):
        assert secret not in found.text


@pytest.mark.rule("X14")
async def test_calls_held_back_are_counted_separately(emulator: Emulator, customer: Customer):
    metrics = Metrics()
    config = EdgeConfig(api_base_url=emulator.api, retries=0, calls_per_token=1, concurrency=1, timeout_s=0.5)
    async with open_edge(config, metrics=metrics) as edge:
        access = edge.access(customer.account_id, customer.bootstrap_token)
        await zones.account_name(access)
        with pytest.raises(EdgeUnavailable):
            await zones.account_name(access)
        edge._limiter.enqueue(SlotRequest("another", None))  # occupies the only slot
        other = edge.access(customer.account_id, customer.bootstrap_token + "x")
        with pytest.raises(EdgeUnavailable):
            await zones.account_name(other)
        found = scrape(metrics)
    assert calls_of(found) == {("accounts", "ok"): 1}
    assert found.counts("svc_platform_held_back_total", "reason") == {("pace",): 1, ("crowded",): 1}
    assert (found.total("svc_platform_running"), found.total("svc_platform_waiting")) == (1, 0)


@pytest.mark.rule("X14")
async def test_cancelled_call_is_counted_as_cancelled(emulator: Emulator, customer: Customer):
    metrics = Metrics()
    await emulator.fault("slow", "*", delay_s=5, times=1)
    async with open_edge(EdgeConfig(api_base_url=emulator.api), metrics=metrics) as edge:
        access = edge.access(customer.account_id, customer.bootstrap_token)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(zones.account_name, access)
            with trio.fail_after(20):
                while not scrape(metrics).total("svc_platform_wait_seconds_count"):
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert calls_of(scrape(metrics)) == {("accounts", "cancelled"): 1}
    assert scrape(metrics).total("svc_platform_running") == 0
