"""Simulates two years with many accounts. Their Workers push to the real application, which has a simulated clock.

A Worker's counts depend only on its account and the day. At the end, the benchmark can therefore count everything a
second time, without the service's data. Workers go offline for days and then catch up, pushes arrive twice or late, and
housekeeping runs once a day. The second count must equal each target's days, the hours within retention, the reports,
and each month of a site's report over the whole time.

The Worker adds up the breakdowns of months, so a separate simulation runs the Worker's code
(`edge_worker/tools/two_years.js`).

A real year with 200 accounts has 1.75 million pushes. To save time, each Worker pushes each day in three parts after
midnight, like a Worker that was offline. A site or link has views in only a few hours per day, so the simulation has
the same number of day rows as a real year, but only a third of the hour rows. With `SVC_BENCH_WHOLE_YEAR=1`, Workers
push every hour, and every target has views in every hour.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from array import array
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import trio

from bench.figures import Row
from bench.service import ENGINES, new_config
from edge_worker.tools.node import node_command
from svc.actors.context import Context
from svc.actors.service import housekeeping
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, system_clock
from svc.config import Config, LimitsConfig
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.ids import digest, new_id, new_secret
from svc.model import Counts
from svc.store import accounts, open_store, sessions, totals, users, worker_keys
from svc.store.tx import many, sql
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from quart import Response
    from quart_trio import QuartTrio

    from bench.service import Engine
    from svc.store.tx import Store, Tx

_NOTHING = cast("Any", None)  # not used, because no actor runs
_FIRST_DAY = day_of(system_clock()) - 800
_TWO_YEARS = 730
_WORKER = Path(__file__).parents[1] / "edge_worker/tools/two_years.js"
# The time from the end of the last counted hour until the push arrives.
_PUSHED_AT_MS = 11 * 60_000
_PARTS_A_PUSH = 20
_SEED = 1
_REPORTS = 300


@dataclass(frozen=True)
class Shape:
    """The size of a simulation.

    `cuts`: the hours of the day at which a part with the counts so far is created. `at_once`: True if one push contains
    all parts of a day, False if each part has a separate push. `hours`: the number of hours per day with views.
    """

    accounts: int
    targets: int
    days: int
    cuts: tuple[int, ...] = (8, 16, 24)
    at_once: bool = True
    hours: int = 6

    def whole(self) -> Shape:
        """Return a copy of the shape with a push for every hour."""
        return Shape(self.accounts, self.targets, self.days, tuple(range(1, 25)), at_once=False, hours=24)


def counted(account: int, targets: Sequence[str], day: int, hours: int) -> dict[int, dict[str, Counts]]:
    """Return a Worker's counts for a day, by hour and target. The counts depend only on the arguments."""
    chance = random.Random(f"{_SEED} {account} {day}")
    found: dict[int, dict[str, Counts]] = {}
    for target in targets:
        if chance.random() < 0.1:
            continue  # no visitors on this day
        for hour in chance.sample(range(24), hours):
            views = chance.randrange(12)
            found.setdefault(hour, {})[target] = Counts(views, chance.randrange(4), min(views, 1 + views // 2))
    return found


def day_sums(hours: dict[int, dict[str, Counts]], until: int = 24) -> dict[str, Counts]:
    """Return the totals of a day's hours before `until`. Half of the visitors are assumed to return in another hour."""
    sums: dict[str, Counts] = {}
    for hour in sorted(hours):
        if hour < until:
            for target, counts in hours[hour].items():
                sums[target] = sums.get(target, Counts()) + counts
    return {target: Counts(each.views, each.bots, (each.visitors + 1) // 2) for target, each in sums.items()}


class Worker:
    """The Worker of one account, with its outbox and its absences."""

    def __init__(self, number: int, shape: Shape) -> None:
        self.number = number
        self.shape = shape
        self.key = new_secret("svcw_")
        self.account_id = new_id("acc")
        half = shape.targets // 2
        self.sites = [new_id("site") for _ in range(half)]
        self.links = [new_id("lnk") for _ in range(shape.targets - half)]
        self.targets = [*self.sites, *self.links]
        self._outbox: list[dict[str, Any]] = []
        self._last_id = 0
        self._away_until = 0
        self._chance = random.Random(f"{_SEED} worker {number}")

    def count(self, day: int) -> Iterator[list[bytes]]:
        """Count a day. Yield the pushes at each cut, or only at the end of the day if `at_once`."""
        hours = counted(self.number, self.targets, day, self.shape.hours)
        began = 0
        for cut in self.shape.cuts:
            sums = day_sums(hours, cut)
            seen = {target for hour in range(began, cut) for target in hours.get(hour, {})}
            self._last_id += 1
            self._outbox.append(
                {
                    "id": self._last_id,
                    "day": day_text(day),
                    "as_of": day * DAY_MS + cut * HOUR_MS,
                    "final": cut == 24,
                    "hours": [
                        {"at": day * DAY_MS + hour * HOUR_MS, "rows": _rows(hours[hour])}
                        for hour in range(began, cut)
                        if hour in hours
                    ],
                    "refused_hours": [],
                    "days": _rows(sums if cut == 24 else {target: sums[target] for target in sorted(seen)}),
                }
            )
            began = cut
            if not self.shape.at_once or cut == 24:
                yield self._pushes(day)

    def back(self) -> list[bytes]:
        """End the Worker's absence, if any. Return the pushes that the Worker has not sent yet."""
        self._away_until = 0
        return self._pushes(1)

    def _pushes(self, day: int) -> list[bytes]:
        if day < self._away_until:
            return []
        if self._chance.random() < 0.02 / len(self.shape.cuts):
            self._away_until = day + self._chance.randrange(1, 7)
        sent = []
        while self._outbox:
            parts, self._outbox = self._outbox[:_PARTS_A_PUSH], self._outbox[_PARTS_A_PUSH:]
            head = {"v": 1, "install": "op_bench", "bundle": "bench", "schema": 1, "sent_at": 0, "queue": len(parts)}
            sent.append(json.dumps({**head, "error": None, "dropped": {}, "parts": parts}).encode())
        if self._chance.random() < 0.1:  # simulates a lost response or a repeated request
            sent += self._chance.sample(sent, len(sent))
        return sent


def _rows(counts: dict[str, Counts]) -> list[list[Any]]:
    return [[target, each.views, each.bots, each.visitors] for target, each in sorted(counts.items())]


class Simulation:
    """The service with a simulated clock, the accounts' Workers, and the second count."""

    def __init__(self, store: Store, shape: Shape) -> None:
        self.store = store
        self.shape = shape
        self.now = _FIRST_DAY * DAY_MS
        self.workers = [Worker(number, shape) for number in range(shape.accounts)]
        self.pushed = self.refused = 0
        self.longest_step_ms = 0.0
        self._headers: dict[str, str] = {}
        limits = LimitsConfig(pushes_per_minute=1_000_000, requests_per_minute=1_000_000)
        config = Config(limits=limits)
        bundle = load_bundle()
        self._context = Context(store, _NOTHING, _NOTHING, config, self.clock, bundle, "")
        self._app: QuartTrio = create_app(Deps(self._context, _NOTHING, "https://svc.example"))

    def clock(self) -> int:
        """Return the simulated time in epoch ms."""
        return self.now

    async def begin(self) -> None:
        """Add a user with all accounts, sites and links."""
        user = await self.store.run(users.add_user("year@example.com", "no password", self.now, confirmed=True))
        if user is None:
            raise AssertionError("the address is already in use")
        access, until = new_secret("svs_"), self.now + 1_000 * DAY_MS
        issued = sessions.Issued(digest(access), until, "refresh", until, "salt", self.now)
        session = sessions.Session(new_id("ses"), user.id, "family", "bench", "device", self.now, issued)
        await self.store.run(sessions.add_session(session))
        self._headers = {"Authorization": f"Bearer {access}"}
        for worker in self.workers:
            await self.store.run(_account(user.id, worker, self.now))

    async def run(self) -> None:
        """Run all days. At the end, every Worker sends its remaining pushes."""
        for day in range(_FIRST_DAY, _FIRST_DAY + self.shape.days):
            await self._day(day)
        async with trio.open_nursery() as nursery:
            for worker in self.workers:
                nursery.start_soon(self._push, worker, worker.back())
        await self._housekeeping()

    async def _day(self, day: int) -> None:
        passing = [(worker, worker.count(day)) for worker in self.workers]
        for cut in self.shape.cuts if not self.shape.at_once else (24,):
            self.now = day * DAY_MS + cut * HOUR_MS + _PUSHED_AT_MS
            async with trio.open_nursery() as nursery:
                for worker, pushes in passing:
                    nursery.start_soon(self._push, worker, next(pushes))
        await self._housekeeping()

    async def _push(self, worker: Worker, bodies: Sequence[bytes]) -> None:
        headers = {"Authorization": f"Bearer {worker.key}", "Content-Type": "application/json"}
        for body in bodies:
            # The service may be busy, because all Workers push at the same time.
            while (response := await self._send(body, headers)).status_code == 503:
                self.refused += 1
                await trio.sleep(int(response.headers["Retry-After"]))
            said = await response.get_json()
            if response.status_code != 200 or said["refused"] or said["unknown_targets"]:
                raise AssertionError(f"a push got the response {response.status_code} {said}")
            self.pushed += 1

    async def _send(self, body: bytes, headers: dict[str, str]) -> Response:
        return await self._app.test_client().post("/edge/push", data=body, headers=headers)

    async def _housekeeping(self) -> None:
        for chore in housekeeping.chores(self._context.config.timing):
            began = time.perf_counter()
            before = self.now - int(chore.kept_days * DAY_MS)
            while await self.store.run(chore.delete(before)):
                self.longest_step_ms = max(self.longest_step_ms, (time.perf_counter() - began) * 1000)
                began = time.perf_counter()

    async def report(self, site_id: str, query: str = "period=30d") -> Any:
        """Return a site's report, by default the report on the last 30 days. The simulation reads it over HTTP."""
        response = await self._app.test_client().get(f"/v1/sites/{site_id}/report?{query}", headers=self._headers)
        if response.status_code != 200:
            raise AssertionError(f"a report got the response {response.status_code} {await response.get_data()!r}")
        return (await response.get_json())["report"]

    async def report_ms(self) -> float:
        """Read a random site's report and return the duration in ms."""
        site_id = random.choice(random.choice(self.workers).sites)  # not used for secrets
        began = time.perf_counter()
        await self.report(site_id)
        return (time.perf_counter() - began) * 1000

    async def check(self) -> int:
        """Compare all stored and reported counts with the second count. Return the number of day rows.

        Raises AssertionError if a count is missing, duplicated or wrong.
        """
        last = _FIRST_DAY + self.shape.days - 1
        kept_ms = int(self._context.config.timing.hours_kept_days * DAY_MS)
        rows = 0
        for worker in self.workers:
            days: dict[str, array[int]] = {target: array("q", [-1] * 3 * self.shape.days) for target in worker.targets}
            hours: Counter[str] = Counter()
            for day in range(_FIRST_DAY, last + 1):
                of_day = counted(worker.number, worker.targets, day, self.shape.hours)
                for target, each in day_sums(of_day).items():
                    place = 3 * (day - _FIRST_DAY)
                    days[target][place : place + 3] = array("q", [each.views, each.bots, each.visitors])
                for hour, of_hour in of_day.items():
                    if day * DAY_MS + hour * HOUR_MS > self.now - kept_ms:
                        hours.update({target: each.views for target, each in of_hour.items()})
            for target in worker.targets:
                stored = await self.store.read(totals.day_counts(target, 0, last + 400))
                wanted = {
                    _FIRST_DAY + number: Counts(*days[target][3 * number : 3 * number + 3])
                    for number in range(self.shape.days)
                    if days[target][3 * number] >= 0
                }
                if {day: (counts, True) for day, counts in wanted.items()} != {
                    day: (counts, final) for day, (counts, _, final) in stored.items()
                }:
                    raise AssertionError(f"the days of {target} differ from the second count")
                kept = await self.store.read(totals.hour_counts(target, 0, (last + 400) * DAY_MS))
                if sum(counts.views for _, counts in kept) != hours[target]:
                    raise AssertionError(f"the hours of {target} differ from the second count")
                rows += len(stored)
                if target in worker.sites:
                    await self._check_report(target, wanted, last)
        return rows

    async def _check_report(self, site_id: str, wanted: dict[int, Counts], last: int) -> None:
        report = await self.report(site_id)
        # the simulated clock already shows the next day, so the report includes that day
        expected = [wanted.get(day, Counts()) for day in range(last - 28, last + 2)]
        series = [(point["views"], point["bots"], point["visitors"]) for point in report["series"]]
        if series != [(each.views, each.bots, each.visitors) for each in expected]:
            raise AssertionError(f"the report of {site_id} differs from the second count: {report}")
        if report["totals"]["views"] != sum(each.views for each in expected):
            raise AssertionError(f"the totals of {site_id} are not the sum of its days: {report}")
        await self._check_months(site_id, wanted, last)

    async def _check_months(self, site_id: str, wanted: dict[int, Counts], last: int) -> None:
        """Compare each month of a report over all days with the second count."""
        query = f"from={day_text(_FIRST_DAY)}&to={day_text(last)}&by=month"
        report = await self.report(site_id, query)
        months: dict[str, Counts] = {day_text(day)[:7]: Counts() for day in range(_FIRST_DAY, last + 1)}
        for day, each in wanted.items():
            months[day_text(day)[:7]] += each
        shown = {
            point["at"][:7]: Counts(point["views"], point["bots"], point["visitors"]) for point in report["series"]
        }
        if shown != months:
            raise AssertionError(f"the months of {site_id} differ from the second count: {report}")


def _account(user_id: int, worker: Worker, now: int) -> Tx[None]:
    edge_account_id = f"{worker.number:032x}"
    yield from accounts.add_account(
        account_id=worker.account_id, user_id=user_id, edge_account_id=edge_account_id, name="year", now=now
    )
    yield from worker_keys.add_worker_key(worker.account_id, digest(worker.key), "op_1")
    yield many(
        "insert into sites (id, account_id, user_id, host, zone_id, state, path, script_name, excluded_paths,"
        " respect_gpc, version, created_at) values ($1, $2, $3, $4, 'z', 'active', $5, 'k3f', '[]', 0, 1, $6)",
        [
            (site_id, worker.account_id, user_id, f"s{number}.example", f"/{site_id}", now)
            for number, site_id in enumerate(worker.sites)
        ],
    )
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, 'https://a.example', '[]', 'active', 1, $5)",
        [(link_id, worker.account_id, user_id, f"code{number}", now) for number, link_id in enumerate(worker.links)],
    )


async def _simulated(engine: Engine, shape: Shape, new: Shape) -> AsyncIterator[Row]:
    """Run and check a simulation. Measure its reports, in turn with those of a younger store with as many accounts."""
    shape = shape.whole() if os.environ.get("SVC_BENCH_WHOLE_YEAR") else shape
    async with (
        new_config(engine) as config,
        new_config(engine) as young_config,
        open_store(config) as store,
        open_store(young_config) as young_store,
    ):
        simulation, beginning = Simulation(store, shape), Simulation(young_store, new)
        began = time.perf_counter()
        for each in (beginning, simulation):
            await each.begin()
            await each.run()
        took_s = time.perf_counter() - began
        rows = await simulation.check()
        times: dict[Simulation, list[float]] = {beginning: [], simulation: []}
        for _ in range(_REPORTS):
            for each, seen in times.items():
                seen.append(await each.report_ms())
        first, last = (statistics.median(seen) for seen in times.values())
        what = f"{engine}, {shape.days} days of {shape.accounts:,} accounts with {shape.targets} targets"
        yield Row(f"{what}: days with exact counts", f"{rows:,}", "all")
        yield Row("  pushes, seconds of the simulation", f"{simulation.pushed:,} {took_s:.0f}", "")
        yield Row("  pushes rejected under load and retried", f"{simulation.refused:,}", "")
        yield Row(f"  a report's median ms after {new.days} days and at the end", f"{first:.1f} {last:.1f}", "2x")
        yield Row("  longest housekeeping step, ms", f"{simulation.longest_step_ms:.0f}", "100")
        if engine == "SQLite":
            yield Row("  size of the database, MB", await _size_mb(store), "")


async def year() -> AsyncIterator[Row]:
    """Simulate two years with 200 accounts."""
    async for row in _simulated("SQLite", Shape(200, 20, _TWO_YEARS), Shape(200, 20, 31)):
        yield row


async def worker_months() -> AsyncIterator[Row]:
    """Let the Worker's code add up two years of 200 accounts, and compare each month with a separate count."""
    command = node_command("--no-warnings", _WORKER, "200", "20")
    done = await trio.run_process(command, capture_stdout=True)
    found = json.loads(done.stdout)
    what = "two years of 200 accounts with 20 targets: months with exact sums"
    yield Row(what, f"{found['rows'] - found['different']:,} of {found['rows']:,}", "all")
    yield Row("  cron runs that close a day or add up a step", f"{found['runs']:,}", "")


async def month() -> AsyncIterator[Row]:
    """Simulate a month with a thousand accounts on both database engines."""
    for engine in ENGINES:
        async for row in _simulated(engine, Shape(1_000, 20, 31), Shape(1_000, 20, 2)):
            yield row


async def size() -> AsyncIterator[Row]:
    """Measure the store's size with a thousand sites that have visitors in every hour.

    The store contains the daily counts of a year and the hourly counts of 40 days.
    """
    async with new_config("SQLite") as config, open_store(config) as store:
        for _ in range(1_000):
            await store.run(_whole_year(new_id("site")))
        yield Row("SQLite: a year of 1,000 sites, 40 days of hours, MB", await _size_mb(store), "1,000")


def _whole_year(target: str) -> Tx[None]:
    days = range(_FIRST_DAY, _FIRST_DAY + 365)
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, 5000, 100, 3000, $3, 1)",
        [(target, day, (day + 1) * DAY_MS) for day in days],
    )
    yield many(
        "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, 500, 10, 300, $3, 0)",
        [
            (target, day * DAY_MS + hour * HOUR_MS, day * DAY_MS + (hour + 1) * HOUR_MS)
            for day in days[-40:]
            for hour in range(24)
        ],
    )


async def _size_mb(store: Store) -> str:
    def bytes_used() -> Tx[int]:
        rows = yield sql("select page_count * page_size as n from pragma_page_count(), pragma_page_size()")
        return int(rows[0]["n"])

    return f"{await store.read(bytes_used()) / 1e6:.0f}"


MEASURES = (size, worker_months, year, month)
