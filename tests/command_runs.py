"""Run `svc` commands: as forks of a process that has loaded the service, or as `python -m svc` in a new process.

A fork takes a tenth of the CPU time of a new process, and hashes passwords cheaply (`cheap_passwords.py`). Use a new
process to test the startup, the environment, or the real password hash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trio

from edge_worker.programs import run_program

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 60.0


@cache
def api_with_a_clock() -> str:
    """Return the URL of a server in this process that responds to every request with 404 and the time.

    `svc check` compares the clock of Cloudflare's API with its own.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class _NotFound(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def environment_of(settings: dict[str, str]) -> dict[str, str]:
    """Return a command's environment: variables of this process except `SVC_…`, two default URLs, and the settings."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    own = {"PYTHONPATH": str(ROOT), "SVC_HTTP_BASE_URL": "https://svc.example.com"}
    return {**environ, **own, "SVC_EDGE_API_BASE_URL": api_with_a_clock(), **settings}


def svc(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` as a fork, with `text` as its standard input. Do not call this inside Trio."""
    return trio.run(partial(svc_async, folder, *arguments, text=text, **settings))


async def svc_async(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command like the function `svc`, but inside Trio. Raises trio.TooSlowError after a minute."""
    with trio.fail_after(TIMEOUT_S):
        ended = await run_program(["-m", "svc", *arguments], environ=environment_of(settings), folder=folder, text=text)
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def svc_process(folder: Path, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` as `python -m svc` in a new process, with the real password hash."""
    return subprocess.run(
        [sys.executable, "-m", "svc", *arguments],
        cwd=folder, env=environment_of(settings), input=text, capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S,
    )  # fmt: skip
