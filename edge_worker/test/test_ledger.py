"""The ledger accounts for every event despite crashes, losses and duplicates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.installed import (
    DAY_MS,
    HOUR_MS,
    LINK_HOST,
    MINUTE_MS,
    SCRIPT,
    InstalledWorker,
    accepted,
    first_log_id,
)
from edge_worker.test.test_count import next_hour
from edge_worker.test.test_exact import rows_used, send_views

if TYPE_CHECKING:
    from collections.abc import Callable


async def ledger(worker: InstalledWorker, day: int) -> dict[str, dict[str, list[int]]]:
    """Return the ledger of an epoch day: for each entry, the numbers of views and bots by target."""
    rows = await worker.sql("select entry, counts from ledger where day = ?", day)
    return {row["entry"]: json.loads(row["counts"]) for row in rows}


@pytest.mark.rule("W3", "X5")
async def test_accepted_and_pushed_events_are_in_the_ledger_once_despite_crashes_and_repeats(
    worker: InstalledWorker,
) -> None:
    now = await worker.clock(0)
    await worker.view()
    await worker.emulator.settled()
    sent = 1
    for kind in ("d1_drop_before", "d1_drop_after", "d1_end_before", "d1_end_after"):
        await worker.emulator.fault(kind, times=1)
        await send_views(worker, 6, 6)
        await worker.emulator.clear_faults()
        sent += 6
    # The pending events of an ended request are written once its write counts as lost.
    await worker.clock(30)
    await worker.view("/", ua="curl/8.14.1")
    await worker.emulator.settled()

    def accept_without_response(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        worker.receiver.apply(body)
        return 502, {}, {}

    responses: list[Callable[[dict[str, Any]], tuple[int, Any, dict[str, str]]]] = [
        accept_without_response,
        accept_without_response,
    ]
    worker.receiver.responses += responses
    at = next_hour(now)
    for kind in ("d1_drop_before", "d1_drop_after"):
        for after in range(4):
            await worker.emulator.fault(kind, after=3 * after)
            await worker.emulator.cron(worker.customer.account_id, SCRIPT, at=at)
            await worker.emulator.clear_faults()
            at += MINUTE_MS
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(worker.cron, at)
    at = await worker.crons_until_quiet(at)
    day = now // DAY_MS
    assert await ledger(worker, day) == {"accepted": {"site_a": [sent, 1]}, "pushed": {"site_a": [sent, 1]}}
    assert [counts[:2] for counts in worker.receiver.days.values()] == [(sent, 1)]


@pytest.mark.rule("W4")
async def test_event_after_its_day_was_closed_is_accepted_and_too_old(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await send_views(worker, 3, 3)
    midnight = now - now % DAY_MS + DAY_MS
    at = midnight + 12 * MINUTE_MS
    await worker.clock((at - now) / 1000)
    await worker.crons_until_quiet(at)
    # A data center with a slow clock writes an event of the closed day into the row of a minute that is still open.
    line = json.dumps(["site_a", midnight // HOUR_MS - 1, "", "v", "/", "", "DE|mobile|Chrome|iOS"]) + "\n"
    await worker.sql(
        "insert into event_log(id, lines, writes, tally) values (?, ?, 'AAAAAAAA,', ?)",
        first_log_id(at + 5 * MINUTE_MS), line, json.dumps(["site_a", now // DAY_MS, 1, 0]) + "\n",
    )  # fmt: skip
    await worker.crons_until_quiet(at + 2 * HOUR_MS)
    assert await ledger(worker, now // DAY_MS) == {
        "accepted": {"site_a": [4, 0]},
        "pushed": {"site_a": [3, 0]},
        "too_old": {"site_a": [1, 0]},
    }
    assert (await worker.state())["dropped"]["too_old"] == 1


@pytest.mark.rule("W4")
async def test_rejected_and_unknown_targets_do_not_count_as_pushed(worker: InstalledWorker) -> None:
    await worker.configure(
        {"host": {"host": LINK_HOST}, "link:code": {"target": "lnk_1", "url": "https://example.net/"}}
    )
    now = await worker.clock(0)
    await worker.click("code")
    await send_views(worker, 2, 2)

    def reject_links_as_unknown(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        return 200, {**accepted(body), "unknown_targets": ["lnk_1"]}, {}

    def reject_all(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        refused = [{"id": part["id"], "code": "too_old"} for part in body["parts"]]
        return 200, {"ok": True, "accepted": [], "refused": refused, "unknown_targets": []}, {}

    at = next_hour(now)
    # The first push only confirms the upload.
    await worker.cron(now)
    worker.receiver.responses.append(reject_links_as_unknown)
    await worker.crons_until_quiet(at)
    await worker.clock((at - now) / 1000)
    await send_views(worker, 1, 1)
    worker.receiver.responses.append(reject_all)
    await worker.crons_until_quiet(at + HOUR_MS)
    found = await ledger(worker, now // DAY_MS)
    assert found == {
        "accepted": {"site_a": [3, 0], "lnk_1": [1, 0]},
        "pushed": {"site_a": [2, 0]},
        "refused": {"site_a": [3, 0]},
        "unknown_target": {"lnk_1": [1, 0]},
    }


@pytest.mark.rule("W5")
async def test_ledger_costs_a_few_rows_per_hour_and_none_per_event(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    hour = now - now % HOUR_MS
    await worker.cron(hour)
    links = 1_000
    for minute in range(4):
        lines = [[f"lnk_{i:03}", hour // HOUR_MS, "", f"v{i:07}", "", "", "DE|mobile|Chrome|iOS"] for i in range(links)]
        tally = [[f"lnk_{i:03}", hour // DAY_MS, 1, 0] for i in range(links)]
        await worker.sql(
            "insert into event_log(id, lines, writes, tally) values (?, ?, 'AAAAAAAA,', ?)",
            first_log_id(hour + minute * MINUTE_MS),
            *("".join(json.dumps(item) + "\n" for item in items) for items in (lines, tally)),
        )  # fmt: skip
    read, written = await rows_used(worker, "rows_read"), await rows_used(worker, "rows_written")
    await worker.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert await ledger(worker, hour // DAY_MS) == {
        entry: {f"lnk_{i:03}": [4, 0] for i in range(links)} for entry in ("accepted", "pushed")
    }
    # Without the ledger, the Worker writes the rows of hours and days, and a few event log rows and pages. The ledger
    # adds one row for accepted events and one per push. In this test, each event has a separate tally, so the ledger's
    # cost is as high as possible: 3 to 4 rows read per event.
    assert await rows_used(worker, "rows_written") - written < 2 * links + 150
    assert await rows_used(worker, "rows_read") - read < 14 * 4 * links
