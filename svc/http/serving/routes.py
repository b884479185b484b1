"""The paths of the contract, as the framework tells them apart."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from quart.routing import QuartMap, QuartRule
from werkzeug.routing import BaseConverter

from svc.api.contract import ENDPOINTS

if TYPE_CHECKING:
    from svc.api.endpoint import Endpoint


def name_of(endpoint: Endpoint[Any, Any]) -> str:
    """What the framework calls it, and the metrics and logs by its second part."""
    return f"{endpoint.method} {endpoint.path}"


@cache
def routes() -> QuartMap:
    """One for all applications of a process: it is the same for each, and takes 12 ms to make.

    OPTIONS gets 405 like every method that is not routed.
    """
    # To merge slashes is to redirect with a page of HTML.
    found = QuartMap(strict_slashes=True, merge_slashes=False, converters={"id": _Id})
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{", "<id:").replace("}", ">")
        found.add(QuartRule(path, methods=[endpoint.method], endpoint=name_of(endpoint)))
    return found


def _words() -> set[str]:
    """The words that some paths have where others have an id: `bulk` of /v1/links/bulk."""
    places = {endpoint.path.partition("{")[0] for endpoint in ENDPOINTS if "{" in endpoint.path}
    behind = [endpoint.path.removeprefix(place) for place in places for endpoint in ENDPOINTS if place in endpoint.path]
    return {rest.partition("/")[0] for rest in behind if not rest.startswith("{")}


class _Id(BaseConverter):
    """Where an id stands in a path. A word is none: for its path no method of an object is allowed."""

    regex = rf"(?!(?:{'|'.join(sorted(_words()))})\Z)[^/]+"
