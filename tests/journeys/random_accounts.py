"""Run random histories of accounts with the real service and the real Worker, in a world whose clock the test moves.

All accounts of a world share the clock steps and the push failures. At the end, each report must equal the result of
`recount`. At each earlier moment, the test checks some reports.
"""

from __future__ import annotations

import itertools
import json
import random
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.clock import day_of
from svc.model import Counts
from svc.store import imported_days
from tests.journeys import ranges, recount
from tests.journeys.histories import (
    MINUTE_MS,
    RULES,
    SECOND_MS,
    URL,
    Moment,
    Plan,
    RandomAccount,
    Seen,
    Site,
    Visit,
    moments,
    month_starts,
)
from tests.journeys.recount import DAY_MS, DAYS, HOUR_MS, Event, Target
from tests.journeys.retained import Retained, month_of, read_retained

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from tests.journeys.moved_world import MovedWorld

# A cron run without work reads three rows, and occasionally writes the time of the run.
_IDLE_STATEMENTS = 5
_MAX_RUNS = 400
# This long after the start of a month, the last day of the previous month is closed. From then on, the Worker adds up
# the previous month, a part every five minutes.
_MONTH_ENDED_MS, _STEP_MS, _MAX_STEPS = 20 * MINUTE_MS, 5 * MINUTE_MS, 30
# Workers send closed hours and days within this time.
_PUSHED_MS = 61 * MINUTE_MS
# The maximum time without crons. The service does not accept counts that are more than 37 days old.
_LONGEST_AWAY_MS = 25 * DAY_MS
# How long before a moment the crons and the actions of users start. The clock keeps running during this work, which
# takes minutes on a slow machine.
_BEFORE_MS, _BEFORE_ACTIONS_MS = 9 * MINUTE_MS, 5 * MINUTE_MS
_CONNECTIONS = 16
# The number of accounts that act at the same time. Most of them wait, because the service writes a Worker's
# configuration only every ten seconds after the first write.
_CONCURRENT = 24
# The number of concurrent installations. The emulator processes them in turn, and restarts all Workers each time.
_CONCURRENT_INSTALLS = 6
# Visits end this long before the end of the hour, so that responses arrive in time even on a slow machine.
_BEFORE_HOUR_MS = 10 * SECOND_MS


def _subdomains() -> Iterator[str]:
    yield from ("", "www.", "blog.")
    for number in itertools.count():
        yield f"s{number}."


class RandomAccounts:
    """All accounts of one world."""

    def __init__(self, plan: Plan, world: MovedWorld) -> None:
        self.plan, self.world = plan, world
        self.accounts: list[RandomAccount] = []
        self.seen = Seen()
        self.moment_number = 0
        # seeded, so that a run can be reproduced; it is not used for secrets
        self._chance = random.Random(f"{plan.seed}")
        self._unwell_at = 0  # epoch ms: the last time that pushes failed

    async def run(self) -> None:
        """Run all accounts, from connecting them to the last report."""
        await self._begin()
        clock = self.world.clock
        before = clock()
        for number, here in enumerate(moments(self.plan, before, self._chance)[: self.plan.until_moment]):
            self.moment_number = number + 1
            await self._pass_time(before, here)
            await self.world.go_to(here.at - _BEFORE_ACTIONS_MS)
            await self._each(partial(self._act, here))
            await self.world.go_to(here.at)
            await self._visit()
            if here.boundary:
                # The Worker writes the last events of an hour only after the hour has ended.
                await self.world.go_to((here.at // HOUR_MS + 1) * HOUR_MS + SECOND_MS)
                await self._visit()
            # Disconnect now, while the latest events are still in an isolate's memory or in the event log.
            await self._each(self._leave)
            await self.world.emulator.settled()
            await self._each(self._visit_dead_ends)
            await self.world.emulator.settled()  # wait, because requests may have run a cron job that was overdue
            for _ in range(self._chance.choice((0, 0, 2 * self.plan.accounts))):
                await self.world.push_again(self._chance.randrange(10**6))
            await self._each(self._check_some)
            for account in self.accounts:
                account.away = max(0, account.away - 1)
            before = clock()
        await self.world.go_to(clock() + 6 * MINUTE_MS)
        await self._each(self._check_all)

    async def _call(self, account: RandomAccount, method: str, path: str, body: object = None) -> Any:
        return await self.world.call(account.headers, method, path, body)

    async def _each(self, do: Callable[[RandomAccount], Awaitable[None]], concurrent: int = _CONCURRENT) -> None:
        """Call `do` for all accounts, several at a time. Errors name the account."""
        places = trio.CapacityLimiter(concurrent)

        async def one(account: RandomAccount) -> None:
            async with places:
                try:
                    await do(account)
                except AssertionError as error:
                    raise AssertionError(f"account {account.number} ({account.account_id}): {error}") from error

        async with trio.open_nursery() as nursery:
            for account in self.accounts:
                nursery.start_soon(one, account)

    # ------------------------------------------------------------------------------------------------------- connect

    async def _begin(self) -> None:
        """Connect all accounts, each with a link host, a site and a link."""
        emulator = self.world.emulator
        for number in range(self.plan.accounts) if self.plan.only is None else [self.plan.only]:
            zone = f"z{number}-{secrets.token_hex(4)}.example"
            customer = await emulator.create_account([proxied_zone(zone)])
            _, token = await emulator.create_token(customer.account_id, rights=["D1 Write"], expires_in_s=None)
            chance = random.Random(f"{self.plan.seed}/{number}")
            user, most = await self.world.new_user(), self.plan.most_of_one(chance)
            account = RandomAccount(number, chance, customer, zone, user, token, most)
            account.range_chance = random.Random(f"{self.plan.seed}/{number}/ranges")
            self.accounts.append(account)
        await self._each(self._connect, _CONCURRENT_INSTALLS)

    async def _connect(self, account: RandomAccount) -> None:
        customer = account.customer
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account.account_id = (await self._call(account, "POST", "/v1/accounts", body))["account"]["id"]
        await self._installed(account)
        account.retention = self.plan.retention(account.range_chance)
        await self._call(account, "PATCH", f"/v1/accounts/{account.account_id}", account.retention.body())
        await self._call(account, "PUT", f"/v1/accounts/{account.account_id}/link-host", {"host": f"go.{account.zone}"})
        await self._add(account, ["site", "link", *account.kinds()])
        await self._synced(account)

    async def _installed(self, account: RandomAccount) -> None:
        async def poll() -> bool | None:
            shown = (await self._call(account, "GET", f"/v1/accounts/{account.account_id}"))["account"]
            assert shown["state"] in ("pending", "installing", "ready"), shown
            return True if shown["state"] == "ready" else None

        await eventually(poll, every_s=0.2)
        await self._cron(account, self.world.clock())

    async def _synced(self, account: RandomAccount) -> None:
        """Wait until the Worker has all current sites and links, and no deleted ones."""
        for site in [site for site in account.sites if not site.synced]:

            async def poll(site: Site = site) -> bool | None:
                [(_, shown)] = (await self._call(account, "GET", f"/v1/{site.target.kind}s/{site.target.id}")).items()
                return True if shown["config"] == "synced" and shown["state"] in ("active", "deleted") else None

            await eventually(poll, every_s=1)
            site.synced = True

    # ------------------------------------------------------------------------------------------------------- actions

    async def _act(self, here: Moment, account: RandomAccount) -> None:
        """Perform the account's action at this moment, if any."""
        today = day_of(self.world.clock())
        if account.level_day != today:
            account.level, account.since_level, account.refused_at = 0, 0, 0
        action = account.action(here)
        sites = [site for site in account.alive if site.target.kind == "site"]
        if action == "add" and (kinds := account.kinds()):
            await self._add(account, kinds)
        elif action == "delete" and len(account.alive) > 1:
            gone = account.chance.choice(account.alive)
            await self._call(account, "DELETE", f"/v1/{gone.target.kind}s/{gone.target.id}")
            gone.alive = gone.synced = False
        elif action == "rotate" and sites:
            await self._rotate(account, account.chance.choice(sites))
        elif action == "reinstall":
            await self._call(account, "POST", f"/v1/accounts/{account.account_id}/install")
            await self._installed(account)
        elif action == "short budget" and not here.boundary:
            await self._use_up_rows(account, account.chance.choice((1, 1, 2)), today)
        elif action == "no crons":
            account.away, account.away_since = account.chance.randint(1, 4), self.world.clock()
        elif action == "disconnect":
            account.leaving = True
        else:
            return
        self.seen.count(action)
        await self._synced(account)

    async def _add(self, account: RandomAccount, kinds: Sequence[str]) -> None:
        """Create sites and links concurrently."""
        taken = {site.host for site in account.alive}
        hosts = (host for name in _subdomains() if (host := f"{name}{account.zone}") not in taken)
        made: dict[int, tuple[Site, int]] = {}  # site and the time of its creation (epoch ms), by index

        async def add(number: int, kind: str, host: str) -> None:
            body: dict[str, Any] = {"account_id": account.account_id}
            has_rules = kind == "link" and number % 2 == 1
            has_ended = kind == "link" and number % 5 == 4
            body |= {"host": host} if kind == "site" else {"url": URL, "code": f"code{number}"}
            body |= {"rules": list(RULES)} if has_rules else {}
            body |= {"ends_at": "2020-01-01T00:00:00Z", "after_url": URL} if has_ended else {}
            shown = (await self._call(account, "POST", f"/v1/{kind}s", body))[kind]
            path = shown["path"] if kind == "site" else f"/code{number}"
            site = Site(Target(kind, shown["id"]), host, path, has_rules=has_rules, has_ended=has_ended)
            made[number] = site, recount.moment(shown["created_at"])

        async with trio.open_nursery() as nursery:
            for number, kind in enumerate(kinds, len(account.sites)):
                nursery.start_soon(add, number, kind, next(hosts) if kind == "site" else f"go.{account.zone}")
        for _, (site, created_at) in sorted(made.items()):
            account.sites.append(site)
            site.target.created_at = created_at
            self.seen.histories += 1
            if account.chance.random() < 0.3:
                await self._import_days(account, site.target, created_at)

    async def _import_days(self, account: RandomAccount, target: Target, created_at: int) -> None:
        """Import daily totals from another product for days before the target was created."""
        for _ in range(4):
            day = created_at // DAY_MS - account.chance.randint(1, 29)
            views = account.chance.randint(0, 50)
            target.imported[day] = (views, account.chance.randint(0, 9), account.chance.randint(0, views))
        # The id of the user is needed only if a command imports totals and records an event.
        owner = imported_days.Target(
            target.id, account.account_id, 0, target.kind, account.customer.account_id, name="", created_at=created_at
        )
        days = {day: Counts(*numbers) for day, numbers in target.imported.items()}
        await self.world.store.run(imported_days.import_days(owner, days))
        self.seen.count("import")

    async def _rotate(self, account: RandomAccount, site: Site) -> None:
        shown = (await self._call(account, "POST", f"/v1/sites/{site.target.id}/rotate"))["site"]
        site.path, site.synced = shown["path"], False
        site.old_paths = [(old["path"], recount.moment(old["until"])) for old in shown["retiring"]]

    async def _use_up_rows(self, account: RandomAccount, level: int, today: int) -> None:
        """Make the Worker assume that it has used most of the day's write budget."""
        written = {"day": today, "rows": {1: 65_000, 2: 85_000}[level]}
        sql = "update meta set value = json_set(value, '$.written', json(?)) where key = 'state'"
        await self._query(account, sql, json.dumps(written))
        for _ in range(2):
            await self._cron(account, self.world.clock())
        account.level, account.level_day, account.since_level = level, today, 0
        account.ever_short = True

    async def _query(self, account: RandomAccount, text: str, *parameters: str) -> list[dict[str, Any]]:
        """Run a statement in the account's database with the customer's own token. Return the rows."""
        headers = {"Authorization": f"Bearer {account.token}"}
        databases = f"{self.world.emulator.api}/accounts/{account.customer.account_id}/d1/database"
        [database] = (await self.world.api.get(databases, headers=headers)).json()["result"]
        body = {"sql": text, "params": parameters}
        done = await self.world.api.post(f"{databases}/{database['uuid']}/query", json=body, headers=headers)
        assert done.is_success, done.text
        rows: list[dict[str, Any]] = done.json()["result"][0]["results"]
        return rows

    async def _leave(self, account: RandomAccount) -> None:
        """Disconnect the account if its user has decided to do so."""
        if not (account.leaving and account.connected):
            return
        response = await self._call(account, "DELETE", f"/v1/accounts/{account.account_id}")
        assert response["left"] == [], response
        account.connected, account.away = False, 0
        for site in account.sites:
            site.alive = False
        # All events are now stored, so the report covers at least the last event.
        account.as_of_at_least = max((event.at for site in account.sites for event in site.target.events), default=0)

    # ------------------------------------------------------------------------------------------------------- visits

    async def _visit(self) -> None:
        """Send the visits of all accounts over several connections concurrently."""
        clock = self.world.clock
        hour_end = (clock() // HOUR_MS + 1) * HOUR_MS
        todo = iter([(account, visit) for account in self.accounts for visit in account.visits(clock())])

        async def connection() -> None:
            async with await self._connection() as stream:
                for account, visit in todo:
                    if clock() > hour_end - _BEFORE_HOUR_MS:
                        return
                    if account.waits(clock()):
                        account.since_level = account.since_level or clock()
                    visit.target.events.append(Event(clock(), visit.hit, visit.detailed))
                    self.seen.events += 1
                    await _request(stream, visit)

        async with trio.open_nursery() as nursery:
            for _ in range(_CONNECTIONS):
                nursery.start_soon(connection)
        assert clock() < hour_end, "the machine is too slow for this plan: the hour has ended"

    async def _connection(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", int(self.world.emulator.edge.rsplit(":", 1)[1]))

    async def _visit_dead_ends(self, account: RandomAccount) -> None:
        for method, host, path in account.dead_ends(self.world.clock()):
            body = "/gone\n" if method == "POST" else ""
            async with await self._connection() as stream:
                met = await _ask(stream, f"{method} {path}", {"host": host}, body)
            assert not met.startswith((b"HTTP/1.1 204", b"HTTP/1.1 302")), (method, host, path, met)
            self.seen.count("dead end")

    # -------------------------------------------------------------------------------------------------------- crons

    async def _pass_time(self, before: int, here: Moment) -> None:
        """Run crons between `before` and `here`: after the hour ends, an hour before `here`, and just before `here`."""
        for account in self.accounts:
            if here.at - account.away_since > _LONGEST_AWAY_MS:
                account.away = 0
        hour_end = (before // HOUR_MS + 1) * HOUR_MS + 4 * MINUTE_MS
        hour_before = here.at - _BEFORE_MS - _PUSHED_MS - MINUTE_MS
        if hour_end < here.at - _BEFORE_MS - 5 * MINUTE_MS:
            await self._crons(hour_end, here)
        steps_ms = _MAX_STEPS * _STEP_MS
        for month_start in month_starts(before, here.at):
            for account in self.accounts:
                account.months_due = account.connected
            if hour_end + 5 * MINUTE_MS < month_start + _MONTH_ENDED_MS < hour_before - steps_ms - 5 * MINUTE_MS:
                await self._crons(month_start + _MONTH_ENDED_MS, here.quiet())
                await self._add_up_months(month_start + _MONTH_ENDED_MS + _STEP_MS)
        if hour_end < hour_before - 5 * MINUTE_MS:
            await self._crons(hour_before, here.quiet())
        if before < here.at - _BEFORE_MS:
            await self._crons(here.at - _BEFORE_MS, here.quiet())

    async def _crons(self, at: int, here: Moment) -> None:
        """Run the crons that the platform would have run up to `at`, for all accounts with working crons."""
        await self.world.go_to(at)
        emulator = self.world.emulator
        if here.service_away:
            await emulator.fault("egress_status", "*/edge/push", times=None, status=503)
        if here.lost_responses:
            await emulator.fault("egress_drop_after", "*/edge/push", times=here.lost_responses)
        if here.lost_requests:
            await emulator.fault("egress_drop_before", "*/edge/push", times=here.lost_requests)
        if not here.well:
            self._unwell_at = at
            self.seen.count("lost pushes")

        served = [account for account in self.accounts if account.connected and not account.away]
        await self._until_idle(served, at)
        await emulator.clear_faults()
        for account in served:
            self._expect(account, at)

    async def _add_up_months(self, at: int) -> None:
        """Run the crons every five minutes until they have added up the last month."""
        due = {
            account.customer.account_id: account
            for account in self.accounts
            if account.months_due and account.connected and not account.away and account.level_day != at // DAY_MS
        }
        for number in range(_MAX_STEPS):
            if not due:
                return
            now = at + number * _STEP_MS
            await self.world.go_to(now)
            for done in await self.world.emulator.crons([(account_id, now) for account_id in due], "svc-edge"):
                assert done["outcome"] == "ok", done
                account = due[done["account_id"]]
                if done["d1_queries"] > _IDLE_STATEMENTS:
                    continue
                if (await self._read_retained(account)).next_month == month_of(at // DAY_MS):
                    del due[done["account_id"]]
                    account.months_due = False
                    self.seen.count("month")
        assert not due, f"the months of account {next(iter(due.values())).number} are not added up"

    async def _read_retained(self, account: RandomAccount) -> Retained:
        """Return which days and months the Worker's database has."""
        [row] = await self._query(account, "select value from meta where key = 'state'")
        return read_retained(row["value"], account.retention)

    async def _until_idle(self, accounts: Sequence[RandomAccount], at: int) -> None:
        """Run the crons of all these accounts concurrently until they have nothing left to do."""
        busy = {account.customer.account_id: account for account in accounts}
        for number in range(_MAX_RUNS):
            if not busy:
                return
            fired = [(account_id, at + number * SECOND_MS) for account_id in busy]
            for done in await self.world.emulator.crons(fired, "svc-edge"):
                account = busy[done["account_id"]]
                assert done["outcome"] == "ok", f"account {account.number} ({account.account_id}): {done}"
                if done["d1_queries"] <= _IDLE_STATEMENTS:
                    del busy[done["account_id"]]
        raise AssertionError(f"the crons of account {next(iter(busy.values())).number} do not become idle")

    def _expect(self, account: RandomAccount, at: int) -> None:
        """Record which hours must be closed and sent after the crons have run at this time."""
        account.ran_at = at
        # A push is due once an hour. After a failed push, the next push is also due within an hour.
        if self._unwell_at < at - _PUSHED_MS:
            sent = [until for closed_at, until in account.closed if closed_at < at - _PUSHED_MS]
            account.as_of_at_least = max(account.as_of_at_least, *sent, 0)
            if account.refused_at < at - _PUSHED_MS:
                account.incomplete_day = account.refused_at // DAY_MS
        until = (at - 4 * MINUTE_MS) // HOUR_MS * HOUR_MS
        if not account.level:
            account.closed.append((at, until))
        elif 0 < account.since_level < until and account.level_day == at // DAY_MS:
            account.refused_at = account.refused_at or at

    async def _cron(self, account: RandomAccount, at: int) -> None:
        """Run the cron once."""
        done = await self.world.emulator.cron(account.customer.account_id, "svc-edge", at=at)
        assert done["outcome"] == "ok", done

    # ------------------------------------------------------------------------------------------------------- reports

    async def _check_some(self, account: RandomAccount) -> None:
        """In some of the calls, check two reports of a random site or link."""
        account.retained = None
        if account.chance.random() < 0.3 or account.level_day == day_of(self.world.clock()):
            site, period = account.chance.choice(account.sites), account.chance.choice(tuple(DAYS))
            await self._check(account, site.target, period, with_breakdowns=account.chance.random() < 0.5)
            await self._check_range(account, site.target)

    async def _check_all(self, account: RandomAccount) -> None:
        """Check all reports, and the lists of sites and links, at the end of the test."""
        account.retained = None
        for site in account.sites:
            for period in DAYS:
                await self._check(account, site.target, period, with_breakdowns=account.chance.random() < 0.7)
            for _ in range(self.plan.ranges):
                await self._check_range(account, site.target)
        await self._check_lists(account)

    async def _retained(self, account: RandomAccount) -> Retained:
        """Return which days and months the Worker's database has now, while no cron is running."""
        if account.retained is None:
            account.retained = await self._read_retained(account)
        return account.retained

    async def _check(self, account: RandomAccount, target: Target, period: str, *, with_breakdowns: bool) -> None:
        """Check every field of a report, and of the live report if the target is a site of a connected account."""
        path = f"/v1/{target.kind}s/{target.id}/report?period={period}" + ("&breakdowns=1" if with_breakdowns else "")
        await self._check_report(account, target, period, path, with_breakdowns, live=target.kind == "link")
        if target.kind == "site" and account.connected:
            await self._check_report(account, target, period, f"{path}&live=1", with_breakdowns, live=True)

    async def _check_report(
        self, account: RandomAccount, target: Target, period: str, path: str, with_breakdowns: bool, *, live: bool
    ) -> None:
        now = self.world.clock()
        shown = (await self._call(account, "GET", path))["report"]
        until = None if shown["as_of"] is None else recount.moment(shown["as_of"])
        wanted: dict[str, Any] = {
            **recount.report(target, period, now, until),
            "as_of": shown["as_of"],
            "incomplete": False,
            "breakdowns": None,
            "breakdowns_from": None,
            "unavailable": "not_installed" if with_breakdowns and not account.connected else None,
        }
        if with_breakdowns and account.connected:
            wanted |= ranges.first_breakdowns(target, period, now, await self._retained(account))
        if live and account.connected and period != "today":
            await self._allow_unknown_days(account, wanted, shown, now)
        if not live and account.level_day == now // DAY_MS:
            # The last hour of the report may not have ended, or its push may not be due yet.
            wanted["incomplete"] = shown["incomplete"] or account.incomplete_day == account.level_day
        assert shown == wanted, f"{path} at {now}:\n{shown}\nis not\n{wanted}"
        self._check_as_of(account, until, now, live=live)
        self.seen.reports += 1
        self.seen.incomplete += shown["incomplete"]
        self.seen.disconnected += not account.connected

    async def _allow_unknown_days(
        self, account: RandomAccount, wanted: dict[str, Any], shown: dict[str, Any], now: int
    ) -> None:
        busy_days = {event.at // DAY_MS for site in account.sites for event in site.target.events}
        ranges.without_unknown_days(wanted, shown, now, await self._retained(account), busy_days)

    async def _check_range(self, account: RandomAccount, target: Target) -> None:
        """Check every field of a report over a random period, step and comparison."""
        now = self.world.clock()
        query = ranges.random_query(account.range_chance, now // DAY_MS)
        with_breakdowns = account.range_chance.random() < 0.5
        path = f"/v1/{target.kind}s/{target.id}/report?{urlencode(query)}" + (
            "&breakdowns=1" if with_breakdowns else ""
        )
        if target.kind == "site" and account.connected and account.range_chance.random() < 0.5:
            path += "&live=1"
        shown = (await self._call(account, "GET", path))["report"]
        until = 0 if shown["as_of"] is None else recount.moment(shown["as_of"])
        has_live_counts = "live=1" in path or target.kind == "link"
        wanted = ranges.report(target, query, now, until)
        if has_live_counts and account.connected and query["by"] != "hour":
            await self._allow_unknown_days(account, wanted, shown, now)
            if "comparison" in wanted:
                await self._allow_unknown_days(account, wanted["comparison"], shown["comparison"], now)
        may_lack_hours = ranges.check_hours(shown, wanted, now, has_live_counts=has_live_counts)
        assert may_lack_hours or not shown["incomplete"], path
        if shown["incomplete"]:
            assert account.ever_short or target.imported, path
        if with_breakdowns:
            reason = shown["unavailable"] or "not_kept"
            retained = await self._retained(account) if account.connected else reason
            wanted |= ranges.breakdowns(target, shown, now, retained, int(query.get("limit", "10")))
            if isinstance(retained, Retained):
                used = retained.used_months(*map(ranges.day_number, (shown["from"], shown["to"])))
                self.seen.months += len(used)
                self.seen.mixed += bool(used) and shown["to"] >= ranges.day_text(retained.kept_from)
        else:
            wanted |= {"breakdowns": None, "breakdowns_from": None}
        for name in ("as_of", "incomplete", "unavailable"):
            wanted[name] = shown[name]
        assert shown["unavailable"] in (None, None if account.connected else "not_installed"), path
        assert shown == wanted, f"{path} at {now}:\n{shown}\nis not\n{wanted}"
        assert until <= self.world.clock(), path
        self.seen.reports += 1
        self.seen.count("range")

    def _check_as_of(self, account: RandomAccount, until: int | None, now: int, *, live: bool) -> None:
        if live and account.connected:
            assert until is not None
            assert abs(now - until) < MINUTE_MS, (until, now)
            return
        assert (until or 0) >= account.as_of_at_least, (until, account.as_of_at_least)
        assert until is None or until <= now, (until, now)
        assert until is None or until % HOUR_MS == 0 or not account.connected, until

    async def _check_lists(self, account: RandomAccount) -> None:
        """Check the numbers for the last seven closed days in the lists of sites and links."""
        now = self.world.clock()
        sites = [site.target.id for site in account.alive if site.target.kind == "site"]
        if not sites:
            return  # only the report of a site shows the time up to which the data is complete
        as_of = (await self._call(account, "GET", f"/v1/sites/{sites[0]}/report"))["report"]["as_of"]
        until = 0 if as_of is None else recount.moment(as_of)
        for kind, number in (("site", "views_7d"), ("link", "clicks_7d")):
            own = {site.target.id: site.target for site in account.alive if site.target.kind == kind}
            listed = (await self._call(account, "GET", f"/v1/{kind}s?account_id={account.account_id}"))[f"{kind}s"]
            shown = {one["id"]: one[number] for one in listed}
            assert shown == {id_: recount.last_seven_days(target, now, until) for id_, target in own.items()}, number


async def _request(stream: trio.SocketStream, visit: Visit) -> None:
    """Send a visit and read the response, which has no body. Raises AssertionError if the visit was not accepted."""
    hit = visit.hit
    fields = {
        "host": visit.host,
        "user-agent": hit.user_agent,
        "x-emulator-ip": hit.address,
        "x-emulator-cf": json.dumps({"country": hit.country}),
        **dict(hit.bot.headers if hit.bot else ()),
    }
    if hit.referrer and not visit.body:
        fields["referer"] = hit.referrer
    response = await _ask(stream, visit.line, fields, visit.body)
    assert response.startswith(b"HTTP/1.1 204" if visit.body else b"HTTP/1.1 302"), (visit, response)


async def _ask(stream: trio.SocketStream, line: str, fields: Mapping[str, str], body: str) -> bytes:
    """Send a request and return the head of the response. Raises AssertionError if there is none.

    Use a plain socket, because an HTTP client is too slow.
    """
    fields = {**fields, "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    await stream.send_all(f"{line} HTTP/1.1\r\n{head}\r\n{body}".encode())
    response = b""
    while b"\r\n\r\n" not in response:
        more = await stream.receive_some()
        assert more, f"the edge closed the connection after {line}"
        response += more
    return response
