"""The figures of the service's parts: what the store takes, accounts at rest, stored reports."""

from __future__ import annotations

import resource
import secrets
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import trio
from pydantic import SecretStr

from bench.figures import Row
from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import DAY_MS, HOUR_MS, system_clock
from svc.config import Config, StoreConfig
from svc.ids import new_id
from svc.store import accounts, link_hosts, open_store, totals, users
from svc.store.tx import many, sql
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.store.tx import Store, Tx

_NOTHING = cast("Any", None)  # the platform is not reached by any of these
_TARGETS = 50
_PUSHES = 2_000
_AT_ONCE = 20
_ACCOUNTS = 10_000
_REPORTS = 200
NOW = system_clock() // HOUR_MS * HOUR_MS


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
        accounts.add_account(
            account_id=account_id,
            user_id=user_id,
            edge_account_id=secrets.token_hex(16),
            name="bench",
            now=NOW,
        )
    )
    await store.run(link_hosts.put_link_host(account_id, "go.example", "zone"))
    ids = [new_id("lnk") for _ in range(targets)]
    await store.run(_links(user_id, account_id, ids))
    return account_id, ids


def _links(user_id: int, account_id: str, ids: list[str]) -> Tx[None]:
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, $5, '[]', 'active', 1, $6)",
        [
            (link_id, account_id, user_id, f"Code{number}", "https://a.example", NOW)
            for number, link_id in enumerate(ids)
        ],
    )


async def add_user(store: Store) -> int:
    """A user; their id."""
    user = await store.run(users.add_user(f"{new_id('user')}@example.com", "no password", NOW))
    if user is None:
        raise AssertionError("the address was taken")
    return user.id


async def pushes() -> AsyncIterator[Row]:
    """Pushes of 50 targets, an hour and a day each, durable before they are answered."""
    async with new_store() as store:
        account_id, ids = await add_account(store, await add_user(store), _TARGETS)
        counts = [(target, 10, 1, 5) for target in ids]
        day = NOW // DAY_MS - 3

        def part(number: int) -> totals.PushedPart:
            at = day * DAY_MS + number % 24 * HOUR_MS
            hour = totals.PushedHour(at, tuple(counts))
            return totals.PushedPart(number, day, at + HOUR_MS, False, (hour,), (), tuple(counts))

        began, cpu = time.perf_counter(), time.process_time()

        async def some(first: int) -> None:
            for number in range(first, _PUSHES, _AT_ONCE):
                await store.run(totals.ingest(account_id, [part(number)], NOW))

        async with trio.open_nursery() as nursery:
            for first in range(_AT_ONCE):
                nursery.start_soon(some, first)
        took, used = time.perf_counter() - began, time.process_time() - cpu
    yield Row("  the store's part alone, SQLite, a second", f"{_PUSHES / took:.0f}", "")
    yield Row("  the same by CPU time of the process", f"{_PUSHES / used:.0f}", "")


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
            NOW,
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
        today = NOW // DAY_MS
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


MEASURES = (pushes, at_rest, reports)
