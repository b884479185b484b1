"""A load generator in one process. It sends prepared requests over persistent connections, without pauses."""

from __future__ import annotations

import itertools
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """The result of a load test: requests per second, and the server's CPU time per request in microseconds."""

    per_second: float
    cpu_us: float


class ConnectionClosed(AssertionError):
    """Raised if the service closed a connection before its response was complete."""


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """Return a request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def load(
    port: int,
    pid: int,
    requests: Callable[[], Iterator[bytes]],
    *,
    connections: int,
    seconds: float = math.inf,
    status: int = 200,
) -> Load:
    """Send requests over this number of connections for `seconds`, or until there are no more requests.

    Raises AssertionError if a response has an unexpected status.
    """
    ends_at = time.perf_counter() + seconds
    done = 0

    async def one() -> None:
        nonlocal done
        async with _Kept(port) as connection:
            for wanted in requests():
                if time.perf_counter() >= ends_at:
                    return
                await connection.exchange(wanted, status)
                done += 1

    began, cpu_before = time.perf_counter(), cpu_s(pid)
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(one)
    took = time.perf_counter() - began
    return Load(done / took, (cpu_s(pid) - cpu_before) / done * 1e6)


async def paced(
    port: int,
    requests: Iterator[bytes],
    took_ms: list[float],
    *,
    per_second: float,
    connections: int,
    seconds: float = math.inf,
) -> None:
    """Send requests at a fixed rate for `seconds`. Add each duration to `took_ms`.

    A duration begins at the request's scheduled time, so it includes the wait for an earlier, slow request. Raises
    AssertionError if the status of a response is not 200.
    """
    began = trio.current_time()

    async def one(first: int) -> None:
        async with _Kept(port) as connection:
            for number in itertools.count(first, connections):
                due = began + number / per_second
                if due > began + seconds:
                    return
                await trio.sleep_until(due)
                await connection.exchange(next(requests), 200)
                took_ms.append((trio.current_time() - due) * 1000)

    async with trio.open_nursery() as nursery:
        for first in range(connections):
            nursery.start_soon(one, first)


class _Kept:
    """A persistent connection, which is opened again after the service has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stream: trio.SocketStream | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stream is not None:
            await self._stream.aclose()

    async def exchange(self, wanted: bytes, status: int) -> None:
        if self._stream is None:
            self._stream = await trio.open_tcp_stream("127.0.0.1", self._port)
        if not await exchange(self._stream, wanted, status):
            await self._stream.aclose()
            self._stream = None


async def exchange(stream: trio.SocketStream, wanted: bytes, status: int) -> bool:
    """Send a request and read its response. Return True if the connection stays open.

    Raises AssertionError if the response has a status other than `status`.
    """
    await stream.send_all(wanted)
    response = b""
    while not _whole(response):
        received = await stream.receive_some(65_536)
        if not received:
            raise ConnectionClosed(f"the service closed the connection after {response[:300]!r}")
        response += received
    if not response.startswith(f"HTTP/1.1 {status} ".encode()):
        raise AssertionError(f"unexpected response {response[:300]!r}")
    return b"\r\nconnection: close" not in response.partition(b"\r\n\r\n")[0].lower()


def _whole(response: bytes) -> bool:
    head, end, body = response.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n") if end else ():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return False


def cpu_s(pid: int) -> float:
    """Return the CPU time that all threads of a process have used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
