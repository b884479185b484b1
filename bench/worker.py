"""Measures the cost of a redirect and of a view in the real runtime, relative to a Worker that only responds.

The cost is the CPU time per request in the process of the bare runtime. It does not depend on the speed of the load
generator, and other work on the machine hardly affects it. The inverse of the cost is the throughput of one core. The
database runs in another process, because it also runs on another host at Cloudflare.
"""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from bench.figures import Row
from bench.runtime import BUNDLE, open_bare
from edge_worker.harness.installed import (
    CHROME,
    DAY_MS,
    LINK_HOST,
    MINUTE_MS,
    SITE_HOST,
    SITE_PATH,
    InstalledWorker,
    open_installed_worker,
)
from edge_worker.tools.node import node_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.runtime import Bare

CRON_CPU = Path(__file__).parents[1] / "edge_worker/tools/cron_cpu.js"
CONNECTIONS = 32
REQUESTS = 1_500
ROUNDS = 15
# The time after which the last events are written. The Worker buffers events for 1.5 s.
FLUSHED_S = 3
# A link with all options. None of its rules matches a click, so the Worker evaluates all conditions and then the split.
_ALL_OPTIONS = {
    "target": "lnk_all", "url": "https://a.example/", "forward_query": True,
    "starts_at": 0, "ends_at": 4_000_000_000_000, "after_url": "https://a.example/after",
    "split": [{"url": "https://a.example/a", "share": 50}, {"url": "https://a.example/b", "share": 50}],
    "rules": [
        {"url": "https://a.example/1", "countries": [], "when": {"languages": ["fr", "it"]}},
        {"url": "https://a.example/2", "countries": [], "when": {"os": ["iOS", "Android"], "devices": ["mobile"]}},
        {"url": "https://a.example/3", "countries": [], "when": {"query": {"name": "variant", "value": "c"}}},
    ],
}  # fmt: skip
# Pairs of a rate (events per second) and a duration (seconds).
RATES = ((1, 120), (10, 60), (100, 60), (1_000, 8))
TARGETS = 10
CRON_ROUNDS = 7
MONTH_TARGETS = 1_000
# 2040-04-15. The day is in the future, because the Worker never uses a time before the real time.
_DAY = 25_672
_DAY_TOTALS = {
    "views": 20, "visitors": 12, "pages": {"": 20},
    "sources": {"": 9, "qr": 4, "news.example": 4, "search.example": 2, "social.example": 1},
    "countries": {"DE": 9, "FR": 6, "US": 3, "AT": 2}, "devices": {"mobile": 13, "desktop": 7},
    "browsers": {"Chrome": 10, "Safari": 7, "Firefox": 3}, "os": {"Android": 8, "iOS": 7, "Windows": 5},
    "bots": {"list": 3, "preview": 2}, "campaigns": {"spring": 4, "newsletter-12": 2}, "entries": {}, "arrivals": {},
    "targets": {"https://shop.example/de": 9, "https://shop.example/": 11},
}  # fmt: skip


async def redirect_and_view() -> AsyncIterator[Row]:
    """Measure counted responses over 32 connections, in turn with a Worker that does nothing."""
    async with open_bare() as bare:
        links = {f"link:code{n}": {"target": f"lnk_{n}", "url": f"https://a.example/{n}"} for n in range(TARGETS)}
        site = {"target": "site_a", "script": "k3f"}
        host = {"host": LINK_HOST}
        await bare.configure({"host": host, f"path:{SITE_HOST}{SITE_PATH}": site, "link:all": _ALL_OPTIONS, **links})
        click = (bare.worker_port, _request("GET", LINK_HOST, "/code0"))
        click_all = (bare.worker_port, _request("GET", LINK_HOST, "/all?utm_source=news&variant=b"))
        view = (bare.worker_port, _request("POST", SITE_HOST, SITE_PATH, "/shop\n"))
        redirect, redirect_all = "redirect", "redirect with all options"
        calls = ((redirect, click, "0.8x"), (redirect_all, click_all, "0.7x"), ("view", view, "0.6x"))
        costs: dict[str, list[tuple[float, float]]] = {what: [] for what, *_ in calls}
        for number in range(ROUNDS + 1):
            for what, call, _ in calls:
                nothing = await _cost_us(bare, (bare.nothing_port, call[1]))
                cost = await _cost_us(bare, call, FLUSHED_S)
                if number > 0:  # the first round is only a warm-up
                    costs[what].append((nothing, cost))
        kept = await _kept(bare)
    for what, _, aim in calls:
        # The speed of the cores can change at any time, but a change affects both measurements of a pair.
        ratio = statistics.median(nothing / cost for nothing, cost in costs[what])
        nothing, cost = (statistics.median(figures) for figures in zip(*costs[what], strict=True))
        yield Row(f"a counted {what} relative to a no-op 302 for the same request, by CPU", f"{ratio:.2f}x", aim)
        yield Row(f"  CPU of a {what} and of its no-op, µs", f"{cost:.0f} {nothing:.0f}", "< 1,000")
    sent = len(calls) * (ROUNDS + 1) * REQUESTS
    yield Row("  accepted events stored after the flush", f"{kept} of {sent}", "all")


async def _cost_us(bare: Bare, call: tuple[int, bytes], wait_s: float = 0) -> float:
    """Return the CPU time of the runtime's process per request, including the work of the next `wait_s` seconds."""
    began = bare.cpu_us()
    await _send_all(*call)
    await trio.sleep(wait_s)
    return (bare.cpu_us() - began) / REQUESTS


async def rows_written() -> AsyncIterator[Row]:
    """Measure the rows written per event with 10 links.

    The rows include deletions and one fold (adding events to totals).
    """
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
        # At these rates, there is one fold per hour. In this short run, fewer events than usual share its cost.
        of_an_hour = flushed / events + folded / max(events, rate * 3_600)
        aim = {1: "1.0", 100: "0.02"}.get(rate, "")
        what = f"rows written per event at {rate:,}/s: flushes, whole run, per hour"
        yield Row(what, _three(flushed / events, (flushed + folded) / events, of_an_hour, 4), aim)


async def _rows_at(rate: int, seconds: int) -> tuple[float, float]:
    """Return the rows written for events, and the rows written by cron runs that fold, close and push the events."""
    async with open_installed_worker(BUNDLE, requests=None, rows_read=None, rows_written=None) as worker:
        links = {f"link:code{n}": {"target": f"lnk_{n}", "url": "https://a.example/"} for n in range(TARGETS)}
        await worker.configure(links)
        before = await _written(worker)
        await _at_rate(worker, rate, seconds)
        await worker.emulator.settled()
        flushed = await _written(worker) - before
        now = await worker.clock(0)
        at = now - now % 3_600_000 + 3_600_000 + 4 * 60_000
        await worker.clock((at - now) / 1000)
        await worker.crons_until_quiet(at)
        return flushed, await _written(worker) - before - flushed


async def month_runs() -> AsyncIterator[Row]:
    """Measure the cron runs that add up a month of many targets, in the real runtime.

    The CPU time includes the runtime's calls to the database, but not the work of the database.
    """
    async with open_bare() as bare:
        await bare.configure({})
        month_start, month_end = _DAY - 45, _DAY - 14
        await bare.sql(
            "with recursive d(day) as (select ? union all select day + 1 from d where day < ?), "
            "t(n) as (select 0 union all select n + 1 from t where n < ?) insert into day "
            "select printf('lnk_%020d', n), day, ? from d, t",
            month_start, month_end, MONTH_TARGETS - 1, json.dumps(_DAY_TOTALS),
        )  # fmt: skip
        state = {
            "day": _DAY - 1, "hour": _DAY * 24, "since": month_start * DAY_MS, "as_of": _DAY * DAY_MS,
            "push": {"install": "i", "tried": "i", "next_at": (_DAY + 9) * DAY_MS, "fails": 0, "most_parts": 20,
                     "error": None},
        }  # fmt: skip
        await bare.sql("update meta set value = ? where key = 'state'", json.dumps(state))
        used: list[float] = []
        at = _DAY * DAY_MS + 20 * MINUTE_MS
        while not used or (await _months(bare)) < MONTH_TARGETS:
            at += 5 * MINUTE_MS
            used.append(await bare.cron(at) / 1000)
        rows = await _months(bare)
        idle = [await bare.cron(at + n * 5 * MINUTE_MS) / 1000 for n in range(1, 50)]
    used.sort()
    figures = _three(statistics.median(used), used[int(len(used) * 0.99)], used[-1], 1)
    what = f"CPU of {len(used)} cron runs that add up a month of {rows:,} targets, ms: median, p99, max"
    yield Row(what, figures, "p99 < 10")
    yield Row("  the same for runs without such a step: median", f"{statistics.median(idle):.1f}", "")


async def _months(bare: Bare) -> int:
    return int((await bare.sql("select count(*) as n from month"))[0]["n"])


async def cron_runs() -> AsyncIterator[Row]:
    """Measure the longest cron runs.

    Each figure is the best of several runs, each in a new JavaScript engine that has not compiled anything yet.
    """
    found = []
    for work in ("fold", "close", "push", "month", "large"):
        times = [await _cron_ms(work) for _ in range(CRON_ROUNDS)]
        found.append(min(times))
    yield Row("CPU of a cron run that folds, closes a day, pushes, ms", _three(*found[:3], 1), "< 10")
    yield Row("CPU of a step of a month: many targets, large days, ms", _three(*found[3:], 0.0, 1), "< 10")


async def _cron_ms(work: str) -> float:
    """Return the CPU time of one cron run in ms (see cron_cpu.js)."""
    command = node_command("--expose-gc", "--no-warnings", CRON_CPU, work)
    done = await trio.run_process(command, capture_stdout=True)
    return float(done.stdout)


async def sizes() -> AsyncIterator[Row]:
    """Measure the sizes of the Worker and the snippet."""
    module = (BUNDLE / "svc-edge.js").read_bytes()
    snippet = len("<script></script>") + len((BUNDLE / "snippet.js").read_text().strip())
    yield Row("the worker's module, kB gzip", f"{len(gzip.compress(module, mtime=0)) / 1000:.1f}", "40")
    yield Row("the inline snippet, bytes", str(snippet), "410")


def _three(*figures: float | int) -> str:
    places = int(figures[3]) if len(figures) > 3 else 0
    return " ".join(f"{figure:.{places}f}" for figure in figures[:3])


def _request(method: str, host: str, path: str, body: str = "") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {CHROME}\r\nx-emulator-ip: 203.0.113.7\r\n"
        "cf-connecting-ip: 203.0.113.7\r\naccept-language: de-DE,de;q=0.9,en;q=0.8\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _send_all(port: int, request: bytes) -> None:
    """Send all requests over several connections."""
    todo = iter(range(REQUESTS))

    async def connection() -> None:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            for _ in todo:
                await _exchange(stream, request)

    async with trio.open_nursery() as nursery:
        for _ in range(CONNECTIONS):
            nursery.start_soon(connection)


async def _kept(bare: Bare) -> int:
    """Return the number of lines in the event log."""
    lines = "cast(sum(length(lines) - length(replace(lines, char(10), ''))) as integer)"
    return int((await bare.sql(f"select {lines} as n from event_log"))[0]["n"] or 0)


async def _at_rate(worker: InstalledWorker, rate: int, seconds: int) -> None:
    """Click on all links at a fixed rate, with one connection per 50 clicks a second."""
    port = int(worker.emulator.edge.rsplit(":", 1)[1])
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
    response = b""
    while not response.endswith(b"\r\n\r\n"):  # none of these responses has a body
        received = await stream.receive_some()
        if not received:
            raise AssertionError(f"the edge closed the connection after {response!r}")
        response += received
    if response[9:12] not in (b"302", b"204"):
        raise AssertionError(f"the edge responded {response!r}")


async def _written(worker: InstalledWorker) -> int:
    usage = (await worker.emulator.state())["accounts"][worker.customer.account_id]["usage"]
    return sum(day["rows_written"] for day in usage.values())


MEASURES = (redirect_and_view, rows_written, cron_runs, month_runs, sizes)
