"""If the service is unreachable for days, the Worker keeps the counts in its database and sends them later."""

from __future__ import annotations

import pytest

from edge_worker.harness.installed import DAY_MS, HOUR_MS, MINUTE_MS, InstalledWorker
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.test.test_exact import send_views

# Each day has 23 hours with a part to push.
BACKLOG_DAYS = 30 if EVERYTHING else 4


@pytest.mark.rule("W3")
@pytest.mark.timeout(300)
async def test_backlog_of_many_days_is_sent_within_all_limits(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    midnight = now - now % DAY_MS
    worker.receiver.responses += [lambda _: (503, {}, {})] * 10_000
    days = BACKLOG_DAYS
    for day in range(days):
        start = midnight + day * DAY_MS + 2 * HOUR_MS if day else now
        await worker.clock((start - now) / 1000)
        await send_views(worker, 4, 2)
        for hour in range(3, 25):
            at = midnight + day * DAY_MS + hour * HOUR_MS + 12 * MINUTE_MS
            if at > start:
                await worker.cron(at)
    queue = (await worker.sql("select count(*) as n from outbox"))[0]["n"]
    assert queue > 20 * days
    worker.receiver.responses.clear()
    await worker.crons_until_quiet(midnight + days * DAY_MS + HOUR_MS + 4 * MINUTE_MS)
    assert list(worker.receiver.days.values()) == [(4, 0, 2)] * days
    assert len(worker.receiver.finals) == days
