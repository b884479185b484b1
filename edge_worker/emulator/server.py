"""The emulator's HTTP servers.

One port serves the API, the control interface, and queries from the emulated edge. Another port serves the pages of the
customers' origin servers.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import trio
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState
from hypercorn.utils import wrap_app
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from edge_worker.emulator import control, customers
from edge_worker.emulator.api import analytics, databases, routes, script_settings, scripts, tokens, zones
from edge_worker.emulator.api.access import refused, token_id_of
from edge_worker.emulator.api.wire import ApiError, envelope, no_route
from edge_worker.emulator.faults import API_KINDS, Fault
from edge_worker.emulator.firewall import block_page, resembles_attack

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from quart import Response

    from edge_worker.emulator.platform import Platform

API = "/client/v4"
MAX_BODY_BYTES = 100 * 1024 * 1024
Pages = dict[tuple[str, str], tuple[int, str, bytes]]  # (host, path) → status, content type, body


def make_app(platform: Platform, pages: Pages, changed: Callable[[], None]) -> FaultInjector:
    """Create the API's application. `changed` is called after each call that may have changed the world."""
    app = QuartTrio("emulator")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY_BYTES
    app.extensions["platform"] = platform
    app.extensions["pages"] = pages
    for area in (tokens, zones, routes, databases, scripts, script_settings, analytics):
        app.register_blueprint(area.routes, url_prefix=API)
    app.register_blueprint(control.routes)
    app.register_blueprint(customers.routes)
    app.register_blueprint(control.edge_side)

    @app.errorhandler(ApiError)
    async def api_error(error: ApiError) -> Response:
        return error.response()

    @app.errorhandler(HTTPException)
    async def unknown(error: HTTPException) -> Response:
        if error.code in (404, 405):
            return no_route().response()
        text = {"code": 10000, "message": error.description or "bad request"}
        return envelope(None, errors=[text], status=error.code or 500)

    return FaultInjector(app, platform, changed)


# The connection of the current request. Each connection has its own context, which its requests' tasks inherit.
CONNECTION: ContextVar[trio.SocketStream] = ContextVar("connection")


async def _whole_body(receive: Callable[[], Awaitable[Any]]) -> tuple[Callable[[], Awaitable[Any]], bytes]:
    """Wait for the whole body. Return a `receive` that replays it but reports no disconnect, and the body.

    The body is read first because hypercorn 0.18 leaves a connection hanging if the response is sent before the body
    has arrived. This happens if the API rejects a call because of its headers. Disconnects are not reported because the
    framework would then cancel the handler. The platform completes a call even if the client has disconnected, so that
    no change remains incomplete.
    """
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        messages.append(await receive())
    waiting = iter(messages)
    body = b"".join(message.get("body", b"") for message in messages)

    async def replay() -> Any:
        message = next(waiting, None)
        if message is None:
            await trio.sleep_forever()  # until the handler ends
        return message

    return replay, body


class FaultInjector:
    """ASGI middleware in front of the API. It logs calls, delays responses and injects faults."""

    def __init__(self, app: Any, platform: Platform, changed: Callable[[], None]) -> None:
        self._app, self._platform, self._changed = app, platform, changed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        receive, sent = await _whole_body(receive)
        if scope["path"].startswith(f"{API}/"):
            await self._api_call(scope, sent, receive, send)
        else:
            await self._app(scope, receive, send)
        if scope["method"] != "GET" and not scope["path"].startswith("/_emulator"):
            self._changed()

    async def _api_call(self, scope: Any, sent: bytes, receive: Any, send: Any) -> None:
        platform = self._platform
        path = scope["path"].removeprefix(API)
        query = scope["query_string"].decode()
        token_id = token_id_of(platform.world, dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))
        note = {"method": scope["method"], "path": path, "query": query, "token_id": token_id}
        note |= {"status": None, "fault": None, "at": platform.now()}
        platform.log_request(note)
        if platform.slow_one_in and platform.dice.randrange(platform.slow_one_in) == 0:
            await trio.sleep(platform.slow_ms / 1000)
        fault = platform.faults.match(API_KINDS, scope["method"], path, scope["path"])
        fault = fault or self._throttled(token_id) or self._stray_refusal(path)
        note["fault"] = fault.kind if fault else None

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                note["status"] = message["status"]
            if fault is None or fault.kind != "drop_after":
                await send(message)

        if fault is not None and fault.kind == "fail_after":
            await self._app(scope, receive, _discard)
        if fault is not None and fault.kind not in ("slow", "hold", "drop_after"):
            await self._fail(fault, watched)
            return
        if fault is not None and fault.kind == "slow":
            await trio.sleep(fault.delay_s)
        if fault is not None and fault.kind == "hold":
            await platform.faults.cleared.wait()
        if platform.firewall and resembles_attack(sent, platform.firewall_also):
            await _block(watched)
            return
        await self._app(scope, receive, watched)
        if fault is not None and fault.kind == "drop_after":
            await CONNECTION.get().aclose()

    def _throttled(self, token_id: str | None) -> Fault | None:
        """Return the fault for a call with a token that exceeds the rate limit; None for other calls."""
        blocked_s = 0 if token_id is None else self._platform.blocked_s(token_id)
        return Fault(kind="throttle", delay_s=blocked_s) if blocked_s else None

    def _stray_refusal(self, path: str) -> Fault | None:
        """Occasionally return a fault that rejects a call despite its valid token, as the platform does."""
        one_in = self._platform.refuse_one_in
        if not one_in or self._platform.dice.randrange(one_in):
            return None
        error = refused(path)
        return Fault(kind="refuse", status=error.status, code=error.code, message=error.message)

    async def _fail(self, fault: Fault, send: Callable[[Any], Awaitable[None]]) -> None:
        """Carry out the fault instead of calling the API."""
        if fault.kind == "drop_before":
            await CONNECTION.get().aclose()
            return
        headers = [(b"content-type", b"application/json")]
        if fault.kind == "html":
            status, body = fault.status or 502, fault.body or "<html><body><h1>502 Bad Gateway</h1></body></html>"
            headers = [(b"content-type", b"text/html; charset=UTF-8")]
        else:
            status = fault.status or {"throttle": 429, "fail_after": 500}.get(fault.kind, 403)
            code = fault.code if fault.code is not None else (971 if fault.kind == "throttle" else 10000)
            default = (
                "Please wait and consider throttling your request speed" if status == 429 else "Authentication error"
            )
            error = {"code": code, "message": fault.message or default}
            body = json.dumps({"success": False, "errors": [error], "messages": [], "result": None})
            if fault.kind == "throttle":
                headers.append((b"retry-after", str(max(1, round(fault.delay_s))).encode()))
        data = body.encode()
        headers.append((b"content-length", str(len(data)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


async def _discard(message: Any) -> None:
    """Discard the API's own response."""
    del message


async def _block(send: Callable[[Any], Awaitable[None]]) -> None:
    """Respond with the page of the platform's firewall."""
    ray, page = block_page()
    headers = [
        (b"content-type", b"text/html; charset=UTF-8"),
        (b"content-length", str(len(page)).encode()),
        (b"cf-ray", f"{ray}-FRA".encode()),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": page})


class Origin:
    """The customers' origin servers. They return the pages that control has registered, and otherwise a plain 404."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Respond to one request."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                break
        host = dict(scope["headers"]).get(b"host", b"").decode().split(":")[0].lower()
        missing = (404, "text/html; charset=utf-8", f"<h1>404</h1><p>origin of {host}</p>".encode())
        status, content_type, body = self._pages.get((host, scope["path"]), missing)
        headers = [
            (b"content-type", content_type.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-origin", b"emulator"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def serve_on(listener: socket.socket, app: Any) -> None:
    """Serve an ASGI application on a listening socket until canceled.

    To drop a response, the application needs the connection, which hypercorn's own `serve` does not pass on. This
    function therefore accepts connections itself, and passes each to hypercorn's TCPServer (0.18; the version is
    pinned).
    """
    config = Config()
    config.keep_alive_timeout = 30
    config.h11_max_incomplete_size = 64 * 1024
    wrapped = wrap_app(app, config.wsgi_max_body_size, "asgi")
    context = WorkerContext(None)

    async def connection(stream: trio.SocketStream) -> None:
        CONNECTION.set(stream)
        await TCPServer(wrapped, config, context, ConnectionState(LifespanState()), stream).run()  # type: ignore[arg-type]

    await trio.serve_listeners(connection, [trio.SocketListener(trio.socket.from_stdlib_socket(listener))])
