"""Whom the service trusts when it calls somebody over TLS."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    import ssl


@cache
def trusted() -> ssl.SSLContext:
    """The certificate authorities of certifi; to read them takes 23 ms of the loop, so it is done once in a process."""
    return httpx.create_ssl_context(trust_env=False)
