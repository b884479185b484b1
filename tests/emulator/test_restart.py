"""Tests of the state that survives a restart, and of the start and end of the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import eventually
from edge_worker.local_http import local_client
from tests.emulator.clients import WORKING_PERMISSIONS, Api

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer


async def test_all_state_survives_a_restart(tmp_path: Path) -> None:
    async with open_emulator(tmp_path, token_delay_ms=0, token_spread_ms=0, refuse_one_in=0) as emulator:
        customer = await emulator.create_account([proxied_zone("shop.example")], subdomain="shop-example")
        _, value = await emulator.create_token(customer.account_id, rights=WORKING_PERMISSIONS, expires_in_s=None)
        await emulator.clock(3600)
        async with local_client(base_url=emulator.api) as client:
            api = Api(client, customer, value)
            database = await api.probe()
            await api.result("PUT", f"{api.account}/workers/scripts/probe/schedules", json=[{"cron": "* * * * *"}])
        await emulator.visit("shop.example", "/insert")
        before = await emulator.state()
    async with open_emulator(tmp_path, token_delay_ms=0, token_spread_ms=0, refuse_one_in=0) as emulator:
        after = await emulator.state()
        assert after["offset_s"] == 3600
        kept, was = (state["accounts"][customer.account_id] for state in (after, before))
        for part in ("tokens", "zones", "databases", "usage", "limits"):
            assert kept[part] == was[part]
        assert kept["scripts"]["probe"]["active_version_id"] == was["scripts"]["probe"]["active_version_id"]
        async with local_client(base_url=emulator.api) as client:
            api = Api(client, customer, value)
            assert await api.query(database, "select what from hit") == [{"what": "x"}]
        assert (await emulator.visit("shop.example", "/insert")).body == "ok"
        assert (await emulator.cron(customer.account_id, "probe"))["outcome"] == "ok"
        state = await emulator.state()
        assert state["accounts"][customer.account_id]["usage"][str(state["today"])]["requests"] == 2


def children_of(pid: int) -> set[int]:
    """Return the ids of the process's child processes."""
    with open(f"/proc/{pid}/task/{pid}/children") as listed:  # noqa: PTH123 (not a file, but a view of the kernel)
        return {int(child) for child in listed.read().split()}


def is_running(pid: int) -> bool:
    """Return True if the process is running. A zombie process is not running."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(") ")[2][0] not in "ZX"


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="reads /proc")  # noqa: PTH110
async def test_runtimes_end_with_the_emulator() -> None:
    async with open_emulator(token_delay_ms=0, token_spread_ms=0, refuse_one_in=0) as emulator:
        runtimes = children_of(emulator.pid)
        assert len(runtimes) == 2
    assert not [pid for pid in runtimes if is_running(pid)]


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="reads /proc")  # noqa: PTH110
async def test_runtimes_end_when_the_emulator_is_killed() -> None:
    async with open_emulator(token_delay_ms=0, token_spread_ms=0, refuse_one_in=0) as emulator:
        runtimes = children_of(emulator.pid)
        os.kill(emulator.pid, 9)

        async def ended() -> bool | None:
            return None if any(is_running(pid) for pid in runtimes) else True

        await eventually(ended)
    assert runtimes


async def test_two_customers_share_nothing(tmp_path: Path) -> None:
    async with open_emulator(**LENIENT) as emulator:
        customers: list[Customer] = [
            await emulator.create_account([proxied_zone(f"{name}.example")], subdomain=f"{name}-example")
            for name in ("one", "two")
        ]
        async with local_client(base_url=emulator.api) as client:
            apis = []
            for customer in customers:
                _, value = await emulator.create_token(customer.account_id, rights=WORKING_PERMISSIONS)
                apis.append(Api(client, customer, value))
            databases = [await api.probe(next(iter(api.customer.zones))) for api in apis]
            await emulator.visit("one.example", "/insert")
            rows = [
                await api.query(database, "select * from hit") for api, database in zip(apis, databases, strict=True)
            ]
            assert [len(part) for part in rows] == [1, 0]
            assert await apis[1].refusal(
                "POST", f"{apis[1].account}/d1/database/{databases[0]}/query", json={"sql": "select 1"}
            ) == (
                404,
                7404,
            )
            with pytest.raises(httpx.HTTPStatusError, match="already exists"):
                await emulator.set_zone(customers[1].account_id, "one.example")
