"""The emulated edge platform as one process for many tests; each has an account of its own in it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from edge_worker.emulator.client import NO_TLS, Emulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ROOT = Path(__file__).parents[1]
POLITE: dict[str, float | str] = {
    "token_delay_ms": 0, "token_spread_ms": 0, "slow_one_in": 0, "refuse_one_in": 0,
    "minting": "all_zones", "zone_gone": "refused", "rate_limit": 1200, "rate_window_s": 300,
}  # fmt: skip
# The first line that the emulator writes, and its process id.
Running = tuple[dict[str, str], int]


@contextmanager
def emulator_process() -> Iterator[Running]:
    """A polite emulator: nothing but what a test asks for."""
    command = [sys.executable, "-m", "edge_worker.emulator", "--api-port=0", "--edge-port=0"]
    command += ["--token-delay-ms=0", "--token-spread-ms=0", "--slow-one-in=0", "--refuse-one-in=0", "--local-egress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()), process.pid
        finally:
            process.terminate()


@asynccontextmanager
async def fresh(running: Running) -> AsyncIterator[Emulator]:
    """The emulator's control, polite, without faults and with an empty log."""
    ready, pid = running
    async with httpx.AsyncClient(trust_env=False, verify=NO_TLS, timeout=30) as client:
        emulator = Emulator(ready, client, pid)
        await emulator.clear_faults()
        await emulator.forget_accounts()  # else each call costs what all tests before have left
        await emulator.set_rudeness(**POLITE)
        await emulator.forget_requests()
        await emulator.set_rudeness(firewall_also="", renamed_right="")
        yield emulator
