"""The HTTP/1.1 server: our own loop over the listeners, hypercorn's protocol on each connection.

Hypercorn's own loop runs all connections in one nursery, so what its protocol raises in one of them ends the server;
and neither HTTP/2 nor websockets, which nobody needs behind this API, can be switched off in it. Here each connection
is a fault domain, what hypercorn would switch protocols for is taken away before hypercorn sees it, every wait has a
deadline, and an answer leaves in one packet.

    listener ──► one of `connections` places ──► Connection: reads, one request at a time ──► the application
"""

from __future__ import annotations

import logging
import math
import resource
import struct
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import h11
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr
from pydantic_core import to_json

from svc.api.endpoint import JSON_TYPE
from svc.errors import Invalid, Issue
from svc.faults import contained
from svc.metrics import CONNECTIONS, CONNECTIONS_ENDED, CONNECTIONS_LIMIT, MALFORMED, Metrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hypercorn.events import Event
    from hypercorn.typing import ASGIFramework

log = logging.getLogger(__name__)

# Between two requests, and from a connection's start to the end of its first head.
KEEP_ALIVE_S = 15.0
# When the service stops: a client that sends another request within this time after its last one, or begins one, is
# answered once more, and told that its connection ends; who keeps a connection for later finds it closed.
LAST_REQUEST_S = 0.5
# One packet of an answer; a client that reads nothing for so long is gone.
SEND_S = 30.0
# After an answer whose request was still on its way: what else comes is read and forgotten for a moment, else the
# client would get a reset instead of the answer.
LINGER_S = 2.0
LINGER_BYTES = 8 * 1_048_576
# One read; with the limit of h11 on unfinished heads (16 KiB) no head is longer than 32 KiB.
_READ_BYTES = 16_384
_HEAD_FIELDS = 100
# A chunk costs some 50 µs however small it is: a body may come in as many as this, and one more for each 256 bytes.
_FREE_CHUNKS = 64
_BYTES_A_CHUNK = 256
# Empty lines that are ignored before a request line. RFC 9112 (2.2) recommends at least one; some old clients send one
# after each body.
_EMPTY_LINES = 4
# Of SO_LINGER: to close is to reset, and nothing waits to be sent any more.
_RESET = struct.pack("ii", 1, 0)
# File descriptors that are not for clients: store, edge platform, mail, log.
_OWN_FILES = 128


class Http1(h11.Connection):
    """h11, a little stricter, and with what would make hypercorn change the protocol taken away. No I/O.

    A request to upgrade is answered as if it had not asked, which RFC 9110 (7.8) leaves to the server. The head of an
    answer waits for what follows, so that both leave in one packet. A few empty lines before a request line are ignored
    (RFC 9112, 2.2), and so is everything that follows the last request of a connection (RFC 9112, 9.6).
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self._head = b""
        self._chunks = 0
        self._body_bytes = 0
        self._empty_lines = 0  # since the last request
        self.wants_body = True  # of an answer: all requests do but HEAD
        self.measured = True  # the answer's head tells its length: whoever gets less knows
        self.ends = False  # with the next answer that has not begun: its client is told so

    def next_event(self) -> Any:
        """As h11's. Raises h11.RemoteProtocolError, whose `error_status_hint` is the answer's status."""
        if self.their_state is h11.MUST_CLOSE:
            self._receive_buffer.maybe_extract_at_most(len(self._receive_buffer))
            return h11.NEED_DATA
        if self.their_state in (h11.IDLE, h11.DONE) and not self._skip_empty_lines():
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._body_bytes = self._empty_lines = 0
            self.wants_body = event.method != b"HEAD"
            return _plain(event)
        if isinstance(event, h11.Data):
            self._chunks += 1
            self._body_bytes += len(event.data)
            if self._chunks > _FREE_CHUNKS + self._body_bytes // _BYTES_A_CHUNK:
                self._process_error(self.their_role)  # as h11 does where it refuses something itself
                raise h11.RemoteProtocolError("the body comes in too many small chunks")
        return event

    def _skip_empty_lines(self) -> bool:
        """Drop empty lines that precede a request line; False: half of one is left, which more data completes."""
        while self._empty_lines < _EMPTY_LINES:
            start = bytes(self._receive_buffer)[:2]
            if start == b"\r":
                return False
            if start != b"\r\n" and start[:1] != b"\n":
                break
            self._receive_buffer.maybe_extract_at_most(2 if start == b"\r\n" else 1)
            self._empty_lines += 1
        return True

    def send(self, event: Any) -> Any:
        """As h11's; b"" for the head of an answer."""
        if not isinstance(event, h11.Response):
            data = super().send(event)
            if isinstance(event, (h11.Data, h11.EndOfMessage)):
                data, self._head = self._head + data, b""
            return data
        ends = self.ends or self.their_state is h11.SEND_BODY  # the latter: answered before the request was read
        if ends and not any(name == b"connection" for name, _ in event.headers):
            event = h11.Response(
                status_code=event.status_code, headers=[*event.headers.raw_items(), (b"connection", b"close")]
            )
        self._head = super().send(event)
        self.measured = any(name == b"content-length" for name, _ in event.headers)
        return b""

    @property
    def has_whole_request(self) -> bool:
        """Whether a request has been received to its end, and its answer has not been sent to its end."""
        return self.their_state in (h11.DONE, h11.MUST_CLOSE)

    @property
    def is_half_sent(self) -> bool:
        """Whether something of an answer has left and its end has not."""
        return self.our_state is h11.SEND_BODY and not self._head


def _plain(request: h11.Request) -> h11.Request:
    """The request without a wish to change the protocol. Raises h11.RemoteProtocolError: it must not be served."""
    names = {name for name, _ in request.headers}
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("only HTTP/1.1 is spoken here", error_status_hint=505)
    if not request.method.isupper():  # methods tell capitals apart; hypercorn does not
        raise h11.RemoteProtocolError("methods are written in capitals", error_status_hint=501)
    if len(request.headers) > _HEAD_FIELDS:
        raise h11.RemoteProtocolError(f"more than {_HEAD_FIELDS} header fields", error_status_hint=431)
    if {b"content-length", b"transfer-encoding"} <= names:  # which of them counts is how requests are smuggled
        raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding exclude each other")
    if b"upgrade" not in names:
        return request
    return h11.Request(
        method=request.method,
        target=request.target,
        headers=[(name, value) for name, value in request.headers.raw_items() if name.lower() != b"upgrade"],
        http_version=request.http_version,
    )


class Protocol(H11Protocol):
    """Hypercorn's protocol over our `Http1`; what it refuses itself has the error shape of the API."""

    connection: Http1

    def __init__(self, metrics: Metrics, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection = Http1()
        self._metrics = metrics

    async def _send_error_response(self, status_code: int) -> None:
        self._metrics.count(MALFORMED, str(status_code))
        body = to_json(Invalid([Issue("", _REFUSED.get(status_code, "is not HTTP/1.1"))]).body())
        await self._send_h11_event(
            h11.Response(
                status_code=status_code,
                headers=[
                    (b"content-type", JSON_TYPE.encode()),
                    (b"content-length", str(len(body)).encode()),
                    (b"connection", b"close"),
                    *self.config.response_headers("h11"),
                ],
            )
        )
        if self.connection.wants_body:
            await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())


_REFUSED = {
    431: f"the head of the request is longer than 16 to 32 KiB, or has more than {_HEAD_FIELDS} fields",
    501: "the method is not known, or the transfer encoding is not chunked",
    505: "only HTTP/1.1 is spoken here",
}


class Connection:
    """One client: its socket, its protocol, its deadlines. One task reads; the application runs beside it."""

    def __init__(self, stream: trio.SocketStream, app: ASGIWrapper, context: WorkerContext, metrics: Metrics) -> None:
        self._stream = stream
        self._metrics = metrics
        self._app = app
        self._context = context
        self._sending = trio.Lock()
        self._reading = trio.CancelScope()
        self._idle = True  # between two requests, or before the first
        self._ends = False  # the service stops
        self._half_closed = False  # the client sends nothing more, and waits for its answer
        # Since when nothing but the client holds things up: no request, half of one, an answer that is not read.
        self.waits_since: float | None = trio.current_time()
        self._answered = False  # an answer that ends the connection has been sent
        self._broken = False
        self._cut = False  # a part of a packet may have left
        self._http: Http1 | None = None

    async def run(self) -> None:
        """Serve until either side has had enough. Closes the socket."""
        try:
            async with TaskGroup() as group:
                await self._serve(group)
                # Whoever is still at work works for a client that has its answer, or has gone.
                group._nursery.cancel_scope.cancel()  # type: ignore[union-attr]  # the group has no other way to end it
            if self._answered and not self._broken:
                await self._linger()
        finally:
            if self._must_reset():
                self._stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, _RESET)
            self._stream.socket.close()

    def _must_reset(self) -> bool:
        """Whether half an answer was sent that would pass for a whole one if the connection ended politely.

        In HTTP/1.0, which proxies speak to the services behind them, its end is that of an answer without a length.
        """
        return self._http is not None and not self._http.measured and (self._cut or self._http.is_half_sent)

    def end(self) -> None:
        """The service stops: the connection ends with its answer, or soon, when no other request comes.

        A request that is on its way, or that lies unread in the socket, is not left without an answer. The deadline
        sees to that: a reader that has something to read when it passes reads it first.
        """
        self._ends = True
        if self._http is not None:
            self._http.ends = True
        if self._idle:
            self._reading.deadline = min(self._reading.deadline, trio.current_time() + LAST_REQUEST_S)

    def end_for_another(self) -> None:
        """Somebody else needs the place."""
        self._reading.cancel()

    @property
    def _patience_s(self) -> float:
        return LAST_REQUEST_S if self._ends else KEEP_ALIVE_S

    async def _serve(self, group: TaskGroup) -> None:
        socket = self._stream.socket
        try:
            client, server = socket.getpeername(), socket.getsockname()
        except OSError:  # gone before it was looked at
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
            self._take,
        )
        self._http = protocol.connection
        self._http.ends = self._ends
        self._reading.deadline = trio.current_time() + self._patience_s  # for the first head
        with self._reading, suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                data = await self._stream.receive_some(_READ_BYTES)
                if not data:
                    if self._idle or not protocol.connection.has_whole_request:
                        return
                    # TCP does not show whether the client also stopped reading: if it did, sending the answer fails.
                    self._half_closed = protocol.connection.ends = True
                    await trio.sleep_forever()
                await protocol.handle(RawData(bytes(data)))
                if not self._idle and protocol.connection.their_state is not h11.SEND_BODY:
                    self.waits_since = None  # the request is whole: it is the application's turn
                elif self.waits_since is None:
                    self.waits_since = trio.current_time()

    async def _take(self, event: Event) -> None:
        """What the protocol has to say: bytes for the client, whether a request is under way, the end."""
        if isinstance(event, RawData):
            if event.data and not self._broken:
                await self._send(event.data)
        elif isinstance(event, Updated):
            self._idle = event.idle
            self.waits_since = trio.current_time() if event.idle else None
            self._reading.deadline = trio.current_time() + self._patience_s if event.idle else math.inf
            if event.idle and self._half_closed:  # the head of the answer had left before it could announce the end
                self._reading.cancel()
        elif isinstance(event, Closed):
            # Said in the application's task, which is about to be cancelled: the reader does the rest.
            self._answered = not self._must_reset()
            self._reading.cancel()

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            sent = False
            self.waits_since = trio.current_time()
            try:
                with trio.move_on_after(SEND_S):
                    await trio.lowlevel.checkpoint_if_cancelled()
                    self._cut = True
                    await self._stream.send_all(data)
                    self._cut = False
                    sent = True
                    self.waits_since = None
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            finally:
                if not sent:  # half an answer is on its way, and nothing can follow it
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


class _Places(trio.abc.Listener[trio.SocketStream]):
    """A listener that accepts only while there is a place; who comes too much waits in the system's queue."""

    def __init__(self, listener: trio.abc.Listener[trio.SocketStream], places: trio.Semaphore) -> None:
        self._listener = listener
        self._places = places

    async def accept(self) -> trio.SocketStream:
        await self._places.acquire()
        try:
            return await self._listener.accept()
        except BaseException:
            self._places.release()
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
    """Serve `app` on `listeners`, at most `connections` at once, until `until` returns.

    When the last place is taken, the connection that has waited for its client for longest gives its own up.
    At the end nothing new is accepted, connections end with their answers, and requests under way have `graceful_s`
    seconds. Who waits to be accepted waits on in the system's queue, for the next process where the socket is kept open
    by another.
    `metrics`: to whom it reports; None: to nobody.
    """
    context = WorkerContext(None)
    places = trio.Semaphore(min(connections, _files_for_clients()))
    open_now: set[Connection] = set()
    metrics = metrics or Metrics()
    metrics.set(CONNECTIONS_LIMIT, places.value)
    metrics.at_scrape(lambda: metrics.set(CONNECTIONS, len(open_now)))
    wrapped = ASGIWrapper(app)

    stopping = False

    async def handle(stream: trio.SocketStream) -> None:
        connection = Connection(stream, wrapped, context, metrics)
        open_now.add(connection)
        if stopping:  # it was accepted in the last moment
            connection.end()
        if not places.value:
            waiting = [one for one in open_now if one.waits_since is not None and one is not connection]
            for longest in sorted(waiting, key=lambda one: one.waits_since or 0.0)[:1]:
                longest.end_for_another()
                metrics.count(CONNECTIONS_ENDED)
        try:
            with contained(log, "connection failed", level=logging.WARNING):
                await connection.run()
        finally:
            open_now.discard(connection)
            places.release()

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as accepting:
            limited = [_Places(listener, places) for listener in listeners]
            accepting.start_soon(partial(trio.serve_listeners, handle, limited, handler_nursery=nursery))
            await until()
            accepting.cancel_scope.cancel()
        stopping = True
        for connection in open_now:
            connection.end()
        nursery.cancel_scope.deadline = trio.current_time() + graceful_s


def _files_for_clients() -> int:
    """Raise the limit of open files as far as it goes; how many connections fit into it beside our own files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):  # not on every system
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return max(16, soft - _OWN_FILES) if soft != resource.RLIM_INFINITY else 2**31


def _hypercorn() -> HypercornConfig:
    config = HypercornConfig()
    config.include_server_header = False
    config.errorlog = cast("Any", logging.getLogger("svc.server"))
    return config


_HYPERCORN = _hypercorn()
