"""/healthz, /readyz, and the API's documentation: the OpenAPI document and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import trio
from quart import Response
from werkzeug.datastructures import Headers, MIMEAccept
from werkzeug.http import parse_accept_header

from svc.api import probes as api
from svc.api import reference
from svc.api.endpoint import JSON_TYPE
from svc.api.openapi import document, to_json, to_yaml
from svc.api.shape import Ok
from svc.errors import StoreUnavailable

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import RequestInfo

_CACHED = {"Cache-Control": "public, max-age=3600"}


@dataclass(frozen=True)
class _Contract:
    """The API's documentation in each format, as the bytes to send."""

    json: bytes
    yaml: bytes
    markdown: bytes


class Probes:
    """The handlers of /healthz, /readyz, the OpenAPI document and the reference."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._base_url = deps.base_url
        self._web = deps.web
        self._made: _Contract | None = None
        endpoints.open(api.ALIVE, self.alive)
        endpoints.open(api.READY, self.ready)
        endpoints.open(api.OPENAPI_JSON, self.openapi_json)
        endpoints.open(api.OPENAPI_YAML, self.openapi_yaml)
        endpoints.open(api.REFERENCE_MD, self.reference_md)
        endpoints.open(api.REFERENCE, self.reference)

    async def alive(self, request: RequestInfo) -> api.Alive:
        """Return 200, which shows that the process is alive, and the client's address."""
        return api.Alive(client=None if request.client is None else str(request.client))

    async def ready(self, _: RequestInfo) -> Ok:
        """Return 200 if the store was available when it was last used.

        Does not query the store. Raises StoreUnavailable.
        """
        problem = self._store.condition.problem
        if problem is not None:
            raise StoreUnavailable(problem)
        return Ok()

    async def openapi_json(self, _: RequestInfo) -> Response:
        """Return the OpenAPI document as JSON."""
        return Response((await self._contract()).json, headers=_CACHED, content_type=JSON_TYPE)

    async def openapi_yaml(self, _: RequestInfo) -> Response:
        """Return the OpenAPI document as YAML."""
        return Response((await self._contract()).yaml, headers=_CACHED, content_type=api.YAML_TYPE)

    async def reference_md(self, _: RequestInfo) -> Response:
        """Return the reference as Markdown."""
        return Response(
            (await self._contract()).markdown, headers=_CACHED, content_type=f"{api.MARKDOWN_TYPE}; charset=utf-8"
        )

    async def reference(self, request: RequestInfo) -> Response:
        """Return the reference as a web page, or as Markdown if the client prefers it or there are no web pages."""
        wanted = parse_accept_header(request.accept, MIMEAccept).best_match(["text/html", api.MARKDOWN_TYPE])
        if self._web is None or wanted == api.MARKDOWN_TYPE:
            response = await self.reference_md(request)
        else:
            status, headers, body = self._web.page(request.headers)
            response = Response(body, status, Headers([(name.decode(), value.decode()) for name, value in headers]))
        response.headers["Vary"] = "Accept, Accept-Encoding"
        return response

    async def _contract(self) -> _Contract:
        """Return the API's documentation.

        The first request renders it in a thread, which takes a few tenths of a second.
        """
        if self._made is None:
            self._made = await trio.to_thread.run_sync(_contract, self._base_url)
        return self._made


@lru_cache(maxsize=8)  # one result per base URL, shared by all applications in a process
def _contract(base_url: str) -> _Contract:
    contract = document(base_url)
    return _Contract(
        to_json(contract),
        to_yaml(contract),
        reference.markdown(contract).encode(),
    )
