"""The retention of breakdowns: how many row writes a lower setting causes, and how much space it frees."""

from __future__ import annotations

import pytest

from edge_worker.harness.installed import DAY_MS, MINUTE_MS, InstalledWorker
from edge_worker.test.test_exact import rows_used, send_views

TARGETS = 200


async def fill(worker: InstalledWorker, first_day: int, last_day: int) -> None:
    """Store these days for TARGETS targets. Each row is as large as the row of a link with a few sources."""
    await worker.sql(
        "with recursive d(day) as (select ? union all select day + 1 from d where day < ?), "
        "t(n) as (select 1 union all select n + 1 from t where n < ?) insert into day "
        "select printf('lnk_%03d', n), day, json_object('views', 1, 'sources', json_object(hex(randomblob(1000)), 1)) "
        "from d, t",
        first_day, last_day, TARGETS,
    )  # fmt: skip


async def size_bytes(worker: InstalledWorker) -> int:
    return int((await worker.api("GET", f"/d1/database/{worker.database}"))["file_size"])


@pytest.mark.rule("W5")
async def test_lowered_retention_costs_two_days_of_rows_per_night_and_frees_space(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    today = now // DAY_MS
    await worker.crons_until_quiet(now)
    await fill(worker, today - 36, today - 1)
    await send_views(worker, 10, 5)
    await worker.configure({"days_kept": {"days": 14}})
    oldest = today - 36
    for night in range(1, 4):
        midnight = (today + night) * DAY_MS
        # The previous day is closed completely before the closing of the next day is measured.
        before, size = await rows_used(worker, "rows_written"), await size_bytes(worker)
        known = (await worker.state())["written"]
        at = midnight + 12 * MINUTE_MS
        await worker.clock((at - now) / 1000)
        await worker.crons_until_quiet(at)
        state = await worker.state()
        oldest += 2
        assert state["kept_from"] == oldest
        assert await worker.sql("select min(day) as first, count(*) as n from day where target like 'lnk_%'") == [
            {"first": oldest, "n": (today - oldest) * TARGETS}
        ]
        # The number of rows that the Worker counts as written must not be too low. This number starts at 0 on each day.
        written = await rows_used(worker, "rows_written") - before
        counted = state["written"]["rows"] - (known["rows"] if known["day"] == state["written"]["day"] else 0)
        assert 2 * TARGETS < written <= counted < 2 * TARGETS + 200
        # Each row takes about 2 kB.
        assert size - await size_bytes(worker) > TARGETS * 2 * 2_000
