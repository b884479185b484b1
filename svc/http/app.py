"""The application: its routes, and what is answered when something goes wrong."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from svc.errors import Invalid, NotFound, ServiceError
from svc.faults import first_of, kind_of
from svc.http.accounts import Accounts
from svc.http.auth import Auth
from svc.http.bulk import Bulk
from svc.http.credentials import Credentials
from svc.http.direct import HungUp, Incoming
from svc.http.events import Events
from svc.http.explain import Explain
from svc.http.export import Export
from svc.http.idempotency import Idempotency, refusal, stored
from svc.http.keys import Keys
from svc.http.ledger import Ledger
from svc.http.links import Links
from svc.http.me import Me
from svc.http.origin import origin_of
from svc.http.password_check import PasswordCheck
from svc.http.probes import Probes
from svc.http.push import Push
from svc.http.reports import Reports
from svc.http.serve import BrokenOff, Serve, response_of
from svc.http.sessions import Sessions
from svc.http.sites import Sites
from svc.http.totals import Totals
from svc.http.trail import Trail
from svc.ids import random_base32
from svc.metrics import IN_FLIGHT, OTHER, REPLAYED, REQUEST_ERRORS, REQUEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from svc.http.deps import Deps
    from svc.http.direct import Handler
    from svc.metrics import Metrics
    from svc.store.idempotency import StoredAnswer


log = logging.getLogger(__name__)

# From the headers to the body's end; 1 MiB takes a second on a slow line.
_BODY_TIMEOUT_S = 10
_SENDING_TIMEOUT_S = 30
# Where in a request's scope what is seen of it is kept.
_SEEN = "svc.seen"

_DEFAULT_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def create_app(deps: Deps) -> QuartTrio:
    """The whole HTTP face as an ASGI application."""
    app = QuartTrio("svc", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = deps.config.http.max_body_bytes
    app.config["BODY_TIMEOUT"] = _BODY_TIMEOUT_S
    app.config["RESPONSE_TIMEOUT"] = _SENDING_TIMEOUT_S
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # OPTIONS gets 405 like every method that is not routed
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False  # it would redirect with a page of HTML
    trail = Trail(deps.clock, lambda: serve.client())
    passwords = PasswordCheck(deps.store, deps.clock, deps.config.limits.wrong_passwords_per_hour, trail)
    serve = Serve(
        app,
        Credentials(deps.store, deps.config, deps.clock),
        Idempotency(deps.store, deps.clock, deps.config.timing.idempotency_s),
        passwords,
        origin_of(deps.base_url),
    )
    Auth(deps, serve, passwords, trail)
    Me(deps, serve, passwords)
    Sessions(deps, serve, passwords)
    resources = (
        Probes, Push, Events, Keys, Accounts, Sites, Links, Bulk, Explain, Reports, Totals, Export, Ledger,
    )  # fmt: skip
    for resource in resources:
        resource(deps, serve)
    app.before_request(_begin)
    app.after_request(_finish)
    app.register_error_handler(ServiceError, _refused)
    app.register_error_handler(HTTPException, _refused_by_framework)
    app.register_error_handler(Exception, _failed)
    outermost = Outermost(app.asgi_app, serve.directly, app.config, deps.metrics)
    app.asgi_app = outermost  # type: ignore[method-assign]  # quart's own way to wrap it
    return app


@dataclass(slots=True)
class Seen:
    """What the metrics tell of one request: the template of its route, what came of it, the code of an error."""

    route: str = OTHER
    status: str = "gone"
    code: str | None = None


class Outermost:
    """Around the framework: what is served without it, what it cannot even begin with, and the measure of all."""

    def __init__(
        self,
        framework: Callable[[Any, Any, Any], Awaitable[None]],
        directly: Mapping[tuple[str, str], Handler],
        config: Mapping[str, Any],
        metrics: Metrics,
    ) -> None:
        self._framework = framework
        self._directly = directly
        self._config = config  # the framework's, whose bounds hold for both
        self._metrics = metrics
        self._in_flight = 0
        metrics.at_scrape(lambda: metrics.set(IN_FLIGHT, self._in_flight))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, as ASGI has it."""
        seen = Seen()
        began_at = time.perf_counter()
        self._in_flight += 1
        try:
            await self._serve(scope, receive, send, seen)
        finally:
            self._in_flight -= 1
            took_s = time.perf_counter() - began_at
            self._metrics.observe(REQUEST_SECONDS, took_s, scope["method"], seen.route, seen.status)
            if seen.code is not None:
                self._metrics.count(REQUEST_ERRORS, seen.route, seen.code)

    async def _serve(self, scope: Any, receive: Any, send: Any, seen: Seen) -> None:
        path = path_of(scope["path"], scope["raw_path"])
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            if not begun:
                begun = True
                seen.status = f"{message['status'] // 100}xx"
            await send(message)

        if path is None:
            await _refuse(noted, NotFound(), _new_request_id(), seen)
            return
        # However many slashes a path begins with, the framework takes them for one.
        route = f"/{path.lstrip('/')}"
        handler = self._directly.get((scope["method"], route))
        if handler is not None:
            most_bytes, within_s = self._config["MAX_CONTENT_LENGTH"], self._config["BODY_TIMEOUT"]
            request = Incoming(scope, receive, most_bytes=most_bytes, within_s=within_s)
            seen.route = route
            await _serve_directly(handler, request, noted, seen)
            return
        # The framework reads the host for routes and redirects that we do not have, and fails on one that is no name.
        headers = [(name, b"svc" if name == b"host" else value) for name, value in scope["headers"]]
        try:
            await self._framework({**scope, "path": path, "headers": headers, _SEEN: seen}, receive, noted)
        except Exception as error:
            if isinstance(first_of(error), BrokenOff):  # logged already; the server breaks the connection off
                seen.status = "broken"
                return
            if begun:
                seen.status = "broken"
                raise
            request_id = _new_request_id()
            log.exception(
                "request failed outside of its handler", extra={"request": request_id, "kind": kind_of(error)}
            )
            await _refuse(noted, ServiceError("internal", details={"id": request_id}), request_id, seen)


async def _serve_directly(handler: Handler, request: Incoming, send: Any, seen: Seen) -> None:
    """As the framework would, with its handlers of errors below."""
    request_id = _new_request_id()
    try:
        answer = stored(await handler(request), HTTPStatus.OK)
    except HungUp:
        return
    except ServiceError as error:
        await _refuse(send, error, request_id, seen)
        return
    except Exception as error:
        log.exception("request failed", extra={"request": request_id, "kind": kind_of(error), "route": seen.route})
        await _refuse(send, ServiceError("internal", details={"id": request_id}), request_id, seen)
        return
    await _send(send, answer, request_id)


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


def _new_request_id() -> str:
    return f"req_{random_base32(20)}"


async def _refuse(send: Any, error: ServiceError, request_id: str, seen: Seen) -> None:
    seen.code = error.code
    await _send(send, refusal(error), request_id, _headers_of(error))


async def _send(send: Any, answer: StoredAnswer, request_id: str, more: Mapping[str, str] = {}) -> None:
    headers = {
        **_DEFAULT_HEADERS,
        **more,
        "X-Request-Id": request_id,
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.body)),
    }
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": listed})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


async def _begin() -> None:
    g.request_id = _new_request_id()
    g.headers = {}
    if request.url_rule is not None:
        _seen().route = request.url_rule.endpoint.partition(" ")[2]


def _seen() -> Seen:
    """What is seen of the request that is served."""
    scope: Any = request.scope
    found: Seen = scope[_SEEN]
    return found


async def _finish(response: Response) -> Response:
    """What every answer carries, also a refusal."""
    response.headers["X-Request-Id"] = g.request_id
    for name, value in {**_DEFAULT_HEADERS, **g.headers}.items():
        response.headers.setdefault(name, value)
    seen = _seen()
    if response.status_code >= HTTPStatus.BAD_REQUEST and seen.code is None:
        seen.code = REPLAYED
    return response


async def _refused(error: ServiceError) -> Response:
    _seen().code = error.code
    response = response_of(refusal(error))
    response.headers.update(_headers_of(error))
    return response


def _headers_of(error: ServiceError) -> dict[str, str]:
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers


async def _refused_by_framework(error: HTTPException) -> Response:
    """An unknown path, a wrong method, a body too large, in the same shape as every refusal."""
    match error.code:
        case 404:
            refused: ServiceError = NotFound()
        case 405:
            refused = ServiceError("method_not_allowed")
        case 413:
            refused = ServiceError("payload_too_large")
        case _:
            refused = Invalid([("", error.name)])
    response = await _refused(refused)
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


async def _failed(error: Exception) -> Response:
    """A bug: the log has the traceback under the id that the client gets."""
    log.error(
        "request failed",
        exc_info=error,
        extra={"request": g.request_id, "method": request.method, "route": str(request.url_rule)},
    )
    return await _refused(ServiceError("internal", details={"id": g.request_id}))
