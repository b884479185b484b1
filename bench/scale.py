"""Measures one process with a hundred thousand accounts: start, idle time, pushes, health checks and queued calls.

Only a sample of the pushes and health checks runs:

- One minute of the hourly pushes. Each Worker that pushes in this minute uses a separate connection, and pushes at its
  own second. Afterwards, the same Workers push at the same time. Their accounts have ten links each. The other accounts
  have no links.
- The health checks of twenty accounts on the emulated platform, several times. All of these checks are thorough, like
  daily checks.

The load generator runs on the same machine as the service, so CPU figures are more reliable than durations.
SVC_BENCH_ACCOUNTS=10000 reduces the number of accounts.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import trio
import trio.testing

from bench.accounts import Workers
from bench.figures import Row
from bench.load import ConnectionClosed, cpu_s, exchange, request
from bench.service import ENGINES, add_user, new_config, settings_for
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import open_service
from svc.actors.operations.install import push_second
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, system_clock
from svc.config import EdgeConfig
from svc.edge import tokens
from svc.edge.client import Edge
from svc.edge.responses import HttpResponse
from svc.errors import EdgeUnavailable
from svc.ids import digest, new_id
from svc.metrics import Metrics
from svc.model import Key
from svc.security.api_key import new_api_key
from svc.store import keys, open_store
from svc.store.tx import many

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from pydantic import SecretStr

    from edge_worker.harness.service import Service
    from svc.config import StoreConfig
    from svc.edge.access import Exchange
    from svc.store.tx import Tx

_ACCOUNTS = int(os.environ.get("SVC_BENCH_ACCOUNTS", "100000"))
_TARGETS = 10
_MINUTE = 17  # the minute of the hour that is measured; it can be any minute from 3 to 52
_BATCH = 5_000
_CHECKED_ACCOUNTS = 20
_CHECKS_S = 20.0
_PLATFORM_S = 0.3
_CALLS_S = 10.0
_REST_S = 60.0


@asynccontextmanager
async def _stored(config: StoreConfig, user_id: int) -> AsyncIterator[None]:
    """Store idle accounts. They are healthy, have just pushed, and were checked within the last day."""
    async with open_store(config) as store:
        for first in range(0, _ACCOUNTS, _BATCH):
            await store.run(_accounts(user_id, range(first, min(first + _BATCH, _ACCOUNTS))))
        pushing = _pushing(_MINUTE)
        for first in range(0, len(pushing), 500):
            await store.run(_links(user_id, pushing[first : first + 500]))
    yield


def _edge_id(number: int) -> str:
    """Return an id in the format of Cloudflare's account ids. The ids are the same in each run."""
    return digest(f"edge {number}")[:32]


def _worker_key(number: int) -> str:
    return f"svcw_{digest(f'key {number}')[:43]}"


def _pushing(minute: int) -> list[int]:
    """Return the accounts that push in this minute of the hour."""
    return [number for number in range(_ACCOUNTS) if push_second(_edge_id(number)) // 60 == minute]


def _accounts(user_id: int, numbers: Sequence[int]) -> Tx[None]:
    now = system_clock()
    push = {"at": now, "bundle": "b" * 64, "schema": 1, "queue": 0, "error": None, "dropped": {}, "install": "op_bench"}
    yield many(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version, heard_at,"
        " well_at, advice_due_at, push, created_at) values ($1, $2, $3, 'bench', 'ready', 0, 0, $4, $4, $5, $6, $4)",
        [(f"acc_{n:020d}", user_id, _edge_id(n), now, now + DAY_MS, json.dumps(push)) for n in numbers],
    )
    yield many(
        "insert into worker_keys (digest, account_id) values ($1, $2)",
        [(digest(_worker_key(number)), f"acc_{number:020d}") for number in numbers],
    )


def _link_ids(number: int) -> list[str]:
    return [f"lnk_{number:012d}{target:08d}" for target in range(_TARGETS)]


def _links(user_id: int, numbers: Sequence[int]) -> Tx[None]:
    yield many(
        "insert into links (id, account_id, user_id, code, url, rules, state, version, created_at)"
        " values ($1, $2, $3, $4, 'https://a.example', '[]', 'active', 1, $5)",
        [
            (link_id, f"acc_{number:020d}", user_id, f"Code{target}", system_clock())
            for number in numbers
            for target, link_id in enumerate(_link_ids(number))
        ],
    )


def _push(number: int, hour: int) -> bytes:
    """Return the push with the counts of the hour before `hour` (epoch ms), and of its day so far."""
    at = hour - HOUR_MS
    day = day_of(at)
    rows = [[target, 10, 1, 5] for target in _link_ids(number)]
    part = {"id": 1, "day": day_text(day), "as_of": hour, "final": False, "refused_hours": []}
    head = {"v": 1, "install": "op_bench", "bundle": "b" * 64, "schema": 1, "sent_at": hour, "queue": 1}
    body = {
        **head,
        "error": None,
        "dropped": {},
        "parts": [{**part, "hours": [{"at": at, "rows": rows}], "days": rows}],
    }
    text = json.dumps(body, separators=(",", ":")).encode()
    return request("POST", "/edge/push", text, Authorization=f"Bearer {_worker_key(number)}")


async def _send_all(port: int, pushes: Sequence[tuple[float, bytes]]) -> list[float]:
    """Send each push after its delay in seconds, over its own connection.

    Returns the sorted durations of the accepted pushes in ms. Beyond its connection limit, the service closes the
    connections that have waited longest. A real Worker would retry.
    """
    began = trio.current_time()
    took_ms: list[float] = []

    async def one(at: float, push: bytes) -> None:
        await trio.sleep_until(began + at)
        asked_at = trio.current_time()
        try:
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await exchange(stream, push, 200)
        except (trio.BrokenResourceError, ConnectionClosed):
            return
        took_ms.append((trio.current_time() - asked_at) * 1000)

    async with trio.open_nursery() as nursery:
        for at, push in pushes:
            nursery.start_soon(one, at, push)
    return sorted(took_ms)


def _memory_mb(pid: int) -> float:
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


async def hour() -> AsyncIterator[Row]:
    """Measure the start, an idle minute, and one minute of the hourly pushes."""
    numbers = _pushing(_MINUTE)
    for engine in ENGINES:
        with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
            async with new_config(engine) as config:
                async with open_store(config) as store:
                    user_id = await add_user(store)
                settings = {
                    "SVC_STORE_URL": config.url.get_secret_value(),
                    "SVC_LIMITS_ACCOUNTS_TOTAL": "1000000",
                    "SVC_EDGE_API_BASE_URL": "http://127.0.0.1:9",  # not used, because no account has due work
                }
                async with _stored(config, user_id):
                    began = time.perf_counter()
                async with open_service(Path(folder), settings) as service:
                    started_s = time.perf_counter() - began
                    async for row in _at_work(engine, service, numbers, started_s):
                        yield row


async def _at_work(engine: str, service: Service, numbers: Sequence[int], started_s: float) -> AsyncIterator[Row]:
    pid, port = service.process.pid, int(service.url.rpartition(":")[2])
    start_cpu_s = cpu_s(pid)
    yield Row(f"{engine}, {_ACCOUNTS:,} accounts: start, time, CPU time, s", f"{started_s:.1f} {start_cpu_s:.1f}", "")
    yield Row("  resident memory, MB", f"{_memory_mb(pid):.0f}", "")
    await trio.sleep(_REST_S)
    rest_s = cpu_s(pid) - start_cpu_s
    yield Row("  CPU of an idle minute, s", f"{rest_s:.2f}", "")
    now = system_clock() // HOUR_MS * HOUR_MS
    spread = [(push_second(_edge_id(number)) % 60, _push(number, now - HOUR_MS)) for number in numbers]
    most = max(Counter(at for at, _ in spread).values())
    for what, pushes in (
        (f"{len(numbers):,} pushes of {_TARGETS} targets in a minute (at most {most} per second)", spread),
        ("the same concurrently", [(0, _push(number, now)) for number in numbers]),
    ):
        before = cpu_s(pid)
        took_ms = await _send_all(port, pushes)
        cuts = statistics.quantiles(took_ms, n=100)
        yield Row(f"  {what}: p50, p99, last, ms", f"{cuts[49]:.0f} {cuts[98]:.0f} {took_ms[-1]:.0f}", "< 15,000")
        yield Row("  of which closed without a response", str(len(pushes) - len(took_ms)), "0")
        used = cpu_s(pid) - before
        each_ms = used / len(pushes) * 1000
        yield Row(
            "  CPU per push, ms; of all accounts per hour, s", f"{each_ms:.2f} {each_ms * _ACCOUNTS / 1000:.0f}", ""
        )
    yield Row("  resident memory afterwards, MB", f"{_memory_mb(pid):.0f}", "")


async def health_checks() -> AsyncIterator[Row]:
    """Measure the number of calls and the CPU time of a health check."""
    async with (
        open_emulator(no_runtime=True, **LENIENT) as emulator,
        new_config("SQLite") as config,
    ):
        value = new_api_key()
        async with open_store(config) as store:
            user_id = await add_user(store)
            key = Key(new_id("key"), user_id, None, value[:8], ("accounts",), None, None, system_clock(), None)
            await store.run(keys.add_key(key, digest(value), 5))
        settings = {
            **settings_for(config, emulator),
            "SVC_EDGE_CALLS_PER_TOKEN": "1000000",
            "SVC_LIMITS_ACCOUNTS": str(_CHECKED_ACCOUNTS),
            "SVC_TIMING_HEALTH_EVERY_S": "0.1",  # a thorough check is due after six of these intervals
            "SVC_TIMING_HEALTH_WELL_EVERY_S": "1",
        }
        with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
            async with open_service(Path(folder), settings) as service:
                service.headers = {"Authorization": f"Bearer {value}"}
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(Workers(emulator).push_until, _CHECKED_ACCOUNTS)
                    for number in range(_CHECKED_ACCOUNTS):
                        customer = await emulator.create_account(subdomain=f"customer-{number}")
                        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
                        await service.call("POST", "/v1/accounts", body, expect=202, key=customer.account_id)
                for account in (await service.call("GET", "/v1/accounts"))["accounts"]:
                    await service.account_in(account["id"], "ready")
                await emulator.forget_requests()
                before = cpu_s(service.process.pid)
                await trio.sleep(_CHECKS_S)
                used = cpu_s(service.process.pid) - before
                calls = await emulator.requests()
    number = sum(str(call["path"]).endswith("/tokens/verify") for call in calls)
    each, cpu_ms = len(calls) / number, used / number * 1000
    yield Row("a daily health check: calls, CPU of the service, ms", f"{each:.1f} {cpu_ms:.1f}", "")
    day_s = _ACCOUNTS * cpu_ms / 1000
    what = f"  {_ACCOUNTS:,} healthy accounts: checks per hour, calls per second, CPU s per hour"
    yield Row(what, f"{_ACCOUNTS / 24:.0f} {_ACCOUNTS * each / 86_400:.1f} {day_s / 24:.0f}", "")
    what = "  the same if every account were checked every hour"
    yield Row(what, f"{_ACCOUNTS} {_ACCOUNTS * each / 3_600:.1f} {day_s:.0f}", "")


class _SlowPlatform(Edge):
    """A Cloudflare client whose calls get a response after 0.3 s, or no response for the account `silent`."""

    async def _send_and_receive(self, token: SecretStr, exchange: Exchange) -> HttpResponse:
        del token
        await trio.sleep(math.inf if "/silent/" in exchange.path else _PLATFORM_S)
        result = {"id": "t", "status": "active"}
        response = {"success": True, "errors": [], "messages": [], "result": result}
        return HttpResponse(200, json.dumps(response).encode(), None, None)


@dataclass
class _Asking:
    """Accounts that call Cloudflare for a limited time."""

    edge: Edge
    done: int = 0
    waits_ms: list[float] = field(default_factory=list)  # waits of the callers that call only occasionally

    async def continuously(self, account: str, user_id: int) -> None:
        """Make calls without pauses."""
        access = self.edge.access(account, "token", user_id)
        while True:
            with suppress(EdgeUnavailable):
                await tokens.verify(access)
                self.done += 1

    async def occasionally(self, account: str, user_id: int) -> None:
        """Make a call once a second."""
        access = self.edge.access(account, "token", user_id)
        while True:
            asked_at = trio.current_time()
            await tokens.verify(access)
            self.waits_ms.append((trio.current_time() - asked_at - _PLATFORM_S) * 1000)
            await trio.sleep(1)


async def _asked(concurrency: int) -> tuple[float, list[float]]:
    """Return the number of calls per second at full load, and the occasional callers' waits in ms.

    While the occasional callers are measured, another user makes as many calls as the limit per user allows.
    """
    config = EdgeConfig(concurrency=concurrency, calls_per_token=1_000_000)
    none = cast("Any", None)
    asking = _Asking(_SlowPlatform(config, none, 1, Metrics()))
    with trio.move_on_after(_CALLS_S):
        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(asking.continuously, f"busy{number}", number)
    rate = asking.done / _CALLS_S
    with trio.move_on_after(_CALLS_S):
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(asking.continuously, "silent" if number < 50 else f"own{number}", 1)
            for number in range(2, 42):
                nursery.start_soon(asking.occasionally, f"calm{number}", number)
    return rate, asking.waits_ms


async def calls() -> AsyncIterator[Row]:
    """Measure calls to Cloudflare, 16 and 64 at a time. Time is simulated, so only the scheduling is measured."""
    for concurrency in (16, 64):
        run = partial(trio.run, _asked, concurrency, clock=trio.testing.MockClock(autojump_threshold=0))
        rate, waits_ms = await trio.to_thread.run_sync(run)
        what = f"calls per second with concurrency {concurrency}, response time {_PLATFORM_S} s"
        yield Row(what, f"{rate:.0f}", "180" if concurrency > 16 else "")
        cuts = statistics.quantiles(waits_ms, n=100)
        what = "  wait of 40 other users while one user has 100 waiting calls: p50, p99, ms"
        yield Row(what, f"{cuts[49]:.0f} {cuts[98]:.0f}", "")


MEASURES = (calls, health_checks, hour)
