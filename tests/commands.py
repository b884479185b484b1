"""Run `svc` commands: as forks of a process that has loaded the service, or as `python -m svc` in a new process.

A fork takes a tenth of the CPU time of a new process, and hashes passwords cheaply (`cheap_passwords.py`). Tests run a
command in a new process where the start of the process, its environment or the real hash is their subject.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import trio

from edge_worker.programs import open_program

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 60.0
# `svc <arguments>` whose standard input is the file that comes first.
_WITH_INPUT = """
import os, runpy, sys
_, text, *arguments = sys.argv
given = os.open(text, os.O_RDONLY)
os.dup2(given, 0)
os.close(given)
sys.stdin = open(0, closefd=False)
sys.argv = ["svc", *arguments]
runpy.run_module("svc", run_name="__main__", alter_sys=True)
"""


def environment_of(settings: dict[str, str]) -> dict[str, str]:
    """The environment of a command: ours without any `SVC_…`, plus a base URL and these settings."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    return {**environ, "PYTHONPATH": str(ROOT), "SVC_HTTP_BASE_URL": "https://svc.example.com", **settings}


def svc(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` as a fork, with `text` as its standard input. Not to be called inside Trio."""
    return trio.run(partial(svc_async, folder, *arguments, text=text, **settings))


async def svc_async(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command as `svc` does. Raises trio.TooSlowError after a minute."""
    with tempfile.NamedTemporaryFile() as given, tempfile.TemporaryFile() as stderr:
        given.write(text.encode())
        given.flush()
        process = await open_program(
            ["-c", _WITH_INPUT, given.name, *arguments],
            environ=environment_of(settings), stderr=stderr.fileno(), folder=folder,
        )  # fmt: skip
        assert process.stdout is not None
        stdout = b""
        try:
            with trio.fail_after(TIMEOUT_S):
                while part := await process.stdout.receive_some():
                    stdout += part
                await process.wait()
        finally:
            with trio.CancelScope(shield=True):
                process.kill()
                status = await process.wait()
                await process.stdout.aclose()
        stderr.seek(0)
        return subprocess.CompletedProcess(list(arguments), status, stdout.decode(), stderr.read().decode())


def svc_process(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` as `python -m svc` in a new process, with the real password hash."""
    return subprocess.run(
        [sys.executable, "-m", "svc", *arguments],
        cwd=folder, env=environment_of(settings), input=text, capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S,
    )  # fmt: skip
