"""The HTTP/1.1 server: this module accepts connections, and hypercorn's protocol serves each connection.

Hypercorn's own accept loop is not used for two reasons. It runs all connections in one nursery, so an exception in one
connection would stop the server. It also cannot disable HTTP/2 and WebSockets, which the API does not use. In this
server, an exception ends only its own connection. Upgrade headers are removed before hypercorn sees them, every wait
has a deadline, and a short response is sent in one packet.

    listener ──► one of `connections` slots ──► Connection: reads, one request at a time ──► the application
"""

from __future__ import annotations

import logging
import math
import resource
import struct
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.events import Closed, RawData, Updated
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

from svc.faults import contained
from svc.http.serving.http1 import Protocol
from svc.metrics import CONNECTIONS, CONNECTIONS_ENDED, CONNECTIONS_LIMIT, Metrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hypercorn.events import Event
    from hypercorn.typing import ASGIFramework

    from svc.http.serving.http1 import Http1

log = logging.getLogger(__name__)

# The maximum time between two requests, and from the start of a connection to the end of the first request head.
KEEP_ALIVE_S = 15.0
# How long an idle connection stays open during shutdown. If a request arrives in this time, its response has the header
# `Connection: close`.
LAST_REQUEST_S = 0.5
# The maximum time for sending one chunk of a response.
SEND_S = 30.0
# If the server responds before it has received the complete request, it then reads and discards input for up to
# `LINGER_S` seconds and `LINGER_BYTES` bytes. If it closed the connection immediately, TCP would reset the connection,
# and the client could lose the response.
LINGER_S = 2.0
LINGER_BYTES = 8 * 1_048_576
# The size of one read. h11 accepts incomplete heads of up to 16 KiB, so no head is longer than 32 KiB.
_READ_BYTES = 16_384
# With this value of SO_LINGER, close() resets the connection and discards unsent data.
_RESET = struct.pack("ii", 1, 0)
# The number of file descriptors that are reserved for the store, connections to Cloudflare and the mail server, and the
# log.
_OWN_FILES = 128


class Connection:
    """A client's connection: its socket, protocol and deadlines.

    One task reads from the socket, and another runs the application.
    """

    def __init__(self, stream: trio.SocketStream, app: ASGIWrapper, context: WorkerContext, metrics: Metrics) -> None:
        self._stream = stream
        self._metrics = metrics
        self._app = app
        self._context = context
        self._sending = trio.Lock()
        self._reading = trio.CancelScope()
        self._idle = True  # True between two requests, and before the first one
        self._stopping = False  # True if the service is shutting down
        self._half_closed = False  # True if the client will send nothing more, and is waiting for the response
        # The time at which the server began to wait for the client to complete its request or to read the response.
        # None if the server is not waiting for the client.
        self.waits_since: float | None = trio.current_time()
        self._answered = False  # True when a response that ends the connection was sent
        self._broken = False
        self._partly_sent = False  # True if a part of a chunk may have been sent
        self._http: Http1 | None = None

    async def run(self) -> None:
        """Serve requests until one side ends the connection, then close the socket."""
        try:
            async with TaskGroup() as group:
                await self._serve(group)
                # The client has its response or has disconnected. Cancel the remaining tasks.
                group._nursery.cancel_scope.cancel()  # type: ignore[union-attr]  # the group has no other way to end it
            if self._answered and not self._broken:
                await self._linger()
        finally:
            if self._must_reset():
                self._stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, _RESET)
            self._stream.socket.close()

    def _must_reset(self) -> bool:
        """Return True if a normal close would make the client take a truncated response for a complete one.

        This can happen with HTTP/1.0, which some proxies use for upstream requests. An HTTP/1.0
        response without Content-Length ends when the connection is closed.
        """
        return self._http is not None and not self._http.has_length and (self._partly_sent or self._http.is_half_sent)

    def end(self) -> None:
        """Close the connection after the current response. If it is idle, close it after `LAST_REQUEST_S`.

        A request that is in transit or in the socket still gets a response: if data has arrived when the deadline
        passes, the reader processes this data first.
        """
        self._stopping = True
        if self._http is not None:
            self._http.ends = True
        if self._idle:
            self._reading.deadline = min(self._reading.deadline, trio.current_time() + LAST_REQUEST_S)

    def give_up_slot(self) -> None:
        """Close the connection to free its slot for another client."""
        self._reading.cancel()

    @property
    def _idle_timeout_s(self) -> float:
        return LAST_REQUEST_S if self._stopping else KEEP_ALIVE_S

    async def _serve(self, group: TaskGroup) -> None:
        socket = self._stream.socket
        try:
            client, server = socket.getpeername(), socket.getsockname()
        except OSError:  # the client has already disconnected
            return
        protocol = Protocol(
            self._metrics,
            self._app,
            _HYPERCORN,
            self._context,
            group,
            ConnectionState({}),
            False,
            parse_socket_addr(socket.family, client),
            parse_socket_addr(socket.family, server),
            self._handle_event,
        )
        self._http = protocol.connection
        self._http.ends = self._stopping
        self._reading.deadline = trio.current_time() + self._idle_timeout_s  # for the end of the first head
        with self._reading, suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                data = await self._stream.receive_some(_READ_BYTES)
                if not data:
                    if self._idle or not protocol.connection.has_complete_request:
                        return
                    # The client may also have stopped reading, but TCP does not show this. In that case, sending the
                    # response fails.
                    self._half_closed = protocol.connection.ends = True
                    await trio.sleep_forever()
                await protocol.handle(RawData(bytes(data)))
                if not self._idle and not protocol.connection.awaits_body:
                    self.waits_since = None  # the request is complete, so the server waits for the application
                elif self.waits_since is None:
                    self.waits_since = trio.current_time()

    async def _handle_event(self, event: Event) -> None:
        """Handle an event of the protocol: data to send, the start or end of a request, or a closed connection."""
        if isinstance(event, RawData):
            if event.data and not self._broken:
                await self._send(event.data)
        elif isinstance(event, Updated):
            self._idle = event.idle
            self.waits_since = trio.current_time() if event.idle else None
            self._reading.deadline = trio.current_time() + self._idle_timeout_s if event.idle else math.inf
            if event.idle and self._half_closed:  # the head was sent before `close` could be added
                self._reading.cancel()
        elif isinstance(event, Closed):
            # The application's task runs this and is about to be cancelled, so the reader's task closes the connection.
            self._answered = not self._must_reset()
            self._reading.cancel()

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            sent = False
            self.waits_since = trio.current_time()
            try:
                with trio.move_on_after(SEND_S):
                    await trio.lowlevel.checkpoint_if_cancelled()
                    self._partly_sent = True
                    await self._stream.send_all(data)
                    self._partly_sent = False
                    sent = True
                    self.waits_since = None
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                if not sent:  # the response is truncated, so nothing else can be sent
                    self._broken = True
                    self._reading.cancel()

    async def _linger(self) -> None:
        with (
            trio.move_on_after(LINGER_S),
            suppress(trio.BrokenResourceError, trio.ClosedResourceError),
        ):
            await self._stream.send_eof()
            read_bytes = 0
            while read_bytes < LINGER_BYTES:
                data = await self._stream.receive_some(_READ_BYTES)
                if not data:
                    return
                read_bytes += len(data)


class _LimitedListener(trio.abc.Listener[trio.SocketStream]):
    """A listener that accepts only while a slot is free. Other connections wait in the kernel's accept queue."""

    def __init__(self, listener: trio.abc.Listener[trio.SocketStream], slots: trio.Semaphore) -> None:
        self._listener = listener
        self._slots = slots

    async def accept(self) -> trio.SocketStream:
        await self._slots.acquire()
        try:
            return await self._listener.accept()
        except BaseException:
            self._slots.release()
            raise

    async def aclose(self) -> None:
        await self._listener.aclose()


async def serve(
    app: ASGIFramework,
    listeners: Sequence[trio.abc.Listener[trio.SocketStream]],
    *,
    connections: int,
    graceful_s: float,
    until: Callable[[], Awaitable[None]],
    metrics: Metrics | None = None,
) -> None:
    """Serve `app` on `listeners`, with at most `connections` open connections, until `until` returns.

    When the last slot is taken, the server closes the connection that has waited longest for its client. After `until`
    returns, no more connections are accepted. Connections close after their current response, and running requests have
    `graceful_s` seconds to finish. Connections that were not accepted stay in the kernel's accept queue. If another
    process, such as systemd, keeps the socket open, the next process of the service accepts these connections. If
    `metrics` is None, no metrics are kept.
    """
    context = WorkerContext(None)
    slots = trio.Semaphore(min(connections, _files_for_clients()))
    open_now: set[Connection] = set()
    metrics = metrics or Metrics()
    metrics.set(CONNECTIONS_LIMIT, slots.value)
    metrics.at_scrape(lambda: metrics.set(CONNECTIONS, len(open_now)))
    wrapped = ASGIWrapper(app)

    stopping = False

    async def handle(stream: trio.SocketStream) -> None:
        connection = Connection(stream, wrapped, context, metrics)
        open_now.add(connection)
        if stopping:  # the connection was accepted just before the shutdown
            connection.end()
        if not slots.value:
            waiting = [other for other in open_now if other.waits_since is not None and other is not connection]
            for longest in sorted(waiting, key=lambda other: other.waits_since or 0.0)[:1]:
                longest.give_up_slot()
                metrics.count(CONNECTIONS_ENDED)
        try:
            with contained(log, "connection failed", level=logging.WARNING):
                await connection.run()
        finally:
            open_now.discard(connection)
            slots.release()

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as accepting:
            limited = [_LimitedListener(listener, slots) for listener in listeners]
            accepting.start_soon(partial(trio.serve_listeners, handle, limited, handler_nursery=nursery))
            await until()
            accepting.cancel_scope.cancel()
        stopping = True
        for connection in open_now:
            connection.end()
        nursery.cancel_scope.deadline = trio.current_time() + graceful_s


def _files_for_clients() -> int:
    """Raise the process's limit on open files to its maximum.

    Return the number of connections that the limit allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):  # some systems do not permit this
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return max(16, soft - _OWN_FILES) if soft != resource.RLIM_INFINITY else 2**31


def _hypercorn() -> HypercornConfig:
    config = HypercornConfig()
    config.include_server_header = False
    config.errorlog = cast("Any", logging.getLogger("svc.server"))
    return config


_HYPERCORN = _hypercorn()
