"""Nothing is counted twice and nothing is lost: crons at once, lost answers, restarts, refusals, the end of a day."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import trio

from .field import DAY_MS, HOUR_MS, MINUTE_MS, SCRIPT, Field, accepted, first_log_id
from .test_count import next_hour

if TYPE_CHECKING:
    from pathlib import Path

VIEWS, PEOPLE = 60, 12


async def send_views(field: Field, views: int = VIEWS, people: int = PEOPLE) -> None:
    """Views of so many people."""
    for i in range(views):
        await field.view(f"/p{i % 5}", ip=f"192.0.2.{i % people}")
    await field.emulator.settled()


async def rows_used(field: Field, what: str) -> int:
    """Rows that the account has written (`rows_written`) or read (`rows_read`) on all days."""
    usage = (await field.emulator.state())["accounts"][field.customer.account_id]["usage"]
    return sum(day[what] for day in usage.values())


async def stored_views(field: Field) -> int:
    """Views in the database: folded and not."""
    rows = await field.sql(
        "select (select coalesce(sum(totals ->> 'views'), 0) from day) as folded, "
        "(select coalesce(sum(length(lines) - length(replace(lines, char(10), ''))), 0) "
        "from (select lines from event_log union all select lines from event_page)) as waiting"
    )
    return int(rows[0]["folded"]) + int(rows[0]["waiting"])


@pytest.mark.rule("W3")
async def test_two_crons_at_once_fold_and_close_once(field: Field) -> None:
    now = await field.clock(0)
    await send_views(field)
    at = next_hour(now)
    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(field.cron, at)
    assert await stored_views(field) == VIEWS
    await field.crons_until_quiet(at)
    assert list(field.receiver.days.values()) == [(VIEWS, 0, PEOPLE)]


async def test_events_of_a_minute_that_is_folded_already_are_counted_too(field: Field) -> None:
    now = await field.clock(0)
    await send_views(field, 10, 5)
    await field.cron(next_hour(now))
    assert await field.sql("select * from event_log") == []
    # A place whose clock is an hour slow.
    await field.clock(-3600)
    await send_views(field, 10, 5)
    await field.clock(3600)
    await field.crons_until_quiet(next_hour(now) + HOUR_MS)
    assert await stored_views(field) == 20
    assert sum(counts[0] for counts in field.receiver.hours.values()) == 20


@pytest.mark.rule("W3")
async def test_more_than_a_run_can_fold_is_folded_in_pages_whatever_was_sent(field: Field) -> None:
    """Rows of many lines, of many targets, and of targets whose day is large already, with crons at once."""
    now = await field.clock(0)
    await field.cron(now)
    hour = now // HOUR_MS
    expected: Counter[str] = Counter()
    people: defaultdict[str, set[str]] = defaultdict(set)

    def line(number: int, target: str, page: str) -> str:
        visitor = f"v{number % 97:07}"
        expected[target] += 1
        people[target].add(visitor)
        return json.dumps([target, hour, "", visitor, page, "", "DE|mobile|Chrome|Android"]) + "\n"

    # About as large as a row can be, with more lines and more targets than a page has, and pages that fill the caps.
    bodies = [
        "".join(line(i, f"lnk_{i % 150:03}", "") for i in range(9_000)),
        "".join(line(i, f"site_{i % 8}", f"/{i}/{'x' * 180}") for i in range(4_000)),
        "".join(line(i, f"site_{i % 8}", f"/{i}") for i in range(50)),
    ]
    first = first_log_id(now)
    for number, body in enumerate(bodies):
        drops = json.dumps(["invalid", 1]) + "\n"
        insert = "insert into event_log(id, lines, writes, drops) values (?, ?, 'AAAAAAAA,', ?)"
        await field.sql(insert, first + number, body, drops)
    at = next_hour(now)
    for _ in range(3):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(field.cron, at)
        # A write of the same minute that arrives in between.
        await field.view("/late")
        await field.emulator.settled()
        expected["site_a"] += 1
        people["site_a"].add("late")
    await field.crons_until_quiet(at)
    days = {target: (views, bots, unique) for (target, _), (views, bots, unique) in field.receiver.days.items()}
    assert days == {target: (views, 0, len(people[target])) for target, views in expected.items()}
    assert (await field.state())["dropped"]["invalid"] == 3
    for row in await field.sql("select target, totals from day"):
        totals = json.loads(row["totals"])
        assert sum(totals["pages"].values()) == sum(totals["browsers"].values()) == expected[row["target"]]


@pytest.mark.rule("W5")
async def test_an_hour_of_a_thousand_links_costs_two_rows_a_link(field: Field) -> None:
    now = await field.clock(0)
    hour = now - now % HOUR_MS
    await field.cron(hour)
    links, events = 1_000, 4_200
    for minute in range(60):
        numbers = range(minute * events // 60, (minute + 1) * events // 60)
        body = "".join(
            json.dumps([f"lnk_{i * 7 % links:03}", hour // HOUR_MS, "", f"v{i:07}", "", "", "DE|mobile|Chrome|Android"])
            + "\n"
            for i in numbers
        )
        insert = "insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')"
        await field.sql(insert, first_log_id(hour + minute * MINUTE_MS), body)
    before, known = await rows_used(field, "rows_written"), (await field.state())["written"]["rows"]
    await field.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert sum(views for views, _, _ in field.receiver.days.values()) == events
    # Rows of events and pages go, and some pages end within a run's share: far from a row for each event.
    written = await rows_used(field, "rows_written") - before
    assert written < 2 * links + 200
    # The worker knows what it has written, and rather too much than too little. The event log was written by this test.
    assert written <= (await field.state())["written"]["rows"] - known - 60 < 1.05 * written


@pytest.mark.rule("W5")
async def test_twenty_thousand_visitors_of_one_page_cost_a_few_reads_each(field: Field) -> None:
    now = await field.clock(0)
    hour = now - now % HOUR_MS
    await field.cron(hour)
    people = 20_000
    for minute in range(10):
        numbers = range(minute * people // 10, (minute + 1) * people // 10)
        # Everybody comes twice, in different rows and pages.
        lines = [
            json.dumps(
                ["site_a", hour // HOUR_MS, "", f"v{i * 13 % (people // 2):07}", "/", "", "DE|mobile|Chrome|iOS"]
            )
            for i in numbers
        ]
        insert = "insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')"
        await field.sql(insert, first_log_id(hour + minute * MINUTE_MS), "\n".join(lines) + "\n")
    before = await rows_used(field, "rows_read")
    await field.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert list(field.receiver.hours.values()) == [(people, 0, people // 2)]
    assert list(field.receiver.days.values()) == [(people, 0, people // 2)]
    assert await rows_used(field, "rows_read") - before < 12 * people


@pytest.mark.rule("W6")
@pytest.mark.parametrize(("known", "counted"), [(140_000, 140_020), (173_000, 173_000)])
async def test_a_list_of_visitors_does_not_outgrow_a_value(field: Field, known: int, counted: int) -> None:
    now = await field.clock(0)
    hour = now - now % HOUR_MS
    await field.cron(hour)
    await field.sql(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
        "insert into hour(target, day, hour, views, bots, visitors) "
        "select 'site_a', ?, ?, 0, 0, json_group_array(printf('k%07d', i)) from n",
        known,
        hour // DAY_MS,
        hour % DAY_MS // HOUR_MS,
    )
    line = '["site_a",%d,"","v%07d","/","","DE|mobile|Chrome|iOS"]\n'
    body = "".join(line % (hour // HOUR_MS, i) for i in range(20))
    await field.sql("insert into event_log(id, lines, writes) values (?, ?, 'AAAAAAAA,')", first_log_id(hour), body)
    await field.crons_until_quiet(hour + HOUR_MS + 3 * MINUTE_MS)
    assert list(field.receiver.hours.values()) == [(20, 0, counted)]


@pytest.mark.rule("W3")
@pytest.mark.parametrize("kind", ["d1_drop_before", "d1_drop_after"])
async def test_a_database_that_loses_calls_loses_and_doubles_nothing(field: Field, kind: str) -> None:
    now = await field.clock(0)
    await field.view()
    await field.emulator.settled()
    for i in range(8):
        await field.emulator.fault(kind, times=1)
        await send_views(field, 5)
        await field.emulator.clear_faults()
        assert await stored_views(field) <= 1 + 5 * (i + 1)
    await send_views(field, 20)
    assert await stored_views(field) == 61
    at = next_hour(now)
    for _ in range(6):
        await field.emulator.fault(kind, times=1)
        await field.emulator.cron(field.customer.account_id, SCRIPT, at=at)
        await field.emulator.clear_faults()
        at += MINUTE_MS
    await field.crons_until_quiet(at)
    assert list(field.receiver.days.values()) == [(61, 0, PEOPLE)]


@pytest.mark.rule("W3")
@pytest.mark.parametrize("kind", ["d1_drop_before", "d1_drop_after"])
async def test_the_last_event_before_a_quiet_time_outlives_a_disturbance(field: Field, kind: str) -> None:
    await field.view()
    await field.emulator.settled()
    # Of the next flush both tries fail, and no other event comes to bring this one.
    await field.emulator.fault(kind, times=2)
    await field.view()
    await field.emulator.settled()
    assert await stored_views(field) == 2


@pytest.mark.rule("W2")
async def test_a_visitor_is_the_same_after_the_isolate_is_gone_and_another_the_next_day(
    field: Field, bundle: Path
) -> None:
    now = await field.clock(0)
    await send_views(field, 10, 5)
    await field.upload(bundle, json.loads((bundle / "manifest.json").read_text()), "install-2")
    await send_views(field, 10, 5)
    tomorrow = now - now % DAY_MS + DAY_MS + 2 * HOUR_MS
    await field.clock((tomorrow - now) / 1000)
    await send_views(field, 10, 5)
    await field.crons_until_quiet(next_hour(tomorrow))
    assert sorted(field.receiver.days.values()) == [(10, 0, 5), (20, 0, 5)]


@pytest.mark.rule("W2")
async def test_the_salt_and_the_hashes_are_gone_when_the_day_is_closed(field: Field) -> None:
    now = await field.clock(0)
    await send_views(field, 10, 5)
    body = (await field.sql("select lines from event_log"))[0]["lines"]
    hashes = {json.loads(line)[3] for line in body.splitlines()}
    assert len(hashes) == 5
    tomorrow = now - now % DAY_MS + DAY_MS
    await field.clock((tomorrow + 12 * MINUTE_MS - now) / 1000)
    await field.crons_until_quiet(tomorrow + 12 * MINUTE_MS)
    assert await field.sql("select * from salt") == []
    assert await field.sql("select * from hour") == []
    for table in ("meta", "config", "event_log", "event_page", "day", "outbox"):
        text = json.dumps(await field.sql(f"select * from {table}"))
        assert not [known for known in hashes if known in text]
    # The same people again: yesterday's hashes cannot be made a second time.
    await send_views(field, 10, 5)
    body = (await field.sql("select lines from event_log"))[0]["lines"]
    assert hashes.isdisjoint(json.loads(line)[3] for line in body.splitlines())


@pytest.mark.rule("W2")
async def test_no_address_and_no_user_agent_is_stored(field: Field) -> None:
    now = await field.clock(0)
    await field.view(
        "/p",
        ip="198.51.100.77",
        ua="Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
        referrer="https://mail.example.org/inbox?user=ada",
    )
    await field.emulator.settled()

    async def stored() -> str:
        return "".join(
            [
                json.dumps(await field.sql(f"select * from {t}"))
                for t in ("meta", "event_log", "event_page", "day", "hour", "outbox")
            ]
        )

    before = await stored()
    await field.cron(next_hour(now))
    for text in (before, await stored()):
        assert "mail.example.org" in text
        for secret in ("198.51.100", "Gecko", "inbox", "ada"):
            assert secret not in text


@pytest.mark.rule("W3")
async def test_lost_answers_and_refusals_of_the_service_change_no_total(field: Field) -> None:
    receiver = field.receiver
    now = await field.clock(0)
    await field.cron(now)
    await send_views(field)
    at = next_hour(now)

    def done_but_lost(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        return 502, {}, {}

    def half(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        receiver.apply(body)
        return 200, {**accepted(body), "accepted": [part["id"] for part in body["parts"]][:1]}, {}

    # Three hours wait in the queue before the service takes any.
    receiver.answers += [done_but_lost] * 20
    for hour in range(3):
        await field.cron(at + hour * HOUR_MS)
    receiver.answers = [
        lambda _: (503, {}, {"retry-after": "600"}),
        lambda _: (413, {}, {}),
        half,
        lambda _: (200, [], {}),
        done_but_lost,
    ]
    await field.crons_until_quiet(at + 3 * HOUR_MS)
    assert receiver.answers == []
    assert list(receiver.days.values()) == [(VIEWS, 0, PEOPLE)]
    assert sum(counts[0] for counts in receiver.hours.values()) == VIEWS


@pytest.mark.rule("W7")
async def test_a_refused_key_stops_the_push_until_the_next_upload(field: Field, bundle: Path) -> None:
    now = await field.clock(0)
    field.receiver.answers.append(lambda _: (401, {}, {}))
    await field.cron(now)
    for minute in range(1, 50):
        await field.cron(now + minute * MINUTE_MS)
    assert len(field.receiver.pushes) == 1
    assert "401" in (await field.state())["push"]["error"]
    await field.upload(bundle, json.loads((bundle / "manifest.json").read_text()), "install-2")
    await field.cron(now + 50 * MINUTE_MS)
    assert [push["install"] for push in field.receiver.pushes] == ["install-1", "install-2"]
    assert "401" in field.receiver.pushes[1]["error"]


@pytest.mark.rule("W4")
async def test_refused_parts_leave_the_queue_and_are_counted(field: Field) -> None:
    now = await field.clock(0)
    await field.cron(now)
    await send_views(field, 3)

    def refuse(body: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        refused = [{"id": part["id"], "code": "too_old"} for part in body["parts"]]
        return 200, {**accepted(body), "accepted": [], "refused": refused}, {}

    field.receiver.answers.append(refuse)
    await field.crons_until_quiet(next_hour(now))
    assert (await field.state())["dropped"]["too_old"] == 1
    assert field.receiver.days == {}


@pytest.mark.rule("W3")
async def test_a_backlog_of_thirty_days_is_worked_off_inside_every_limit(field: Field) -> None:
    now = await field.clock(0)
    await field.cron(now)
    midnight = now - now % DAY_MS
    field.receiver.answers += [lambda _: (503, {}, {})] * 10_000
    days = 30
    for day in range(days):
        start = midnight + day * DAY_MS + 2 * HOUR_MS if day else now
        await field.clock((start - now) / 1000)
        await send_views(field, 4, 2)
        for hour in range(3, 25):
            at = midnight + day * DAY_MS + hour * HOUR_MS + 12 * MINUTE_MS
            if at > start:
                await field.cron(at)
    queue = (await field.sql("select count(*) as n from outbox"))[0]["n"]
    assert queue > 20 * days
    field.receiver.answers.clear()
    await field.crons_until_quiet(midnight + days * DAY_MS + HOUR_MS + 4 * MINUTE_MS)
    assert list(field.receiver.days.values()) == [(4, 0, 2)] * days
    assert len(field.receiver.finals) == days
