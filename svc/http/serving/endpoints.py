"""Registers handlers for the endpoints that svc/api declares.

`gate` checks each request before it calls the handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from svc.api.shape import Body, Query
from svc.http.serving.routes import name_of, routes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from quart import Response
    from quart_trio import QuartTrio

    from svc.api.endpoint import Endpoint
    from svc.api.shape import ResponseBody
    from svc.http.serving.direct import Handler
    from svc.http.serving.gate import Gate
    from svc.http.serving.requests import Form, PublicRead, Read, RequestInfo, Write
    from svc.http.serving.responses import Streamed
    from svc.store.idempotency import StoredResponse

B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)


class Endpoints:
    """Registers a handler for each endpoint."""

    def __init__(self, app: QuartTrio, gate: Gate) -> None:
        app.url_map = routes()
        self._app = app
        self._gate = gate
        self.directly: dict[tuple[str, str], Handler] = {}  # by method and path

    def read(
        self, endpoint: Endpoint[Any, Q], handler: Callable[[Read[Q]], Awaitable[ResponseBody | Response | Streamed]]
    ) -> None:
        """Register the handler of a read request."""

        async def serve(**path: str) -> Response:
            return await self._gate.read(endpoint, handler, path)

        self._add(endpoint, serve)

    def write(
        self,
        endpoint: Endpoint[B, Any],
        handler: Callable[[Write[B]], Awaitable[StoredResponse]],
        complete: Callable[[StoredResponse], StoredResponse] | None = None,
    ) -> None:
        """Register the handler of a write request.

        If the endpoint stores responses, the handler runs only once per Idempotency-Key. `complete`: adds the parts of
        the response that must not be stored.
        """
        model = _model_of(endpoint)

        async def serve(**path: str) -> Response:
            return await self._gate.write(endpoint, model, handler, complete, path)

        self._add(endpoint, serve)

    def form(
        self,
        endpoint: Endpoint[B, Any],
        handler: Callable[[Form[B]], Awaitable[ResponseBody | Response]],
        admit: Callable[[RequestInfo], None] | None = None,
    ) -> None:
        """Register the handler of a form, which needs no credential.

        `admit`: called before the body is read. It can raise an error to reject the request.
        """
        model = _model_of(endpoint)

        async def serve(**path: str) -> Response:
            return await self._gate.form(endpoint, model, handler, admit, path)

        self._add(endpoint, serve)

    def public(
        self, endpoint: Endpoint[Any, Q], handler: Callable[[PublicRead[Q]], Awaitable[ResponseBody | Response]]
    ) -> None:
        """Register the handler of a read request that needs no credential, but has a query or an id in its path."""

        async def serve(**path: str) -> Response:
            return await self._gate.public(endpoint, handler, path)

        self._add(endpoint, serve)

    def open(
        self, endpoint: Endpoint[Any, Any], handler: Callable[[RequestInfo], Awaitable[ResponseBody | Response]]
    ) -> None:
        """Register a handler that needs no credential, or that checks the credential and the body without `gate`."""

        async def serve() -> Response:
            return await self._gate.open(endpoint, handler)

        self._add(endpoint, serve)

    def mail_link(
        self, endpoint: Endpoint[Any, Any], handler: Callable[[RequestInfo, str], Awaitable[Response]]
    ) -> None:
        """Register the handler of a link in an email. The link needs no credential, and has a token in its path.

        The handler gets the token. The body is ignored.
        """

        async def serve(**path: str) -> Response:
            return await self._gate.mail_link(endpoint, handler, path)

        self._add(endpoint, serve)

    def direct(self, endpoint: Endpoint[Any, Any], handler: Handler) -> None:
        """Register the handler of a frequent request that bypasses the framework.

        The handler itself checks the credential and the body.

        The framework has a route for the same path, but only to reject other methods. The path must not contain an id.
        """
        self.directly[endpoint.method, endpoint.path] = handler

    def _add(self, endpoint: Endpoint[Any, Any], serve: Callable[..., Awaitable[Response]]) -> None:
        self._app.view_functions[name_of(endpoint)] = serve


def _model_of(endpoint: Endpoint[B, Any]) -> type[B]:
    """Return the endpoint's body model. Raises ValueError if there is none."""
    if endpoint.body is None:
        raise ValueError(f"{endpoint.path} declares no body; declare `EmptyBody`")
    return endpoint.body
