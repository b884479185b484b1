"""GET /metrics on an address of its own, in Prometheus' text format: what the process counted, what its store tells.

The store is asked beside the scrape and no more often than every 15 s, by counts that are quick however much is stored.
A scrape waits for that for a second at the most; where the store is away, what only it knows is left out. The text is
made in a thread, and serves every scrape of the next second: who scrapes a hundred times a second holds nobody up.
"""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, get_args

import trio

from svc import metrics as table
from svc.clock import HOUR_MS
from svc.errors import NotFound, ServiceError, StoreUnavailable
from svc.faults import contained
from svc.http.serving.answers import refusal
from svc.http.serving.server import serve
from svc.metrics import watch_loop
from svc.model import AccountState, OperationKind, RolloutState
from svc.store.service_state import census, ended_since

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from svc.clock import Clock
    from svc.metrics import Metrics
    from svc.store.service_state import Census
    from svc.store.tx import Store

log = logging.getLogger(__name__)

# A text serves those who come within this time of it.
_FRESH_S = 1.0
_LOOK_EVERY_S = 15.0
_LOOK_WAIT_S = 1.0
# What the store told this long ago is not told any more.
_STALE_S = 60.0
# A worker pushes once an hour.
_BEHIND_MS = 2 * HOUR_MS
# An operation's end is written with the time at which its transaction began, which may be so much before its commit.
_LATE_MS = 120_000
_MOST_ENDED = 1_000
# A scraper or two, somebody who looks, and some that were only opened.
_CONNECTIONS = 8
_GRACEFUL_S = 1.0

_TOLD_BY_THE_STORE = (
    table.ACCOUNTS, table.ACCOUNTS_BEHIND, table.OPERATIONS_RUNNING, table.ROLLOUT,
    table.ROLLOUT_ACCOUNTS, table.MAIL_WAITING, table.MAIL_OLDEST, table.STORE_BYTES, table.BACKUP_AGE,
)  # fmt: skip


class StoreLooks:
    """What the store tells the metrics, looked at when somebody scrapes."""

    def __init__(
        self, store: Store, clock: Clock, metrics: Metrics, bundle: str, nursery: trio.Nursery, every_s: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._bundle = bundle
        self._nursery = nursery
        self._every_s = every_s
        self._next_at = -math.inf
        self._told_at = -math.inf
        self._looking: trio.Event | None = None
        self._ended_from = clock()
        self._ended: dict[str, int] = {}  # the operations that were counted, and when they ended: while they are found

    async def look(self) -> None:
        """Look if it is time, and wait for it for a moment."""
        if self._looking is None and trio.current_time() >= self._next_at:
            self._looking = trio.Event()
            self._nursery.start_soon(self._look, self._looking)
        if self._looking is not None:
            with trio.move_on_after(_LOOK_WAIT_S):
                await self._looking.wait()
        if trio.current_time() - self._told_at > _STALE_S:
            self._metrics.forget(*_TOLD_BY_THE_STORE)

    async def _look(self, done: trio.Event) -> None:
        try:
            with contained(log, "the look for the metrics failed", level=logging.WARNING):
                try:
                    now = self._clock()
                    self._tell(await self._store.read(census(self._bundle, now - _BEHIND_MS)), now)
                    self._metrics.set(table.STORE_BYTES, await self._store.size_bytes())
                    await self._count_ended()
                    self._told_at = trio.current_time()
                except StoreUnavailable:
                    self._told_at = -math.inf
        finally:
            self._next_at = trio.current_time() + self._every_s
            self._looking = None
            done.set()

    def _tell(self, found: Census, now: int) -> None:
        tell = self._metrics.set
        for state in get_args(AccountState):
            tell(table.ACCOUNTS, found.accounts.get(state, 0), state)
        for kind in get_args(OperationKind):
            tell(table.OPERATIONS_RUNNING, found.running.get(kind, 0), kind)
        tell(table.ACCOUNTS_BEHIND, found.behind)
        tell(table.MAIL_WAITING, found.mail.waiting)
        oldest_at = found.mail.since
        tell(table.MAIL_OLDEST, 0 if oldest_at is None else max(0, now - oldest_at) / 1000)
        if found.backed_up_at is not None:
            tell(table.BACKUP_AGE, max(0, now - found.backed_up_at) / 1000)
        rollout = found.rollout
        for each in get_args(RolloutState):
            tell(table.ROLLOUT, int(rollout is not None and rollout.state == each), each)
        tell(table.ROLLOUT_ACCOUNTS, rollout.updated if rollout else 0, "updated")
        tell(table.ROLLOUT_ACCOUNTS, rollout.failed if rollout else 0, "failed")

    async def _count_ended(self) -> None:
        """Count each operation that has ended since the start once, whichever part of the service ended it."""
        while True:
            found = await self._store.read(ended_since(self._ended_from, _MOST_ENDED))
            for each in found:
                if each.id not in self._ended:
                    took_s = max(0, each.ended_at - each.created_at) / 1000
                    self._metrics.observe(table.OPERATION_SECONDS, took_s, each.kind, each.outcome)
                self._ended[each.id] = each.ended_at
            if found:
                self._ended_from = max(self._ended_from, found[-1].ended_at - _LATE_MS)
                self._ended = {id_: at for id_, at in self._ended.items() if at >= self._ended_from}
            if len(found) < _MOST_ENDED:
                return


class MetricsPage:
    """The application of the metrics' address."""

    def __init__(self, store: Store, metrics: Metrics, looks: StoreLooks, fresh_s: float) -> None:
        self._store = store
        self._metrics = metrics
        self._looks = looks
        self._fresh_s = fresh_s
        self._making = trio.Lock()
        self._threads = trio.CapacityLimiter(1)
        self._text = b""
        self._made_at = -math.inf

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        """Answer one request, as ASGI has it: GET and HEAD of /metrics, nothing else."""
        method, path = scope["method"], scope["path"]
        if path != "/metrics":
            await _refuse(send, NotFound())
        elif method not in ("GET", "HEAD"):
            await _refuse(send, ServiceError("method_not_allowed"), (b"allow", b"GET, HEAD"))
        else:
            await _answer(send, 200, table.CONTENT_TYPE, await self.text())

    async def text(self) -> bytes:
        """Everything, at most `fresh_s` old."""
        async with self._making:
            if trio.current_time() - self._made_at >= self._fresh_s:
                await self._looks.look()
                self._metrics.set(table.STORE_UP, int(self._store.condition.trouble is None))
                self._metrics.set(table.TASKS, trio.lowlevel.current_statistics().tasks_living)
                self._metrics.read_sources()
                self._text = await trio.to_thread.run_sync(self._metrics.text, limiter=self._threads)
                self._made_at = trio.current_time()
            return self._text


async def _refuse(send: Any, error: ServiceError, *headers: tuple[bytes, bytes]) -> None:
    answer = refusal(error)
    await _answer(send, answer.status, answer.content_type, answer.body, *headers)


async def _answer(send: Any, status: int, content_type: str, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    own = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


@asynccontextmanager
async def open_metrics_page(
    store: Store,
    clock: Clock,
    metrics: Metrics,
    listeners: Sequence[trio.abc.Listener[trio.SocketStream]],
    *,
    bundle: str,
    look_every_s: float = _LOOK_EVERY_S,
    fresh_s: float = _FRESH_S,
) -> AsyncIterator[MetricsPage]:
    """Serve the metrics on `listeners` while the block runs. `bundle`: the digest of the worker that is installed."""
    metrics.set(table.BUILD, 1, version("svc"), bundle)
    async with trio.open_nursery() as nursery:
        looks = StoreLooks(store, clock, metrics, bundle, nursery, look_every_s)
        page = MetricsPage(store, metrics, looks, fresh_s)
        nursery.start_soon(watch_loop, metrics)
        done = trio.Event()
        async with trio.open_nursery() as serving:
            serving.start_soon(
                partial(serve, page, listeners, connections=_CONNECTIONS, graceful_s=_GRACEFUL_S, until=done.wait)
            )
            yield page
            done.set()
        nursery.cancel_scope.cancel()
