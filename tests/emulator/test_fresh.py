"""Tests that need a new emulator: empty caches of the data centres, and the random numbers of a fresh start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edge_worker.emulator.process import POLITE, open_emulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A new emulator, polite, at ten past noon."""
    async with open_emulator(local_egress=True, **POLITE) as running:
        await running.begin_at_noon()
        yield running


async def test_the_cache_keeps_what_a_script_puts_also_over_an_upload(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    assert [(await emulator.visit("shop.example", "/cache")).body for _ in range(2)] == ["made", "kept page"]
    await api.upload("probe", bindings=[{"type": "d1", "name": "DB", "id": database}])
    assert (await emulator.visit("shop.example", "/cache")).body == "kept page"
    await emulator.clock(61)
    assert (await emulator.visit("shop.example", "/cache")).body == "made"


async def test_a_data_centre_has_a_cache_that_outlives_its_isolates(emulator: Emulator, api: Api) -> None:
    await api.probe()

    async def body(path: str) -> str:
        return (await emulator.visit("shop.example", path)).body

    assert [await body("/cache"), await body("/isolate"), await body("/isolate")] == ["made", "1", "2"]
    await emulator.new_isolates()
    assert [await body("/cache"), await body("/isolate")] == ["kept page", "1"]
    await emulator.new_isolates("FRA")
    assert await body("/cache") == "made"


async def test_the_default_cache_is_the_zones_own_and_answers_when_the_script_is_gone(
    emulator: Emulator, api: Api
) -> None:
    await api.probe()
    for path in ("/cache", "/cache-of-its-own"):
        assert (await emulator.visit("shop.example", path)).body == "made"
    await api.result("DELETE", f"/accounts/{api.customer.account_id}/workers/scripts/probe")
    assert (await emulator.visit("shop.example", "/cache")).body == "page"
    assert "origin of shop.example" in (await emulator.visit("shop.example", "/cache-of-its-own")).body


async def test_a_lists_order_changes_with_its_items(emulator: Emulator, api: Api) -> None:
    orders = set()
    for number in range(24):  # each time one of two orders, by chance
        await emulator.set_zone(api.customer.account_id, f"zone-{number}.example")
        listed = await api.result("GET", "/zones", params={"per_page": 50})
        orders.add(tuple(z["name"] for z in listed if z["name"] in ("shop.example", "zone-0.example")))
    assert len(orders) == 2


async def test_a_good_token_is_refused_now_and_then(emulator: Emulator, api: Api) -> None:
    await emulator.set_rudeness(refuse_one_in=4)
    refusals = set()
    for path in (api.account, f"{api.account}/d1/database", f"{api.account}/tokens/verify"):
        answers = [await api.call("GET", path) for _ in range(40)]
        refused = [(answer.status_code, answer.json()["errors"][0]["code"]) for answer in answers if answer.is_error]
        assert 0 < len(refused) < 40
        refusals |= set(refused)
    assert refusals == {(403, 10000), (403, 7403)}


async def test_a_new_cron_begins_within_a_quarter_of_an_hour_and_may_miss(emulator: Emulator, api: Api) -> None:
    await api.probe()
    path = f"{api.account}/workers/scripts/probe/schedules"
    await emulator.set_rudeness(cron_missed_one_in=0)
    await api.result("PUT", path, json=[{"cron": "* * * * *"}])
    fired = []
    for number in range(17):
        await emulator.clock(60 * number)
        fired.append(len(await emulator.minute()))
    assert (fired[0], fired[-1]) == (0, 1)
    assert fired == sorted(fired)
    await api.result("PUT", path, json=[{"cron": "* * * * *"}])  # an unchanged trigger keeps running
    assert len(await emulator.minute()) == 1
    await emulator.set_rudeness(cron_missed_one_in=1)
    assert await emulator.minute() == []
