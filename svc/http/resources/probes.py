"""/healthz, /readyz, and the API's documentation: the OpenAPI document and the reference."""

from __future__ import annotations

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
    from collections.abc import Callable

    from svc.api.openapi import Json
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import RequestInfo

_CACHED = {"Cache-Control": "public, max-age=3600"}


class Probes:
    """The handlers of /healthz, /readyz, the OpenAPI document and the reference."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._base_url = deps.base_url
        self._web = deps.web
        self._rendered: dict[Callable[[Json], bytes], bytes] = {}
        endpoints.open(api.ALIVE, self.alive)
        endpoints.open(api.READY, self.ready)
        endpoints.open(api.OPENAPI_JSON, self.openapi_json)
        endpoints.open(api.OPENAPI_YAML, self.openapi_yaml)
        endpoints.open(api.REFERENCE_MD, self.reference_md)
        endpoints.open(api.REFERENCE, self.reference)

    async def alive(self, request: RequestInfo) -> api.Alive:
        """Return 200, which shows that the process is alive. The body contains the client's address."""
        return api.Alive(client=None if request.client is None else str(request.client))

    async def ready(self, _: RequestInfo) -> Ok:
        """Return 200 if the store was available when it was last used.

        Otherwise, raises StoreUnavailable. Does not query the store.
        """
        problem = self._store.condition.problem
        if problem is not None:
            raise StoreUnavailable(problem)
        return Ok()

    async def openapi_json(self, _: RequestInfo) -> Response:
        """Return the OpenAPI document as JSON."""
        return Response(await self._contract(to_json), headers=_CACHED, content_type=JSON_TYPE)

    async def openapi_yaml(self, _: RequestInfo) -> Response:
        """Return the OpenAPI document as YAML."""
        return Response(await self._contract(to_yaml), headers=_CACHED, content_type=api.YAML_TYPE)

    async def reference_md(self, _: RequestInfo) -> Response:
        """Return the API reference as Markdown."""
        markdown = await self._contract(reference.to_markdown)
        return Response(markdown, headers=_CACHED, content_type=f"{api.MARKDOWN_TYPE}; charset=utf-8")

    async def reference(self, request: RequestInfo) -> Response:
        """Return the API reference as a web page, or as Markdown if the client prefers that or there are no pages."""
        wanted = parse_accept_header(request.accept, MIMEAccept).best_match(["text/html", api.MARKDOWN_TYPE])
        if self._web is None or wanted == api.MARKDOWN_TYPE:
            response = await self.reference_md(request)
        else:
            status, headers, body = self._web.page(request.headers)
            response = Response(body, status, Headers([(name.decode(), value.decode()) for name, value in headers]))
        response.headers["Vary"] = "Accept, Accept-Encoding"
        return response

    async def _contract(self, render: Callable[[Json], bytes]) -> bytes:
        """Return the API's documentation in one format.

        The first request for a format renders it in a thread, which takes up to half a second of CPU time.
        """
        if render not in self._rendered:
            self._rendered[render] = await trio.to_thread.run_sync(_rendered, render, self._base_url)
        return self._rendered[render]


# All applications in a process share these results.
_document = lru_cache(maxsize=8)(document)


@lru_cache(maxsize=24)
def _rendered(render: Callable[[Json], bytes], base_url: str) -> bytes:
    return render(_document(base_url))
