"""Measures how long programs take to start: wall time, and CPU time of all their processes.

SVC_BENCH_PROGRAMS lists the programs to compare, such as `old/svc dist/svc`. The programs run in turn.
"""

from __future__ import annotations

import os
import resource
import socket
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import trio

from bench.figures import Row
from edge_worker.harness.service import environment, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_PROGRAMS = tuple(str(Path(each).resolve()) for each in os.environ.get("SVC_BENCH_PROGRAMS", "dist/svc").split())
_RUNS = int(os.environ.get("SVC_BENCH_RUNS", "10"))
_PAUSE_S = 0.005
_LIMIT_S = 120.0
_TARGET = "wall time below 1 s on idle cores"


class Start(NamedTuple):
    """The duration of one start. The CPU time covers the whole run. For the service, this includes its shutdown."""

    wall_s: float
    cpu_s: float


async def starts() -> AsyncIterator[Row]:
    """Start each program several times: `svc --version`, `svc check`, and `svc serve` until `/healthz` returns 200."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # a first round without measurements, which creates the store and reads all files once
        for program in _PROGRAMS:
            await _serve(program, folder)
        for name, measure in (("--version", _version), ("check", _check), ("serve, to the first response", _serve)):
            runs = [[await measure(program, folder) for program in _PROGRAMS] for _ in range(_RUNS)]
            for program, measured in zip(_PROGRAMS, zip(*runs, strict=True), strict=True):
                walls, cpus = zip(*measured, strict=True)
                figures = (
                    f"{statistics.median(walls):.2f} {min(walls):.2f} {statistics.median(cpus):.2f} {min(cpus):.2f}"
                )
                yield Row(f"svc {name}: wall median, min, CPU median, min, s ({program})", figures, _TARGET)


async def _version(program: str, folder: Path) -> Start:
    return await trio.to_thread.run_sync(_run, program, folder, "--version")


async def _check(program: str, folder: Path) -> Start:
    return await trio.to_thread.run_sync(_run, program, folder, "check")


def _run(program: str, folder: Path, command: str) -> Start:
    with _cpu_time() as cpu_s:
        began = time.perf_counter()
        subprocess.run(
            [program, command],
            cwd=folder, env=_environment(folder), capture_output=True, check=False, timeout=_LIMIT_S,
        )  # fmt: skip
        wall_s = time.perf_counter() - began
    return Start(wall_s, cpu_s[0])


async def _serve(program: str, folder: Path) -> Start:
    """Start the service, request `/healthz` until it returns 200, and stop the service."""
    with _cpu_time() as cpu_s:
        began = time.perf_counter()
        process = await trio.lowlevel.open_process(
            [program, "serve"],
            cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        async with httpx.AsyncClient(trust_env=False) as client:
            await eventually(partial(_responds, client), every_s=_PAUSE_S)
        wall_s = time.perf_counter() - began
        process.terminate()
        await process.wait()
    return Start(wall_s, cpu_s[0])


async def _responds(client: httpx.AsyncClient) -> bool | None:
    try:
        return (await client.get(f"http://{_bind()}/healthz")).is_success or None
    except httpx.TransportError:
        return None


def _environment(folder: Path) -> dict[str, str]:
    # No server listens at the API's address, so that `svc check` does not depend on the network.
    return environment(folder, {"SVC_HTTP_BIND": _bind(), "SVC_EDGE_API_BASE_URL": "http://127.0.0.1:1"})


@cache
def _bind() -> str:
    """Return an address with a free port. All services use this address in turn."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def _cpu_time() -> Iterator[list[float]]:
    """Measure the CPU time of the processes that end in the block."""
    before = _children_cpu_s()
    result: list[float] = []
    yield result
    result.append(_children_cpu_s() - before)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


MEASURES = (starts,)
