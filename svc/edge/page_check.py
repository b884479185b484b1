"""Searches a site's home page for the site's snippet."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from svc.edge.visits import PAGE_USER_AGENT, Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.edge.visits import Visitor
    from svc.model import SnippetOnPage

_BODY_BYTES = 2_000_000
_OK = 200
_REDIRECTS = range(300, 400)
# The number of redirects that are followed. Many home pages redirect, for example to the page in the visitor's
# language.
_MAX_REDIRECTS = 3


async def find_snippet(visitor: Visitor, host: str, paths: Sequence[str]) -> SnippetOnPage:
    """Request https://`host`/ and return whether the page contains one of the site's paths.

    The request follows a few redirects on the same host. `unread` means that there is no complete page: the host did
    not respond, or it responded with an error, a challenge, a redirect to another host or a very large page.
    """
    reader = replace(visitor, user_agent=PAGE_USER_AGENT, body_bytes=_BODY_BYTES)
    path = "/"
    for _ in range(_MAX_REDIRECTS + 1):
        answer = await reader.get(host, path)
        if not isinstance(answer, Answer) or answer.is_challenge:
            return "unread"
        if answer.status not in _REDIRECTS:
            return _read(answer, paths)
        target = _path_on(host, urljoin(f"https://{host}{path}", answer.location))
        if target is None:
            return "unread"
        path = target
    return "unread"


def _read(answer: Answer, paths: Sequence[str]) -> SnippetOnPage:
    if answer.status != _OK:
        return "unread"
    # The page may contain the path with escaped slashes, either as HTML or in a JavaScript string.
    text = html.unescape(answer.body.decode(errors="replace")).replace("\\/", "/")
    if any(path in text for path in paths):
        return "present"
    return "absent" if answer.is_whole else "unread"


def _path_on(host: str, url: str) -> str | None:
    """Return the path and query of a URL; None if it is not an https URL on this host."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.hostname != host or parts.port not in (None, 443):
            return None
    except ValueError:
        return None
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return path if path.isascii() and path.isprintable() and " " not in path else None
