"""Measures how many database rows a Worker reads and writes per day on the free plan, as counted by the emulator."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from bench.figures import Row
from bench.runtime import BUNDLE
from edge_worker.harness.installed import CHROME, DAY_MS, LINK_HOST, MINUTE_MS, InstalledWorker, open_installed_worker
from svc.model import Link, WorkerSettings
from svc.worker.config_rows import raise_version, rows_of, write_statements

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

SITES, LINKS = 10, 500
# A new isolate (running instance of the Worker) starts after this number of minutes, and serves this many requests.
ISOLATE_MINUTES, REQUESTS = 5, 20
HOUR_MINUTES, DAY_HOURS = 60, 24
IMPORTED, A_VERSION = 10_000, 100
STATEMENTS_A_CALL = 10
SEED = 20261121
MAX_READ, MAX_WRITTEN = 5_000_000, 100_000


class Usage(NamedTuple):
    """The number of rows read and written in one or more days."""

    read: int
    written: int

    def since(self, before: Usage) -> Usage:
        """Return the usage since `before`."""
        return Usage(self.read - before.read, self.written - before.written)

    def __str__(self) -> str:
        return f"{self.read:,} {self.written:,}"


async def usage(worker: InstalledWorker) -> Usage:
    """Return the account's usage on all days so far."""
    days = (await worker.emulator.state())["accounts"][worker.customer.account_id]["usage"].values()
    return Usage(sum(day["rows_read"] for day in days), sum(day["rows_written"] for day in days))


async def daily_usage() -> AsyncIterator[Row]:
    """Measure an hour and the end of the day, and extrapolate to a day. Isolates run for only a few minutes."""
    chance = random.Random(SEED)
    async with open_installed_worker(BUNDLE) as worker:
        sites = {f"path:s{n}.example.com/x": {"target": f"site_{n}", "script": "s"} for n in range(SITES)}
        links = {f"link:code{n}": {"target": f"lnk_{n}", "url": f"https://a.example/{n}"} for n in range(LINKS)}
        await worker.configure({**sites, **links})
        for n in range(SITES):
            await worker.route(f"s{n}.example.com/x*", "svc-edge")

        async def click() -> None:
            assert (await worker.click(f"code{chance.randrange(LINKS)}")).status == 302

        async def view() -> None:
            host = f"s{chance.randrange(SITES)}.example.com"
            visit = await worker.emulator.visit(host, "/x", method="POST", headers={"user-agent": CHROME}, body="/\n")
            assert visit.status == 204

        first = [await _first_response(worker, ask) for ask in (click, view)]
        yield Row("rows read before a new isolate's first click, first view", f"{first[0]} {first[1]}", "< 30")
        began, before = await worker.clock(0), await usage(worker)
        for minute in range(HOUR_MINUTES):
            now = await worker.clock(60 * minute)
            if minute % ISOLATE_MINUTES == 0:
                await worker.emulator.new_isolates()
                for _ in range(REQUESTS // 2):
                    await click()
                    await view()
            await worker.cron(now)
        await worker.emulator.settled()
        hour = (await usage(worker)).since(before)
        before = await usage(worker)
        midnight = began - began % DAY_MS + DAY_MS + 15 * MINUTE_MS
        await worker.clock((midnight - began) / 1000)
        await worker.crons_until_quiet(midnight)
        end = (await usage(worker)).since(before)
    day = Usage(DAY_HOURS * hour.read + end.read, DAY_HOURS * hour.written + end.written)
    what = f"rows read, written per day: {SITES} sites, {LINKS} links, isolates of {ISOLATE_MINUTES} min"
    yield Row(what, str(day), f"< {Usage(MAX_READ, MAX_WRITTEN)}")


async def _first_response(worker: InstalledWorker, ask: Callable[[], Awaitable[None]]) -> int:
    await worker.emulator.settled()
    await worker.emulator.new_isolates()
    before = await usage(worker)
    await ask()
    return (await usage(worker)).since(before).read


async def import_usage() -> AsyncIterator[Row]:
    """Measure an import of links while an isolate serves other links.

    The benchmark writes the rows with the same statements as the service.
    """
    async with open_installed_worker(BUNDLE) as worker:
        await worker.configure({"host": {"host": LINK_HOST}})
        before = await usage(worker)
        for first in range(0, IMPORTED, A_VERSION):
            await worker.clock(11 * first / A_VERSION)
            version = 10 + first
            links = [
                Link(f"lnk_{n}", "acc", 1, f"code{n}", f"https://a.example/{n}", (), "active", version, 0)
                for n in range(first, first + A_VERSION)
            ]
            statements = [*write_statements(rows_of([], links, None, WorkerSettings(), 0)), raise_version(version)]
            for start in range(0, len(statements), STATEMENTS_A_CALL):
                batch = [
                    {"sql": sql, "params": params} for sql, params in statements[start : start + STATEMENTS_A_CALL]
                ]
                await worker.api("POST", f"/d1/database/{worker.database}/query", json={"batch": batch})
            for n in {0, first // 2, first}:
                assert (await worker.click(f"code{n}")).headers["location"] == f"https://a.example/{n}"
            await worker.emulator.settled()
        used = (await usage(worker)).since(before)
    yield Row(f"rows read, written while {IMPORTED:,} links are imported", str(used), f"< {MAX_WRITTEN:,}")


MEASURES = (daily_usage, import_usage)
