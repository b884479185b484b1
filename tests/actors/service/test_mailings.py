"""Email reports reach each recipient once, even if the process is killed at any step or the database cannot be read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from svc.actors.context import Context
from svc.actors.requests.live_reads import Unavailable
from svc.actors.service.mailings import Mailings
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.config import Config
from svc.errors import StoreUnavailable
from svc.model import Counts
from svc.store import accounts, sites
from svc.store.report_periods import due_day, next_due_day, period_due
from svc.store.tx import sql
from svc.worker.counts import Live
from tests.clock import FrozenClock
from tests.store.makers import a_mailing, a_site, an_account
from tests.store.mortal import Killed, Mortal
from tests.store.passing import Passing

if TYPE_CHECKING:
    from svc.actors.requests.live_reads import Reason
    from svc.model import Account
    from svc.store.tx import Store, Tx
    from svc.worker.counts import TargetDays
    from tests.conftest import ExpectedErrors

pytestmark = pytest.mark.rule("Y14")

# A Monday that is not the first of a month.
MONDAY = due_day("weekly", day_of(1_800_000_000_000))
WEEK = period_due("weekly", MONDAY)
NOW = MONDAY * DAY_MS + 26 * HOUR_MS
RECIPIENTS = ("ann@example.org", "bob@example.org")


@dataclass
class Reads:
    """Live reads with a fixed result. `asked`: the days of each read."""

    result: Live | Unavailable = field(default_factory=lambda: live())
    asked: list[TargetDays] = field(default_factory=list)

    async def read(self, user_id: int, account: Account, days: TargetDays) -> Live | Unavailable:
        del user_id, account
        self.asked.append(days)
        await trio.lowlevel.checkpoint()
        return self.result


def live(**more: Any) -> Live:
    breakdowns: Any = {
        "pages": {f"/{n}": 10 - n for n in range(8)},
        "sources": {"google.com": 3, "google.de": 4, "(internal)": 50, "": 5},
        "bots": {"list": 9},
    }
    return Live(NOW, {WEEK.last: Counts(1, 0, 1)}, {}, breakdowns, **more)


class Away(Passing):
    """A store that accepts no changes."""

    async def run(self, tx: Tx[Any]) -> Any:
        tx.close()
        raise StoreUnavailable("away")


def service(store: Any, clock: FrozenClock, reads: Reads) -> Mailings:
    none = cast("Any", None)
    return Mailings(
        Context(store=store, edge=none, vault=none, config=Config(), clock=clock, bundle=none, push_url=""), reads
    )


def with_reports(kind: str = "site", *, monthly: bool = False) -> Tx[str]:
    """Add an account with a site and weekly reports to two recipients. Return the id of the site or account."""
    account_id = yield from an_account()
    site_id = yield from a_site(account_id, f"shop{account_id[-5:]}.example")
    target = site_id if kind == "site" else account_id
    at = (WEEK.first - 40) * DAY_MS
    mailing = yield from a_mailing(account_id, target, kind, recipients=RECIPIENTS, at=at, monthly=monthly)
    yield sql("update mailing_recipients set state = 'confirmed' where mailing = $1", mailing.target)
    yield sql("update mailings set weekly_day = $2, minute = 0 where target = $1", target, MONDAY)
    return target


def reports() -> Tx[list[tuple[str, Any]]]:
    rows = yield sql("select address, facts from outbox where kind = 'report' order by address, id")
    return [(row["address"], json.loads(row["facts"])["report"]) for row in rows]


async def test_report_is_queued_for_each_recipient_with_one_read(store: Store) -> None:
    site_id = await store.run(with_reports())
    reads = Reads()
    for _ in range(2):
        await service(store, FrozenClock(NOW), reads).queue_due()
    found = await store.read(reports())
    assert [address for address, _ in found] == list(RECIPIENTS)
    [days] = reads.asked
    assert (days.target_id, days.first_day, days.last_day) == (site_id, WEEK.first, WEEK.last)
    report = found[0][1]
    assert report == found[1][1]
    assert (report["kind"], report["first"], report["last"]) == ("weekly", WEEK.first, WEEK.last)
    assert report["lists"] == {
        "pages": [[f"/{n}", 10 - n] for n in range(5)],
        "sources": [["Google", 7], ["", 5]],
        "bots": [["list", 9]],
    }
    assert (report["missing_days"], "unavailable" in report, "listed_from" in report) == (7, False, False)


async def test_account_report_reads_no_database(store: Store) -> None:
    await store.run(with_reports("account"))
    reads = Reads()
    await service(store, FrozenClock(NOW), reads).queue_due()
    assert reads.asked == []
    found = await store.read(reports())
    assert len(found) == 2
    assert [len(report["sites"]) for _, report in found] == [1, 1]


async def test_report_waits_for_the_last_counts(store: Store) -> None:
    await store.run(with_reports())
    early = FrozenClock(MONDAY * DAY_MS + 20 * HOUR_MS)
    await service(store, early, Reads()).queue_due()
    assert await store.read(reports()) == []
    await store.run(_all_counts_arrived())
    await service(store, early, Reads()).queue_due()
    [(_, report), _] = await store.read(reports())
    assert report["missing_days"] == 6


def _all_counts_arrived() -> Tx[None]:
    yield sql("insert into final_days (account_id, day) select id, cast($1 as bigint) from accounts", WEEK.last)


@pytest.mark.parametrize("reason", ["cloudflare", "not_installed"])
async def test_report_is_queued_without_lists_if_the_read_fails(store: Store, reason: Reason) -> None:
    await store.run(with_reports())
    await service(store, FrozenClock(NOW), Reads(Unavailable(reason))).queue_due()
    found = await store.read(reports())
    assert [report["unavailable"] for _, report in found] == [reason, reason]
    assert "lists" not in found[0][1]


async def test_report_waits_an_hour_for_the_limit_of_reads(store: Store) -> None:
    await store.run(with_reports())
    clock, reads = FrozenClock(NOW), Reads(Unavailable("rate_limited"))
    running = service(store, clock, reads)
    await running.queue_due()
    assert await store.read(reports()) == []
    clock.now_ms += HOUR_MS - 1
    await running.queue_due()
    assert await store.read(reports()) == []
    clock.now_ms += 1
    await running.queue_due()
    assert [report["unavailable"] for _, report in await store.read(reports())] == ["rate_limited"] * 2
    other = await store.run(with_reports())
    reads.result = live()
    await running.queue_due()
    assert [report["target"] for _, report in await store.read(reports()) if "lists" in report] == [other] * 2


async def test_lists_that_begin_later_are_marked(store: Store) -> None:
    await store.run(with_reports())
    await service(store, FrozenClock(NOW), Reads(live(kept_from=WEEK.first + 2))).queue_due()
    assert [report["listed_from"] for _, report in await store.read(reports())] == [WEEK.first + 2] * 2


@pytest.mark.parametrize("after", [False, True])
async def test_kill_at_every_step_neither_loses_nor_repeats_a_report(store: Store, after: bool) -> None:
    for step in range(1, 12):
        await store.run(_forget())
        targets = [await store.run(with_reports()), await store.run(with_reports("account"))]
        mortal = Mortal(store, step, after=after)
        killed = False
        try:
            await service(mortal, FrozenClock(NOW), Reads()).queue_due()
        except* Killed:
            killed = True
        await service(store, FrozenClock(NOW), Reads()).queue_due()
        found = await store.read(reports())
        assert sorted((address, report["target"]) for address, report in found) == sorted(
            (address, target) for address in RECIPIENTS for target in targets
        ), step
        if not killed:
            break
    else:
        raise AssertionError("more steps than expected")
    assert step > 5


def _forget() -> Tx[None]:
    yield sql("delete from mailings")
    yield sql("delete from outbox")


async def test_unavailable_store_only_delays_a_report(store: Store) -> None:
    await store.run(with_reports())
    await service(Away(store), FrozenClock(NOW), Reads()).queue_due()
    assert await store.read(reports()) == []
    await service(store, FrozenClock(NOW), Reads()).queue_due()
    assert len(await store.read(reports())) == 2


async def test_failure_of_one_report_does_not_delay_others(store: Store, expected_errors: ExpectedErrors) -> None:
    expected_errors.allow("email report failed: KeyError")
    broken, good = await store.run(with_reports()), await store.run(with_reports())

    class Failing(Reads):
        async def read(self, user_id: int, account: Account, days: TargetDays) -> Live | Unavailable:
            if days.target_id == broken:
                raise KeyError(broken)
            return await super().read(user_id, account, days)

    await service(store, FrozenClock(NOW), Failing()).queue_due()
    assert {report["target"] for _, report in await store.read(reports())} == {good}


async def test_service_that_was_down_for_three_weeks_reports_the_last_week_once(store: Store) -> None:
    await store.run(with_reports())
    later = FrozenClock(NOW + 22 * DAY_MS)
    for _ in range(3):
        await service(store, later, Reads()).queue_due()
        later.now_ms += HOUR_MS
    found = await store.read(reports())
    assert [(report["first"], report["last"]) for _, report in found] == [(MONDAY + 14, MONDAY + 20)] * 2


async def test_jumps_of_the_clock_repeat_no_report(store: Store) -> None:
    await store.run(with_reports())
    clock = FrozenClock(NOW)
    running = service(store, clock, Reads())
    for days in (0, -10, 0, -400, 0, 1):
        clock.now_ms = NOW + days * DAY_MS
        await running.queue_due()
    assert len(await store.read(reports())) == 2
    # A clock that was far ahead and has been corrected does not prevent the reports of the following weeks.
    clock.now_ms = NOW + 400 * DAY_MS
    await running.queue_due()
    assert len(await store.read(reports())) == 4
    clock.now_ms = NOW + 7 * DAY_MS
    await running.queue_due()
    clock.now_ms = NOW + 14 * DAY_MS
    await running.queue_due()
    periods = [report["first"] for address, report in await store.read(reports()) if address == RECIPIENTS[0]]
    assert len(set(periods)) == len(periods) == 3


async def test_monthly_and_weekly_reports_are_separate(store: Store) -> None:
    site_id = await store.run(with_reports(monthly=True))
    first = next_due_day("monthly", MONDAY)
    await store.run(_set_monthly(site_id, first))
    clock = FrozenClock(NOW)
    running = service(store, clock, Reads())
    await running.queue_due()
    clock.now_ms = first * DAY_MS + 26 * HOUR_MS
    await running.queue_due()
    kinds = [report["kind"] for address, report in await store.read(reports()) if address == RECIPIENTS[0]]
    assert kinds.count("monthly") == 1
    assert kinds.count("weekly") == 2  # the second report covers the week before the first of the month


def _set_monthly(site_id: str, day: int) -> Tx[None]:
    yield sql("update mailings set monthly_day = $2 where target = $1", site_id, day)


async def test_deleted_site_gets_no_report(store: Store) -> None:
    site_id = await store.run(with_reports())
    account = await store.read(_account_of(site_id))
    await store.run(sites.delete_site(account, site_id))
    reads = Reads()
    await service(store, FrozenClock(NOW), reads).queue_due()
    assert (await store.read(reports()), reads.asked) == ([], [])


def _account_of(site_id: str) -> Tx[str]:
    rows = yield sql("select account_id from sites where id = $1", site_id)
    account = yield from accounts.account_by_id(rows[0]["account_id"])
    assert account is not None
    return account.id


async def test_report_reads_the_workers_database(service: Any) -> None:
    """Use real live reads and the emulator: a site without events has empty lists."""
    account_id = await service.ready()
    site = await service.call(
        "POST", "/v1/sites", {"account_id": account_id, "host": next(iter(service.customer.zones))}
    )
    site_id = site.body["site"]["id"]
    body = {"weekly": True, "monthly": False, "recipients": [{"email": service.user.email}]}
    assert (await service.call("PUT", f"/v1/sites/{site_id}/mailings", body)).status == 200
    monday = next_due_day("weekly", day_of(service.clock()))
    service.clock.now_ms = monday * DAY_MS + 26 * HOUR_MS
    await Mailings(service.context, service.supervisor.live_reads).queue_due()
    sent = [text for text in await service.world.inbox() if "List-Unsubscribe-Post" in text]
    assert len(sent) == 1
    assert "Weekly report for" in sent[0]
    assert "could not be read" not in sent[0]
