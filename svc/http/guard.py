"""Around the application, at the level of ASGI: what the framework leaves open to slow or rude clients.

Hypercorn 0.18 with quart-trio 0.12 answers 408 or 413 while the body is still on its way, and then keeps the socket
for as long as the client likes: the disconnect that it tells itself after an answer cancels the task that was about to
close the socket. Here such an answer says `Connection: close`, the rest of the body is read for a moment (else the
client would get a reset instead of the answer), and the socket is closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import trio

from svc.errors import NotFound
from svc.http.wire import JSON_TYPE, dump

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# For how long, and how much, of a body that nobody wants is still read.
_LINGER_S = 2.0
_LINGER_BYTES = 8 * 1_048_576


class Guard:
    """An ASGI application around another one."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request; a WebSocket gets the 404 of an unknown path."""
        if scope["type"] == "http":
            exchange = _Exchange(scope, receive, send)
            await self._application(scope, exchange.receive, exchange.send)
        elif scope["type"] == "websocket":
            await _refuse_websocket(send)
        else:
            await self._application(scope, receive, send)


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Message, receive: Receive, send: Send) -> None:
        names = {name.lower() for name, _ in scope["headers"]}
        self._http_1 = scope["http_version"].startswith("1")
        self._receive = receive
        self._send = send
        self._read_bytes = 0
        self._body_ended = trio.Event()
        self._answered = False
        if not names & {b"content-length", b"transfer-encoding"}:
            self._body_ended.set()

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read_bytes += len(message.get("body", b""))
            if not message.get("more_body", False) or self._read_bytes > _LINGER_BYTES:
                self._body_ended.set()
        elif self._answered:
            # The server's own echo of the answer's end: it would cancel the task that is closing the socket.
            await trio.sleep_forever()
        else:
            self._body_ended.set()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._body_ended.is_set() and self._http_1:
            message["headers"] = [*message["headers"], (b"connection", b"close")]
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            with trio.move_on_after(_LINGER_S):
                await self._body_ended.wait()
            self._answered = True
        await self._send(message)


async def _refuse_websocket(send: Send) -> None:
    error = NotFound()
    headers = [(b"content-type", JSON_TYPE.encode())]
    await send({"type": "websocket.http.response.start", "status": error.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": dump(error.body()), "more_body": False})
