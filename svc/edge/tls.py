"""The certificate authorities that the service trusts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    import ssl


@cache
def trusted() -> ssl.SSLContext:
    """Return a TLS context with certifi's authorities.

    The context is cached, because loading the authorities blocks the event loop for 23 ms.
    """
    return httpx.create_ssl_context(trust_env=False)
