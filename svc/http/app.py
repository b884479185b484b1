"""The application: its routes, and what is answered when something goes wrong."""

from __future__ import annotations

import logging
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
from svc.http.explain import Explain
from svc.http.export import Export
from svc.http.idempotency import Idempotency, refusal
from svc.http.keys import Keys
from svc.http.ledger import Ledger
from svc.http.links import Links
from svc.http.me import Me
from svc.http.probes import Probes
from svc.http.push import Push
from svc.http.reports import Reports
from svc.http.serve import BrokenOff, Serve, response_of
from svc.http.sites import Sites
from svc.http.totals import Totals
from svc.ids import random_base32

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.http.deps import Deps


log = logging.getLogger(__name__)

# From the headers to the body's end; 1 MiB takes a second on a slow line.
_BODY_TIMEOUT_S = 10
_SENDING_TIMEOUT_S = 30

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
    serve = Serve(
        app,
        Credentials(deps.store, deps.config, deps.clock),
        Idempotency(deps.store, deps.clock, deps.config.timing.idempotency_s),
    )
    resources = (
        Probes, Auth, Push, Me, Keys, Accounts, Sites, Links, Bulk, Explain, Reports, Totals, Export, Ledger,
    )  # fmt: skip
    for resource in resources:
        resource(deps, serve)
    app.before_request(_begin)
    app.after_request(_finish)
    app.register_error_handler(ServiceError, _refused)
    app.register_error_handler(HTTPException, _refused_by_framework)
    app.register_error_handler(Exception, _failed)
    app.asgi_app = Outermost(app.asgi_app)  # type: ignore[method-assign]  # quart's own way to wrap it
    return app


class Outermost:
    """Around the framework: what it cannot even begin with has the error shape, too."""

    def __init__(self, framework: Callable[[Any, Any, Any], Awaitable[None]]) -> None:
        self._framework = framework

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, as ASGI has it."""
        path = path_of(scope["path"], scope["raw_path"])
        if path is None:
            await _send(send, NotFound(), _new_request_id())
            return
        # The framework reads the host for routes and redirects that we do not have, and fails on one that is no name.
        headers = [(name, b"svc" if name == b"host" else value) for name, value in scope["headers"]]
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._framework({**scope, "path": path, "headers": headers}, receive, noted)
        except Exception as error:
            if isinstance(first_of(error), BrokenOff):  # logged already; the server breaks the connection off
                return
            if begun:
                raise
            request_id = _new_request_id()
            log.exception(
                "request failed outside of its handler", extra={"request": request_id, "kind": kind_of(error)}
            )
            await _send(send, ServiceError("internal", details={"id": request_id}), request_id)


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


async def _send(send: Any, error: ServiceError, request_id: str) -> None:
    answer = refusal(error)
    headers = {
        **_DEFAULT_HEADERS,
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


async def _finish(response: Response) -> Response:
    """What every answer carries, also a refusal."""
    response.headers["X-Request-Id"] = g.request_id
    for name, value in {**_DEFAULT_HEADERS, **g.headers}.items():
        response.headers.setdefault(name, value)
    return response


async def _refused(error: ServiceError) -> Response:
    response = response_of(refusal(error))
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    if error.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


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
