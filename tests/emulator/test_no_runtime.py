"""Tests of `--no-runtime`: the emulator stores the scripts of a thousand accounts without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from edge_worker.emulator.process import LENIENT, open_emulator
from tests.emulator.clients import PROBE, Api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Emulator


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with open_emulator(no_runtime=True, **LENIENT) as running:
        yield running


async def test_uploads_are_checked_and_stored_but_not_executed(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    await api.upload("probe", PROBE, [{"type": "d1", "name": "DB", "id": database}])
    wrong = [{"type": "d1", "name": "DB", "id": "no such database"}]
    with pytest.raises(AssertionError, match="must have a valid `id`"):
        await api.upload("wrong", PROBE, wrong)
    [script] = (await emulator.state())["accounts"][api.customer.account_id]["scripts"].values()
    assert (script["name"], len(script["versions"]), bool(script["active_version_id"])) == ("probe", 1, True)
    for call in (emulator.visit("shop.example"), emulator.minute(), emulator.cron(api.customer.account_id, "probe")):
        with pytest.raises(httpx.HTTPStatusError, match="runs no scripts"):
            await call
    with pytest.raises(httpx.ConnectError):
        await api.client.get(emulator.edge)


async def test_databases_work_and_count_as_usual(emulator: Emulator, api: Api) -> None:
    database = await api.database()
    await api.query(database, "insert into hit values ('x')")
    assert await api.query(database, "select count(*) as n from hit") == [{"n": 1}]
    await emulator.clock(86_400)
    await emulator.settled()
    await emulator.new_isolates()
    state = await emulator.state()
    used = state["accounts"][api.customer.account_id]["usage"][str(state["today"] - 1)]
    assert used["rows_written"] > 0


async def test_bindings_of_an_upload_are_available_to_tests(emulator: Emulator, api: Api) -> None:
    for number in (1, 2):
        secret = {"type": "secret_text", "name": "KEY", "text": f"secret {number}"}
        await api.upload("probe", PROBE, [secret, {"type": "plain_text", "name": "N", "text": str(number)}])
    told = await emulator.uploads()
    assert [(one.account_id, one.script, dict(one.texts)) for one in told] == [
        (api.customer.account_id, "probe", {"KEY": f"secret {number}", "N": str(number)}) for number in (1, 2)
    ]
    assert await emulator.uploads(after=1) == told[1:]
    assert "secret" not in repr(told)
    assert "secret 1" not in str(await emulator.state())
