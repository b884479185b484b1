"""The write budget: as the number of written rows approaches the account's daily limit, the Worker omits details, but
keeps totals.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict

import pytest

from edge_worker.harness.installed import DAY_MS, HOUR_MS, MINUTE_MS, InstalledWorker
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.test.test_count import next_hour
from edge_worker.test.test_exact import send_views

# The rows written today, and the level that begins at or below this number.
LEVELS = [(65_000, 1), (85_000, 2), (95_000, 3)]


async def use_up(worker: InstalledWorker, rows: int) -> None:
    """Change the Worker's state, so that the Worker assumes that it has written this number of rows today."""
    state = await worker.state()
    state["written"]["rows"] = rows
    await worker.sql("update meta set value = ? where key = 'state'", json.dumps(state, separators=(",", ":")))


async def day_totals(worker: InstalledWorker) -> list[tuple[int, int, int]]:
    return list(worker.receiver.days.values())


@pytest.mark.rule("W5")
@pytest.mark.rule("R7")
@pytest.mark.parametrize(("rows", "level"), LEVELS if EVERYTHING else [random.Random(SEED).choice(LEVELS)])
async def test_hours_are_omitted_first_then_detail_and_daily_totals_stay_exact(
    worker: InstalledWorker, rows: int, level: int
) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    await send_views(worker, 10, 5)
    await use_up(worker, rows)
    await worker.cron(now + MINUTE_MS)
    assert (await worker.state())["level"] == level
    await worker.clock(61)
    await send_views(worker, 1, 1)
    await worker.clock(90)
    await send_views(worker, 10, 5)
    hour = now - now % HOUR_MS
    for late in range(6):
        await worker.cron(next_hour(now) + (late + 10) * MINUTE_MS)
    assert worker.receiver.refused_hours == [hour]
    assert worker.receiver.hours == {}
    midnight = now - now % DAY_MS + DAY_MS
    await worker.clock((midnight + 12 * MINUTE_MS - now) / 1000)
    await worker.crons_until_quiet(midnight + 12 * MINUTE_MS)
    assert await day_totals(worker) == [(21, 0, 5)]
    assert set(worker.receiver.refused_hours).isdisjoint(at for _, at in worker.receiver.hours)
    totals = json.loads((await worker.sql("select totals from day"))[0]["totals"])
    refused = totals["pages"].get("(other)", 0)
    assert (refused > 0) == (level >= 2)
    assert (await worker.state())["dropped"]["budget"] == 1 + refused
    assert (await worker.state())["level"] == 0


@pytest.mark.rule("W5")
async def test_account_with_a_paid_plan_has_a_larger_budget(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.configure({"days_kept": {"days": 35, "plan": "paid"}})
    await worker.cron(now)
    await send_views(worker, 10, 5)
    await use_up(worker, 95_000)
    await worker.cron(now + MINUTE_MS)
    assert (await worker.state())["level"] == 0
    await worker.cron(next_hour(now) + 10 * MINUTE_MS)
    await worker.crons_until_quiet(next_hour(now) + 11 * MINUTE_MS)
    assert (worker.receiver.refused_hours, list(worker.receiver.hours.values())) == ([], [(10, 0, 5)])
    await use_up(worker, 950_000)
    await worker.cron(next_hour(now) + 30 * MINUTE_MS)
    assert (await worker.state())["level"] == 1


@pytest.mark.rule("W5")
@pytest.mark.rule("R7")
async def test_events_folded_with_the_end_of_the_previous_day_have_hours(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    midnight = now - now % DAY_MS + DAY_MS

    async def crons_until(minutes: int) -> None:
        """Run the crons of three minutes. The last one is `minutes` minutes after midnight."""
        for late in (2, 1, 0):
            at = midnight + (minutes - late) * MINUTE_MS
            await worker.clock((at - now) / 1000)
            await worker.cron(at)

    await worker.cron(now)
    await send_views(worker, 10, 5)
    await crons_until(3)
    await use_up(worker, 65_000)
    await crons_until(6)
    assert (await worker.state())["level"] == 1
    await send_views(worker, 3, 3)  # at level 1, too, these views are folded together with the end of the previous day
    await crons_until(66)
    await send_views(worker, 2, 2)  # these views arrive after the previous day was closed
    await crons_until(126)
    assert worker.receiver.refused_hours == [midnight + HOUR_MS]
    counted = {hour: counts for (_, hour), counts in worker.receiver.hours.items() if hour >= midnight}
    assert counted == {midnight: (3, 0, 3)}


@pytest.mark.rule("W5")
async def test_level_ends_with_its_day_without_a_cron_run(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    await use_up(worker, 85_000)
    await worker.cron(now + MINUTE_MS)
    assert (await worker.state())["level"] == 2
    # When the second group of views arrives, the cron job is overdue, and requests have already done part of its work.
    for days in (3, 3.1):
        await worker.clock(days * DAY_MS / 1000)
        await send_views(worker, 5, 2)
    await worker.crons_until_quiet(now + 4 * DAY_MS)
    [row] = await worker.sql("select totals from day where totals ->> '$.views' > 0")
    assert "(other)" not in json.loads(row["totals"])["pages"]
    assert (await worker.state())["dropped"]["budget"] == 0


@pytest.mark.rule("W5")
async def test_events_wait_and_links_work_while_the_platform_rejects_writes(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    await worker.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/1"}})
    await worker.emulator.set_usage(worker.customer.account_id, rows_written=100_000)
    await send_views(worker, 3, 3)
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    assert await worker.sql("select * from event_log") == []
    await worker.emulator.set_usage(worker.customer.account_id, rows_written=0)
    await worker.clock(70)
    await send_views(worker, 1, 1)
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        counts[json.loads(line)[0]] += 1
    assert counts == {"site_a": 4, "lnk_a": 1}
