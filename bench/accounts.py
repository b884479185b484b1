"""Measures updates of the Workers in a thousand accounts while clients read from the service.

The accounts are in the emulator, which stores uploaded Workers but does not run them. In place of the Workers, this
program sends the push that confirms each upload, with the Worker key from the upload.

The service is then restarted twice, each time with a newer Worker that also changes its tables. The first of these
Workers is broken: it pushes only in the canary accounts, so the service must halt the rollout. The second Worker works.
`svc rollout status` shows both outcomes.

The service polls once a second, 15 times as often as by default. It waits 5 seconds after it has updated the canary
accounts, and spreads the updates of the other accounts over 20 seconds instead of an hour. The emulator runs on the
same cores as the service, with a lower priority.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from pydantic import SecretStr

from bench.figures import Row
from bench.load import cpu_s, paced, request
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import open_service
from edge_worker.local_http import local_client
from edge_worker.tools.next_bundle import build_next_bundle
from svc.clock import system_clock
from svc.config import StoreConfig
from svc.ids import digest, new_id
from svc.model import Key
from svc.security.api_key import new_api_key
from svc.store import keys, open_store, users
from svc.store.tx import sql
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import httpx

    from edge_worker.emulator.client import Emulator, Upload
    from edge_worker.harness.service import Service
    from svc.store.tx import Row as StoredRow
    from svc.store.tx import Store, Tx

_ACCOUNTS, _ACCOUNTS_PER_USER = 1_000, 10
_CONNECTED_AT_ONCE = 8
_LOOK_EVERY_S = 1.0
_CANARIES, _CANARY_WAIT_S, _SPREAD_S = 3, 5.0, 20.0
# The timeout of the self-check. It is short, so that failures of the broken Worker are detected soon.
_SELF_CHECK_S = 10.0
# The maximum number of updates that wait for a push: four times the number of concurrent updates.
_UNCONFIRMED = 32
_HALTS_WITHIN_S = 600.0
_READS_PER_SECOND, _CONNECTIONS = 50, 10
_ALONE_S = 20.0
_PUSHED_EVERY_S = 0.1
_WINDOW_MS = 300_000
_NICE = 10
_SETTINGS = {
    "SVC_LIMITS_REQUESTS_PER_MINUTE": "1000000000",
    "SVC_LIMITS_ACCOUNTS": str(_ACCOUNTS_PER_USER),
    # New tokens are accepted immediately, because connect operations are not measured.
    "SVC_EDGE_SETTLING_S": "1",
    "SVC_EDGE_SETTLING_IN_CONNECT_S": "1",
}


class Workers:
    """Acts as the Workers of all accounts.

    After each upload, it sends the push that the uploaded Worker would send in its first cron run.

    `broken`: the hash of the bundle whose Workers do not push, except the Workers of the first `sound` uploads of this
    bundle.
    """

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._seen = 0
        self.pushed = 0
        self.broken = ""
        self.sound = _CANARIES

    async def push_until(self, wanted: int) -> None:
        """Send the pushes for new uploads, until `wanted` uploads have been processed in total."""
        async with local_client(timeout=60) as client:
            while self.pushed < wanted:
                uploads = await self._emulator.uploads(self._seen)
                self._seen += len(uploads)
                for upload in uploads:
                    if not self._is_broken(upload):
                        await self._push(client, upload)
                    self.pushed += 1
                await trio.sleep(_PUSHED_EVERY_S)

    def _is_broken(self, upload: Upload) -> bool:
        if upload.texts["BUNDLE"] != self.broken:
            return False
        self.sound -= 1
        return self.sound < 0

    async def _push(self, client: httpx.AsyncClient, upload: Upload) -> None:
        texts = upload.texts
        head = {"v": 1, "install": texts["INSTALL"], "bundle": texts["BUNDLE"], "schema": 1, "queue": 0}
        body = {**head, "sent_at": system_clock(), "error": None, "dropped": {}, "parts": []}
        response = await client.post(
            texts["PUSH_URL"], json=body, headers={"Authorization": f"Bearer {texts['WORKER_KEY']}"}
        )
        if response.status_code != 200:
            raise AssertionError(f"a push got the response {response.status_code} {response.text}")


@dataclass(frozen=True)
class Connected:
    """An account, and an API key of the account's user."""

    account_id: str
    key: str


async def update_round() -> AsyncIterator[Row]:
    """Measure the rollout of a broken Worker and of a fixed Worker to a thousand accounts."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as name:
        folder = Path(name)
        next_bundle, broken = folder / "bundle", folder / "broken"
        await trio.to_thread.run_sync(build_next_bundle, next_bundle)
        _copy_as_broken(next_bundle, broken)
        store = StoreConfig(url=SecretStr(f"sqlite:///{folder}/svc.db"))
        async with open_emulator(no_runtime=True, **LENIENT) as emulator:
            settings = {
                **_SETTINGS,
                "SVC_EDGE_API_BASE_URL": emulator.api,
                "SVC_EDGE_EMULATED_EDGE": emulator.edge,
                "SVC_STORE_URL": store.url.get_secret_value(),
                "SVC_TIMING_ROLLOUT_EVERY_S": str(_LOOK_EVERY_S),
                "SVC_WORKER_CANARY_WAIT_S": str(_CANARY_WAIT_S),
                "SVC_WORKER_SPREAD_S": str(_SPREAD_S),
            }
            async with open_store(store) as opened:
                values = await _add_users(opened)
            workers = Workers(emulator)
            async with open_service(folder / "svc", settings) as service:
                connected = await _connect_all(service, emulator, workers, values)
            await emulator.forget_requests()
            _lower_priority(emulator.pid)
            await emulator.set_failure_settings(slow_one_in=50, refuse_one_in=200)  # the default values
            workers.broken = load_bundle(broken).sha256
            with_failures = {**settings, "SVC_TIMING_SELFCHECK_WINDOW_S": str(_SELF_CHECK_S)}
            async with open_service(folder / "svc", with_failures, broken):
                halted_s, touched = await _halted(workers, settings)
            async with open_service(folder / "svc", settings, next_bundle) as service:
                before_mb = _memory_mb(service, "VmRSS")
                began, cpu_began_s = time.perf_counter(), cpu_s(service.process.pid)
                during: list[float] = []
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_read, service, connected, math.inf, during)
                    await workers.push_until(workers.pushed + _ACCOUNTS)
                    await _rollout(settings, "state   done")
                    nursery.cancel_scope.cancel()
                took_s, cpu_done_s = time.perf_counter() - began, cpu_s(service.process.pid)
                alone: list[float] = []
                await _read(service, connected, _ALONE_S, alone)
                read_s = (cpu_s(service.process.pid) - cpu_done_s) / len(alone)
                update_s = (cpu_done_s - cpu_began_s - len(during) * read_s) / _ACCOUNTS
                most_mb = _memory_mb(service, "VmHWM")
            calls = await emulator.requests()
        async with open_store(store) as opened:
            updates = await opened.read(_updates(load_bundle(next_bundle).sha256))
    refused = sum(call["status"] == 429 for call in calls)
    what = "  a worker that never pushes: seconds to the halt, updated accounts"
    yield Row(f"{_ACCOUNTS:,} accounts:", "", "")
    yield Row(what, f"{halted_s:.0f} {touched}", f"{_CANARIES + _UNCONFIRMED} accounts")
    yield Row(f"{_ACCOUNTS:,} accounts: all workers updated, at most 8 at a time, seconds", f"{took_s:.0f}", "")
    what = "  seconds from first start to last confirmation: canaries, others"
    yield Row(what, _durations(updates), "")
    what = "  calls to the platform: per account, per second"
    yield Row(what, f"{len(calls) / _ACCOUNTS:.1f} {len(calls) / took_s:.0f}", "")
    yield Row("  maximum calls of a token in five minutes", str(_most_in_window(calls)), "< 1,200")
    yield Row("  CPU of the service per update, per read, ms", f"{update_s * 1000:.1f} {read_s * 1000:.1f}", "")
    yield Row("  calls answered with 429", str(refused), "0")
    what = f"  reading an account, {_READS_PER_SECOND} per second: p50, p99"
    yield Row(f"{what} without updates, ms", _percentiles(alone), "< 50")
    yield Row(f"{what} during updates, ms", _percentiles(during), "< 50")
    yield Row("  resident memory of the service before, and maximum, MB", f"{before_mb:.0f} {most_mb:.0f}", "")


async def _add_users(store: Store) -> list[str]:
    """Add a user for every ten accounts. Return the users' API keys."""
    values = []
    for number in range(-(-_ACCOUNTS // _ACCOUNTS_PER_USER)):
        now = system_clock()
        user = await store.run(users.add_user(f"u{number}@example.com", "no password", now, confirmed=True))
        if user is None:
            raise AssertionError("the address is already in use")
        value = new_api_key()
        key = Key(new_id("key"), user.id, None, value[:8], ("accounts",), None, None, now, None)
        await store.run(keys.add_key(key, digest(value), 5))
        values.append(value)
    return values


async def _connect_all(
    service: Service, emulator: Emulator, workers: Workers, values: Sequence[str]
) -> list[Connected]:
    """Connect all accounts, several at a time. Return them when every account is ready."""
    connected: list[Connected] = []
    todo = iter(range(_ACCOUNTS))

    async def some() -> None:
        for number in todo:
            # Consecutive accounts belong to different users, because each user may make only six concurrent calls.
            key = values[number % len(values)]
            customer = await emulator.create_account(subdomain=f"customer-{number}")
            own = replace(service, headers={"Authorization": f"Bearer {key}"})
            body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
            response = await own.call("POST", "/v1/accounts", body, expect=202, key=customer.account_id)
            connected.append(Connected(response["account"]["id"], key))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.push_until, _ACCOUNTS)
        for _ in range(_CONNECTED_AT_ONCE):
            nursery.start_soon(some)
    for one in connected:
        await replace(service, headers={"Authorization": f"Bearer {one.key}"}).account_in(one.account_id, "ready")
    return connected


async def _read(service: Service, connected: Sequence[Connected], seconds: float, took_ms: list[float]) -> None:
    """Read one account after another, at a fixed rate."""
    requests = itertools.cycle(
        request("GET", f"/v1/accounts/{one.account_id}", Authorization=f"Bearer {one.key}") for one in connected
    )
    port = int(service.url.rpartition(":")[2])
    await paced(port, requests, took_ms, per_second=_READS_PER_SECOND, connections=_CONNECTIONS, seconds=seconds)


def _copy_as_broken(bundle: Path, into: Path) -> None:
    """Copy the bundle, and give the copy a different hash.

    The code of the copy works, but the class `Workers` sends no pushes for most of the copy's uploads.
    """
    shutil.copytree(bundle, into)
    manifest = json.loads((into / "manifest.json").read_text())
    module = (into / manifest["main_module"]).read_bytes() + b"\n// broken"
    (into / manifest["main_module"]).write_bytes(module)
    manifest["sha256"] = hashlib.sha256(module).hexdigest()
    (into / "manifest.json").write_text(json.dumps(manifest))


async def _halted(workers: Workers, settings: dict[str, str]) -> tuple[float, int]:
    """Wait until the rollout halts. Return how many seconds this took, and the number of updated accounts."""
    before, began = workers.pushed, time.perf_counter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.push_until, before + _ACCOUNTS)
        with trio.fail_after(_HALTS_WITHIN_S):
            await _rollout(settings, "state   halted: too many updates failed")
        took_s = time.perf_counter() - began
        await trio.sleep(5 * _LOOK_EVERY_S)  # wait until running updates have ended; no others may start
        nursery.cancel_scope.cancel()
    return took_s, workers.pushed - before


async def _rollout(settings: dict[str, str], wanted: str) -> None:
    """Wait until `svc rollout status` prints `wanted`."""
    environ = {**os.environ, **settings}
    while True:
        status = await trio.run_process(
            [sys.executable, "-m", "svc", "rollout", "status"], env=environ, capture_stdout=True
        )
        if wanted in status.stdout.decode():
            return
        await trio.sleep(_LOOK_EVERY_S)


def _updates(bundle: str) -> Tx[list[StoredRow]]:
    """Return the accounts' updates in the order in which they started.

    Raises AssertionError if an update failed or is missing.
    """
    rows = yield sql(
        "select o.state, o.created_at, o.updated_at from rollout_accounts m join operations o"
        " on o.id = m.operation_id order by o.created_at"
    )
    [rollout] = yield sql("select state, updated, failed from rollouts where bundle = $1", bundle)
    states = [row["state"] for row in rows]
    if states != ["done"] * _ACCOUNTS or (rollout["state"], rollout["failed"]) != ("done", 0):
        raise AssertionError(f"{states.count('done')} updates of {len(states)} are done; the rollout: {rollout}")
    return rows


def _durations(updates: Sequence[StoredRow]) -> str:
    """Return the durations of the updates in seconds, for the canaries and for the other accounts.

    Raises AssertionError if the updates of the other accounts started too early.
    """
    canaries, others = updates[:_CANARIES], updates[_CANARIES:]
    if others[0]["created_at"] < max(one["updated_at"] for one in canaries) + _CANARY_WAIT_S * 1000:
        raise AssertionError("the others started too early")
    spans = [
        max(one["updated_at"] for one in some) - min(one["created_at"] for one in some) for some in (canaries, others)
    ]
    return " ".join(f"{span / 1000:.0f}" for span in spans)


def _most_in_window(calls: Sequence[dict[str, object]]) -> int:
    """Return the maximum number of calls that any token made in any five minutes."""
    times: dict[object, list[int]] = {}
    for call in calls:
        times.setdefault(call["token_id"], []).append(int(str(call["at"])))
    most = 0
    for of_token in times.values():
        for index, at in enumerate(of_token):
            most = max(most, index + 1 - bisect.bisect_right(of_token, at - _WINDOW_MS))
    return most


def _lower_priority(pid: int) -> None:
    """Lower the priority of process `pid` and its children, so that they use only idle CPU time (Linux)."""
    tasks = [*Path(f"/proc/{pid}/task").iterdir()]
    children = {child for task in tasks for child in (task / "children").read_text().split()}
    for task in (*tasks, *(task for child in children for task in Path(f"/proc/{child}/task").iterdir())):
        os.setpriority(os.PRIO_PROCESS, int(task.name), _NICE)


def _percentiles(took_ms: Sequence[float]) -> str:
    cuts = statistics.quantiles(took_ms, n=100)
    return f"{cuts[49]:.1f} {cuts[98]:.1f}"


def _memory_mb(service: Service, field: str) -> float:
    for line in Path(f"/proc/{service.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no {field}")


MEASURES = (update_round,)
