"""Starts the emulator in a separate process, for tests, benchmarks and the demo."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from edge_worker.emulator.client import Emulator
from edge_worker.local_http import local_client
from edge_worker.programs import first_line, open_program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

START_S = 30
STOP_S = 10
ROOT = Path(__file__).parents[2]
# Arguments of `open_emulator` for a platform that accepts tokens immediately and rejects nothing at random.
LENIENT: dict[str, Any] = {"token_delay_ms": 0, "token_spread_ms": 0, "slow_one_in": 0, "refuse_one_in": 0}


@asynccontextmanager
async def open_emulator(
    state_dir: Path | None = None,
    *,
    api_port: int = 0,
    edge_port: int = 0,
    run_crons: bool = False,
    token_delay_ms: int = 200,
    token_spread_ms: int = 2000,
    slow_one_in: int = 50,
    refuse_one_in: int = 200,
    rate_limit: int = 1200,
    local_egress: bool = False,
    no_runtime: bool = False,
) -> AsyncIterator[Emulator]:
    """Run an emulator process until the block ends.

    The output of the emulator and its Workers goes to this process's stderr.

    `local_egress`: the Workers can reach this host, for example a service under test. `no_runtime`: uploads are stored
    but not executed. Raises RuntimeError if the emulator does not start.
    """
    command = ["-m", "edge_worker.emulator", f"--api-port={api_port}", f"--edge-port={edge_port}"]
    command += [f"--token-delay-ms={token_delay_ms}", f"--slow-one-in={slow_one_in}"]
    command += [f"--token-spread-ms={token_spread_ms}", f"--refuse-one-in={refuse_one_in}"]
    command += [f"--rate-limit={rate_limit}"]
    if local_egress:
        command.append("--local-egress")
    if no_runtime:
        command.append("--no-runtime")
    if run_crons:
        command.append("--run-crons")
    if state_dir is not None:
        command.append(f"--state={state_dir}")
    process = await open_program(command, folder=ROOT)
    try:
        line = b""
        with trio.move_on_after(START_S):
            line = await first_line(process)
        if not line:
            raise RuntimeError("the emulator did not start; its output is above")
        async with local_client(timeout=90) as client:
            yield Emulator(json.loads(line), client, process.pid)
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            with trio.move_on_after(STOP_S):
                await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()
