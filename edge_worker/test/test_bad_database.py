"""A slow, silent or failing database: responses during the outage, and complete counts after it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.harness.installed import HOUR_MS
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.storm import KNOWN_LINK, run_storm, views_counted

if TYPE_CHECKING:
    from edge_worker.harness.installed import InstalledWorker

REQUESTS = 20_000 if EVERYTHING else 900


@pytest.mark.rule("L5", "W2", "Y1")
@pytest.mark.timeout(1_800)
async def test_no_visitor_gets_an_error_and_each_is_counted_once(worker: InstalledWorker) -> None:
    storm = await run_storm(worker, REQUESTS, random.Random(SEED))
    assert set(storm.statuses) <= {302, 204, 503}
    assert [response for response in storm.responses if response.known and response.status == 503] == []
    counted = await views_counted(worker, await worker.clock(3 * HOUR_MS / 1000))
    for target, views in storm.counted.items():
        assert views <= counted[target] <= views + storm.disconnected[target], target


@pytest.mark.rule("L5", "Y1")
@pytest.mark.parametrize("fault", ["d1_slow", "d1_silent"])
async def test_read_that_outlives_its_request_causes_no_error(worker: InstalledWorker, fault: str) -> None:
    links = {f"link:code{i}": {"target": f"lnk_{i}", "url": f"https://example.net/{i}"} for i in range(4)}
    await worker.configure(links)
    assert (await worker.click("code0")).status == 302
    await worker.emulator.settled()
    await worker.clock(67)
    await worker.emulator.fault(fault, times=None, delay_s=4)
    # The first request starts a read of the configuration, and gets its response before the read ends.
    assert (await worker.click("none")).status == 503
    statuses: list[tuple[str, int]] = []

    async def visitor(code: str) -> None:
        statuses.append((code, (await worker.click(code)).status))

    async with trio.open_nursery() as nursery:
        for code in ("code0", "code1", "code2", "none") * 3:
            nursery.start_soon(visitor, code)
    assert {status for code, status in statuses if code == "code0"} == {302}
    assert {status for _, status in statuses} <= {302, 404, 503}
    await worker.emulator.clear_faults()


@pytest.mark.rule("L5")
async def test_result_of_a_slow_read_is_stored(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": KNOWN_LINK})
    await worker.emulator.fault("d1_slow", delay_s=3)
    # A visitor waits at most two seconds. The read continues after that, so the next visitor's request does not start
    # another read.
    assert (await worker.click("abc")).status == 503
    await worker.emulator.settled()
    await worker.emulator.fault("d1_silent", times=None)
    assert (await worker.click("abc")).status == 302
    await worker.emulator.clear_faults()
