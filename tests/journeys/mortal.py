"""`svc serve` that kills itself with SIGKILL at a chosen moment.

A moment is right after a commit, right before a call to the Cloudflare platform, or right after its response. With
`in_transactions`, the moments right after each statement of a transaction count as well. The service counts moments
once it is armed. Start it with `python -m tests.journeys.mortal [--in-transactions] [--bundle FOLDER] KILL_AT`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
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
from svc.store.engines.postgres.store import PostgresStore
from svc.store.engines.sqlite.store import SqliteStore
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


class MortalService(Service):
    """A running service that can kill itself."""

    def arm(self) -> None:
        """Start to count the moments at which the service can kill itself."""
        self.process.send_signal(signal.SIGUSR1)

    async def ended(self) -> None:
        """Wait until the process has ended."""
        await self.process.wait()


@asynccontextmanager
async def open_mortal_service(
    folder: Path,
    settings: Mapping[str, str],
    kill_at: int = 0,
    *,
    bundle: Path | None = None,
    in_transactions: bool = False,
) -> AsyncIterator[MortalService]:
    """Run a service that kills itself at moment number `kill_at`, counted from 1. With 0, it does not kill itself.

    `bundle`: the folder of its Worker bundle; None means the Worker of the package. `in_transactions`: also count the
    statements of transactions.
    """
    options = [*(["--in-transactions"] if in_transactions else []), *([f"--bundle={bundle}"] if bundle else [])]
    program = ["-m", __name__, *options, str(kill_at)]
    async with open_service(folder, settings, arguments=program) as service:
        yield MortalService(service.url, service.process, service.folder, service.client)


# ---------------------------------------------------------------------------------------------------- in that process


class _MomentCounter:
    """Once armed, counts the moments at which this process could be killed, and kills it at moment `kill_at`."""

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


def _count_moments(kill_at: int, *, in_transactions: bool) -> None:
    """Make this process kill itself at moment `kill_at`, counted after SIGUSR1. See `open_mortal_service`."""
    counter = _MomentCounter(kill_at)
    signal.signal(signal.SIGUSR1, counter.arm)
    engine: Any = SqliteStore if os.environ["SVC_STORE_URL"].startswith("sqlite:") else PostgresStore
    commit = engine.run
    send = httpx.AsyncHTTPTransport.handle_async_request

    def counted(tx: Any) -> Any:
        result = None
        try:
            while True:
                result = yield tx.send(result)
                counter.moment()
        except StopIteration as ended:
            return ended.value

    async def run(self: Any, tx: Any) -> Any:
        value = await commit(self, counted(tx) if in_transactions else tx)
        counter.moment()
        return value

    async def handle(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        counter.moment()
        response = await send(self, request)
        counter.moment()
        return response

    engine.run = run
    httpx.AsyncHTTPTransport.handle_async_request = handle  # type: ignore[method-assign]


def _serve(bundle: Path) -> None:
    """Run the service with a different Worker bundle."""

    def announce(url: str) -> None:
        print(json.dumps({"url": url}), flush=True)

    set_up_logging()
    trio.run(partial(run, load(None, os.environ), announce, bundle=load_bundle(bundle)))


if __name__ == "__main__":
    _parser = argparse.ArgumentParser()
    _parser.add_argument("--in-transactions", action="store_true")
    _parser.add_argument("--bundle", type=Path)
    _parser.add_argument("kill_at", type=int)
    _arguments = _parser.parse_args()
    _count_moments(_arguments.kill_at, in_transactions=_arguments.in_transactions)
    if _arguments.bundle:
        _serve(_arguments.bundle)
    else:
        main(["serve"])
