"""The framework's routes for the endpoints of the API."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from quart.routing import QuartMap, QuartRule
from werkzeug.routing import BaseConverter

from svc.api.contract import ENDPOINTS
from svc.api.endpoint import TAG_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.api.endpoint import Endpoint


def name_of(endpoint: Endpoint[Any, Any]) -> str:
    """Return the endpoint's name in the framework, "METHOD /path".

    The metrics and the log contain the path from this name.
    """
    return f"{endpoint.method} {endpoint.path}"


@cache
def routes() -> QuartMap:
    """Return the routes of all endpoints. The result is cached, because creating it takes 6 ms.

    OPTIONS has no route and is therefore rejected with 405, like any other method without a route.
    """
    # With its default options, the framework would redirect paths with extra slashes, and send an HTML page.
    rules = QuartMap(strict_slashes=True, merge_slashes=False, converters={"id": _Id, "tag": _Tag})
    for endpoint in ENDPOINTS:
        kind = "tag" if TAG_PARAMETER in endpoint.id_names else "id"
        path = endpoint.path.replace("{", f"<{kind}:").replace("}", ">")
        rules.add(_Route(path, methods=[endpoint.method], endpoint=name_of(endpoint)))
    return rules


class _Route(QuartRule):
    """A route that matches requests, but cannot build URLs, which the service never does.

    For each route, the framework would generate and compile two functions that build URLs. This would account for most
    of the time that it takes to create a route.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., NoReturn]:  # noqa: ARG002  # the framework's signature
        return _build_no_url


def _build_no_url(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError("routes cannot build URLs")


def _fixed_segments() -> set[str]:
    """Return the fixed segments that can occur in place of an id, such as `bulk` in /v1/links/bulk."""
    places = {endpoint.path.partition("{")[0] for endpoint in ENDPOINTS if "{" in endpoint.path}
    behind = [endpoint.path.removeprefix(place) for place in places for endpoint in ENDPOINTS if place in endpoint.path]
    return {rest.partition("/")[0] for rest in behind if not rest.startswith("{")}


class _Id(BaseConverter):
    """The URL converter for ids in paths.

    Fixed segments such as `bulk` do not match, so that routes with an id do not apply to them.
    """

    regex = rf"(?!(?:{'|'.join(sorted(_fixed_segments()))})\Z)[^/]+"


class _Tag(BaseConverter):
    """The URL converter for tags in paths. A tag can be any segment: no path has a fixed segment in its place."""
