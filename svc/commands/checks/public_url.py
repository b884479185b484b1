"""Check of everything in front of the service: DNS, the TLS certificate, and the proxy's headers."""

from __future__ import annotations

import ipaddress
import json
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import trio

from svc.addresses import is_example_name
from svc.clock import iso, system_clock
from svc.commands.checks.finding import Finding
from svc.config import public_url_problem
from svc.edge.tls import trusted
from svc.edge.visits import cause_of
from svc.security.ip_networks import network_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.config import HttpConfig

_PART = "public URL"
_TIMEOUT_S = 10
# A renewal is late if less than this fraction of a certificate's lifetime remains. Most programs renew a certificate
# when a third of its lifetime remains.
_RENEWED_LATE = 0.2
_TLS = "docs/operate/tls.md"


async def check_public_url(http: HttpConfig, tls: ssl.SSLContext | None = None) -> Finding:
    """Request /healthz through the public URL, as clients do.

    `tls`: used instead of the usual certificate authorities.
    """
    url = urlsplit(http.base_url)
    host = url.hostname or ""
    if is_example_name(host):
        return Finding(_PART, "ok", f"not checked, because {host} is reserved for examples")
    if public_url_problem(http.base_url) is not None:
        return Finding(_PART, "ok", "not checked, because [http] base_url is not a public https:// URL")
    try:
        with trio.fail_after(2 * _TIMEOUT_S):
            await trio.socket.getaddrinfo(host, url.port or 443)
            return await _ask(http, host, tls or trusted())
    except OSError as error:  # raised by the DNS lookup; httpx raises its own errors
        text = f"the name {host} is not in DNS ({error.strerror or error}); create a DNS record for it"
        return Finding(_PART, "FAIL", text)
    except trio.TooSlowError:
        return Finding(_PART, "warn", f"{host} did not respond within {2 * _TIMEOUT_S} s")


async def _ask(http: HttpConfig, host: str, tls: ssl.SSLContext) -> Finding:
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_S, verify=tls, trust_env=False) as client:
            response = await client.get(f"{http.base_url.rstrip('/')}/healthz")
            certificate = response.extensions["network_stream"].get_extra_info("ssl_object").getpeercert()
    except httpx.HTTPError as error:
        return _no_response(host, error)
    late = renewed_late(certificate, system_clock())
    if late is not None:
        return Finding(_PART, "warn", f"the certificate of {host} {late}")
    return response_finding(http, response.status_code, response.content)


def _no_response(host: str, error: httpx.HTTPError) -> Finding:
    rejected = cause_of(error, ssl.SSLCertVerificationError)
    if rejected is not None:
        return Finding(_PART, "FAIL", f"the certificate of {host} is not valid: {rejected.verify_message} ({_TLS})")
    reason = str(error) or type(error).__name__
    text = f"{host} cannot be reached from this machine ({reason}); check the proxy, the firewall and the DNS record"
    return Finding(_PART, "warn", text)


def renewed_late(certificate: Mapping[str, Any], now: int) -> str | None:
    """Return a warning if a certificate should have been renewed before `now` (epoch ms), otherwise None.

    `certificate`: as `ssl.SSLSocket.getpeercert` returns it.
    """
    begins, ends = (ssl.cert_time_to_seconds(certificate[each]) * 1000 for each in ("notBefore", "notAfter"))
    if ends - now > _RENEWED_LATE * (ends - begins):
        return None
    return f"expires at {iso(ends)}; check why it was not renewed automatically"


def response_finding(http: HttpConfig, status: int, body: bytes) -> Finding:
    """Assess the response to /healthz. It contains the address that the service considers to be the client's."""
    if status >= 500:
        text = f"{http.base_url} responds with status {status}"
        text += "; check whether the service is running and the proxy can reach it"
        return Finding(_PART, "warn", text)
    try:
        health = json.loads(body)
    except ValueError:
        health = None
    if status != 200 or not isinstance(health, dict) or health.get("ok") is not True:
        text = (
            f"another program or a sign-in page responds to {http.base_url}/healthz (status {status}); check the proxy"
        )
        return Finding(_PART, "FAIL", text)
    client = health.get("client")
    if not http.trusted_proxies:
        text = f"all clients appear to have the proxy's address {client}; set [http] trusted_proxies"
        return Finding(_PART, "FAIL", f"{text} ({_TLS})")
    if client is None or any(ipaddress.ip_address(client) in network_of(text) for text in http.trusted_proxies):
        text = "the proxy does not pass on the clients' addresses; configure it to set X-Forwarded-For"
        return Finding(_PART, "FAIL", f"{text} ({_TLS})")
    return Finding(_PART, "ok", f"DNS, certificate and proxy work; the service sees this machine's address as {client}")
