"""Requests that are served in front of the framework, which costs each of them half a millisecond of CPU.

That is half of a push, and every worker sends one an hour. What is served here has the same bounds, deadlines, headers
and shapes of refusal as everything else: `app.py` makes the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from werkzeug.http import parse_options_header

from svc.api.endpoint import JSON_TYPE
from svc.errors import Invalid, Issue, ServiceError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.api.shape import Answer

    Handler = Callable[["Incoming"], Awaitable[Answer]]


class HungUp(Exception):
    """The client has gone before its request was whole: nobody waits for an answer."""


class Incoming:
    """One request as ASGI has it. Its body may have `most_bytes`, and take `within_s` to come."""

    def __init__(self, scope: Any, receive: Callable[[], Awaitable[Any]], *, most_bytes: int, within_s: float) -> None:
        self._headers = scope["headers"]
        self._receive = receive
        self._most_bytes = most_bytes
        self._within_s = within_s
        self._whole = False  # nothing more of the body comes

    def header(self, name: bytes) -> str | None:
        """The first header of this name (in small letters); None: there is none."""
        return next((value.decode("latin-1") for key, value in self._headers if key.lower() == name), None)

    async def body(self) -> bytes:
        """The body. Raises as `read_body` does; HungUp."""
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
        """The next piece of the body."""
        if self._whole:
            raise StopAsyncIteration
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        self._whole = not message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        return piece


def not_json() -> Invalid:
    """The refusal of a body that is not declared as JSON."""
    return Invalid([Issue("Content-Type", f"must be {JSON_TYPE}")])


async def read_body(
    pieces: AsyncIterator[bytes], most_bytes: float, *, declared_bytes: int, mimetype: str, within_s: float
) -> bytes:
    """A request's body; not read beyond `most_bytes`.

    Raises Invalid when it is not declared as JSON or does not come in time; ServiceError payload_too_large.
    """
    if declared_bytes > most_bytes:
        raise ServiceError("payload_too_large")
    raw = bytearray()
    with trio.move_on_after(within_s) as reading:
        async for data in pieces:
            raw += data
            if len(raw) > most_bytes:
                raise ServiceError("payload_too_large")
    if reading.cancelled_caught:
        raise Invalid([Issue("", "the body did not arrive in time")])
    if raw and mimetype != JSON_TYPE:
        raise not_json()
    return bytes(raw)
