"""The second of the minute at which a Worker sends its push, in the real runtime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from edge_worker.harness.installed import HOUR_MS, MINUTE_MS, InstalledWorker

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 17 * 60 + 42


async def hourly_push(worker: InstalledWorker, hour: int, minute: int) -> dict[str, int]:
    """Run the cron at this minute of the hour that begins at `hour` (epoch ms).

    Return the number of pushes, and how long the run waited in ms.
    """
    before = len(worker.receiver.pushes)
    run = await worker.cron(hour + minute * MINUTE_MS)
    return {"pushes": len(worker.receiver.pushes) - before, "waited_ms": run["waited_ms"]}


async def counting_from(worker: InstalledWorker, bundle: Path, second: int) -> int:
    """Set up a Worker that pushes at this second of the hour, and count a view. Return the start of the next hour
    (epoch ms).
    """
    worker.push_second = second
    await worker.upload(bundle, json.loads((bundle / "manifest.json").read_text()), "install-2")
    began = await worker.clock(0)
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    # The push that confirms the upload does not wait, because the service is waiting for it.
    assert await hourly_push(worker, began, 0) == {"pushes": 1, "waited_ms": 0}
    hour = began - began % HOUR_MS
    # If the Worker has nothing to send, it waits up to ten minutes for the hour to be closed, and then until its second
    # of the minute.
    assert await hourly_push(worker, hour, 26) == {"pushes": 0, "waited_ms": 0}
    assert await hourly_push(worker, hour, 27) == {"pushes": 1, "waited_ms": second % 60 * 1000}
    hour += HOUR_MS
    for minute in range(3, 8):
        assert await hourly_push(worker, hour, minute) == {"pushes": 0, "waited_ms": 0}
    return hour


async def test_every_push_except_the_first_is_sent_at_the_accounts_second(
    worker: InstalledWorker, bundle: Path
) -> None:
    hour = await counting_from(worker, bundle, SECOND)
    assert await hourly_push(worker, hour, 16) == {"pushes": 0, "waited_ms": 0}
    worker.receiver.responses.append(lambda body: (503, {}, {}))
    assert await hourly_push(worker, hour, 17) == {"pushes": 1, "waited_ms": 42_000}
    # The Worker retries two minutes later at the same second, and pushes again after an hour.
    assert await hourly_push(worker, hour, 18) == {"pushes": 0, "waited_ms": 0}
    assert await hourly_push(worker, hour, 19) == {"pushes": 1, "waited_ms": 42_000}
    assert (await worker.state())["push"]["next_at"] == hour + HOUR_MS + SECOND * 1000
    assert worker.receiver.pushes[-1]["sent_at"] == hour + 19 * MINUTE_MS + 42_000
    # If a run starts after its second has passed, it does not wait for the next minute, even if it has nothing to send.
    assert await hourly_push(worker, hour + HOUR_MS + 50_000, 27) == {"pushes": 1, "waited_ms": 0}


async def test_wait_takes_real_time_if_the_platform_does(worker: InstalledWorker, bundle: Path) -> None:
    at = await counting_from(worker, bundle, 17 * 60 + 1) + 17 * MINUTE_MS
    run = await worker.emulator.cron(worker.customer.account_id, "svc-edge", at=at, waits=True)
    assert (run["outcome"], run["waited_ms"], len(worker.receiver.pushes)) == ("ok", 0, 3)
