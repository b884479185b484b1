"""If the platform does not run the cron job, requests run it after their responses."""

from __future__ import annotations

from edge_worker.harness.installed import HOUR_MS, MINUTE_MS, InstalledWorker
from edge_worker.test.test_config import rows_read
from edge_worker.test.test_count import next_hour


async def ran_at(worker: InstalledWorker) -> int:
    """Return the time of the last known run in epoch ms, or 0 if there was none."""
    return int((await worker.state()).get("ran_at", 0))


async def view_at(worker: InstalledWorker, offset_s: float) -> int:
    """Move the clock, send a view, and wait for its background work. Return the time of the view in epoch ms."""
    now = await worker.clock(offset_s)
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    return now


async def test_idle_cron_records_itself_every_five_minutes(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    noted, read = [], []
    for minute in range(1, 13):
        before = await rows_read(worker)
        await worker.cron(now + minute * MINUTE_MS)
        read.append(await rows_read(worker) - before)
        noted.append((await ran_at(worker) - now) // MINUTE_MS)
    assert noted == [1] * 5 + [6] * 5 + [11] * 2
    # docs/develop/worker-counting.md and docs/use/counting.md state these numbers.
    assert read[1:6] == [3, 3, 3, 3, 6]


async def test_while_no_cron_runs_requests_close_the_hour_and_push(worker: InstalledWorker) -> None:
    began = await view_at(worker, 0)
    await worker.cron(began)
    noted = await ran_at(worker)
    await view_at(worker, 9 * 60)
    assert await ran_at(worker) == noted
    pushes = len(worker.receiver.pushes)
    late_s = (next_hour(began) - began) / 1000
    for wait_s in range(0, 60 * 60, 11 * 60):
        now = await view_at(worker, late_s + wait_s)
        assert now - await ran_at(worker) < MINUTE_MS
    assert len(worker.receiver.pushes) > pushes
    assert worker.receiver.hours == {("site_a", began - began % HOUR_MS): (2, 0, 1)}


async def test_isolate_runs_the_job_once_in_ten_minutes_and_others_see_the_run(worker: InstalledWorker) -> None:
    began = await worker.clock(0)
    await worker.cron(began)
    await view_at(worker, 60 * 60)
    done = await ran_at(worker)
    assert done > began
    for offset_s in (60 * 60 + 30, 70 * 60 - 30):
        await view_at(worker, offset_s)
        assert await ran_at(worker) == done
    await worker.emulator.new_isolates()
    await view_at(worker, 70 * 60 - 20)
    assert await ran_at(worker) == done


async def test_new_installation_waits_for_its_cron_to_start(worker: InstalledWorker) -> None:
    await view_at(worker, 0)
    await view_at(worker, 9 * 60)
    assert (await ran_at(worker), worker.receiver.pushes) == (0, [])
    now = await view_at(worker, 11 * 60)
    assert now <= await ran_at(worker) < now + MINUTE_MS
    assert [push["install"] for push in worker.receiver.pushes] == ["install-1"]
