"""Send requests to a Worker while its database is slow, silent, failing or healthy. Some visitors disconnect before
they get the response.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from edge_worker.harness.installed import CHROME, LINK_HOST, SITE_HOST, SITE_PATH, InstalledWorker

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

KNOWN_LINK = {"target": "lnk_a", "url": "https://example.net/"}
LINKS = 400
_REQUESTS_PER_SECOND = 50
_HANG_UP_ONE_IN = 25
# A phase is longer than a minute, because an isolate with configuration older than a minute makes requests wait for a
# read.
_PHASE_S = 67
# 150 requests take three seconds, which is longer than the Worker waits for a read.
_REQUESTS_PER_PHASE = 150
# If a response took longer than this, the visitor had to wait for a read. The Worker waits for up to two seconds. A
# busy machine can also delay a response, but only by a few tenths of a second.
_WAITED_S = 1.0


@dataclass(frozen=True)
class Phase:
    """A period during which one emulator fault, or none, applies to all database calls."""

    name: str
    fault: str = ""
    delay_s: float = 0


HEALTHY = Phase("healthy")
OUTAGES = (Phase("silent", "d1_silent"), Phase("failing", "d1_drop_before"))
PHASES = (HEALTHY, Phase("slow, 3 s", "d1_slow", 3), Phase("slow, 4 s", "d1_slow", 4), *OUTAGES)


def _phases(chance: random.Random) -> Iterator[Phase]:
    """Yield a healthy phase, and then all phases repeatedly, each time in a new order."""
    yield HEALTHY
    while True:
        yield from chance.sample(PHASES, len(PHASES))


@dataclass(frozen=True)
class Response:
    """The response to one visitor.

    `known`: the isolate had already counted a request for this site or link.
    """

    phase: str
    target: str
    status: int
    took_s: float
    known: bool
    first: bool  # when the request was sent, no visitor of a known target had waited for a read in this phase


@dataclass
class Storm:
    """All responses, and for each target the number of visitors who disconnected."""

    responses: list[Response] = field(default_factory=list)
    disconnected: Counter[str] = field(default_factory=Counter)
    known: set[str] = field(default_factory=set)

    @property
    def statuses(self) -> Counter[int]:
        """Return the number of responses by status."""
        return Counter(response.status for response in self.responses)

    @property
    def counted(self) -> Counter[str]:
        """Return the number of views and clicks that the Worker accepted, by target (site or link)."""
        return Counter(response.target for response in self.responses if response.status in (302, 204))


async def run_storm(worker: InstalledWorker, requests: int, chance: random.Random) -> Storm:
    """Send `requests` requests, phase by phase. Then remove all faults."""
    storm = Storm()
    rows = {f"link:code{i}": {"target": f"lnk_{i}", "url": f"https://example.net/{i}"} for i in range(LINKS)}
    await worker.configure(rows)
    for number, phase in zip(range(requests // _REQUESTS_PER_PHASE), _phases(chance), strict=False):
        await worker.clock(number * _PHASE_S)
        if phase.fault:
            await worker.emulator.fault(phase.fault, times=None, delay_s=phase.delay_s)
        await _run_phase(worker, storm, phase, chance)
        await worker.emulator.clear_faults()
    await worker.emulator.settled()
    return storm


async def _run_phase(worker: InstalledWorker, storm: Storm, phase: Phase, chance: random.Random) -> None:
    port = int(worker.emulator.edge.rsplit(":", 1)[1])
    has_waited = False

    async def visitor(target: str, request: bytes, *, disconnects: bool) -> None:
        nonlocal has_waited
        known, first = target in storm.known, not has_waited
        began = trio.current_time()
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(request)
            if disconnects:
                storm.disconnected[target] += 1
                return
            head = b""
            while b"\r\n" not in head:
                head += await stream.receive_some()
        status = int(head.split()[1])
        took_s = trio.current_time() - began
        storm.responses.append(Response(phase.name, target, status, took_s, known, first))
        has_waited = has_waited or (known and took_s > _WAITED_S)
        if status in (302, 204):
            storm.known.add(target)

    async with trio.open_nursery() as nursery:
        for _ in range(_REQUESTS_PER_PHASE):
            if chance.random() < 0.2:
                target, request = "site_a", _request("POST", SITE_HOST, SITE_PATH, "/p\n")
            else:
                # Most clicks are on a few links.
                number = min(chance.randrange(LINKS), chance.randrange(LINKS), chance.randrange(LINKS))
                target, request = f"lnk_{number}", _request("GET", LINK_HOST, f"/code{number}")
            nursery.start_soon(
                functools.partial(visitor, target, request, disconnects=not chance.randrange(_HANG_UP_ONE_IN))
            )
            await trio.sleep(chance.expovariate(_REQUESTS_PER_SECOND))  # visitors arrive at random times


def _request(method: str, host: str, path: str, body: str = "") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {CHROME}\r\nconnection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def views_counted(worker: InstalledWorker, at: int) -> Counter[str]:
    """Run the cron job until the Worker has sent everything. Return the number of received views by target."""
    await worker.crons_until_quiet(at)
    views: Counter[str] = Counter()
    for (target, _), (count, _, _) in worker.receiver.hours.items():
        views[target] += count
    return views
