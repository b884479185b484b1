"""Measures the service over HTTP. `svc serve` and the load generator are separate processes."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from bench import two_years
from bench.accounts import Workers
from bench.figures import Row
from bench.load import load, request
from bench.service import ENGINES, NOW, add_account, add_counted, add_links, add_user, new_config, settings_for
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import open_service
from svc.clock import DAY_MS, HOUR_MS, day_text
from svc.ids import digest, new_id, new_secret
from svc.model import Key
from svc.security.api_key import new_api_key
from svc.security.passwords import hash_password
from svc.store import keys, open_store, users, worker_keys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from bench.load import Load
    from bench.service import Engine
    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service
    from svc.config import StoreConfig

_TARGETS = 50
# The number of accounts whose Workers push in turn. The pushes of a single account would all change the same rows.
_ACCOUNTS = 100
_LINKS = 1_000
_ROUNDS = 3
# The two compared programs are measured in turn, in short rounds, so that other work on the machine affects both.
_READ_ROUNDS = 8
_SHORT_S = 1.5
_SECONDS = 3.0
# Settings with limits so high that the load does not reach them.
UNLIMITED = {
    f"SVC_LIMITS_{name}_PER_MINUTE": "1000000000" for name in ("REQUESTS", "REPORT_READS", "SIGN_INS", "PUSHES")
}
_EMAIL, _PASSWORD = "bench@example.com", "a long password"


class Place:
    """A running service with a user, a key, an account and its links."""

    def __init__(
        self, service: Service, key: str, workers: list[tuple[str, list[str]]], site_ids: Sequence[str]
    ) -> None:
        self.port = int(service.url.rpartition(":")[2])
        self.pid = service.process.pid
        self.key = key
        self.workers = workers  # (Worker key, link ids) for each account; the first account has the most links
        self.link_ids = workers[0][1]
        self.site_ids = site_ids

    async def load(self, requests: Iterator[bytes], *, connections: int, seconds: float | None = None) -> Load:
        """Run `bench.load.load` against this service."""
        return await load(self.port, self.pid, lambda: requests, connections=connections, seconds=seconds or _SECONDS)

    def get(self, path: str) -> Iterator[bytes]:
        """Yield the same authenticated read repeatedly."""
        return itertools.repeat(request("GET", path, Authorization=f"Bearer {self.key}"))

    def pushes(self, accounts: int) -> Iterator[bytes]:
        """Yield pushes of the first `accounts` accounts in turn.

        Each push has the totals of an hour and of a day for 50 targets, with growing counts.
        """
        day = NOW // DAY_MS - 3
        for number in itertools.count():
            worker_key, link_ids = self.workers[number % accounts]
            at = day * DAY_MS + number // accounts % 24 * HOUR_MS
            rows = [[target, 10 + number, 1, 5] for target in link_ids[:_TARGETS]]
            part = {
                "id": 1,  # all parts can have the same id, because the benchmark sends them concurrently
                "day": day_text(day),
                "as_of": at + HOUR_MS,
                "final": False,
                "hours": [{"at": at, "rows": rows}],
                "refused_hours": [],
                "days": rows,
            }
            head = {"v": 1, "install": "op_bench", "bundle": "bench", "schema": 1, "sent_at": NOW, "queue": 1}
            body = {**head, "error": None, "dropped": {}, "parts": [part]}
            text = json.dumps(body, separators=(",", ":")).encode()
            yield request("POST", "/edge/push", text, Authorization=f"Bearer {worker_key}")


@asynccontextmanager
async def open_place(config: StoreConfig, folder: Path) -> AsyncIterator[Place]:
    """Run a service on this store, with an account and its links."""
    async with open_store(config) as store:
        await store.run(users.add_user(_EMAIL, hash_password(_PASSWORD), NOW))
        user_id = await add_user(store)
        value = new_api_key()
        key = Key(new_id("key"), user_id, None, value[:8], ("links", "sites", "reports"), None, None, NOW, None)
        await store.run(keys.add_key(key, digest(value), 5))
        workers = []
        for number in range(_ACCOUNTS):
            account_id, link_ids = await add_account(store, user_id, _TARGETS if number else _LINKS)
            worker_key = new_secret("svcw_")
            await store.run(worker_keys.add_worker_key(account_id, digest(worker_key), "op_1"))
            workers.append((worker_key, link_ids))
            if number == 0:
                site_ids = await store.run(add_counted(user_id, account_id, link_ids, _LINKS))
    settings = {**UNLIMITED, "SVC_STORE_URL": config.url.get_secret_value()}
    async with open_service(folder, settings) as service:
        yield Place(service, value, workers, site_ids)


@asynccontextmanager
async def on(engine: Engine) -> AsyncIterator[Place]:
    """Run a service on this database engine. The PostgreSQL server uses the same cores as the service."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        async with new_config(engine) as config, open_place(config, Path(folder)) as place:
            yield place


@asynccontextmanager
async def open_bare() -> AsyncIterator[tuple[int, int]]:
    """Run `bench.bare`. Yield its port and process id."""
    bare = await trio.lowlevel.open_process([sys.executable, "-m", "bench.bare"], stdout=subprocess.PIPE)
    try:
        if bare.stdout is None:
            raise AssertionError("the process has no standard output")
        url = await bare.stdout.receive_some()
        yield int(url.strip().rpartition(b":")[2]), bare.pid
    finally:
        bare.kill()
        with trio.CancelScope(shield=True):
            await bare.wait()


def _nothing() -> Iterator[bytes]:
    """Yield requests for the endpoint of `bench.bare`."""
    return itertools.repeat(request("GET", "/"))


@dataclass(frozen=True)
class Compared:
    """Medians of short rounds. The first two values are relative to `bench.bare`. The others are absolute."""

    by_time: float
    by_cpu: float
    per_second: float
    cpu_ms: float


async def compared(place: Place, bare: tuple[int, int], path: str, *, connections: int, rounds: int) -> Compared:
    """Measure an authenticated read and the bare endpoint in turn."""
    seen: list[tuple[Load, Load]] = []
    for _ in range(rounds):
        theirs = await load(*bare, _nothing, connections=connections, seconds=_SHORT_S)
        ours = await place.load(place.get(path), connections=connections, seconds=_SHORT_S)
        seen.append((theirs, ours))
    return Compared(
        statistics.median(ours.per_second / theirs.per_second for theirs, ours in seen),
        statistics.median(theirs.cpu_us / ours.cpu_us for theirs, ours in seen),
        statistics.median(ours.per_second for _, ours in seen),
        statistics.median(ours.cpu_us for _, ours in seen) / 1000,
    )


async def reads() -> AsyncIterator[Row]:
    """Measure an authenticated read over 50 connections, and lists with the clicks and views of seven days."""
    for engine in ENGINES:
        async with open_bare() as bare, on(engine) as place:
            one = await compared(place, bare, f"/v1/links/{place.link_ids[0]}", connections=50, rounds=_READ_ROUNDS)
            yield Row(f"{engine}: an authenticated read relative to a bare endpoint", f"{one.by_time:.2f}x", "0.65x")
            yield Row("  the same by CPU of the two processes", f"{one.by_cpu:.2f}x", "0.65x")
            yield Row("  reads a second, 50 connections", f"{one.per_second:.0f}", "")
            for what, path in (
                (f"a page of {_LINKS:,} links with clicks_7d", "/v1/links"),
                (f"a page of {_LINKS:,} sites with views_7d and series_7d", "/v1/sites"),
                ("a site's report of 30 days", f"/v1/sites/{place.site_ids[0]}/report?period=30d"),
            ):
                many = await compared(place, bare, path, connections=2, rounds=_ROUNDS)
                to_reach = "5" if "report" in what else ""
                yield Row(f"{engine}: {what}, CPU of the service, ms", f"{many.cpu_ms:.1f}", to_reach)
                yield Row("  per second on 2 connections, relative to the bare endpoint", _second(many), "")


def _second(found: Compared) -> str:
    return f"{found.per_second:.0f} {found.by_time:.2f}x"


async def pushes() -> AsyncIterator[Row]:
    """Measure pushes over 16 connections. Each push has one hourly and one daily total for each of 50 targets.

    A push is committed before its response. If a hundred accounts push in turn, each row is on a separate database
    page. If one account pushes, all pushes change the same rows.
    """
    for engine in ENGINES:
        async with open_bare() as bare, on(engine) as place:
            sources = {accounts: place.pushes(accounts) for accounts in (1, _ACCOUNTS)}
            figures: dict[int, list[Load]] = {accounts: [] for accounts in sources}
            bares = []
            for _ in range(_ROUNDS):
                bares.append(await load(*bare, _nothing, connections=16, seconds=_SHORT_S))
                for accounts, source in sources.items():
                    figures[accounts].append(await place.load(source, connections=16))
        for accounts, seen in figures.items():
            best = max(seen, key=lambda one: one.per_second)
            what = f"{engine}: pushes per second, each with {_TARGETS} targets, accounts: {accounts}"
            yield Row(what, f"{best.per_second:.0f}", "500" if engine == "SQLite" else "300")
            ratio = statistics.median(a.per_second / b.per_second for a, b in zip(seen, bares, strict=True))
            cpu_ms = statistics.median(one.cpu_us for one in seen) / 1000
            yield Row("  CPU per push, ms; relative to a bare endpoint", f"{cpu_ms:.2f} {ratio:.2f}x", "")


async def live_reports() -> AsyncIterator[Row]:
    """Measure reports for which the service reads the account's database on the emulated platform, without a cache."""
    for engine in ENGINES:
        async with (
            open_emulator(no_runtime=True, **LENIENT) as emulator,
            new_config(engine) as config,
        ):
            settings = {
                **UNLIMITED,
                **settings_for(config, emulator),
                "SVC_EDGE_CALLS_PER_TOKEN": "1000000",
                "SVC_TIMING_REPORT_CACHE_S": "0.001",
            }
            value = new_api_key()
            async with open_store(config) as store:
                user_id = await add_user(store)
                key = Key(new_id("key"), user_id, None, value[:8], ("accounts", "reports"), None, None, NOW, None)
                await store.run(keys.add_key(key, digest(value), 5))
            with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
                async with open_bare() as bare, open_service(Path(folder), settings) as service:
                    service.headers = {"Authorization": f"Bearer {value}"}
                    account_id, customer = await connected(service, emulator)
                    async with open_store(config) as store:
                        link_ids = await add_links(store, user_id, account_id, 1)
                        site_ids = await store.run(add_counted(user_id, account_id, link_ids, 2))
                        await store.run(two_years.add_days(site_ids[1]))
                    await two_years.fill_database(emulator, customer, site_ids[1])
                    place = Place(service, value, [("", link_ids)], site_ids)
                    response = await service.call("GET", two_years.report_path(site_ids[1]))
                    two_years.check_report(response["report"])
                    for what, path, to_reach in (
                        ("a link's report of today, read live", f"/v1/links/{link_ids[0]}/report", ""),
                        (
                            "a site's 30 days with breakdowns",
                            f"/v1/sites/{site_ids[0]}/report?period=30d&breakdowns=1",
                            "",
                        ),
                        ("two years with large breakdowns", two_years.report_path(site_ids[1]), "250"),
                    ):
                        found = await compared(place, bare, path, connections=4, rounds=_ROUNDS)
                        yield Row(f"{engine}: {what}, CPU of the service, ms", f"{found.cpu_ms:.1f}", to_reach)
                        yield Row("  per second on 4 connections, relative to the bare endpoint", _second(found), "")


async def connected(service: Service, emulator: Emulator) -> tuple[str, Customer]:
    """Connect an account, and send its Worker's first push. Return the account's id and the customer."""
    customer = await emulator.create_account(subdomain="customer")
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Workers(emulator).push_until, 1)
        response = await service.call("POST", "/v1/accounts", body, expect=202, key="connect")
        account_id: str = response["account"]["id"]
        await service.account_in(account_id, "ready")
    return account_id, customer


async def sign_ins() -> AsyncIterator[Row]:
    """Measure sign-ins. Most of the time is spent on the password hash."""
    body = json.dumps({"email": _EMAIL, "password": _PASSWORD}).encode()
    for engine in ENGINES:
        async with on(engine) as place:
            figure = await place.load(itertools.repeat(request("POST", "/auth/sign-in", body)), connections=4)
        yield Row(f"{engine}: sign-ins a second, 4 connections", f"{figure.per_second:.1f}", "")


MEASURES = (reads, pushes, live_reports, sign_ins)
