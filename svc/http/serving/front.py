"""In front of the framework: what is served without it, what it cannot even begin with, and the measure of all."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from svc.errors import NotFound, ServiceError
from svc.faults import first_of, kind_of
from svc.http.serving.answers import BrokenOff, refusal, stored
from svc.http.serving.direct import HungUp, Incoming
from svc.http.serving.web import METHODS
from svc.ids import random_base32
from svc.logs import lines_about
from svc.metrics import BODY_BYTES, IN_FLIGHT, OTHER, REQUEST_ERRORS, REQUEST_SECONDS
from svc.metrics import METHODS as KNOWN_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from svc.http.serving.direct import Handler
    from svc.http.serving.web import File, Web
    from svc.metrics import Metrics
    from svc.store.idempotency import StoredAnswer

log = logging.getLogger(__name__)

# Where in a request's scope what is seen of it is kept.
SEEN = "svc.seen"

DEFAULT_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(slots=True)
class Seen:
    """What the metrics and the log tell of one request: its id, the template of its route, the status of its answer
    (None: none was begun), what came of it, the code of an error, the bytes of its bodies."""

    request_id: str
    answered: int | None = None
    route: str = OTHER
    status: str = "gone"
    code: str | None = None
    received: int = 0
    sent: int = 0


class Front:
    """Serves every request, most of them by the framework that is behind it."""

    def __init__(
        self,
        framework: Callable[[Any, Any, Any], Awaitable[None]],
        directly: Mapping[tuple[str, str], Handler],
        web: Web | None,
        config: Mapping[str, Any],
        metrics: Metrics,
        *,
        logs: bool,
    ) -> None:
        self._framework = framework
        self._directly = directly
        self._web = web
        self._config = config  # the framework's, whose bounds hold for both
        self._metrics = metrics
        self._logs = logs  # a line for each request
        self._in_flight = 0
        metrics.at_scrape(lambda: metrics.set(IN_FLIGHT, self._in_flight))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, as ASGI has it."""
        seen = Seen(new_request_id())
        began_at = time.perf_counter()
        self._in_flight += 1
        with lines_about(request=seen.request_id):
            await self._measured(scope, receive, send, seen, began_at)

    async def _measured(self, scope: Any, receive: Any, send: Any, seen: Seen, began_at: float) -> None:
        try:
            await self._serve(scope, receive, send, seen)
        finally:
            self._in_flight -= 1
            took_s = time.perf_counter() - began_at
            self._metrics.observe(REQUEST_SECONDS, took_s, scope["method"], seen.route, seen.status)
            if seen.code is not None:
                self._metrics.count(REQUEST_ERRORS, seen.route, seen.code)
            if seen.received:
                self._metrics.count(BODY_BYTES, seen.route, "received", by=seen.received)
            if seen.sent:
                self._metrics.count(BODY_BYTES, seen.route, "sent", by=seen.sent)
            if self._logs:
                _log_request(scope["method"], seen, took_s)

    async def _serve(self, scope: Any, receive: Any, send: Any, seen: Seen) -> None:
        path = path_of(scope["path"], scope["raw_path"])
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            if not begun:
                begun = True
                seen.answered = message["status"]
                seen.status = f"{seen.answered // 100}xx"
            await send(message)
            seen.sent += len(message.get("body", b""))

        async def taken() -> Any:
            message = await receive()
            seen.received += len(message.get("body", b""))
            return message

        if path is None:
            await _refuse(noted, NotFound(), seen)
            return
        # However many slashes a path begins with, the framework takes them for one.
        route = f"/{path.lstrip('/')}"
        handler = self._directly.get((scope["method"], route))
        if handler is not None:
            most_bytes, within_s = self._config["MAX_CONTENT_LENGTH"], self._config["BODY_TIMEOUT"]
            request = Incoming(scope, taken, most_bytes=most_bytes, within_s=within_s)
            seen.route = route
            await _serve_directly(handler, request, noted, seen)
            return
        file = self._web.find(path) if self._web is not None else None
        if file is not None:
            seen.route = file.route
            await _serve_file(file, scope, noted, seen)
            return
        # The framework reads the host for routes and redirects that we do not have, and fails on one that is no name.
        headers = [(name, b"svc" if name == b"host" else value) for name, value in scope["headers"]]
        try:
            await self._framework({**scope, "path": path, "headers": headers, SEEN: seen}, taken, noted)
        except Exception as error:
            if isinstance(first_of(error), BrokenOff):  # logged already; the server breaks the connection off
                seen.status = "broken"
                return
            if begun:
                seen.status = "broken"
                raise
            log.exception("request failed outside of its handler", extra={"kind": kind_of(error)})
            await _refuse(noted, ServiceError("internal", details={"id": seen.request_id}), seen)


def _log_request(method: str, seen: Seen, took_s: float) -> None:
    """A line for a request: no address of its client, no path and no query, which hold what is nobody's business."""
    told = {"method": method if method in KNOWN_METHODS else OTHER, "route": seen.route, "status": seen.answered}
    if seen.status in ("gone", "broken"):
        told["ended"] = seen.status
    if seen.code is not None:
        told["code"] = seen.code
    log.info("request", extra={**told, "ms": round(took_s * 1000, 1)})


async def _serve_directly(handler: Handler, request: Incoming, send: Any, seen: Seen) -> None:
    """As the framework would, with its handlers of errors below."""
    try:
        answer = stored(await handler(request), HTTPStatus.OK)
    except HungUp:
        return
    except ServiceError as error:
        await _refuse(send, error, seen)
        return
    except Exception as error:
        log.exception("request failed", extra={"kind": kind_of(error), "route": seen.route})
        await _refuse(send, ServiceError("internal", details={"id": seen.request_id}), seen)
        return
    await _send(send, answer, seen.request_id)


async def _serve_file(file: File, scope: Any, send: Any, seen: Seen) -> None:
    if scope["method"] not in METHODS:
        await _refuse(send, ServiceError("method_not_allowed"), seen, {"Allow": ", ".join(METHODS)})
        return
    status, headers, body = file.answer(scope["headers"])
    headers = [*headers, (b"x-request-id", seen.request_id.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": body, "more_body": False})


def path_of(path: str, raw_path: bytes) -> str | None:
    """The path of a request target, decoded; None: it names nothing that can be here.

    A target may also be a whole address (RFC 9112, 3.2.2). No path holds a NUL: PostgreSQL stores none.
    """
    if not path.startswith("/"):
        try:
            path = unquote(urlsplit(raw_path.decode("ascii")).path)
        except ValueError:
            return None
    return path if path.startswith("/") and "\x00" not in path else None


def new_request_id() -> str:
    """An id for a request, by which its client and the log know it."""
    return f"req_{random_base32(20)}"


async def _refuse(send: Any, error: ServiceError, seen: Seen, more: Mapping[str, str] = {}) -> None:
    seen.code = error.code
    await _send(send, refusal(error), seen.request_id, {**headers_of(error), **more})


async def _send(send: Any, answer: StoredAnswer, request_id: str, more: Mapping[str, str] = {}) -> None:
    headers = {
        **DEFAULT_HEADERS,
        **more,
        "X-Request-Id": request_id,
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.body)),
    }
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": listed})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def headers_of(error: ServiceError) -> dict[str, str]:
    """The headers that tell more of a refusal."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
