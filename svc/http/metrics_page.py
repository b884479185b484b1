"""GET /metrics on a separate address, in the Prometheus text format: process metrics, and figures from the store.

A scrape polls the store in the background, at most once every 15 s. The cost of the queries does not depend on the
amount of data. A scrape waits at most 1 s for the poll. While the store is unavailable, the page omits the store's
figures. The text is rendered in a thread and reused for 1 s, so frequent scrapes do not slow down other requests.
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
from svc.http.serving.responses import refusal
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

# How long a rendered text is reused for further scrapes.
_FRESH_S = 1.0
_POLL_EVERY_S = 15.0
_POLL_WAIT_S = 1.0
# The maximum age of the figures from the store. If the last successful poll is older, the page omits these figures.
_STALE_S = 60.0
# An account counts as behind after this time without a push. Its Worker pushes once an hour.
_BEHIND_MS = 2 * HOUR_MS
# Each poll also reads operations that ended at most this long before the newest known end. An operation's `ended_at` is
# the time at which its last transaction began, so an operation can become visible later than its `ended_at`.
_LATE_MS = 120_000
_MAX_ENDED = 1_000
# Maximum number of connections, which allows for two scrapers, a person, and a few idle connections.
_CONNECTIONS = 8
_GRACEFUL_S = 1.0

_STORE_METRICS = (
    table.ACCOUNTS, table.ACCOUNTS_BEHIND, table.OPERATIONS_RUNNING, table.ROLLOUT,
    table.ROLLOUT_ACCOUNTS, table.MAIL_WAITING, table.MAIL_OLDEST, table.MAIL_UNTRIED, table.STORE_BYTES,
    table.BACKUP_AGE,
)  # fmt: skip


class StorePoller:
    """Updates the metrics that come from the store. Scrapes trigger the updates."""

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
        self._polled_at = -math.inf
        self._polling: trio.Event | None = None
        self._ended_from = clock()
        self._ended: dict[str, int] = {}  # `ended_at` by id, for the counted operations that the query may return again

    async def poll(self) -> None:
        """Start a poll of the store if it is due. If a poll is running, wait until it ends, at most 1 s."""
        if self._polling is None and trio.current_time() >= self._next_at:
            self._polling = trio.Event()
            self._nursery.start_soon(self._run_poll, self._polling)
        if self._polling is not None:
            with trio.move_on_after(_POLL_WAIT_S):
                await self._polling.wait()
        if trio.current_time() - self._polled_at > _STALE_S:
            self._metrics.forget(*_STORE_METRICS)

    async def _run_poll(self, done: trio.Event) -> None:
        try:
            with contained(log, "store poll for metrics failed", level=logging.WARNING):
                try:
                    now = self._clock()
                    self._set_gauges(await self._store.read(census(self._bundle, now, now - _BEHIND_MS)), now)
                    self._metrics.set(table.STORE_BYTES, await self._store.size_bytes())
                    await self._count_ended()
                    self._polled_at = trio.current_time()
                except StoreUnavailable:
                    self._polled_at = -math.inf
        finally:
            self._next_at = trio.current_time() + self._every_s
            self._polling = None
            done.set()

    def _set_gauges(self, census: Census, now: int) -> None:
        set_gauge = self._metrics.set
        for state in get_args(AccountState):
            set_gauge(table.ACCOUNTS, census.accounts.get(state, 0), state)
        for kind in get_args(OperationKind):
            set_gauge(table.OPERATIONS_RUNNING, census.running.get(kind, 0), kind)
        set_gauge(table.ACCOUNTS_BEHIND, census.behind)
        set_gauge(table.MAIL_WAITING, census.mail.waiting)
        for metric, since in ((table.MAIL_OLDEST, census.mail.since), (table.MAIL_UNTRIED, census.mail_untried_since)):
            set_gauge(metric, 0 if since is None else max(0, now - since) / 1000)
        if census.backed_up_at is not None:
            set_gauge(table.BACKUP_AGE, max(0, now - census.backed_up_at) / 1000)
        rollout = census.rollout
        for each in get_args(RolloutState):
            set_gauge(table.ROLLOUT, int(rollout is not None and rollout.state == each), each)
        set_gauge(table.ROLLOUT_ACCOUNTS, rollout.updated if rollout else 0, "updated")
        set_gauge(table.ROLLOUT_ACCOUNTS, rollout.failed if rollout else 0, "failed")

    async def _count_ended(self) -> None:
        """Count each operation that has ended since the service started. No operation is counted twice."""
        while True:
            ended = await self._store.read(ended_since(self._ended_from, _MAX_ENDED))
            for each in ended:
                if each.id not in self._ended:
                    took_s = max(0, each.ended_at - each.created_at) / 1000
                    self._metrics.observe(table.OPERATION_SECONDS, took_s, each.kind, each.outcome)
                self._ended[each.id] = each.ended_at
            if ended:
                self._ended_from = max(self._ended_from, ended[-1].ended_at - _LATE_MS)
                self._ended = {id_: at for id_, at in self._ended.items() if at >= self._ended_from}
            if len(ended) < _MAX_ENDED:
                return


class MetricsPage:
    """The ASGI application of the metrics address."""

    def __init__(self, store: Store, metrics: Metrics, poller: StorePoller, fresh_s: float) -> None:
        self._store = store
        self._metrics = metrics
        self._poller = poller
        self._fresh_s = fresh_s
        self._making = trio.Lock()
        self._threads = trio.CapacityLimiter(1)
        self._text = b""
        self._made_at = -math.inf

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        """Respond to one ASGI request. Only GET and HEAD of /metrics are supported."""
        method, path = scope["method"], scope["path"]
        if path != "/metrics":
            await _refuse(send, NotFound())
        elif method not in ("GET", "HEAD"):
            await _refuse(send, ServiceError("method_not_allowed"), (b"allow", b"GET, HEAD"))
        else:
            await _respond(send, 200, table.CONTENT_TYPE, await self.text())

    async def text(self) -> bytes:
        """Return all metrics as text, at most `fresh_s` seconds old."""
        async with self._making:
            if trio.current_time() - self._made_at >= self._fresh_s:
                await self._poller.poll()
                self._metrics.set(table.STORE_UP, int(self._store.condition.problem is None))
                self._metrics.set(table.TASKS, trio.lowlevel.current_statistics().tasks_living)
                self._metrics.read_sources()
                self._text = await trio.to_thread.run_sync(self._metrics.text, limiter=self._threads)
                self._made_at = trio.current_time()
            return self._text


async def _refuse(send: Any, error: ServiceError, *headers: tuple[bytes, bytes]) -> None:
    response = refusal(error)
    await _respond(send, response.status, response.content_type, response.body, *headers)


async def _respond(send: Any, status: int, content_type: str, body: bytes, *headers: tuple[bytes, bytes]) -> None:
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
    poll_every_s: float = _POLL_EVERY_S,
    fresh_s: float = _FRESH_S,
) -> AsyncIterator[MetricsPage]:
    """Serve the metrics on `listeners` while the context is open. `bundle`: the digest of the current Worker bundle."""
    metrics.set(table.BUILD, 1, version("svc"), bundle)
    async with trio.open_nursery() as nursery:
        poller = StorePoller(store, clock, metrics, bundle, nursery, poll_every_s)
        page = MetricsPage(store, metrics, poller, fresh_s)
        nursery.start_soon(watch_loop, metrics)
        done = trio.Event()
        async with trio.open_nursery() as serving:
            serving.start_soon(
                partial(serve, page, listeners, connections=_CONNECTIONS, graceful_s=_GRACEFUL_S, until=done.wait)
            )
            yield page
            done.set()
        nursery.cancel_scope.cancel()
