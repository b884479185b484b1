"""Requests the target of a link, as a visitor's browser would, and follows its redirects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin, urlsplit

import httpx
import trio

from svc.edge.visits import Answer, NoAnswer
from svc.model import TargetProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from urllib.parse import SplitResult

    from svc.edge.visits import Scheme, Visitor


# `works`: the response shows that the target exists. `unclear`: the response does not show whether the target exists.
TargetResult = TargetProblem | Literal["works", "unclear"]

# The number of redirects that are followed. Browsers follow at most 20, but targets rarely need more than three.
_MAX_REDIRECTS = 10
# The time limit for all requests of a visit, in seconds.
_LONGEST_S = 60.0
_REDIRECTS = (301, 302, 303, 307, 308)
_BROKEN: dict[int, TargetProblem] = {404: "http_404", 410: "http_410"}
_FIRST_ERROR = 400
# Ports below this number, except the ports of HTTP, belong to other protocols. The service does not send requests to
# them.
_FIRST_USER_PORT = 1_024
_HTTP_PORTS = (80, 443)
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
# The last label of a host that browsers parse as an IPv4 address (WHATWG URL, "ends in a number").
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


async def visit_target(
    visitor: Visitor, url: str, one_at_a_time: Callable[[str], AbstractAsyncContextManager[None]]
) -> TargetResult:
    """Request the URL, follow its redirects, and return what the last response shows.

    `one_at_a_time`: receives a host, and returns a context manager that waits until no other request to this host is
    running.
    """
    with trio.move_on_after(_LONGEST_S):
        for _ in range(_MAX_REDIRECTS + 1):
            place = _place_of(url)
            if place is None:
                return "unclear"
            scheme, host, port, path = place
            async with one_at_a_time(host):
                answer = await visitor.get(host, path, scheme=scheme, port=port)
            if isinstance(answer, NoAnswer):
                return _result_without_answer(answer)
            following = _redirect_of(url, answer)
            if following is None:
                return _result_of(answer)
            url = following
    return "unclear"


def _place_of(url: str) -> tuple[Scheme, str, int | None, str] | None:
    """Return the scheme, host, port and path of a URL, or None if the URL must not be requested.

    The port is None if the URL contains no port.
    """
    try:
        parts = httpx.URL(url)
        host = parts.raw_host.decode("ascii").lower().removesuffix(".")
    except (httpx.InvalidURL, UnicodeError):
        return None
    is_name = _HOST.fullmatch(host) is not None and _NUMBER.fullmatch(host.rpartition(".")[2]) is None
    if not is_name or not _is_web_port(parts.port):
        return None
    path = parts.raw_path.decode("ascii")
    if parts.scheme == "https":
        return "https", host, parts.port, path
    return ("http", host, parts.port, path) if parts.scheme == "http" else None


def _is_web_port(port: int | None) -> bool:
    return port is None or port in _HTTP_PORTS or port >= _FIRST_USER_PORT


def _redirect_of(url: str, answer: Answer) -> str | None:
    """Return the URL to which a response redirects; None if it does not redirect to a web page."""
    if answer.status not in _REDIRECTS or not answer.location:
        return None
    try:
        following = urljoin(url, answer.location)
        parts: SplitResult = urlsplit(following)
    except ValueError:
        return None
    return following if parts.scheme in ("http", "https") else None


def _result_of(answer: Answer) -> TargetResult:
    if answer.status in _BROKEN and not answer.is_challenge:
        return _BROKEN[answer.status]
    # All other errors (401, 403, 429, 5xx, …) do not show whether the page exists.
    return "works" if answer.status < _FIRST_ERROR else "unclear"


def _result_without_answer(answer: NoAnswer) -> TargetResult:
    match answer.reason:
        case "certificate":
            return "tls_failed"
        case "not_resolved":
            return "unknown_host"
        case "not_public" | "not_connected" | "not_http" | "unchecked":
            return "unclear"
