"""Requests that bypass the web framework, which would take 0.5 ms of CPU time per request.

For a push, this would be half of the CPU time, and every Worker pushes once an hour. The requests in this module have
the same limits, deadlines, headers and error format as all others. `front` renders their responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from werkzeug.http import parse_options_header

from svc.api.endpoint import JSON_TYPE
from svc.errors import Invalid, Issue, ServiceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.api.shape import ResponseBody

    Handler = Callable[["Incoming"], Awaitable[ResponseBody]]


class ClientDisconnected(Exception):
    """Raised if the client disconnects before its request is complete. No response can be sent."""


class Incoming:
    """An ASGI request. Its body may have up to `most_bytes` bytes and must arrive within `within_s` seconds."""

    def __init__(self, scope: Any, receive: Callable[[], Awaitable[Any]], *, most_bytes: int, within_s: float) -> None:
        self._headers = scope["headers"]
        self._receive = receive
        self._most_bytes = most_bytes
        self._within_s = within_s
        self._complete = False  # the whole body was received

    def header(self, name: bytes) -> str | None:
        """Return the first header with this name (in lower case), or None."""
        return next((value.decode("latin-1") for key, value in self._headers if key.lower() == name), None)

    async def body(self) -> bytes:
        """Return the body. Raises ClientDisconnected and the errors of `read_body`."""
        length, content_type = self.header(b"content-length") or "", self.header(b"content-type") or ""
        return await read_body(
            self,
            self._most_bytes,
            declared_bytes=int(length) if length.isdecimal() else 0,
            mimetype=parse_options_header(content_type)[0].lower(),
            within_s=self._within_s,
        )

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> bytes:
        """Return the next chunk of the body. Raises ClientDisconnected."""
        if self._complete:
            raise StopAsyncIteration
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        self._complete = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk


def not_json() -> Invalid:
    """Return the error for a body that is not declared as JSON."""
    return Invalid([Issue("Content-Type", f"must be {JSON_TYPE}")])


async def read_body(
    chunks: AsyncIterator[bytes], most_bytes: float, *, declared_bytes: int, mimetype: str, within_s: float
) -> bytes:
    """Read a request's body of up to `most_bytes`.

    Raises Invalid if the body is not declared as JSON or does not arrive in time, and ServiceError with the code
    payload_too_large.
    """
    if declared_bytes > most_bytes:
        raise ServiceError("payload_too_large")
    raw = bytearray()
    with trio.move_on_after(within_s) as reading:
        async for data in chunks:
            raw += data
            if len(raw) > most_bytes:
                raise ServiceError("payload_too_large")
    if reading.cancelled_caught:
        raise Invalid([Issue("", "the body did not arrive in time")])
    if raw and mimetype != JSON_TYPE:
        raise not_json()
    return bytes(raw)
