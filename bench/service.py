"""The service's figures: pushes, authenticated reads, accounts at rest, reports."""

from __future__ import annotations

import resource
import secrets
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve
from pydantic import SecretStr
from quart_trio import QuartTrio

from bench.figures import Row
from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import DAY_MS, HOUR_MS, system_clock
from svc.config import Config, Limits
from svc.config import Store as StoreConfig
from svc.http.app import Deps, create_app
from svc.ids import digest, new_id
from svc.mail import open_mailer
from svc.model import Key, Link
from svc.store import accounts, keys, link_hosts, links, open_store, totals, users
from svc.store.tx import sql
from svc.worker import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from svc.store.tx import Store, Tx

_NOTHING = cast("Any", None)  # the platform is not reached by any of these
_TARGETS = 50
_PUSHES = 2_000
_AT_ONCE = 20
_READS = 600
_ACCOUNTS = 10_000
_REPORTS = 200
_NOW = system_clock() // HOUR_MS * HOUR_MS


@asynccontextmanager
async def new_store() -> AsyncIterator[Store]:
    """An empty SQLite store on disk."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{folder}/svc.db"))) as store:
            yield store


async def add_account(store: Store, user_id: int, targets: int) -> tuple[str, list[str]]:
    """A ready account with a link host and `targets` links; the account's id and the links'."""
    account_id = new_id("acc")
    await store.run(
        accounts.begin_connect(
            account_id=account_id,
            operation_id=new_id("op"),
            user_id=user_id,
            edge_account_id=secrets.token_hex(16),
            name="bench",
            now=_NOW,
        )
    )
    await store.run(link_hosts.put_link_host(account_id, "go.example", "zone"))
    ids = []
    for number in range(targets):
        link = Link(new_id("lnk"), account_id, user_id, f"code{number}", "https://a.example", (), "active", 0, _NOW)
        ids.append((await store.run(links.add_link(link, 10**9))).id)
    return account_id, ids


async def add_user(store: Store) -> int:
    """A user; their id."""
    user = await store.run(users.add_user(f"{new_id('user')}@example.com", "no password", _NOW))
    if user is None:
        raise AssertionError("the address was taken")
    return user.id


async def pushes() -> AsyncIterator[Row]:
    """Pushes of 50 targets, an hour and a day each, durable before they are answered."""
    async with new_store() as store:
        account_id, ids = await add_account(store, await add_user(store), _TARGETS)
        counts = [(target, 10, 1, 5) for target in ids]
        day = _NOW // DAY_MS - 3

        def part(number: int) -> totals.PushedPart:
            at = day * DAY_MS + number % 24 * HOUR_MS
            hour = totals.PushedHour(at, tuple(counts))
            return totals.PushedPart(number, day, at + HOUR_MS, False, (hour,), (), tuple(counts))

        began, cpu = time.perf_counter(), time.process_time()

        async def some(first: int) -> None:
            for number in range(first, _PUSHES, _AT_ONCE):
                await store.run(totals.ingest(account_id, [part(number)], _NOW))

        async with trio.open_nursery() as nursery:
            for first in range(_AT_ONCE):
                nursery.start_soon(some, first)
        took, used = time.perf_counter() - began, time.process_time() - cpu
    yield Row(f"pushes of {_TARGETS} targets, durable, a second", f"{_PUSHES / took:.0f}", "300")
    yield Row("  the same by CPU time of the process", f"{_PUSHES / used:.0f}", "300")


async def reads() -> AsyncIterator[Row]:
    """An authenticated read against the same stack's bare JSON endpoint."""
    async with new_store() as store, open_mailer(Config().mail) as mailer:
        config = Config(limits=Limits(requests_per_minute=10**9))
        context = Context(store, _NOTHING, _NOTHING, config, system_clock, load_bundle(), "")
        async with open_supervisor(context) as supervisor:
            app = create_app(Deps(store, supervisor, config, system_clock, mailer, "http://bench", load_bundle()))
            value = "svc_bench"
            user_id = await add_user(store)
            key = Key(new_id("key"), user_id, value, ("links",), None, None, _NOW, None)
            await store.run(keys.add_key(key, digest(value), 5))
            _, ids = await add_account(store, user_id, 1)
            bare = QuartTrio("bare")
            bare.get("/")(_bare)
            async with serving(app) as service_url, serving(bare) as bare_url, httpx.AsyncClient() as client:
                headers = {"Authorization": f"Bearer {value}"}
                ours = await per_second(client, f"{service_url}/v1/links/{ids[0]}", headers)
                theirs = await per_second(client, bare_url, {})
                ours = max(ours, await per_second(client, f"{service_url}/v1/links/{ids[0]}", headers))
                theirs = max(theirs, await per_second(client, bare_url, {}))
    yield Row("an authenticated read of /v1 against a bare JSON endpoint", f"{ours / theirs:.2f}x", "0.5x")


async def _bare() -> dict[str, bool]:
    return {"ok": True}


@asynccontextmanager
async def serving(app: QuartTrio) -> AsyncIterator[str]:
    """The application on a socket; its URL."""
    config = HypercornConfig()
    config.bind = ["127.0.0.1:0"]
    config.loglevel = "WARNING"
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        start: Callable[..., Any] = lambda task_status: serve(  # noqa: E731  # the one line that start() takes
            cast("Any", app), config, shutdown_trigger=stop.wait, task_status=task_status
        )
        [url] = await nursery.start(start)
        yield url
        stop.set()


async def per_second(client: httpx.AsyncClient, url: str, headers: dict[str, str]) -> float:
    """Requests a second over one kept connection."""
    began = time.perf_counter()
    for _ in range(_READS):
        answer = await client.get(url, headers=headers)
        answer.raise_for_status()
    return _READS / (time.perf_counter() - began)


async def at_rest() -> AsyncIterator[Row]:
    """10,000 accounts: how long until the service has started, and what it takes then."""
    async with new_store() as store:
        user_id = await add_user(store)
        await store.run(_many_accounts(user_id))
        context = Context(store, _NOTHING, _NOTHING, Config(), system_clock, load_bundle(), "")
        began = time.perf_counter()
        async with open_supervisor(context) as supervisor:
            took = time.perf_counter() - began
            memory_mb = _resident_mb()
            known = supervisor.stats()["known"]
    if known != _ACCOUNTS:
        raise AssertionError(f"{known} accounts were loaded")
    yield Row(f"{_ACCOUNTS:,} accounts: supervisor started, seconds", f"{took:.2f}", "2")
    yield Row("  resident memory of the whole process, MB", f"{memory_mb:.0f}", "150")


def _many_accounts(user_id: int) -> Tx[None]:
    for _ in range(_ACCOUNTS):
        yield sql(
            "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version,"
            " created_at) values ($1, $2, $3, 'bench', 'ready', 0, 0, $4)",
            new_id("acc"),
            user_id,
            secrets.token_hex(16),
            _NOW,
        )


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines() if Path("/proc/self/status").exists() else ():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def reports() -> AsyncIterator[Row]:
    """The stored part of a 30-day report, with 1,000 targets of 30 days stored."""
    async with new_store() as store:
        _, ids = await add_account(store, await add_user(store), 1_000)
        today = _NOW // DAY_MS
        await store.run(_many_days(ids, today))
        began = time.perf_counter()
        for number in range(_REPORTS):
            await store.read(totals.day_counts(ids[number], today - 29, today))
        took = (time.perf_counter() - began) / _REPORTS
    yield Row("30 stored days of one of 1,000 targets, ms", f"{took * 1000:.2f}", "5")


def _many_days(ids: list[str], today: int) -> Tx[None]:
    for target in ids:
        for day in range(today - 29, today + 1):
            yield sql(
                "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, 5, 1, 3, $3, 0)",
                target,
                day,
                (day + 1) * DAY_MS,
            )


MEASURES = (pushes, reads, at_rest, reports)
