"""Measures how long it takes to create, list, sync and click ten thousand links in one account.

The running service connects the account to the emulator. Clicks are compared with clicks in a second account, which has
only one link. For isolates (instances of the Worker) that are already running, the benchmark compares the CPU time in
the runtime without the emulator, like bench.worker. For new isolates, it compares the response times with the emulator.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import trio
from pydantic import SecretStr

from bench.figures import Row
from bench.load import load, request
from bench.plan import MAX_WRITTEN
from bench.runtime import open_bare
from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.installed import CHROME, LINK_HOST
from edge_worker.harness.service import eventually, open_service
from svc.clock import system_clock
from svc.config import StoreConfig
from svc.ids import digest, new_id
from svc.model import Key, Scope
from svc.security.api_key import new_api_key
from svc.store import keys, open_store, users

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench.runtime import Bare
    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.harness.service import Service

_LINKS, _LINKS_PER_REQUEST, _ONE_BY_ONE = 10_000, 1_000, 500
_LIST_ROUNDS = 5
_CLICKS, _CLICK_ROUNDS, _CONNECTIONS = 4_000, 5, 32
_COLD_ROUNDS = 15
_SETTINGS = {
    "SVC_LIMITS_REQUESTS_PER_MINUTE": "1000000000",
    "SVC_LIMITS_LINKS": str(2 * _LINKS),
    "SVC_EDGE_SETTLING_S": "1",
    "SVC_EDGE_SETTLING_IN_CONNECT_S": "1",
}


@dataclass(frozen=True)
class Connected:
    """An account with its link host."""

    customer: Customer
    account_id: str
    host: str


class Place:
    """The service, the emulator and three accounts.

    `many`: the account with many links. `one`: the account with one link. `some`: the account with links that were
    created one by one.
    """

    def __init__(self, service: Service, emulator: Emulator, many: Connected, one: Connected, some: Connected) -> None:
        self.service, self.emulator = service, emulator
        self.many, self.one, self.some = many, one, some

    async def rows(self, what: str, of: Connected) -> int:
        """Return the number of rows that the account has read or written (`what`: `rows_read` or `rows_written`)."""
        days = (await self.emulator.state())["accounts"][of.customer.account_id]["usage"]
        return sum(day[what] for day in days.values())

    async def synced(self, of: Connected) -> None:
        """Wait until the Worker has the account's newest link."""
        newest = f"/v1/links?account_id={of.account_id}&order=newest&limit=1"

        async def poll() -> bool | None:
            [link] = (await self.service.call("GET", newest))["links"]
            return link["config"] == "synced" or None

        await eventually(poll, every_s=0.05)


@asynccontextmanager
async def open_place() -> AsyncIterator[Place]:
    """Run the service with a user and three connected accounts."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as name:
        folder = Path(name)
        store = StoreConfig(url=SecretStr(f"sqlite:///{folder}/svc.db"))
        value = new_api_key()
        async with open_store(store) as opened:
            user = await opened.run(users.add_user("bench@example.com", "-", system_clock(), confirmed=True))
            if user is None:
                raise AssertionError("the address is already in use")
            key = Key(new_id("key"), user.id, None, value[:8], get_args(Scope), None, None, system_clock(), None)
            await opened.run(keys.add_key(key, digest(value), 5))
        async with open_emulator(local_egress=True, **LENIENT) as emulator:
            settings = {
                **_SETTINGS,
                "SVC_EDGE_API_BASE_URL": emulator.api,
                "SVC_EDGE_EMULATED_EDGE": emulator.edge,
                "SVC_STORE_URL": store.url.get_secret_value(),
            }
            async with open_service(folder / "svc", settings) as running:
                service = replace(running, headers={"Authorization": f"Bearer {value}"})
                zones = ("many.example", "one.example", "some.example")
                yield Place(service, emulator, *[await _connect(service, emulator, zone) for zone in zones])


async def _connect(service: Service, emulator: Emulator, zone: str) -> Connected:
    customer = await emulator.create_account([proxied_zone(zone)], subdomain=zone.replace(".", "-"))
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account_id = (await service.call("POST", "/v1/accounts", body, expect=202, key="connect " + zone))["account"]["id"]
    await service.account_in(account_id, "ready")
    host = f"go.{zone}"
    path = f"/v1/accounts/{account_id}/link-host"
    await service.call("PUT", path, {"host": host}, expect=202, key="host " + zone)

    async def active() -> bool | None:
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        return account["link_host"]["state"] == "active" or None

    await eventually(active)
    return Connected(customer, account_id, host)


async def one_account() -> AsyncIterator[Row]:
    """Measure creating, syncing and listing links, and the first click in a new isolate."""
    async with open_place() as place:
        async for row in _made(place):
            yield row
        async for row in _listed(place):
            yield row
        async for row in _first_clicks(place):
            yield row


async def _made(place: Place) -> AsyncIterator[Row]:
    service, of = place.service, place.many
    link = {"account_id": place.one.account_id, "url": "https://a.example/0", "code": "code0"}
    await service.call("POST", "/v1/links", link, expect=201, key="the only link")
    await place.synced(place.one)

    first = await _one_by_one(place, place.some, 0)
    written = await place.rows("rows_written", of)
    await place.emulator.forget_requests()
    began = time.perf_counter()
    for number in range(0, _LINKS - _ONE_BY_ONE, _LINKS_PER_REQUEST):
        rows = [
            {"url": f"https://a.example/{n}", "code": f"code{n}"} for n in range(number, number + _LINKS_PER_REQUEST)
        ]
        rows = rows[: _LINKS - _ONE_BY_ONE - number]
        body = {"account_id": of.account_id, "links": rows}
        results = (await service.call("POST", "/v1/links/bulk", body, key=f"bulk {number}"))["results"]
        if not all("link" in result for result in results):
            raise AssertionError("a link was not created")
    made_s = time.perf_counter() - began
    await place.synced(of)
    synced_s = time.perf_counter() - began
    many = _LINKS - _ONE_BY_ONE
    yield Row(
        f"{many:,} links created with {_LINKS_PER_REQUEST:,} per request: links per second", f"{many / made_s:,.0f}", ""
    )
    yield Row("  until all are synced, seconds", f"{synced_s:.1f}", "")
    what = "  calls to the platform, rows written"
    yield Row(what, await _sync_cost(place, written), f"< {MAX_WRITTEN:,}")

    written = await place.rows("rows_written", of)
    await place.emulator.forget_requests()
    began = time.perf_counter()
    last = await _one_by_one(place, of, _LINKS - _ONE_BY_ONE)
    await place.synced(of)
    synced_s = time.perf_counter() - began
    yield Row(f"the last {_ONE_BY_ONE:,} of {_LINKS:,} links, created one by one: links per second", f"{last:,.0f}", "")
    yield Row(f"  relative to the user's first {_ONE_BY_ONE:,} links", f"{last / first:.2f}x", "0.7x")
    yield Row("  until all are synced, seconds", f"{synced_s:.1f}", "")
    yield Row(what, await _sync_cost(place, written), f"< {MAX_WRITTEN:,}")


async def _one_by_one(place: Place, of: Connected, first: int) -> float:
    """Create `_ONE_BY_ONE` links over one connection. Return the number of links per second."""
    port, pid = int(place.service.url.rpartition(":")[2]), place.service.process.pid
    done = await load(port, pid, lambda: _new_links(place.service, of, first), connections=1, status=201)
    return done.per_second


async def _sync_cost(place: Place, written: int) -> str:
    """Return as text the number of the account's API calls, and the number of rows written in addition to `written`."""
    account = f"/accounts/{place.many.customer.account_id}/"
    calls = [call for call in await place.emulator.requests() if call["path"].startswith(account)]
    return f"{len(calls)} {await place.rows('rows_written', place.many) - written:,}"


def _new_links(service: Service, of: Connected, first: int) -> Iterator[bytes]:
    """Yield requests that create one link each."""
    for number in range(first, first + _ONE_BY_ONE):
        new = {"account_id": of.account_id, "url": f"https://a.example/{number}", "code": f"code{number}"}
        text = json.dumps(new).encode()
        headers = {"Authorization": service.headers["Authorization"], "Idempotency_Key": f"{of.host} {number}"}
        yield request("POST", "/v1/links", text, **headers)


async def _listed(place: Place) -> AsyncIterator[Row]:
    for order in ("newest", "code", "clicks"):
        pages: list[list[float]] = []
        for _ in range(_LIST_ROUNDS):
            path: str | None = f"/v1/links?account_id={place.many.account_id}&order={order}"
            first, times, found = path, [], 0
            while path is not None:
                began = time.perf_counter()
                response = await place.service.call("GET", path)
                times.append(time.perf_counter() - began)
                found += len(response["links"])
                path = f"{first}&cursor={response['next_cursor']}" if "next_cursor" in response else None
            if found != _LINKS:
                raise AssertionError(f"{found} links were listed by {order}")
            pages.append(times)
        first_ms, last_ms = (min(times[at] for times in pages) * 1000 for at in (0, -1))
        what = f"{_LINKS:,} links by {order}, a thousand per page: first, last page, ms"
        yield Row(what, f"{first_ms:.0f} {last_ms:.0f}", "< 250")
        yield Row("  last page relative to the first", f"{last_ms / first_ms:.2f}x", "")
    for what, q in (("one match", "code9999"), ("all match, first page", "a.example")):
        times = []
        for _ in range(_LIST_ROUNDS):
            began = time.perf_counter()
            await place.service.call("GET", f"/v1/links?account_id={place.many.account_id}&q={q}")
            times.append(time.perf_counter() - began)
        yield Row(f"a search in {_LINKS:,} links, {what}, ms", f"{min(times) * 1000:.0f}", "< 250")


async def _first_clicks(place: Place) -> AsyncIterator[Row]:
    """Measure the first click in a new isolate, in turn for accounts with many links and with one link."""
    both = (place.many, place.one)
    took: dict[str, list[float]] = {of.host: [] for of in both}
    read = {of.host: 0 for of in both}
    for number in range(_COLD_ROUNDS):
        await place.emulator.settled()
        await place.emulator.new_isolates()
        for of in both if number % 2 else both[::-1]:
            before = await place.rows("rows_read", of)
            code = f"code{number * 97}" if of is place.many else "code0"
            took[of.host].append(await _click(place, of.host, code))
            read[of.host] = max(read[of.host], await place.rows("rows_read", of) - before)
    many_s, one_s = (statistics.median(took[of.host]) for of in both)
    what = f"a new isolate's first click, with {_LINKS:,} links and with one"
    yield Row(f"{what}: time at the edge", f"{many_s / one_s:.2f}x", "1.2x")
    yield Row("  milliseconds", f"{many_s * 1000:.1f} {one_s * 1000:.1f}", "")
    yield Row("  maximum rows read before its response", f"{read[place.many.host]} {read[place.one.host]}", "< 30")


async def _click(place: Place, host: str, code: str) -> float:
    """Return the duration of one click in seconds."""
    port = int(place.emulator.edge.rpartition(":")[2])
    began = time.perf_counter()
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await _exchange(stream, _get(host, code))
        return time.perf_counter() - began


async def warm_clicks() -> AsyncIterator[Row]:
    """Measure the CPU time of redirects in a running isolate, in turn with many links and with one link."""
    chance = random.Random(1)
    async with open_bare() as many, open_bare() as one:
        for bare, links in ((many, _LINKS), (one, 1)):
            rows = {f"link:code{n}": {"target": f"lnk_{n}", "url": f"https://a.example/{n}"} for n in range(links)}
            await bare.configure({"host": {"host": LINK_HOST}, **rows})
        always = itertools.repeat("code0")
        spread = iter(lambda: f"code{chance.randrange(_LINKS)}", "")
        cost: dict[str, list[float]] = {"same": [], "one": [], "spread": []}
        for number in range(_CLICK_ROUNDS + 1):
            for name, bare, codes in (("same", many, always), ("one", one, always), ("spread", many, spread)):
                began = bare.cpu_us()
                await _clicks(bare, codes)
                if number > 0:  # the first round is only a warm-up
                    cost[name].append((bare.cpu_us() - began) / _CLICKS)
        best = {name: min(measured) for name, measured in cost.items()}
    what = f"a redirect, warm, with {_LINKS:,} links and with one, by CPU"
    yield Row(what, f"{best['same'] / best['one']:.2f}x", "1.1x")
    yield Row("  clicks spread over all links", f"{best['spread'] / best['one']:.2f}x", "")


async def _clicks(bare: Bare, codes: Iterator[str]) -> None:
    todo = iter(range(_CLICKS))

    async def connection() -> None:
        async with await trio.open_tcp_stream("127.0.0.1", bare.worker_port) as stream:
            for _ in todo:
                await _exchange(stream, _get(LINK_HOST, next(codes)))

    async with trio.open_nursery() as nursery:
        for _ in range(_CONNECTIONS):
            nursery.start_soon(connection)


def _get(host: str, code: str) -> bytes:
    return (
        f"GET /{code} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {CHROME}\r\n"
        "X-Emulator-Ip: 203.0.113.7\r\nCF-Connecting-IP: 203.0.113.7\r\n\r\n"
    ).encode()


async def _exchange(stream: trio.SocketStream, wanted: bytes) -> None:
    await stream.send_all(wanted)
    response = b""
    while not response.endswith(b"\r\n\r\n"):  # a redirect has no body
        received = await stream.receive_some()
        if not received:
            raise AssertionError(f"the edge closed the connection after {response!r}")
        response += received
    if response[9:12] != b"302":
        raise AssertionError(f"the edge responded {response!r}")


MEASURES = (one_account, warm_clicks)
