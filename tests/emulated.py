"""The Cloudflare emulator as one process for many tests. Each test has a separate account."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from edge_worker.emulator.client import Emulator
from edge_worker.local_http import local_client
from edge_worker.programs import end_program, first_line, open_program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from edge_worker.programs import Fork

ROOT = Path(__file__).parents[1]
LENIENT: dict[str, float | str] = {
    "token_delay_ms": 0, "token_spread_ms": 0, "slow_one_in": 0, "refuse_one_in": 0,
    "minting": "all_zones", "zone_gone": "refused", "inactive_zone": "refuses", "rate_limit": 1200,
    "rate_window_s": 300, "firewall_also": "", "renamed_permission": "",
}  # fmt: skip
# The first line of the emulator's output, and its process id.
Running = tuple[dict[str, str], int]


@contextmanager
def emulator_process(*options: str) -> Iterator[Running]:
    """Start an emulator without random delays and failures. Do not call this inside Trio."""
    command = ["-m", "edge_worker.emulator", "--api-port=0", "--edge-port=0", *options]
    command += ["--token-delay-ms=0", "--token-spread-ms=0", "--slow-one-in=0", "--refuse-one-in=0", "--local-egress"]
    process, ready = trio.run(_started, command)
    try:
        yield json.loads(ready), process.pid
    finally:
        trio.run(end_program, process)


async def _started(command: list[str]) -> tuple[trio.Process | Fork, bytes]:
    """Start the emulator. Return the process and the first line of its output."""
    process = await open_program(command, folder=ROOT)
    line = await first_line(process)
    assert line, "the emulator did not start"
    return process, line


@asynccontextmanager
async def fresh(running: Running) -> AsyncIterator[Emulator]:
    """Reset the emulator: default behavior, real time, no accounts, no faults, no logs.

    Yield the client for its control API.
    """
    ready, pid = running
    async with local_client(timeout=30) as client:
        emulator = Emulator(ready, client, pid)
        await emulator.reset(**LENIENT)  # delete the accounts of earlier tests, which would slow down every call
        yield emulator
