"""Tests that need a new emulator, because they depend on empty caches or on the first random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edge_worker.emulator.process import LENIENT, open_emulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A new lenient emulator whose clock is at 12:10."""
    async with open_emulator(local_egress=True, **LENIENT) as running:
        await running.begin_at_noon()
        yield running


async def test_cache_survives_an_upload(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    assert [(await emulator.visit("shop.example", "/cache")).body for _ in range(2)] == ["made", "kept page"]
    await api.upload("probe", bindings=[{"type": "d1", "name": "DB", "id": database}])
    assert (await emulator.visit("shop.example", "/cache")).body == "kept page"
    await emulator.clock(61)
    assert (await emulator.visit("shop.example", "/cache")).body == "made"


async def test_cache_of_a_data_center_outlives_its_isolates(emulator: Emulator, api: Api) -> None:
    await api.probe()

    async def body(path: str) -> str:
        return (await emulator.visit("shop.example", path)).body

    assert [await body("/cache"), await body("/isolate"), await body("/isolate")] == ["made", "1", "2"]
    await emulator.new_isolates()
    assert [await body("/cache"), await body("/isolate")] == ["kept page", "1"]
    await emulator.new_isolates("FRA")
    assert await body("/cache") == "made"


async def test_default_cache_belongs_to_the_zone_and_works_without_the_script(emulator: Emulator, api: Api) -> None:
    await api.probe()
    for path in ("/cache", "/cache-of-its-own"):
        assert (await emulator.visit("shop.example", path)).body == "made"
    await api.result("DELETE", f"/accounts/{api.customer.account_id}/workers/scripts/probe")
    assert (await emulator.visit("shop.example", "/cache")).body == "page"
    assert "origin of shop.example" in (await emulator.visit("shop.example", "/cache-of-its-own")).body


async def test_order_of_a_list_changes_with_its_items(emulator: Emulator, api: Api) -> None:
    orders = set()
    for number in range(24):  # each list has one of two orders, chosen at random
        await emulator.set_zone(api.customer.account_id, f"zone-{number}.example")
        listed = await api.result("GET", "/zones", params={"per_page": 50})
        orders.add(tuple(z["name"] for z in listed if z["name"] in ("shop.example", "zone-0.example")))
    assert len(orders) == 2


async def test_valid_token_is_occasionally_rejected(emulator: Emulator, api: Api) -> None:
    await emulator.set_failure_settings(refuse_one_in=4)
    refusals = set()
    for path in (api.account, f"{api.account}/d1/database", f"{api.account}/tokens/verify"):
        responses = [await api.call("GET", path) for _ in range(40)]
        refused = [
            (response.status_code, response.json()["errors"][0]["code"]) for response in responses if response.is_error
        ]
        assert 0 < len(refused) < 40
        refusals |= set(refused)
    assert refusals == {(403, 10000), (403, 7403)}


async def test_new_cron_starts_within_15_minutes_and_may_skip_runs(emulator: Emulator, api: Api) -> None:
    await api.probe()
    path = f"{api.account}/workers/scripts/probe/schedules"
    await emulator.set_failure_settings(cron_missed_one_in=0)
    await api.result("PUT", path, json=[{"cron": "* * * * *"}])
    fired = []
    for number in range(17):
        await emulator.clock(60 * number)
        fired.append(len(await emulator.minute()))
    assert (fired[0], fired[-1]) == (0, 1)
    assert fired == sorted(fired)
    # a cron that is set again without a change keeps firing, without a new delay
    await api.result("PUT", path, json=[{"cron": "* * * * *"}])
    assert len(await emulator.minute()) == 1
    await emulator.set_failure_settings(cron_missed_one_in=1)
    assert await emulator.minute() == []
