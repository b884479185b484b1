"""Exact counts despite concurrent crons, lost responses, restarts, rejected pushes and the end of a day."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.installed import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SCRIPT,
    SITE_HOST,
    SITE_PATH,
    InstalledWorker,
    accepted,
    first_log_id,
)
from edge_worker.test.test_count import next_hour

if TYPE_CHECKING:
    from pathlib import Path

VIEWS, PEOPLE = 60, 12


async def send_views(worker: InstalledWorker, views: int = VIEWS, people: int = PEOPLE) -> None:
    """Send `views` page views by `people` visitors."""
    for i in range(views):
        await worker.view(f"/p{i % 5}", ip=f"192.0.2.{i % people}")
    await worker.emulator.settled()


async def rows_used(worker: InstalledWorker, what: str) -> int:
    """Return the number of rows that the account has written (`rows_written`) or read (`rows_read`) in total."""
    usage = (await worker.emulator.state())["accounts"][worker.customer.account_id]["usage"]
    return sum(day[what] for day in usage.values())


async def stored_views(worker: InstalledWorker) -> int:
    """Return the number of views in the database, including those that are not folded yet."""
    rows = await worker.sql(
        "select (select coalesce(sum(totals ->> 'views'), 0) from day) as folded, "
        "(select coalesce(sum(length(lines) - length(replace(lines, char(10), ''))), 0) "
        "from (select lines from event_log union all select lines from event_page)) as waiting"
    )
    return int(rows[0]["folded"]) + int(rows[0]["waiting"])


@pytest.mark.rule("W3")
async def test_two_concurrent_crons_fold_and_close_once(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await send_views(worker)
    at = next_hour(now)
    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(worker.cron, at)
    assert await stored_views(worker) == VIEWS
    await worker.crons_until_quiet(at)
    assert list(worker.receiver.days.values()) == [(VIEWS, 0, PEOPLE)]


async def test_events_of_an_already_folded_minute_are_counted(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await send_views(worker, 10, 5)
    await worker.cron(next_hour(now))
    assert await worker.sql("select * from event_log") == []
    # Simulate a data center whose clock is an hour slow.
    await worker.clock(-3600)
    await send_views(worker, 10, 5)
    await worker.clock(3600)
    await worker.crons_until_quiet(next_hour(now) + HOUR_MS)
    assert await stored_views(worker) == 20
    assert sum(counts[0] for counts in worker.receiver.hours.values()) == 20


@pytest.mark.rule("W3")
async def test_large_input_is_folded_in_pages(worker: InstalledWorker) -> None:
    """Concurrent crons process rows with many lines or many targets, and targets whose day already has many paths."""
    now = await worker.clock(0)
    await worker.cron(now)
    hour = now // HOUR_MS
    expected: Counter[str] = Counter()
    people: defaultdict[str, set[str]] = defaultdict(set)

    def line(number: int, target: str, page: str) -> str:
        visitor = f"v{number % 97:07}"
        expected[target] += 1
        people[target].add(visitor)
        return json.dumps([target, hour, "", visitor, page, "", "DE|mobile|Chrome|Android"]) + "\n"

    # The first two rows are near the maximum size. One has more lines and targets than fit in a page, and the other has
    # more different paths than a breakdown can keep.
    bodies = [
        "".join(line(i, f"lnk_{i % 150:03}", "") for i in range(9_000)),
        "".join(line(i, f"site_{i % 8}", f"/{i}/{'x' * 180}") for i in range(4_000)),
        "".join(line(i, f"site_{i % 8}", f"/{i}") for i in range(50)),
    ]
    first = first_log_id(now)
    for number, body in enumerate(bodies):
        drops = json.dumps(["invalid", 1]) + "\n"
        insert = "insert into event_log(id, lines, writes, drops) values (?, ?, 'AAAAAAAA,', ?)"
        await worker.sql(insert, first + number, body, drops)
    at = next_hour(now)
    for _ in range(3):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(worker.cron, at)
        # Before the next concurrent crons, another write for the same minute arrives.
        await worker.view("/late")
        await worker.emulator.settled()
        expected["site_a"] += 1
        people["site_a"].add("late")
    await worker.crons_until_quiet(at)
    days = {target: (views, bots, unique) for (target, _), (views, bots, unique) in worker.receiver.days.items()}
    assert days == {target: (views, 0, len(people[target])) for target, views in expected.items()}
    assert (await worker.state())["dropped"]["invalid"] == 3
    for row in await worker.sql("select target, totals from day"):
        totals = json.loads(row["totals"])
        assert sum(totals["pages"].values()) == sum(totals["browsers"].values()) == expected[row["target"]]


@pytest.mark.rule("W5")
async def test_hour_of_a_thousand_links_costs_two_rows_per_link(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    hour = now - now % HOUR_MS
    await worker.cron(hour)
    links, events = 1_000, 4_200
    for minute in range(60):
        numbers = range(minute * events // 60, (minute + 1) * events // 60)
        body = "".join(
            json.dumps([f"lnk_{i * 7 % links:03}", hour // HOUR_MS, "", f"v{i:07}", "", "", "DE|mobile|Chrome|Android"])
            + "\n"
            for i in numbers
        )
        insert = "insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')"
        await worker.sql(insert, first_log_id(hour + minute * MINUTE_MS), body)
    before, known = await rows_used(worker, "rows_written"), (await worker.state())["written"]["rows"]
    await worker.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert sum(views for views, _, _ in worker.receiver.days.values()) == events
    # The number includes deleted event rows and pages, and some pages need more than one run. It is still far below one
    # row per event.
    written = await rows_used(worker, "rows_written") - before
    assert written < 2 * links + 200
    # The Worker's own count must not be too low. It also includes the event log rows that the test itself wrote.
    assert written <= (await worker.state())["written"]["rows"] - known - 60 < 1.05 * written


@pytest.mark.rule("W5")
async def test_twenty_thousand_visitors_of_one_page_cost_a_few_reads_each(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    hour = now - now % HOUR_MS
    await worker.cron(hour)
    people = 20_000
    for minute in range(10):
        numbers = range(minute * people // 10, (minute + 1) * people // 10)
        # Each visitor comes twice, and the two views are in different rows and pages.
        lines = [
            json.dumps(
                ["site_a", hour // HOUR_MS, "", f"v{i * 13 % (people // 2):07}", "/", "", "DE|mobile|Chrome|iOS"]
            )
            for i in numbers
        ]
        insert = "insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')"
        await worker.sql(insert, first_log_id(hour + minute * MINUTE_MS), "\n".join(lines) + "\n")
    before = await rows_used(worker, "rows_read")
    await worker.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert list(worker.receiver.hours.values()) == [(people, 0, people // 2)]
    assert list(worker.receiver.days.values()) == [(people, 0, people // 2)]
    assert await rows_used(worker, "rows_read") - before < 12 * people


@pytest.mark.rule("W6")
@pytest.mark.parametrize(("known", "counted"), [(140_000, 140_020), (173_000, 173_000)])
async def test_list_of_visitors_stays_within_the_limit_of_a_value(
    worker: InstalledWorker, known: int, counted: int
) -> None:
    now = await worker.clock(0)
    hour = now - now % HOUR_MS
    await worker.cron(hour)
    await worker.sql(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
        "insert into hour(target, day, hour, views, bots, visitors) "
        "select 'site_a', ?, ?, 0, 0, json_group_array(printf('k%07d', i)) from n",
        known,
        hour // DAY_MS,
        hour % DAY_MS // HOUR_MS,
    )
    line = '["site_a",%d,"","v%07d","/","","DE|mobile|Chrome|iOS"]\n'
    body = "".join(line % (hour // HOUR_MS, i) for i in range(20))
    await worker.sql("insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')", first_log_id(hour), body)
    await worker.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert list(worker.receiver.hours.values()) == [(20, 0, counted)]


@pytest.mark.rule("W3")
@pytest.mark.parametrize("kind", ["d1_drop_before", "d1_drop_after"])
async def test_lost_database_calls_neither_lose_nor_duplicate_events(worker: InstalledWorker, kind: str) -> None:
    now = await worker.clock(0)
    await worker.view()
    await worker.emulator.settled()
    for i in range(8):
        await worker.emulator.fault(kind, times=1)
        await send_views(worker, 5)
        await worker.emulator.clear_faults()
        assert await stored_views(worker) <= 1 + 5 * (i + 1)
    await send_views(worker, 20)
    assert await stored_views(worker) == 61
    at = next_hour(now)
    for _ in range(6):
        await worker.emulator.fault(kind, times=1)
        await worker.emulator.cron(worker.customer.account_id, SCRIPT, at=at)
        await worker.emulator.clear_faults()
        at += MINUTE_MS
    await worker.crons_until_quiet(at)
    assert list(worker.receiver.days.values()) == [(61, 0, PEOPLE)]


@pytest.mark.rule("W3")
@pytest.mark.parametrize("kind", ["d1_drop_before", "d1_drop_after"])
async def test_last_event_before_a_quiet_period_survives_an_outage(worker: InstalledWorker, kind: str) -> None:
    await worker.view()
    await worker.emulator.settled()
    # Both attempts of the next flush fail, and no other event triggers a new one.
    await worker.emulator.fault(kind, times=2)
    await worker.view()
    await worker.emulator.settled()
    assert await stored_views(worker) == 2


@pytest.mark.rule("W3")
@pytest.mark.parametrize("kind", ["d1_end_before", "d1_end_after"])
async def test_request_ended_during_its_write_neither_loses_nor_duplicates_events(
    worker: InstalledWorker, kind: str
) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    # This request reads the configuration, so that the first statement of the next view is part of that view's write.
    assert (await worker.emulator.visit(SITE_HOST, SITE_PATH)).status == 404
    await worker.emulator.settled()
    # End the request, first while it reads the day's salt, and in the second round while it writes.
    for number in range(2):
        await worker.emulator.fault(kind)
        await worker.view("/ended")
        await worker.emulator.settled()
        assert await worker.emulator.faults() == []
        # The ended request's batch eventually counts as lost, and is then written with the next event.
        await worker.clock(20 * (number + 1))
        await worker.view("/next")
        await worker.emulator.settled()
        assert await stored_views(worker) == 2 * (number + 1)
    await worker.crons_until_quiet(next_hour(now))
    assert list(worker.receiver.days.values()) == [(4, 0, 1)]


@pytest.mark.rule("W2")
async def test_visitor_hash_survives_the_isolate_and_changes_the_next_day(
    worker: InstalledWorker, bundle: Path
) -> None:
    now = await worker.clock(0)
    await send_views(worker, 10, 5)
    await worker.upload(bundle, json.loads((bundle / "manifest.json").read_text()), "install-2")
    await send_views(worker, 10, 5)
    tomorrow = now - now % DAY_MS + DAY_MS + 2 * HOUR_MS
    await worker.clock((tomorrow - now) / 1000)
    await send_views(worker, 10, 5)
    await worker.crons_until_quiet(next_hour(tomorrow))
    assert sorted(worker.receiver.days.values()) == [(10, 0, 5), (20, 0, 5)]


@pytest.mark.rule("W2")
async def test_salt_and_hashes_are_deleted_when_the_day_is_closed(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await send_views(worker, 10, 5)
    body = (await worker.sql("select lines from event_log"))[0]["lines"]
    hashes = {json.loads(line)[3] for line in body.splitlines()}
    assert len(hashes) == 5
    tomorrow = now - now % DAY_MS + DAY_MS
    await worker.clock((tomorrow + 12 * MINUTE_MS - now) / 1000)
    await worker.crons_until_quiet(tomorrow + 12 * MINUTE_MS)
    assert await worker.sql("select * from salt") == []
    assert await worker.sql("select * from hour") == []
    for table in ("meta", "config", "event_log", "event_page", "day", "outbox"):
        text = json.dumps(await worker.sql(f"select * from {table}"))
        assert not [known for known in hashes if known in text]
    # The same people visit again on the next day. Their hashes differ, because yesterday's salt is deleted.
    await send_views(worker, 10, 5)
    body = (await worker.sql("select lines from event_log"))[0]["lines"]
    assert hashes.isdisjoint(json.loads(line)[3] for line in body.splitlines())


@pytest.mark.rule("W2")
async def test_no_address_and_no_user_agent_is_stored(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.view(
        "/p",
        ip="198.51.100.77",
        ua="Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
        referrer="https://mail.example.org/inbox?user=ada",
    )
    await worker.emulator.settled()

    async def stored() -> str:
        return "".join(
            [
                json.dumps(await worker.sql(f"select * from {t}"))
                for t in ("meta", "event_log", "event_page", "day", "hour", "outbox")
            ]
        )

    before = await stored()
    await worker.cron(next_hour(now))
    for text in (before, await stored()):
        assert "mail.example.org" in text
        for secret in ("198.51.100", "Gecko", "inbox", "ada"):
            assert secret not in text


@pytest.mark.rule("W3")
async def test_lost_responses_and_rejections_change_no_total(worker: InstalledWorker) -> None:
    receiver = worker.receiver
    now = await worker.clock(0)
    await worker.cron(now)
    await send_views(worker)
    at = next_hour(now)

    def accept_without_response(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        return 502, {}, {}

    def half(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        return 200, {**accepted(body), "accepted": [part["id"] for part in body["parts"]][:1]}, {}

    # Three hours are queued before the service accepts any.
    receiver.responses += [accept_without_response] * 20
    for hour in range(3):
        await worker.cron(at + hour * HOUR_MS)
    receiver.responses = [
        lambda _: (503, {}, {"retry-after": "600"}),
        lambda _: (413, {}, {}),
        half,
        lambda _: (200, [], {}),
        accept_without_response,
    ]
    await worker.crons_until_quiet(at + 3 * HOUR_MS)
    assert receiver.responses == []
    assert list(receiver.days.values()) == [(VIEWS, 0, PEOPLE)]
    assert sum(counts[0] for counts in receiver.hours.values()) == VIEWS


@pytest.mark.rule("W7")
async def test_rejected_key_stops_pushes_until_the_next_upload(worker: InstalledWorker, bundle: Path) -> None:
    now = await worker.clock(0)
    worker.receiver.responses.append(lambda _: (401, {}, {}))
    await worker.cron(now)
    for minute in range(1, 50):
        await worker.cron(now + minute * MINUTE_MS)
    assert len(worker.receiver.pushes) == 1
    assert "401" in (await worker.state())["push"]["error"]
    await worker.upload(bundle, json.loads((bundle / "manifest.json").read_text()), "install-2")
    await worker.cron(now + 50 * MINUTE_MS)
    assert [push["install"] for push in worker.receiver.pushes] == ["install-1", "install-2"]
    assert "401" in worker.receiver.pushes[1]["error"]


@pytest.mark.rule("W4")
async def test_rejected_parts_leave_the_queue_and_are_counted(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    await send_views(worker, 3)

    def refuse(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        refused = [{"id": part["id"], "code": "too_old"} for part in body["parts"]]
        return 200, {**accepted(body), "accepted": [], "refused": refused}, {}

    worker.receiver.responses.append(refuse)
    await worker.crons_until_quiet(next_hour(now))
    assert (await worker.state())["dropped"]["too_old"] == 1
    assert worker.receiver.days == {}
