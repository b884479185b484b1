"""Measures two parts of the service without HTTP: storing pushes, and many idle accounts."""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import trio
from pydantic import SecretStr

from bench.figures import Row
from svc.clock import DAY_MS, HOUR_MS, system_clock
from svc.config import StoreConfig
from svc.ids import new_id
from svc.store import accounts, link_hosts, open_store, totals, users
from svc.store.tx import many, sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.databases import postgres_config, postgres_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from edge_worker.emulator.client import Emulator
    from svc.store.tx import Store, Tx

Engine = Literal["SQLite", "PostgreSQL"]
ENGINES: tuple[Engine, ...] = ("SQLite", "PostgreSQL")
_TARGETS = 50
_PUSHES = 2_000
_AT_ONCE = 20
NOW = system_clock() // HOUR_MS * HOUR_MS


def settings_for(config: StoreConfig, emulator: Emulator) -> dict[str, str]:
    """Return the environment variables of a service with this store and this emulator."""
    return {
        "SVC_STORE_URL": config.url.get_secret_value(),
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_EDGE_EMULATED_EDGE": emulator.edge,
        "SVC_EDGE_SETTLING_S": "1",
        "SVC_EDGE_SETTLING_IN_CONNECT_S": "1",
    }


@asynccontextmanager
async def new_config(engine: Engine) -> AsyncIterator[StoreConfig]:
    """Create the configuration of an empty store. For PostgreSQL, start a server with durable commits."""
    if engine == "SQLite":
        with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
            yield StoreConfig(url=SecretStr(f"sqlite:///{folder}/svc.db"))
        return
    server = postgres_server(durable=True)
    url = await trio.to_thread.run_sync(server.__enter__)
    schema = postgres_config(url)
    config = await trio.to_thread.run_sync(schema.__enter__)
    try:
        yield config
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(schema.__exit__, None, None, None)
            await trio.to_thread.run_sync(server.__exit__, None, None, None)


@asynccontextmanager
async def new_store() -> AsyncIterator[Store]:
    """Create an empty SQLite store on disk."""
    async with new_config("SQLite") as config, open_store(config) as store:
        yield store


async def add_account(store: Store, user_id: int, targets: int) -> tuple[str, list[str]]:
    """Add a ready account with a link host and `targets` links. Return the account's id and the links' ids."""
    account_id = new_id("acc")
    await store.run(
        accounts.add_account(
            account_id=account_id,
            user_id=user_id,
            edge_account_id=secrets.token_hex(16),
            name="bench",
            now=NOW,
        )
    )
    await store.run(link_hosts.put_link_host(account_id, "go.example", "zone"))
    await store.run(_at_work(account_id))
    return account_id, await add_links(store, user_id, account_id, targets)


def _at_work(account_id: str) -> Tx[None]:
    """Mark the account so that it has no due work. Otherwise, its actor would run or crash during the measurement."""
    yield sql("update accounts set state = 'ready', heard_at = $2 where id = $1", account_id, NOW)
    yield sql("update link_hosts set state = 'active' where account_id = $1", account_id)


async def add_links(store: Store, user_id: int, account_id: str, count: int) -> list[str]:
    """Add `count` links and return their ids."""
    ids = [new_id("lnk") for _ in range(count)]
    await store.run(_links(user_id, account_id, ids))
    return ids


def _links(user_id: int, account_id: str, ids: list[str]) -> Tx[None]:
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, $5, '[]', 'active', 1, $6)",
        [
            (link_id, account_id, user_id, f"Code{number}", "https://a.example", NOW)
            for number, link_id in enumerate(ids)
        ],
    )


def add_counted(user_id: int, account_id: str, link_ids: Sequence[str], sites: int) -> Tx[list[str]]:
    """Add sites, and 30 days of views for these sites and for the given links. Return the sites' ids."""
    site_ids = [new_id("site") for _ in range(sites)]
    yield many(
        "insert into sites (id, account_id, user_id, host, zone_id, state, path, script_name, excluded_paths,"
        " respect_gpc, version, created_at) values ($1, $2, $3, $4, 'z', 'active', $5, 'k3f', '[]', 0, 1, $6)",
        [
            (site_id, account_id, user_id, f"s{number}.example", f"/{site_id}", NOW)
            for number, site_id in enumerate(site_ids)
        ],
    )
    today = NOW // DAY_MS
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, 5, 1, 3, $3, 0)",
        [
            (target, day, (day + 1) * DAY_MS)
            for target in (*link_ids, *site_ids)
            for day in range(today - 29, today + 1)
        ],
    )
    return site_ids


async def add_user(store: Store) -> int:
    """Add a user and return the user's id."""
    user = await store.run(users.add_user(f"{new_id('user')}@example.com", "no password", NOW, confirmed=True))
    if user is None:
        raise AssertionError("the address is already in use")
    return user.id


async def pushes() -> AsyncIterator[Row]:
    """Measure pushes with the totals of an hour and of a day for 50 targets.

    Each push is committed before the response.
    """
    async with new_store() as store:
        account_id, ids = await add_account(store, await add_user(store), _TARGETS)
        counts = [(target, 10, 1, 5) for target in ids]
        day = NOW // DAY_MS - 3

        def part(number: int) -> PushedPart:
            at = day * DAY_MS + number % 24 * HOUR_MS
            hour = PushedHour(at, tuple(counts))
            return PushedPart(number, day, at + HOUR_MS, False, (hour,), (), tuple(counts))

        began, cpu = time.perf_counter(), time.process_time()

        async def some(first: int) -> None:
            for number in range(first, _PUSHES, _AT_ONCE):
                await store.run(totals.ingest(account_id, [part(number)], NOW))

        async with trio.open_nursery() as nursery:
            for first in range(_AT_ONCE):
                nursery.start_soon(some, first)
        took, used = time.perf_counter() - began, time.process_time() - cpu
    yield Row("  the store alone, SQLite, per second", f"{_PUSHES / took:.0f}", "")
    yield Row("  the same by CPU time of the process", f"{_PUSHES / used:.0f}", "")


async def at_rest() -> AsyncIterator[Row]:
    """Measure the startup time and memory of a separate process with many accounts."""
    for engine in ENGINES:
        for count, to_reach_s in ((10_000, "2"), (100_000, "")):
            async with new_config(engine) as config:
                async with open_store(config) as store:
                    await store.run(_many_accounts(await add_user(store), count))
                command = [sys.executable, "-m", "bench.at_rest", config.url.get_secret_value()]
                done = await trio.run_process(command, capture_stdout=True)
            found = json.loads(done.stdout)
            if found["known"] != count:
                raise AssertionError(f"{found['known']} accounts were loaded")
            yield Row(
                f"{engine}, {count:,} accounts: supervisor started, seconds", f"{found['took_s']:.2f}", to_reach_s
            )
            yield Row("  resident memory of the whole process, MB", f"{found['memory_mb']:.0f}", "150")


def _many_accounts(user_id: int, count: int) -> Tx[None]:
    yield many(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version,"
        " created_at) values ($1, $2, $3, 'bench', 'ready', 0, 0, $4)",
        [(new_id("acc"), user_id, secrets.token_hex(16), NOW) for _ in range(count)],
    )


MEASURES = (pushes, at_rest)
