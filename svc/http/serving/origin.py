"""Detects cross-origin requests from browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers serialize it."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def is_cross_origin(fetch_site: Sequence[str], origin: Sequence[str], own_origin: str) -> bool:
    """Return True if a page of another origin sent the request, according to Sec-Fetch-Site or, if absent, Origin.

    A sibling subdomain is another origin. `fetch_site`, `origin`: all values of these headers. A request with neither
    header is not cross-origin. It comes from an API client, or from the service's own pages in a browser released
    before 2020.
    """
    if fetch_site:
        return any(value.strip() not in ("same-origin", "none") for value in fetch_site)
    return any(value.strip() != own_origin for value in origin)
