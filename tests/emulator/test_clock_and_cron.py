"""Tests of the emulated clock, and of crons that are fired through the control API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from edge_worker.emulator.crons import Cron
from edge_worker.emulator.state import epoch_ms

if TYPE_CHECKING:
    from edge_worker.emulator.client import Emulator
    from tests.emulator.clients import Api

DAY_S = 86_400


async def test_clock_moves_for_scripts_immediately_and_after_an_upload(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    began = await emulator.clock(0)
    await emulator.clock(3 * DAY_S)
    moved = json.loads((await emulator.visit("shop.example", "/now")).body)["now"]
    assert 0 <= moved - 3 * DAY_S * 1000 - began < 20_000
    await api.upload("probe", bindings=[{"type": "d1", "name": "DB", "id": database}])
    later = json.loads((await emulator.visit("shop.example", "/now")).body)
    assert 0 <= later["now"] - moved < 20_000
    assert epoch_ms(later["iso"]) == pytest.approx(later["now"], abs=20_000)
    await emulator.clock(0)
    back = json.loads((await emulator.visit("shop.example", "/now")).body)["now"]
    assert 0 <= back - began < 20_000


async def test_reset_restores_the_real_time(emulator: Emulator) -> None:
    async def now() -> int:
        customer = await emulator.create_account()
        return int((await emulator.account(customer.account_id))["created_at"])

    await emulator.clock(3 * DAY_S)
    moved = await now()
    await emulator.reset()
    assert moved - await now() > DAY_S * 1000


async def test_date_behaves_normally(emulator: Emulator, api: Api) -> None:
    code = """export default { fetch() {
      class Mine extends Date {}
      return Response.json([
        new Date(5).getTime(), new Date(2026, 0).getFullYear(), Date.UTC(1970, 0, 1),
        Date.parse("1970-01-01T00:00:01Z"),
        typeof Date(), new Date() instanceof Date, new Mine(7) instanceof Mine, new Date().constructor === Date,
        Date.name, Date.length, Math.abs(new Date() - Date.now()) < 50,
      ]); } };"""
    await api.upload("dates", code)
    await api.route("shop.example", "shop.example/*", "dates")
    await emulator.clock(DAY_S)
    response = json.loads((await emulator.visit("shop.example", "/")).body)
    assert response == [5, 2026, 0, 1000, "string", True, True, True, "Date", 7, True]


async def test_usage_counts_by_the_emulated_day(emulator: Emulator, api: Api) -> None:
    await api.probe()
    await emulator.visit("shop.example", "/")
    await emulator.clock(DAY_S)
    await emulator.visit("shop.example", "/")
    await emulator.visit("shop.example", "/insert")
    state = await emulator.state()
    usage, today = state["accounts"][api.customer.account_id]["usage"], state["today"]
    assert usage[str(today - 1)]["requests"] == 1
    assert usage[str(today)]["requests"] == 2
    assert usage[str(today)]["rows_written"] == 1


async def test_cron_returns_when_its_wait_until_work_is_done(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    await api.result("PUT", f"{api.account}/workers/scripts/probe/schedules", json=[{"cron": "*/5 * * * *"}])
    run = await emulator.cron(api.customer.account_id, "probe", at=1_795_000_000_000)
    assert (run["outcome"], run["error"], run["d1_queries"]) == ("ok", None, 1)
    assert await api.query(database, "select what from hit") == [{"what": "*/5 * * * * at 1795000000000"}]


@pytest.mark.parametrize(("at", "text"), [(1, "no cron today"), (2, "late failure")])
async def test_failing_cron_returns_its_error(emulator: Emulator, api: Api, at: int, text: str) -> None:
    await api.probe()
    await api.result("PUT", f"{api.account}/workers/scripts/probe/schedules", json=[{"cron": "* * * * *"}])
    run = await emulator.cron(api.customer.account_id, "probe", at=at)
    assert run["outcome"] == "exception"
    assert text in run["error"]


async def test_crons_fire_concurrently_and_a_failure_stops_no_other(emulator: Emulator, api: Api) -> None:
    database = await api.probe()
    await api.result("PUT", f"{api.account}/workers/scripts/probe/schedules", json=[{"cron": "* * * * *"}])
    account_id = api.customer.account_id
    runs = await emulator.crons([(account_id, 60_000), (account_id, 1), (account_id, 120_000)], "probe")
    assert [(run["at"], run["outcome"]) for run in runs] == [(60_000, "ok"), (1, "exception"), (120_000, "ok")]
    hits = await api.query(database, "select what from hit order by what desc")
    assert hits == [{"what": "* * * * * at 60000"}, {"what": "* * * * * at 120000"}]


async def test_cron_requires_a_schedule(emulator: Emulator, api: Api) -> None:
    await api.probe()
    with pytest.raises(httpx.HTTPStatusError, match="no such cron trigger"):
        await emulator.cron(api.customer.account_id, "probe")


@pytest.mark.parametrize(
    ("cron", "at", "fires"),
    [
        ("* * * * *", "2026-11-21T10:07:00Z", True),
        ("*/5 * * * *", "2026-11-21T10:07:00Z", False),
        ("2-58/5 9,10 * * *", "2026-11-21T10:07:00Z", True),
        ("0 0 1 JAN *", "2027-01-01T00:00:00Z", True),
        ("0 0 * * 1", "2026-11-22T00:00:00Z", True),  # 1 is Sunday
        ("0 0 * * 7", "2026-11-22T00:00:00Z", False),
        ("0 0 * * MON-FRI", "2026-11-20T00:00:00Z", True),
        ("0 0 L * *", "2026-02-28T00:00:00Z", True),
        ("0 0 15W * *", "2026-11-16T00:00:00Z", True),  # the 15th is a Sunday
        ("0 0 * * 6L", "2026-11-27T00:00:00Z", True),  # the last Friday
        ("0 0 * * 6#3", "2026-11-20T00:00:00Z", True),
        ("0 0 * * 6#3", "2026-11-27T00:00:00Z", False),
    ],
)
def test_cron_expressions(cron: str, at: str, fires: bool) -> None:
    assert Cron.parse(cron).fits(epoch_ms(at)) is fires


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "60 * * * *", "* * 0 * *", "* * * * 0", "* * * * 8", "a * * * *", "5-1 * * * *"]
)
async def test_invalid_cron_is_rejected(cron: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Cron.parse(cron)
