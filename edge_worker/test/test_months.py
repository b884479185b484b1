"""Months in the real runtime: exact sums, rows used, and agreement with the ledger."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from typing import Any

import pytest

from edge_worker.harness.installed import DAY_MS, MINUTE_MS, InstalledWorker
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.test.test_exact import rows_used, send_views
from edge_worker.test.test_ledger import ledger

TARGETS = 1_000 if EVERYTHING else 60
STEP_MS = 5 * MINUTE_MS
_EPOCH = date(1970, 1, 1).toordinal()


def month_of(day: int) -> int:
    """Return the number of months between the year 0 and the month of an epoch day."""
    at = date.fromordinal(_EPOCH + day)
    return at.year * 12 + at.month - 1


def first_day_of(month: int) -> int:
    """Return the first epoch day of a month."""
    return date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH


async def begin_with(worker: InstalledWorker, month: int) -> None:
    """Change the Worker's state, so that the Worker adds up a month that has already ended."""
    state = await worker.state()
    state["months"] = {"from": month, "month": month, "target": "", "day": None, "first_days": {}}
    await worker.sql("update meta set value = ? where key = 'state'", json.dumps(state, separators=(",", ":")))


async def add_up(worker: InstalledWorker, at: int, month: int) -> tuple[int, int]:
    """Add up the month with a cron run every five minutes. Return the number of runs, and the time of the next run."""
    for runs in range(1, 2_000):
        await worker.cron(at)
        at += STEP_MS
        if (await worker.state())["months"]["month"] > month:
            return runs, at
    raise AssertionError(await worker.state())


async def fill(worker: InstalledWorker, first: int, last: int) -> None:
    """Store days for TARGETS links. The numbers and some keys depend on the target and the day."""
    await worker.sql(
        "with recursive d(day) as (select ? union all select day + 1 from d where day < ?), "
        "t(n) as (select 0 union all select n + 1 from t where n + 1 < ?) insert into day "
        "select printf('lnk_%020d', n), day, json_object('views', n + day % 5, 'visitors', n, "
        "'pages', json_object('', n + day % 5), 'sources', json_object('', n, 'a' || (day % 3), day % 5), "
        "'countries', json_object('DE', n, 'FR', day % 5), 'devices', json_object('mobile', n + day % 5), "
        "'browsers', json_object('Chrome', n + day % 5), 'os', json_object('iOS', n + day % 5), "
        "'bots', json_object('list', day % 7), 'campaigns', json_object('c', 1), 'entries', json('{}'), "
        "'arrivals', json('{}'), 'targets', json('{}')) from d, t where (n + day) % 6 > 0",
        first, last, TARGETS,
    )  # fmt: skip


async def plain_sums(worker: InstalledWorker, first: int, last: int) -> dict[str, dict[str, Any]]:
    """Return the sums of the days of each target, computed in SQL."""
    totals = await worker.sql(
        "select target, sum(totals ->> 'views') as views, sum(totals ->> 'visitors') as visitors from day "
        "where day between ? and ? group by target",
        first, last,
    )  # fmt: skip
    sums: dict[str, dict[str, Any]] = {
        row["target"]: {"from": first, "views": row["views"], "visitors": row["visitors"]} for row in totals
    }
    for row in await worker.sql(
        "select target, substr(path, 3) as list, one.key as key, sum(value) as n from day, json_tree(totals) one "
        "where day between ? and ? and path <> '$' and atom is not null group by 1, 2, 3",
        first, last,
    ):  # fmt: skip
        sums[row["target"]].setdefault(row["list"], {})[row["key"]] = row["n"]
    return sums


@pytest.mark.rule("Y10", "W5")
@pytest.mark.timeout(400)
async def test_month_of_many_targets_costs_one_row_each(worker: InstalledWorker) -> None:
    # Begin after midnight, because closing a day deletes rows of old days, and these rows count as written.
    now = await worker.clock(12.5 * 3_600)
    today = now // DAY_MS
    at = await worker.crons_until_quiet(now)
    month = month_of(today) - 1
    first, last = first_day_of(month), first_day_of(month + 1) - 1
    await fill(worker, first - 2, today - 1)
    await begin_with(worker, month)
    read, written = await rows_used(worker, "rows_read"), await rows_used(worker, "rows_written")
    counted = Counter[int]()

    async def count() -> None:
        known = (await worker.state())["written"]
        counted[known["day"]] = known["rows"]

    await count()
    before = sum(counted.values())
    runs = 0
    while (await worker.state())["months"]["month"] <= month:
        await worker.cron(at)
        await count()
        runs += 1
        at += STEP_MS
    written = await rows_used(worker, "rows_written") - written
    read = await rows_used(worker, "rows_read") - read
    found = {row["target"]: json.loads(row["totals"]) for row in await worker.sql("select target, totals from month")}
    expected = await plain_sums(worker, first, last)
    assert len(found) == TARGETS
    assert {target: _without_zeros(row) for target, row in found.items()} == {
        target: _without_zeros(row) for target, row in expected.items()
    }
    # One row for each target, one for most runs, and a few for closed hours. The Worker's own count omits one row: its
    # state after a push without parts.
    own = sum(counted.values()) - before
    pushes = len(worker.receiver.pushes)
    assert TARGETS < written <= own + pushes <= TARGETS + 2 * runs + 200
    assert runs >= TARGETS / 8
    # The window functions read the rows of a step several times. With 288 steps a day, the reads are a seventh of the
    # daily limit.
    assert read < 2_500 * runs


def _without_zeros(row: dict[str, Any]) -> dict[str, Any]:
    lists = {name: {key: n for key, n in value.items() if n} for name, value in row.items() if isinstance(value, dict)}
    return {**row, **lists}


@pytest.mark.rule("Y10", "X5")
async def test_month_equals_the_sum_of_its_days_in_the_ledger(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.configure({"link:code": {"target": "lnk_1", "url": "https://example.net/"}})
    month = month_of(now // DAY_MS)
    end = first_day_of(month + 1)
    at = now
    days = range(now // DAY_MS, min(now // DAY_MS + 3, end))
    for number, day in enumerate(days):
        if number > 0:
            at = day * DAY_MS + 12 * MINUTE_MS
            await worker.clock((at - now) / 1000)
            at = await worker.crons_until_quiet(at)
            await worker.clock((at - now) / 1000)
        await send_views(worker, 7 + number, 3)
        await worker.click("code")
        await worker.view("/", ua="curl/8.14.1")
        await worker.emulator.settled()
    at = end * DAY_MS + 12 * MINUTE_MS
    await worker.clock((at - now) / 1000)
    # The ledger still contains all of these days, because it keeps a day for 35 days.
    at = await worker.crons_until_quiet(at)
    await add_up(worker, at + STEP_MS, month)
    counted: Counter[tuple[str, int]] = Counter()
    for day in days:
        entries = await ledger(worker, day)
        assert set(entries) == {"accepted", "pushed"}
        assert entries["accepted"] == entries["pushed"]
        for target, counts in entries["accepted"].items():
            counted.update({(target, i): n for i, n in enumerate(counts)})
    rows = await worker.sql("select target, totals from month where month = ?", month)
    found: Counter[tuple[str, int]] = Counter()
    for row in rows:
        totals = json.loads(row["totals"])
        assert totals["from"] == first_day_of(month)
        found.update({(row["target"], 0): totals["views"], (row["target"], 1): sum(totals.get("bots", {}).values())})
    assert +found == +counted
    assert found["site_a", 0] == sum(7 + number for number in range(len(days)))
