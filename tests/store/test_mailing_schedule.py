"""Tests that each report is queued only once: as soon as the last day's counts have arrived, or at the latest 25 to
26 hours after the end of the period.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS, HOUR_MS, day_number, day_of
from svc.store import mailing_schedule, mailings, sites, totals
from svc.store.mailing_reports import MAX_LINKS, MAX_NOTES, MAX_SITES, read_report
from svc.store.report_periods import due_day, next_due_day, period_due
from svc.store.tx import sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.store.makers import a_link, a_mailing, a_note, a_site, an_account, owner_of

if TYPE_CHECKING:
    from svc.store.report_periods import ReportPeriod
    from svc.store.tx import Store, Tx

pytestmark = pytest.mark.rule("Y14")

MONDAY = day_number("2026-11-23")
WEEK = period_due("weekly", MONDAY)
MONTH = period_due("monthly", day_number("2026-12-01"))
ANN, BOB = "ann@example.org", "bob@example.org"
BEFORE = (MONDAY - 3) * DAY_MS
MINUTE_MS = 60_000


def at(day: int, minutes: float) -> int:
    """Return the time (epoch ms) this many minutes after the start of the day."""
    return int(day * DAY_MS + minutes * MINUTE_MS)


def site_with_reports(*, confirmed: tuple[str, ...] = (ANN,), minute: int = 30) -> Tx[tuple[str, str]]:
    """Add a site with weekly and monthly reports, and return the ids of its account and of the site."""
    account_id = yield from an_account()
    yield sql("update accounts set created_at = $2 where id = $1", account_id, (WEEK.first_before - 60) * DAY_MS)
    site_id = yield from a_site(account_id)
    mailing = yield from a_mailing(account_id, site_id, recipients=(ANN, BOB), at=BEFORE)
    yield from _confirm(mailing.target, confirmed)
    yield sql("update mailings set minute = $2 where target = $1", site_id, minute)
    return account_id, site_id


def _confirm(target: str, emails: tuple[str, ...]) -> Tx[None]:
    yield sql(
        "update mailing_recipients set state = 'confirmed' where mailing = $1 and email = any($2)", target, emails
    )


def pushed(account_id: str, first: int, last: int, *targets: str, views: int = 10) -> Tx[None]:
    """Store the final totals of these days, each with `views` views."""
    for day in range(first, last + 1):
        rows = tuple((target, views, 1, 5) for target in targets)
        hour = PushedHour(day * DAY_MS, rows)
        end = (day + 1) * DAY_MS
        yield from totals.ingest(account_id, [PushedPart(1, day, end, True, (hour,), (), rows)], end)


def queued() -> Tx[list[tuple[str, str]]]:
    rows = yield sql("select kind, address from outbox where kind = 'report' order by id")
    return sorted((row["kind"], row["address"]) for row in rows)


async def due(store: Store, period: ReportPeriod, now: int) -> list[str]:
    return await store.read(mailing_schedule.due(period, now, 10))


async def test_report_is_due_at_its_minute_once_the_last_day_is_final(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    assert await due(store, WEEK, at(MONDAY, 120)) == []
    await store.run(pushed(account_id, MONDAY - 1, MONDAY - 1, site_id))
    assert await due(store, WEEK, at(MONDAY, 29.9)) == []
    assert await due(store, WEEK, at(MONDAY, 30)) == [site_id]
    assert await store.read(mailing_schedule.due(WEEK, at(MONDAY, 30), 10, [site_id])) == []


async def test_report_without_all_counts_is_due_after_25_to_26_hours(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    assert await due(store, WEEK, at(MONDAY, 25 * 60 + 29.9)) == []
    assert await due(store, WEEK, at(MONDAY, 25 * 60 + 30)) == [site_id]


async def test_reports_are_spread_over_an_hour(store: Store) -> None:
    minutes = {mailings.new_mailing(1, "acc", "site", f"site_{n}", 0).minute for n in range(1_000)}
    assert minutes == set(range(60))


async def test_reports_are_queued_once_for_confirmed_recipients(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    now = at(MONDAY, 26 * 60)
    assert await store.run(mailing_schedule.enqueue(site_id, WEEK, {"n": 1}, now)) == 1
    assert await store.run(mailing_schedule.enqueue(site_id, WEEK, {"n": 1}, now)) is None
    assert await store.read(queued()) == [("report", ANN)]
    assert await due(store, WEEK, now) == []
    following = period_due("weekly", MONDAY + 7)
    assert await due(store, following, at(MONDAY + 7, 26 * 60)) == [site_id]


async def test_two_services_queue_a_report_once(store: Store) -> None:
    _, site_id = await store.run(site_with_reports(confirmed=(ANN, BOB)))
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(store.run, mailing_schedule.enqueue(site_id, WEEK, {}, at(MONDAY, 30)))
    assert await store.read(queued()) == [("report", ANN), ("report", BOB)]


async def test_after_an_outage_of_three_weeks_only_the_last_week_is_reported(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    now = at(MONDAY + 24, 12 * 60)
    period = period_due("weekly", due_day("weekly", day_of(now)))
    assert await due(store, period, now) == [site_id]
    assert await store.run(mailing_schedule.enqueue(site_id, period, {}, now)) == 1
    assert (period.first, period.last) == (MONDAY + 14, MONDAY + 20)
    assert await due(store, period, now) == []
    assert await due(store, period_due("weekly", MONDAY + 28), at(MONDAY + 28, 26 * 60)) == [site_id]


async def test_report_that_was_turned_off_is_not_queued(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    await store.run(a_mailing(account_id, site_id, weekly=False, recipients=(ANN,), at=BEFORE))
    assert await store.run(mailing_schedule.enqueue(site_id, WEEK, {}, at(MONDAY, 30))) is None
    assert await store.read(queued()) == []
    assert await due(store, MONTH, at(MONTH.due_day, 26 * 60)) == [site_id]


async def test_report_without_content_is_skipped(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    assert await store.run(mailing_schedule.enqueue(site_id, WEEK, None, at(MONDAY, 30))) == 0
    assert await due(store, WEEK, at(MONDAY, 26 * 60)) == []


async def test_clock_that_was_set_back_causes_no_second_report(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    await store.run(mailing_schedule.enqueue(site_id, WEEK, {}, at(MONDAY, 30)))
    for day in (MONDAY, MONDAY - 7, MONDAY - 30):
        period = period_due("weekly", due_day("weekly", day))
        assert await due(store, period, at(day, 26 * 60)) == []
        assert not await store.read(mailing_schedule.has_wrong_days("weekly", MONDAY - 1))


async def test_clock_that_was_set_back_and_forward_again_causes_no_second_report(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    await store.run(mailing_schedule.enqueue(site_id, WEEK, {}, at(MONDAY, 30)))
    await store.run(mailing_schedule.correct_days("weekly", MONDAY - 400))
    assert await due(store, WEEK, at(MONDAY, 26 * 60)) == [site_id]
    assert await store.run(mailing_schedule.enqueue(site_id, WEEK, {}, at(MONDAY, 26 * 60))) is None
    assert await due(store, WEEK, at(MONDAY, 26 * 60)) == []
    assert await store.read(queued()) == [("report", ANN)]


async def test_day_from_a_wrong_clock_is_corrected(store: Store) -> None:
    _, site_id = await store.run(site_with_reports())
    year = MONDAY + 52 * 7
    await store.run(mailing_schedule.enqueue(site_id, period_due("weekly", year), {}, at(year, 30)))
    assert await store.read(mailing_schedule.has_wrong_days("weekly", MONDAY))
    assert not await store.read(mailing_schedule.has_wrong_days("monthly", MONDAY))
    await store.run(mailing_schedule.correct_days("weekly", MONDAY))
    assert not await store.read(mailing_schedule.has_wrong_days("weekly", MONDAY))
    assert await due(store, period_due("weekly", MONDAY + 7), at(MONDAY + 7, 26 * 60)) == [site_id]


async def test_site_report_has_the_stored_totals_of_both_periods(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    link_id = await store.run(a_link(account_id))
    await store.run(pushed(account_id, WEEK.first, WEEK.last, site_id, link_id, views=10))
    await store.run(pushed(account_id, WEEK.first - 1, WEEK.first - 1, site_id, views=100))
    await store.run(pushed(account_id, WEEK.first_before - 1, WEEK.first_before - 1, site_id, views=1_000))
    await store.run(pushed(account_id, MONDAY, MONDAY, site_id, views=7))
    await store.run(a_note(account_id, site_id, day=WEEK.last))
    await store.run(a_note(account_id, account_id, "account", day=WEEK.first))
    await store.run(a_note(account_id, site_id, day=MONDAY))
    report = await store.read(read_report(site_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert (report.name, report.total.counts.views, report.total.counts.visitors) == ("shop.example.com", 70, 35)
    assert report.total.before is not None
    assert report.total.before.views == 100
    assert report.days == (10,) * 7
    assert [(one.name, one.counts.views, one.before) for one in report.links] == [("go.example.com/sale26", 70, None)]
    assert [one.day for one in report.notes] == [WEEK.first, WEEK.last]
    assert (report.sites, report.number_of_sites, report.missing_days) == ((), 0, 0)


async def test_account_report_has_all_sites_in_order_of_views(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    others = [await store.run(_site(account_id, n)) for n in range(MAX_SITES + 2)]
    mailing = await store.run(a_mailing(account_id, account_id, "account", recipients=(ANN,), at=BEFORE))
    await store.run(_confirm(mailing.target, (ANN,)))
    await store.run(pushed(account_id, WEEK.last, WEEK.last, others[3], views=50))
    await store.run(pushed(account_id, WEEK.first, WEEK.first, site_id, views=20))
    await store.run(sites.delete_site(account_id, others[0]))
    report = await store.read(read_report(account_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert (report.name, report.total.counts.views, report.total.before) == ("Shop", 70, None)
    assert report.days == (20, 0, 0, 0, 0, 0, 50)
    assert [one.name for one in report.sites[:2]] == ["s3.example.com", "shop.example.com"]
    assert (len(report.sites), report.number_of_sites) == (MAX_SITES, MAX_SITES + 2)


def _site(account_id: str, n: int) -> Tx[str]:
    return (yield from a_site(account_id, f"s{n}.example.com"))


async def test_lists_of_links_and_notes_are_bounded(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    links = [await store.run(a_link(account_id, f"code{n}")) for n in range(MAX_LINKS + 3)]
    await store.run(pushed(account_id, WEEK.last, WEEK.last, *links))
    for _ in range(MAX_NOTES + 5):
        await store.run(a_note(account_id, site_id, day=WEEK.last))
    report = await store.read(read_report(site_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert (len(report.links), len(report.notes)) == (MAX_LINKS, MAX_NOTES + 1)


@pytest.mark.parametrize(("sent", "missing"), [(7, 0), (5, 2), (0, 7)])
async def test_days_whose_counts_have_not_arrived_are_counted(store: Store, sent: int, missing: int) -> None:
    account_id, site_id = await store.run(site_with_reports())
    await store.run(pushed(account_id, WEEK.first, WEEK.first + sent - 1, site_id))
    report = await store.read(read_report(site_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert report.missing_days == missing


async def test_final_part_without_rows_is_enough_for_a_day_without_events(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    await store.run(pushed(account_id, WEEK.first, WEEK.last))
    assert await due(store, WEEK, at(MONDAY, 60)) == [site_id]
    report = await store.read(read_report(site_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert report.missing_days == 0


async def test_days_before_the_account_was_connected_are_not_missing(store: Store) -> None:
    account_id, site_id = await store.run(site_with_reports())
    await store.run(_connected_at(account_id, WEEK.last * DAY_MS + HOUR_MS))
    report = await store.read(read_report(site_id, WEEK, at(MONDAY, 60)))
    assert report is not None
    assert report.missing_days == 1


def _connected_at(account_id: str, now: int) -> Tx[None]:
    yield sql("update accounts set created_at = $2 where id = $1", account_id, now)


async def test_no_report_without_confirmed_recipient(store: Store) -> None:
    _, site_id = await store.run(site_with_reports(confirmed=()))
    assert await store.read(read_report(site_id, WEEK, at(MONDAY, 60))) is None
    assert await store.read(read_report("site_unknown", WEEK, at(MONDAY, 60))) is None


@pytest.mark.parametrize("table", ["sites", "users"])
async def test_no_report_about_a_disabled_site_or_for_a_disabled_user(store: Store, table: str) -> None:
    account_id, site_id = await store.run(site_with_reports())
    assert await store.read(read_report(site_id, WEEK, at(MONDAY, 60))) is not None
    await store.run(_disable(table, site_id if table == "sites" else await store.read(owner_of(account_id))))
    assert await store.read(read_report(site_id, WEEK, at(MONDAY, 60))) is None


def _disable(table: str, row_id: str | int) -> Tx[None]:
    # the name of the table is a constant of this file
    yield sql(f"update {table} set disabled_at = 1 where id = $1", row_id)
    if table == "sites":
        yield sql("update sites set disabled_reason = 'x' where id = $1", row_id)


def test_monthly_reports_follow_each_other() -> None:
    assert next_due_day("monthly", MONTH.due_day) == day_number("2027-01-01")
