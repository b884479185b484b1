"""Whether a page of another site sends a request. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """The origin of an address, as browsers write it."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def is_from_elsewhere(fetch_site: Sequence[str], origin: Sequence[str], own_origin: str) -> bool:
    """Whether a browser says, by Sec-Fetch-Site or else by Origin, that a page of another origin asks.

    A neighbour below the same domain is another. `fetch_site`, `origin`: all values of these headers; none of both
    means that no browser asks, or one from before 2020 with a page of ours.
    """
    if fetch_site:
        return any(value.strip() not in ("same-origin", "none") for value in fetch_site)
    return any(value.strip() != own_origin for value in origin)
