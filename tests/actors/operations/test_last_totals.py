"""Tests that, after a disconnect, the totals include the Worker's unpushed counts, exactly and with few calls."""

from __future__ import annotations

import json

import pytest
import trio

from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, iso
from svc.ids import digest
from svc.model import Counts
from svc.store import totals, worker_keys
from svc.worker.pushed import PushedHour, PushedPart
from tests.actors.operations.test_disconnect import disconnect
from tests.actors.sync.test_recovery import Worker, add_link

CLIENT = "DE|desktop|Firefox|Linux"


def lines(*events):
    """Return the events as text, as a row of `event_log` or `event_page` contains them.

    Each event is (target, epoch hour, bot reason, visitor).
    """
    whole = [[*event, "", "", CLIENT] if not event[2] else list(event) for event in events]
    return "".join(json.dumps(line) + "\n" for line in whole)


@pytest.fixture
async def counting(service, zone):
    """A service whose clock shows 14:30 UTC, a link, and access to the Worker's database."""
    service.clock.now_ms = day_of(service.clock()) * DAY_MS + 14 * HOUR_MS + 1_800_000
    account_id = await service.ready()
    await service.confirmed()
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    link = await add_link(service, "sale")
    worker = Worker(service, (await service.account()).database_id)
    return service, link, worker


async def set_worker(worker, day, as_of, *, days=(), hours=(), log="", page=""):
    """Write rows into the Worker's database, as its cron runs and isolates would."""
    await worker.set_state(day=day, as_of=as_of)
    for target, of, views, bots, visitors in days:
        stored = json.dumps({"views": views, "bots": {"list": bots}, "visitors": visitors})
        await worker.sql("insert into day values (?, cast(? as integer), ?)", target, str(of), stored)
    for target, of, hour, views, bots, hashes in hours:
        await worker.sql(
            "insert into hour values (?, cast(? as integer), cast(? as integer), cast(? as integer),"
            " cast(? as integer), ?)",
            target, str(of), str(hour), str(views), str(bots), json.dumps(hashes),
        )  # fmt: skip
    if log:
        await worker.sql("insert into event_log(id, lines) values (7, ?)", log)
    if page:
        await worker.sql("insert into event_page(id, lines) values (1, ?)", page)


@pytest.mark.rule("A17", "W3", "L3")
async def test_folded_and_unfolded_events_of_open_and_closed_days_are_stored(counting):
    service, link, worker = counting
    now = service.clock()
    today = day_of(now)
    at = today * 24
    # The last push covered the day before yesterday, and yesterday until noon.
    pushed = PushedPart(0, today - 1, (today - 1) * DAY_MS + 12 * HOUR_MS, False, (), (), ((link, 3, 0, 2),))
    account_id = (await service.account()).id
    await service.store.run(totals.ingest(account_id, [pushed], now))
    await set_worker(
        worker,
        today - 1,
        at * HOUR_MS + 13 * HOUR_MS,
        days=[(link, today - 1, 9, 4, 5), (link, today, 5, 1, 0)],
        hours=[
            (link, today, 2, 4, 0, ["ann", "bob", "ann"]),
            (link, today, 13, 1, 1, ["ann"]),
        ],
        # Ann has visited before on this day, but Cleo has not. One event is too late, because its day is closed.
        page=lines((link, at + 13, "", "cleo"), (link, at + 13, "", "ann"), (link, at - 1, "", "late")),
        log=lines((link, at + 14, "", "cleo"), (link, at + 14, "", "dan"), (link, at + 14, "head", "")),
    )
    assert (await disconnect(service))["left"] == []
    assert await service.store.read(totals.day_counts(link, today - 2, today)) == {
        today - 1: (Counts(9, 4, 5), today * DAY_MS, True),
        today: (Counts(9, 2, 4), at * HOUR_MS + 15 * HOUR_MS, False),
    }
    assert await service.store.read(totals.hour_counts(link, today * DAY_MS, now)) == [
        (today * DAY_MS + 2 * HOUR_MS, Counts(4, 0, 2)),
        (today * DAY_MS + 13 * HOUR_MS, Counts(3, 1, 2)),
        (today * DAY_MS + 14 * HOUR_MS, Counts(2, 1, 2)),
    ]
    for period, views, visitors in (("today", 9, 4), ("7d", 18, 9)):
        report = (await service.call("GET", f"/v1/links/{link}/report?period={period}")).body["report"]
        assert (report["totals"]["views"], report["totals"]["visitors"]) == (views, visitors)
        assert (report["unavailable"], report["as_of"]) == (None, iso(now))
    service.clock.advance_s(86_400)
    report = (await service.call("GET", f"/v1/links/{link}/report?period=7d")).body["report"]
    assert [point["views"] for point in report["series"]] == [0, 0, 0, 0, 9, 9, 0]


async def queue(worker, number, day, last, rows, *, hour_rows=(), refused=(), final=False):
    """Add a part to the Worker's outbox. `last`: the last hour of the day that the part covers."""
    at = day * DAY_MS + last * HOUR_MS
    hours = [{"at": at, "rows": hour_rows}] if hour_rows else []
    part = {"day": day_text(day), "as_of": at + HOUR_MS, "final": final, "hours": hours,
            "refused_hours": refused, "days": rows}  # fmt: skip
    await worker.sql("insert into outbox values (cast(? as integer), 0, ?)", str(number), json.dumps(part))


@pytest.mark.rule("A17", "W3", "W5")
async def test_hours_of_a_closed_day_that_were_not_pushed_are_stored(counting):
    """Closing a day deletes its hours, so the hours that were not pushed are only in the queued parts."""
    service, link, worker = counting
    now = service.clock()
    yesterday = day_of(now) - 1
    at = yesterday * DAY_MS
    row = (link, 3, 0, 1)
    pushed = PushedPart(1, yesterday, at + 21 * HOUR_MS, False, (PushedHour(at + 20 * HOUR_MS, (row,)),), (), (row,))
    account_id = (await service.account()).id
    await service.store.run(totals.ingest(account_id, [pushed], now))
    await set_worker(worker, yesterday, at + DAY_MS, days=[(link, yesterday, 12, 1, 4)])
    refused = at + 22 * HOUR_MS
    await queue(worker, 2, yesterday, 21, [(link, 7, 0, 2)], hour_rows=[(link, 4, 0, 2)])
    await queue(worker, 3, yesterday, 22, [(link, 7, 0, 2)], refused=[refused])
    # A late event was added to the hour before the last one, which was therefore queued again.
    await queue(worker, 4, yesterday, 21, [(link, 8, 0, 2)], hour_rows=[(link, 5, 0, 2)])
    await queue(worker, 5, yesterday, 23, [(link, 12, 1, 4)], hour_rows=[(link, 4, 1, 3)], final=True)
    assert (await disconnect(service))["left"] == []
    assert await service.store.read(totals.hour_counts(link, at, at + DAY_MS)) == [
        (at + 20 * HOUR_MS, Counts(3, 0, 1)),
        (at + 21 * HOUR_MS, Counts(5, 0, 2)),
        (at + 23 * HOUR_MS, Counts(4, 1, 3)),
    ]
    assert await service.store.read(totals.refused_hours(account_id, at, at + DAY_MS)) == [refused]
    assert await service.store.read(totals.day_counts(link, yesterday, yesterday)) == {
        yesterday: (Counts(12, 1, 4), at + DAY_MS, True)
    }


@pytest.mark.rule("A17", "R5", "R7")
async def test_report_of_a_link_shows_that_the_last_counts_could_not_be_read(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    at = today * DAY_MS + 13 * HOUR_MS
    row = ((link, 3, 0, 2),)
    parts = [
        PushedPart(0, today - 1, today * DAY_MS, True, (), (), row),
        PushedPart(1, today, at + HOUR_MS, False, (PushedHour(at, row),), (at - HOUR_MS,), row),
    ]
    await service.store.run(totals.ingest((await service.account()).id, parts, service.clock()))
    await set_worker(worker, today - 1, at + HOUR_MS, log=lines((link, today * 24 + 14, "", "dan")))
    await service.emulator.fault("refuse", "*/query", status=500, times=None)
    left = (await disconnect(service))["leftovers"]
    assert [one["kind"] for one in left] == ["uncounted_database"]
    report = (await service.call("GET", f"/v1/links/{link}/report")).body["report"]
    assert (report["unavailable"], report["series"], report["as_of"]) == ("not_installed", [], None)
    report = (await service.call("GET", f"/v1/links/{link}/report?period=7d")).body["report"]
    assert (report["unavailable"], report["totals"]["views"], report["incomplete"]) == ("not_installed", 3, False)


@pytest.mark.rule("A17", "R1", "R7")
async def test_disconnect_across_the_end_of_an_hour_loses_no_counts(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    service.clock.now_ms = today * DAY_MS + 15 * HOUR_MS - 1
    at = today * 24 + 14
    refused = PushedPart(0, today, at * HOUR_MS, False, (), (at * HOUR_MS,), ())
    await service.store.run(totals.ingest((await service.account()).id, [refused], service.clock()))
    await set_worker(worker, today - 1, at * HOUR_MS, log=lines((link, at, "", "dan")))
    await service.emulator.fault("slow", "*/d1/database/*", method="DELETE", delay_s=0.5)

    async def an_hour_ends():
        await service.emulator.faulted()
        service.clock.now_ms += 2_000

    async with trio.open_nursery() as nursery:
        nursery.start_soon(an_hour_ends)
        assert (await disconnect(service))["left"] == []
    report = (await service.call("GET", f"/v1/links/{link}/report")).body["report"]
    assert (report["unavailable"], report["incomplete"], report["as_of"]) == (None, False, iso(service.clock()))
    assert [point["views"] for point in report["series"]] == [0] * 14 + [1, 0]


@pytest.mark.rule("A17", "W3")
async def test_open_day_that_has_just_ended_is_complete(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    hour_at = (today - 1) * DAY_MS + 23 * HOUR_MS
    await set_worker(
        worker, today - 2, hour_at,
        hours=[(link, today - 1, 22, 2, 0, ["ann", "bob"])],
        log=lines((link, hour_at // HOUR_MS, "", "bob"), (link, today * 24, "", "bob")),
    )  # fmt: skip
    await disconnect(service)
    assert await service.store.read(totals.day_counts(link, today - 1, today)) == {
        today - 1: (Counts(3, 0, 2), today * DAY_MS, True),
        today: (Counts(1, 0, 1), (today * 24 + 15) * HOUR_MS, False),
    }


@pytest.mark.rule("A17")
@pytest.mark.parametrize("day", [2**40, 2**62])
async def test_foreign_day_rows_do_not_prevent_a_disconnect(counting, day):
    service, link, worker = counting
    today = day_of(service.clock())
    days = [(link, today - 1, 9, 4, 5), (link, day, 1, 0, 1)]
    await set_worker(worker, today - 1, today * DAY_MS + 13 * HOUR_MS, days=days, hours=[(link, day, 3, 1, 0, ["ann"])])
    assert (await disconnect(service))["left"] == []


@pytest.mark.rule("A17", "W3")
async def test_counts_that_were_already_pushed_do_not_change(counting):
    service, link, worker = counting
    now = service.clock()
    today = day_of(now)
    account_id = (await service.account()).id
    as_of = today * DAY_MS + 14 * HOUR_MS
    row = ((link, 2, 0, 1),)
    part = PushedPart(0, today, as_of, False, (PushedHour(as_of - HOUR_MS, row),), (), row)
    await service.store.run(totals.ingest(account_id, [part], now))
    await set_worker(worker, today - 1, as_of, hours=[(link, today, 13, 2, 0, ["ann", "ann"])])
    await disconnect(service)
    counts = await service.store.read(totals.day_counts(link, today, today))
    assert counts[today][0] == Counts(2, 0, 1)
    report = (await service.call("GET", f"/v1/links/{link}/report?period=today")).body["report"]
    assert [point["views"] for point in report["series"]] == [0] * 13 + [2, 0]
    assert report["as_of"] == "".join([report["as_of"][:10], "T14:30:00.000Z"])


@pytest.mark.rule("A17", "W3", "W4")
async def test_days_deleted_before_their_push_are_stored(counting):
    """The Worker keeps 14 days, but none of its pushes was accepted for 20 days."""
    service, link, worker = counting
    now = service.clock()
    today = day_of(now)
    pushed = PushedPart(0, today - 21, (today - 20) * DAY_MS, True, (), (), ((link, 1, 0, 1),))
    await service.store.run(totals.ingest((await service.account()).id, [pushed], now))
    kept_from = today - 15
    await set_worker(
        worker, today - 1, today * DAY_MS, days=[(link, today - ago, 100 + ago, 1, 2) for ago in range(15, 0, -1)]
    )
    await worker.set_state(day=today - 1, as_of=today * DAY_MS, kept_from=kept_from)
    parts: list[tuple[int, bool, list[object]]] = [
        # The oldest day has a part with the counts until noon, followed by two final parts with different targets.
        (20, False, [link, 3, 0, 2]),
        (20, True, ["lnk_other", 9, 9, 9]),
        (20, True, [link, 120, 1, 2]),
        *((ago, True, [link, 100 + ago, 1, 2]) for ago in range(19, 0, -1)),
    ]
    for number, (ago, final, row) in enumerate(parts, 1):
        await queue(worker, number, today - ago, 23 if final else 11, [row], final=final)
    # Malformed parts, which another program wrote, do not prevent the read.
    for number, text in enumerate(("x", "{}", '{"days": 5}', '{"day": "x", "final": true, "days": [[1]]}'), 100):
        await worker.sql("insert into outbox values (cast(? as integer), 0, ?)", str(number), text)
    assert (await disconnect(service))["left"] == []
    found = await service.store.read(totals.day_counts(link, today - 30, today - 1))
    assert found.pop(today - 21)[0] == Counts(1, 0, 1)
    assert found == {
        today - ago: (Counts(100 + ago, 1, 2), (today - ago + 1) * DAY_MS, True) for ago in range(20, 0, -1)
    }
    report = (await service.call("GET", f"/v1/links/{link}/report?period=30d")).body["report"]
    assert report["totals"]["views"] == 1 + sum(100 + ago for ago in range(1, 21))


@pytest.mark.rule("A17", "W4")
async def test_deleted_days_of_thousands_of_targets_take_few_calls(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    await worker.set_state(day=today - 1, as_of=today * DAY_MS, kept_from=today - 15)
    for number in range(9):
        days = [[f"lnk_{number}_{n}", 1, 0, 1] for n in range(1_500)] + [[link, 4, 0, 3]] * (number == 8)
        await queue(worker, number + 1, today - 16, 23, days, final=True)
    await service.emulator.forget_requests()
    await disconnect(service)
    calls = await service.emulator.requests()
    assert len([call for call in calls if call["path"].endswith("/query")]) < 25
    counts = await service.store.read(totals.day_counts(link, today - 16, today))
    assert counts[today - 16][0] == Counts(4, 0, 3)


@pytest.mark.rule("A17")
async def test_ten_thousand_targets_take_few_calls(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    # Rows of unknown targets are ignored. Reading them takes no additional calls.
    await worker.set_state(day=today - 1, as_of=today * DAY_MS)
    names = json.dumps([f"lnk_{n}" for n in range(10_000)])
    hour = "select value, cast(? as integer), 3, 1, 0, '[\"ann\"]' from json_each(?)"
    await worker.sql(f"insert into hour {hour}", str(today), names)
    day = 'select value, cast(? as integer), \'{"views": 1, "bots": {}}\' from json_each(?)'
    await worker.sql(f"insert into day {day}", str(today), names)
    event = json.dumps([link, today * 24 + 4, "", "bob", "", "", CLIENT])
    await worker.sql("insert into event_log(id, lines) values (7, ?)", (event + "\n") * 500)
    await service.emulator.forget_requests()
    await disconnect(service)
    calls = await service.emulator.requests()
    assert len([call for call in calls if call["path"].endswith("/query")]) < 40
    assert len(calls) < 60
    counts = await service.store.read(totals.day_counts(link, today, today))
    assert counts[today][0] == Counts(500, 0, 1)


@pytest.mark.rule("A17", "W7")
async def test_late_push_of_the_old_worker_is_rejected(service):
    account_id = await service.ready()
    await service.store.run(worker_keys.add_worker_key(account_id, digest("svcw_mine"), "op_1"))
    headers = {"Authorization": "Bearer svcw_mine", "Content-Type": "application/json"}
    push = {"v": 1, "install": "", "bundle": "b", "schema": 1, "sent_at": service.clock(), "queue": 0, "error": None,
            "dropped": {}, "parts": []}  # fmt: skip
    assert (await service.world.call("POST", "/edge/push", push, headers=headers)).status == 200
    await disconnect(service)
    assert (await service.world.call("POST", "/edge/push", push, headers=headers)).status == 401


@pytest.mark.rule("A17")
async def test_counts_that_change_during_the_read_are_read_again(counting):
    service, link, worker = counting
    today = day_of(service.clock())
    await set_worker(worker, today - 1, today * DAY_MS, log=lines((link, today * 24 + 1, "", "ann")))
    await service.emulator.fault("slow", "*/query", method="POST", after=4, delay_s=2)

    async def cron_runs():
        """Simulate an unfinished cron run: move and fold the events after the service has read the log."""
        await service.emulator.faulted()
        await worker.sql("delete from event_log")
        hour = '["ann"]'
        await worker.sql("insert into hour values (?, cast(? as integer), 1, 1, 0, ?)", link, str(today), hour)
        await worker.set_state(day=today - 1, as_of=today * DAY_MS, sorted=7)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cron_runs)
        await disconnect(service)
    counts = await service.store.read(totals.day_counts(link, today, today))
    assert counts[today][0] == Counts(1, 0, 1)


@pytest.mark.rule("A17", "W5")
async def test_low_write_budget_extends_the_wait_for_isolates(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        await add_link(service, "sale")
        await Worker(service, (await service.account()).database_id).set_state(level=1)
    place.edge["connect_s"] = 5  # this timeout limits each call to Cloudflare, but not the wait for the cron run
    async with place.running() as service:
        await service.idle()
        began_at = trio.current_time()
        assert (await disconnect(service, account_id))["left"] == []
        assert trio.current_time() - began_at > 5
