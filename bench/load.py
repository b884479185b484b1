"""A load generator for one process: prepared requests over kept connections, as fast as they are answered."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What a load cost: requests a second, and the CPU of the server's process for each, in microseconds."""

    per_second: float
    cpu_us: float


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def load(
    port: int, pid: int, requests: Callable[[], Iterator[bytes]], *, connections: int, seconds: float, status: int = 200
) -> Load:
    """Send requests for `seconds` over `connections`. Raises AssertionError: an answer has another status."""
    wanted = f"HTTP/1.1 {status} ".encode()
    ends_at = time.perf_counter() + seconds
    done = 0

    async def one() -> None:
        nonlocal done
        source = requests()
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            while time.perf_counter() < ends_at:
                await stream.send_all(next(source))
                answer = bytes(await stream.receive_some(65_536))
                if not answer.startswith(wanted):
                    raise AssertionError(answer[:300])
                while not _whole(answer):
                    answer += await stream.receive_some(65_536)
                done += 1

    began, cpu_before = time.perf_counter(), _cpu_s(pid)
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(one)
    took = time.perf_counter() - began
    return Load(done / took, (_cpu_s(pid) - cpu_before) / done * 1e6)


def _whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n") if end else ():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return False


def _cpu_s(pid: int) -> float:
    """CPU time that a process has used, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
