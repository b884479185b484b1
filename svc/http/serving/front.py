"""The layer in front of the framework: metrics, the access log, and requests that bypass the framework.

A request bypasses the framework if it is frequent, if it requests a file of the web application, or if the framework
cannot handle its path.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from svc.errors import NotFound, ServiceError
from svc.faults import first_of, kind_of
from svc.http.serving.direct import ClientDisconnected, Incoming
from svc.http.serving.responses import StreamAborted, refusal, stored
from svc.http.serving.web import METHODS
from svc.ids import random_base32
from svc.logs import log_context
from svc.metrics import BODY_BYTES, IN_FLIGHT, OTHER, REQUEST_ERRORS, REQUEST_SECONDS
from svc.metrics import METHODS as KNOWN_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from svc.http.serving.direct import Handler
    from svc.http.serving.web import File, Web
    from svc.metrics import Metrics
    from svc.store.idempotency import StoredResponse

log = logging.getLogger(__name__)

# The key of a request's `RequestRecord` in its ASGI scope.
RECORD_KEY = "svc.record"

DEFAULT_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(slots=True)
class RequestRecord:
    """The measurements of a request, for the metrics and the log.

    `answered`: the HTTP status of the response, or None if no response was started. `route`: the template of the path.
    `status`: the class of the HTTP status, such as "2xx"; "gone" if no response was started; "broken" if the response
    was not completed. `code`: the error code. `received`, `sent`: the sizes of the bodies in bytes.
    """

    request_id: str
    answered: int | None = None
    route: str = OTHER
    status: str = "gone"
    code: str | None = None
    received: int = 0
    sent: int = 0


class Front:
    """The ASGI application for all requests. Most requests are passed on to the framework."""

    def __init__(
        self,
        framework: Callable[[Any, Any, Any], Awaitable[None]],
        directly: Mapping[tuple[str, str], Handler],
        web: Web | None,
        metrics: Metrics,
        *,
        most_bytes: int,
        within_s: float,
        logs: bool,
    ) -> None:
        """`most_bytes` and `within_s` limit the bodies of requests that bypass the framework.

        `logs`: write an access log.
        """
        self._framework = framework
        self._directly = directly
        self._web = web
        self._metrics = metrics
        self._most_bytes = most_bytes
        self._within_s = within_s
        self._logs = logs
        self._in_flight = 0
        metrics.at_scrape(lambda: metrics.set(IN_FLIGHT, self._in_flight))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI request."""
        record = RequestRecord(new_request_id())
        began_at = time.perf_counter()
        self._in_flight += 1
        with log_context(request=record.request_id):
            await self._serve_measured(scope, receive, send, record, began_at)

    async def _serve_measured(
        self, scope: Any, receive: Any, send: Any, record: RequestRecord, began_at: float
    ) -> None:
        try:
            await self._serve(scope, receive, send, record)
        finally:
            self._in_flight -= 1
            took_s = time.perf_counter() - began_at
            self._metrics.observe(REQUEST_SECONDS, took_s, scope["method"], record.route, record.status)
            if record.code is not None:
                self._metrics.count(REQUEST_ERRORS, record.route, record.code)
            if record.received:
                self._metrics.count(BODY_BYTES, record.route, "received", by=record.received)
            if record.sent:
                self._metrics.count(BODY_BYTES, record.route, "sent", by=record.sent)
            if self._logs:
                _log_request(scope["method"], record, took_s)

    async def _serve(self, scope: Any, receive: Any, send: Any, record: RequestRecord) -> None:
        path = path_of(scope["path"], scope["raw_path"])
        begun = False

        async def send_recorded(message: Any) -> None:
            nonlocal begun
            if not begun:
                begun = True
                record.answered = message["status"]
                record.status = f"{record.answered // 100}xx"
            await send(message)
            record.sent += len(message.get("body", b""))

        async def receive_recorded() -> Any:
            message = await receive()
            record.received += len(message.get("body", b""))
            return message

        if path is None:
            await _refuse(send_recorded, NotFound(), record)
            return
        # Like the framework, treat several leading slashes as one.
        route = f"/{path.lstrip('/')}"
        handler = self._directly.get((scope["method"], route))
        if handler is not None:
            request = Incoming(scope, receive_recorded, most_bytes=self._most_bytes, within_s=self._within_s)
            record.route = route
            await _serve_directly(handler, request, send_recorded, record)
            return
        file = self._web.find(path) if self._web is not None else None
        if file is not None:
            record.route = file.route
            await _serve_file(file, scope, send_recorded, record)
            return
        # The framework fails if the Host header is malformed. A fixed header is safe, because the service does not use
        # the features that need it.
        headers = [(name, b"svc" if name == b"host" else value) for name, value in scope["headers"]]
        try:
            await self._framework(
                {**scope, "path": path, "headers": headers, RECORD_KEY: record}, receive_recorded, send_recorded
            )
        except Exception as error:
            # the error was logged before, and the server closes the connection
            if isinstance(first_of(error), StreamAborted):
                record.status = "broken"
                return
            if begun:
                record.status = "broken"
                raise
            log.exception("request failed outside its handler", extra={"kind": kind_of(error)})
            await _refuse(send_recorded, ServiceError("internal", details={"id": record.request_id}), record)


def _log_request(method: str, record: RequestRecord, took_s: float) -> None:
    """Log a request without its client address, path or query, because these may contain personal data."""
    fields = {"method": method if method in KNOWN_METHODS else OTHER, "route": record.route, "status": record.answered}
    if record.status in ("gone", "broken"):
        fields["ended"] = record.status
    if record.code is not None:
        fields["code"] = record.code
    log.info("request", extra={**fields, "ms": round(took_s * 1000, 1)})


async def _serve_directly(handler: Handler, request: Incoming, send: Any, record: RequestRecord) -> None:
    """Call the handler and send its response.

    If the handler raises an error, the response is the same as that of the error handlers in `app`.
    """
    try:
        response = stored(await handler(request), HTTPStatus.OK)
    except ClientDisconnected:
        return
    except ServiceError as error:
        await _refuse(send, error, record)
        return
    except Exception as error:
        log.exception("request failed", extra={"kind": kind_of(error), "route": record.route})
        await _refuse(send, ServiceError("internal", details={"id": record.request_id}), record)
        return
    await _send(send, response, record.request_id)


async def _serve_file(file: File, scope: Any, send: Any, record: RequestRecord) -> None:
    if scope["method"] not in METHODS:
        await _refuse(send, ServiceError("method_not_allowed"), record, {"Allow": ", ".join(METHODS)})
        return
    status, headers, body = file.response(scope["headers"])
    headers = [*headers, (b"x-request-id", record.request_id.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": body, "more_body": False})


def path_of(path: str, raw_path: bytes) -> str | None:
    """Return the decoded path of a request target, or None if no resource can have this path.

    A target can also be an absolute URL (RFC 9112, 3.2.2). Paths with a NUL are rejected, because PostgreSQL cannot
    store NUL.
    """
    if not path.startswith("/"):
        try:
            path = unquote(urlsplit(raw_path.decode("ascii")).path)
        except ValueError:
            return None
    return path if path.startswith("/") and "\x00" not in path else None


def new_request_id() -> str:
    """Return a new request id for the response and the log."""
    return f"req_{random_base32(20)}"


async def _refuse(send: Any, error: ServiceError, record: RequestRecord, more: Mapping[str, str] = {}) -> None:
    record.code = error.code
    await _send(send, refusal(error), record.request_id, {**headers_of(error), **more})


async def _send(send: Any, response: StoredResponse, request_id: str, more: Mapping[str, str] = {}) -> None:
    headers = {
        **DEFAULT_HEADERS,
        **more,
        "X-Request-Id": request_id,
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
    }
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": listed})
    await send({"type": "http.response.body", "body": response.body, "more_body": False})


def headers_of(error: ServiceError) -> dict[str, str]:
    """Return the headers of an error response: Retry-After and WWW-Authenticate."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
