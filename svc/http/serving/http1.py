"""HTTP/1.1 on a connection: h11 with stricter checks, and hypercorn's protocol on top of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from hypercorn.protocol.h11 import H11Protocol
from pydantic_core import to_json

from svc.api.endpoint import JSON_TYPE
from svc.errors import Invalid, Issue
from svc.metrics import MALFORMED

if TYPE_CHECKING:
    from svc.metrics import Metrics

# The maximum number of header fields in a request.
_HEAD_FIELDS = 100
# The number of chunks in a body is limited to this number plus one per 256 bytes, because each chunk takes about 50 µs
# of CPU time, however small it is.
_FREE_CHUNKS = 64
_BYTES_A_CHUNK = 256
# The number of empty lines that are ignored before a request line. RFC 9112 (2.2) recommends at least one, because some
# old clients send an empty line after each body.
_EMPTY_LINES = 4


class Http1(h11.Connection):
    """An h11 connection with some stricter checks. It hides protocol upgrades from hypercorn.

    Upgrade headers are ignored, which RFC 9110 (7.8) permits. The head of a response waits for the next data, so that
    both are sent in one packet. A few empty lines before a request line are ignored (RFC 9112, 2.2), and so is all
    input after the last request on a connection (RFC 9112, 9.6).
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self._head = b""
        self._chunks = 0
        self._body_bytes = 0
        self._empty_lines = 0  # number of empty lines since the last request
        self.wants_body = True  # False for HEAD
        self.has_length = True  # the response has a Content-Length, so the client can detect a truncated body
        self.ends = False  # True if the next response needs the header `Connection: close`

    def next_event(self) -> Any:
        """Return h11's next event after additional checks.

        Raises h11.RemoteProtocolError. Its `error_status_hint` is the HTTP status of the response.
        """
        if self.their_state is h11.MUST_CLOSE:
            self._receive_buffer.maybe_extract_at_most(len(self._receive_buffer))
            return h11.NEED_DATA
        if self.their_state in (h11.IDLE, h11.DONE) and not self._skip_empty_lines():
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._body_bytes = self._empty_lines = 0
            self.wants_body = event.method != b"HEAD"
            return _without_upgrade(event)
        if isinstance(event, h11.Data):
            self._chunks += 1
            self._body_bytes += len(event.data)
            if self._chunks > _FREE_CHUNKS + self._body_bytes // _BYTES_A_CHUNK:
                self._process_error(self.their_role)  # h11 does the same for its own errors
                raise h11.RemoteProtocolError("the body has too many small chunks")
        return event

    def _skip_empty_lines(self) -> bool:
        """Drop empty lines before a request line. Return False if the data ends in the middle of a CRLF."""
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
        """Return the bytes to send for an event. The head of a response waits for the next event."""
        if not isinstance(event, h11.Response):
            data = super().send(event)
            if isinstance(event, (h11.Data, h11.EndOfMessage)):
                data, self._head = self._head + data, b""
            return data
        ends = self.ends or self.awaits_body
        if ends and not any(name == b"connection" for name, _ in event.headers):
            event = h11.Response(
                status_code=event.status_code, headers=[*event.headers.raw_items(), (b"connection", b"close")]
            )
        self._head = super().send(event)
        self.has_length = any(name == b"content-length" for name, _ in event.headers)
        return b""

    @property
    def awaits_body(self) -> bool:
        """True if the head of a request was received, but not its complete body."""
        return self.their_state is h11.SEND_BODY

    @property
    def has_complete_request(self) -> bool:
        """True if a request was received completely and its response has not been sent completely."""
        return self.their_state in (h11.DONE, h11.MUST_CLOSE)

    @property
    def is_half_sent(self) -> bool:
        """True if a part of a response was sent, but not its end."""
        return self.our_state is h11.SEND_BODY and not self._head


def _without_upgrade(request: h11.Request) -> h11.Request:
    """Return the request without its Upgrade header. If the request is not allowed, raises h11.RemoteProtocolError."""
    names = {name for name, _ in request.headers}
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("only HTTP/1.1 is supported", error_status_hint=505)
    if not request.method.isupper():  # methods are case-sensitive, but hypercorn ignores case
        raise h11.RemoteProtocolError("methods must be in upper case", error_status_hint=501)
    if len(request.headers) > _HEAD_FIELDS:
        raise h11.RemoteProtocolError(f"more than {_HEAD_FIELDS} header fields", error_status_hint=431)
    if {b"content-length", b"transfer-encoding"} <= names:  # prevents request smuggling
        raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding must not be combined")
    if b"upgrade" not in names:
        return request
    return h11.Request(
        method=request.method,
        target=request.target,
        headers=[(name, value) for name, value in request.headers.raw_items() if name.lower() != b"upgrade"],
        http_version=request.http_version,
    )


class Protocol(H11Protocol):
    """Hypercorn's protocol with our `Http1`. Responses to protocol errors have the API's error format."""

    connection: Http1

    def __init__(self, metrics: Metrics, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection = Http1()
        self._metrics = metrics

    async def _send_error_response(self, status_code: int) -> None:
        self._metrics.count(MALFORMED, str(status_code))
        body = to_json(Invalid([Issue("", _REFUSED.get(status_code, "is not a valid HTTP/1.1 request"))]).body())
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
    431: f"the request head is too long (limit: 16 KiB) or has more than {_HEAD_FIELDS} fields",
    501: "the method is unknown, or the transfer encoding is not chunked",
    505: "only HTTP/1.1 is supported",
}
