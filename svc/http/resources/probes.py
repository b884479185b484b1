"""Whether the service lives, whether it can work, and what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import trio
from quart import Response, request
from werkzeug.datastructures import Headers

from svc.api import probes as api
from svc.api import reference
from svc.api.endpoint import JSON_TYPE
from svc.api.openapi import document, to_json, to_yaml
from svc.api.shape import Ok
from svc.errors import StoreUnavailable

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.serve import Serve

_CACHED = {"Cache-Control": "public, max-age=3600"}


@dataclass(frozen=True)
class _Contract:
    """The contract in its forms, each as it is sent."""

    json: bytes
    yaml: bytes
    markdown: bytes


class Probes:
    """The handlers of /healthz, /readyz, the OpenAPI document and the reference."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.context.store
        self._base_url = deps.base_url
        self._web = deps.web
        self._made: _Contract | None = None
        serve.open(api.ALIVE, self.alive)
        serve.open(api.READY, self.ready)
        serve.open(api.OPENAPI_JSON, self.openapi_json)
        serve.open(api.OPENAPI_YAML, self.openapi_yaml)
        serve.open(api.REFERENCE_MD, self.reference_md)
        serve.open(api.REFERENCE, self.reference)

    async def alive(self) -> Ok:
        """The process answers."""
        return Ok()

    async def ready(self) -> Ok:
        """The store can be read and written, as far as is known: asking costs nothing. Raises StoreUnavailable."""
        trouble = self._store.condition.trouble
        if trouble is not None:
            raise StoreUnavailable(trouble)
        return Ok()

    async def openapi_json(self) -> Response:
        """The contract in JSON."""
        return Response((await self._contract()).json, headers=_CACHED, content_type=JSON_TYPE)

    async def openapi_yaml(self) -> Response:
        """The contract in YAML."""
        return Response((await self._contract()).yaml, headers=_CACHED, content_type=api.YAML_TYPE)

    async def reference_md(self) -> Response:
        """The reference as Markdown."""
        return Response(
            (await self._contract()).markdown, headers=_CACHED, content_type=f"{api.MARKDOWN_TYPE}; charset=utf-8"
        )

    async def reference(self) -> Response:
        """The web application's page of it; Markdown for who would rather have that, and where there are no pages."""
        wanted = request.accept_mimetypes.best_match(["text/html", api.MARKDOWN_TYPE])
        if self._web is None or wanted == api.MARKDOWN_TYPE:
            response = await self.reference_md()
        else:
            scope: Any = request.scope
            status, headers, body = self._web.page(scope["headers"])
            response = Response(body, status, Headers([(name.decode(), value.decode()) for name, value in headers]))
        response.headers["Vary"] = "Accept, Accept-Encoding"
        return response

    async def _contract(self) -> _Contract:
        """Made when it is first asked for, in a thread: it takes some tenths of a second."""
        if self._made is None:
            self._made = await trio.to_thread.run_sync(_contract, self._base_url)
        return self._made


@lru_cache(maxsize=8)  # the same for all applications of a process that are reached there
def _contract(base_url: str) -> _Contract:
    contract = document(base_url)
    return _Contract(
        to_json(contract),
        to_yaml(contract),
        reference.markdown(contract).encode(),
    )
