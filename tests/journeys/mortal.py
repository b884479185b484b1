"""`svc serve` that kills itself, by SIGKILL, at a chosen moment; started in a fraction of the usual time.

A moment is when a commit has just been made, and when a call to the edge platform is about to be sent or was just
answered. They are counted from the time when the service is armed. `python -m tests.journeys.mortal` loads the service
once and forks a life of it for each line on its standard input; what only runs here is at the end of this file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio

from edge_worker.emulator.client import NO_TLS
from edge_worker.harness.service import Service, environment, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

ROOT = Path(__file__).parents[2]


@dataclass
class Life(Service):
    """A running service that may kill itself."""

    pid: int = 0

    async def kill(self) -> None:
        """Send SIGKILL, unless it was quicker."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        await self.over()

    def arm(self) -> None:
        """Count its moments from now on."""
        os.kill(self.pid, signal.SIGUSR1)

    async def over(self) -> None:
        """Wait until the process has ended."""

        async def look() -> bool | None:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
            return None

        await eventually(look, every_s=0.02)


@dataclass
class Lives:
    """The process that forks the services."""

    process: subprocess.Popen[str]

    @asynccontextmanager
    async def serve(
        self,
        folder: Path,
        settings: Mapping[str, str],
        kill_at: int = 0,
        *,
        bundle: Path | None = None,
    ) -> AsyncIterator[Life]:
        """As `open_service`; the service kills itself at the moment of this number, counted from 1 (0: never).

        `bundle`: the folder of the worker that it comes with.
        """
        folder.mkdir(parents=True, exist_ok=True)
        pipe = folder / "stdout"
        pipe.unlink(missing_ok=True)
        order = {
            "environ": environment(folder, settings),
            "folder": str(folder),
            "kill_at": kill_at,
            "bundle": None if bundle is None else str(bundle),
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())

        async def ready() -> str | None:
            written = pipe.read_text() if pipe.exists() else ""
            return written if written.endswith("\n") else None

        async with httpx.AsyncClient(timeout=60, trust_env=False, verify=NO_TLS) as client:
            life = Life("", cast("Any", None), folder, client, pid=pid)
            try:
                life.url = json.loads(await eventually(ready, every_s=0.02))["url"]
                yield life
            finally:
                with trio.CancelScope(shield=True):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
                    await life.over()


@contextmanager
def open_lives() -> Iterator[Lives]:
    """The process that forks the services, until the block ends."""
    command = [sys.executable, "-m", "tests.journeys.mortal"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Lives(process)
        assert process.stdin is not None
        process.stdin.close()


# --------------------------------------------------------------------------------------------- in the forking process


class _Fate:
    """Counts the moments of this process once it is armed."""

    def __init__(self, kill_at: int) -> None:
        self._left = kill_at
        self._armed = False

    def arm(self, *_: object) -> None:
        self._armed = True

    def moment(self) -> None:
        if self._armed:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def _live(order: dict[str, Any]) -> None:
    """Be the service that is ordered; never returns."""
    from svc.cli import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    folder = Path(order["folder"])
    for name, flags, number in (("stdout", os.O_WRONLY | os.O_CREAT, 1), ("log", os.O_WRONLY | os.O_CREAT, 2)):
        os.dup2(os.open(folder / name, flags | os.O_APPEND, 0o600), number)
    os.environ.clear()
    os.environ.update(order["environ"])
    fate = _Fate(order["kill_at"])
    signal.signal(signal.SIGUSR1, fate.arm)
    engine = _engine_of(order["environ"]["SVC_STORE_URL"])
    commit = engine.run
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def run(self: Any, tx: Any) -> Any:
        value = await commit(self, tx)
        fate.moment()
        return value

    async def handle(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        fate.moment()
        response = await send(self, request)
        fate.moment()
        return response

    engine.run = run
    httpx.AsyncHTTPTransport.handle_async_request = handle  # type: ignore[method-assign]
    if order["bundle"] is None:
        main(["serve"])
    else:
        _serve(Path(order["bundle"]))


def _engine_of(store_url: str) -> Any:
    from svc.store.postgres import PostgresStore
    from svc.store.sqlite import SqliteStore

    return SqliteStore if store_url.startswith("sqlite:") else PostgresStore


def _serve(bundle: Path) -> None:
    """Be a service that comes with another worker."""
    from functools import partial

    from svc.config import load
    from svc.main import run
    from svc.worker.bundle import load_bundle

    def announce(url: str) -> None:
        print(json.dumps({"url": url}), flush=True)

    trio.run(partial(run, load(None, os.environ), announce, bundle=load_bundle(bundle)))
    os._exit(0)


def _fork_for_ever() -> None:
    import svc.main  # what a life needs is loaded once
    import svc.store.postgres
    import svc.store.sqlite  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _live(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    _fork_for_ever()
