"""The service over HTTP, as its users meet it: `svc serve` as a process, the load beside it."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from pydantic import SecretStr

from bench.figures import Row
from bench.load import load, request
from bench.service import NOW, add_account, add_user
from edge_worker.harness.service import open_service
from svc.clock import DAY_MS, HOUR_MS, day_text
from svc.config import StoreConfig
from svc.ids import digest, new_id, new_secret
from svc.model import Key
from svc.passwords import hash_password
from svc.store import keys, open_store, users, worker_keys
from tests.databases import postgres_config, postgres_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench.load import Load
    from edge_worker.harness.service import Service

_TARGETS = 50
# Whose workers push in turn: those of one account all change the same rows, which nobody's do.
_ACCOUNTS = 100
_LINKS = 1_000
_ROUNDS = 3
# The two sides of a ratio in turn, each for a short while: what else the machine does hurts both.
_READ_ROUNDS = 8
_SHORT_S = 1.5
_SECONDS = 3.0
# No load here is meant to meet a limit.
_UNLIMITED = {
    f"SVC_LIMITS_{name}_PER_MINUTE": "1000000000" for name in ("REQUESTS", "REPORT_READS", "SIGN_INS", "PUSHES")
}
_EMAIL, _PASSWORD = "bench@example.com", "a long password"


class Place:
    """A running service with a user, a key, an account and its links."""

    def __init__(self, service: Service, key: str, workers: list[tuple[str, list[str]]]) -> None:
        self.port = int(service.url.rpartition(":")[2])
        self.pid = service.process.pid
        self.key = key
        self.workers = workers  # a key and the links that it pushes for, of each account; of the first the most
        self.link_ids = workers[0][1]

    async def load(self, requests: Iterator[bytes], *, connections: int, seconds: float | None = None) -> Load:
        """As `bench.load.load`, on this service."""
        return await load(self.port, self.pid, lambda: requests, connections=connections, seconds=seconds or _SECONDS)

    def get(self, path: str) -> Iterator[bytes]:
        """An authenticated read, again and again."""
        return itertools.repeat(request("GET", path, Authorization=f"Bearer {self.key}"))

    def pushes(self, accounts: int) -> Iterator[bytes]:
        """Pushes of an hour and a day of each of 50 targets, of so many accounts in turn; the counts grow."""
        day = NOW // DAY_MS - 3
        for number in itertools.count():
            worker_key, link_ids = self.workers[number % accounts]
            at = day * DAY_MS + number // accounts % 24 * HOUR_MS
            rows = [[target, 10 + number, 1, 5] for target in link_ids[:_TARGETS]]
            part = {
                "id": number,
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
    """A service on this store."""
    async with open_store(config) as store:
        await store.run(users.add_user(_EMAIL, hash_password(_PASSWORD), NOW))
        user_id = await add_user(store)
        value = new_secret("svc_")
        key = Key(new_id("key"), user_id, value[:8], ("links",), None, None, NOW, None)
        await store.run(keys.add_key(key, digest(value), 5))
        workers = []
        for number in range(_ACCOUNTS):
            account_id, link_ids = await add_account(store, user_id, _TARGETS if number else _LINKS)
            worker_key = new_secret("svcw_")
            await store.run(worker_keys.add_worker_key(account_id, digest(worker_key)))
            workers.append((worker_key, link_ids))
    settings = {**_UNLIMITED, "SVC_STORE_URL": config.url.get_secret_value()}
    async with open_service(folder, settings) as service:
        yield Place(service, value, workers)


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[Place]:
    """A service on SQLite."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        async with open_place(StoreConfig(url=SecretStr(f"sqlite:///{folder}/svc.db")), Path(folder)) as place:
            yield place


@asynccontextmanager
async def on_postgres() -> AsyncIterator[Place]:
    """A service on PostgreSQL, whose server is started here and shares the cores; its commits reach the disk."""
    server = postgres_server(durable=True)
    url = await trio.to_thread.run_sync(server.__enter__)
    schema = postgres_config(url)
    config = await trio.to_thread.run_sync(schema.__enter__)
    try:
        with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
            async with open_place(config, Path(folder)) as place:
                yield place
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(schema.__exit__, None, None, None)
            await trio.to_thread.run_sync(server.__exit__, None, None, None)


async def reads() -> AsyncIterator[Row]:
    """An authenticated read against the stack's barest endpoint, in turn, 50 connections."""
    bare = await trio.lowlevel.open_process([sys.executable, "-m", "bench.bare"], stdout=subprocess.PIPE)
    try:
        if bare.stdout is None:
            raise AssertionError("the process has no standard output")
        url = await bare.stdout.receive_some()
        port = int(url.strip().rpartition(b":")[2])
        rounds: list[tuple[Load, Load]] = []
        async with on_sqlite() as place:
            one = f"/v1/links/{place.link_ids[0]}"
            for _ in range(_READ_ROUNDS):
                nothing = itertools.repeat(request("GET", "/"))
                rounds.append(
                    (
                        await load(port, bare.pid, lambda: nothing, connections=50, seconds=_SHORT_S),  # noqa: B023  # called at once
                        await place.load(place.get(one), connections=50, seconds=_SHORT_S),
                    )
                )
            many = await place.load(place.get("/v1/links"), connections=2)
    finally:
        bare.kill()
        with trio.CancelScope(shield=True):
            await bare.wait()
    by_time = statistics.median(ours.per_second / theirs.per_second for theirs, ours in rounds)
    by_cpu = statistics.median(theirs.cpu_us / ours.cpu_us for theirs, ours in rounds)
    yield Row("an authenticated read of /v1 against a bare JSON endpoint", f"{by_time:.2f}x", "0.65x")
    yield Row("  the same by CPU of the two processes", f"{by_cpu:.2f}x", "0.65x")
    yield Row("  reads a second, 50 connections", f"{max(ours.per_second for _, ours in rounds):.0f}", "")
    yield Row(f"lists of {_LINKS:,} links a second, 2 connections", f"{many.per_second:.0f}", "")


async def pushes() -> AsyncIterator[Row]:
    """Pushes of 50 targets, an hour and a day each, 16 connections; durable before they are answered.

    Of a hundred accounts in turn each row lies on a page of its own; of one account all pushes change the same rows.
    """
    for name, place_on, to_reach in (("SQLite", on_sqlite, "500"), ("PostgreSQL", on_postgres, "300")):
        async with place_on() as place:
            sources = {accounts: place.pushes(accounts) for accounts in (1, _ACCOUNTS)}
            figures: dict[int, list[Load]] = {accounts: [] for accounts in sources}
            for _ in range(_ROUNDS):
                for accounts, source in sources.items():
                    figures[accounts].append(await place.load(source, connections=16))
        for accounts, seen in figures.items():
            best = max(seen, key=lambda one: one.per_second)
            what = f"pushes of {_TARGETS} targets a second over HTTP, {name}, accounts: {accounts}"
            yield Row(what, f"{best.per_second:.0f}", to_reach)
            cpu_ms = min(one.cpu_us for one in seen) / 1000
            yield Row("  CPU of the service's process for each, ms", f"{cpu_ms:.2f}", "")


async def sign_ins() -> AsyncIterator[Row]:
    """Sign-ins, which are as slow as a password's hash is to be."""
    body = json.dumps({"email": _EMAIL, "password": _PASSWORD}).encode()
    async with on_sqlite() as place:
        figure = await place.load(itertools.repeat(request("POST", "/auth/sign-in", body)), connections=4)
    yield Row("sign-ins a second, 4 connections", f"{figure.per_second:.1f}", "")


MEASURES = (reads, pushes, sign_ins)
