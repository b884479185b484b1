"""Sends a test view to a site, as a browser would. All other requests in this package go to Cloudflare's API."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from svc.edge.tls import trusted

_BROWSER = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
_TIMEOUT_S = 15.0


async def send_view(host: str, path: str, *, through: str = "") -> int | None:
    """Send a view of the page `/` to the site's counter at `path`.

    Return the response status, or None if there was no response.

    `through`: the scheme, address and port of an emulated Cloudflare, which finds the site by the Host header; "" sends
    the request to `host` directly.
    """
    headers = {"User-Agent": _BROWSER, "Content-Type": "text/plain;charset=UTF-8"}
    if through:
        headers["Host"] = host
    base_url = through or f"https://{host}"
    if not urlsplit(base_url).hostname:
        return None
    async with httpx.AsyncClient(
        timeout=_TIMEOUT_S, verify=trusted(), trust_env=False, follow_redirects=False
    ) as client:
        try:
            response = await client.post(f"{base_url}{path}", content="/\n", headers=headers)
        except httpx.HTTPError:
            return None
    return response.status_code
