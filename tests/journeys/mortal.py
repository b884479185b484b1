"""`svc serve` that kills itself, by SIGKILL, at a chosen moment.

A moment is when a commit has just been made, and when a call to the edge platform is about to be sent or was just
answered. Moments are counted from the time when the service is armed. That service is
`python -m tests.journeys.mortal KILL_AT [BUNDLE]`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import trio

from edge_worker.harness.service import Service, open_service
from svc.cli import main
from svc.config import load
from svc.logs import set_up_logging
from svc.main import run
from svc.store.engines.postgres import PostgresStore
from svc.store.engines.sqlite import SqliteStore
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


class Life(Service):
    """A running service that may kill itself."""

    def arm(self) -> None:
        """Count its moments from now on."""
        self.process.send_signal(signal.SIGUSR1)

    async def over(self) -> None:
        """Wait until the process has ended."""
        await self.process.wait()


@asynccontextmanager
async def open_life(
    folder: Path, settings: Mapping[str, str], kill_at: int = 0, *, bundle: Path | None = None
) -> AsyncIterator[Life]:
    """Open a service that kills itself at the moment with the number `kill_at`, counted from 1 (0: never).

    `bundle`: the folder of the worker that it comes with; None: the package's.
    """
    program = ["-m", __name__, str(kill_at), *([] if bundle is None else [str(bundle)])]
    async with open_service(folder, settings, arguments=program) as service:
        yield Life(service.url, service.process, service.folder, service.client)


# ---------------------------------------------------------------------------------------------------- in that process


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


def _count_moments(kill_at: int) -> None:
    """Kill this process at a moment, once it is armed."""
    fate = _Fate(kill_at)
    signal.signal(signal.SIGUSR1, fate.arm)
    engine: Any = SqliteStore if os.environ["SVC_STORE_URL"].startswith("sqlite:") else PostgresStore
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


def _serve(bundle: Path) -> None:
    """Be a service that comes with another worker."""

    def announce(url: str) -> None:
        print(json.dumps({"url": url}), flush=True)

    set_up_logging()
    trio.run(partial(run, load(None, os.environ), announce, bundle=load_bundle(bundle)))


if __name__ == "__main__":
    _count_moments(int(sys.argv[1]))
    if sys.argv[2:]:
        _serve(Path(sys.argv[2]))
    else:
        main(["serve"])
