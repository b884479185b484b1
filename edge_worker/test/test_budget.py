"""The account's daily rows: what is given up for them, and what never is."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from .field import DAY_MS, HOUR_MS, MINUTE_MS, Field
from .test_count import next_hour
from .test_exact import send_views


async def use_up(field: Field, rows: int) -> None:
    """Lets the worker believe that it has written so many rows today."""
    state = await field.state()
    state["written"]["rows"] = rows
    await field.sql("update meta set value = ? where key = 'state'", json.dumps(state, separators=(",", ":")))


async def day_totals(field: Field) -> list[tuple[int, int, int]]:
    return list(field.receiver.days.values())


@pytest.mark.rule("W5")
@pytest.mark.rule("R7")
@pytest.mark.parametrize(("rows", "level"), [(65_000, 1), (85_000, 2), (95_000, 3)])
async def test_hours_are_refused_first_then_detail_and_daily_totals_stay_exact(
    field: Field, rows: int, level: int
) -> None:
    now = await field.clock(0)
    await field.cron(now)
    await send_views(field, 10, 5)
    await use_up(field, rows)
    await field.cron(now + MINUTE_MS)
    assert (await field.state())["level"] == level
    await field.clock(61)
    await send_views(field, 1, 1)
    await field.clock(90)
    await send_views(field, 10, 5)
    hour = now - now % HOUR_MS
    for late in range(6):
        await field.cron(next_hour(now) + (late + 10) * MINUTE_MS)
    assert field.receiver.refused_hours == [hour]
    assert field.receiver.hours == {}
    midnight = now - now % DAY_MS + DAY_MS
    await field.clock((midnight + 12 * MINUTE_MS - now) / 1000)
    await field.crons_until_quiet(midnight + 12 * MINUTE_MS)
    assert await day_totals(field) == [(21, 0, 5)]
    totals = json.loads((await field.sql("select totals from day"))[0]["totals"])
    refused = totals["pages"].get("(other)", 0)
    assert (refused > 0) == (level >= 2)
    assert (await field.state())["dropped"]["budget"] == 1 + refused
    assert (await field.state())["level"] == 0


@pytest.mark.rule("W5")
async def test_when_the_platform_refuses_writes_events_wait_and_links_work(field: Field) -> None:
    now = await field.clock(0)
    await field.cron(now)
    await field.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/1"}})
    await field.emulator.set_usage(field.customer.account_id, rows_written=100_000)
    await send_views(field, 3, 3)
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    assert await field.sql("select * from event_log") == []
    await field.emulator.set_usage(field.customer.account_id, rows_written=0)
    await field.clock(70)
    await send_views(field, 1, 1)
    lines = [line for row in await field.sql("select lines from event_log") for line in row["lines"].splitlines()]
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        counts[json.loads(line)[0]] += 1
    assert counts == {"site_a": 4, "lnk_a": 1}
