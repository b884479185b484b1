"""Checks of the URL that Workers push to, and of the address of the metrics."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from svc.commands.checks.finding import Finding

if TYPE_CHECKING:
    from svc.config import Config

_PRIVATE = "bind to a private address"


def check_push_url(config: Config) -> Finding:
    """Check that the configured URL is one that Workers can reach.

    Only a push can prove that the host name resolves to this service.
    """
    push_url = config.push_url(config.http.base_url)
    problem = config.push_url_problem(push_url)
    if problem is not None:
        return Finding("address", "FAIL", problem)
    if config.worker.allow_local_push:
        text = "[worker] allow_local_push is set, so only Workers of an emulated platform on this machine can push"
        return Finding("address", "warn", text)
    text = f"Workers push to {push_url}; bot protection must allow these requests (docs/use/cloudflare.md)"
    return Finding("address", "ok", text)


def check_metrics(config: Config) -> Finding:
    """Check that the metrics are not served on a public address.

    A public address is a failure. Binding to all addresses is only a warning, because it is common in containers,
    where the published port determines who has access.
    """
    bind = config.metrics.bind
    if not bind:
        return Finding("metrics", "ok", "disabled ([metrics] bind is empty)")
    host = bind.rpartition(":")[0].strip("[]")
    url = f"http://{bind}/metrics"
    address = _ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return Finding("metrics", "ok", f"{url}, on this machine only")
    if address is not None and address.is_unspecified:
        text = f"[metrics] bind: {host} means all addresses of this machine or container, and metrics need no password;"
        return Finding("metrics", "warn", f"{text} {_PRIVATE}, or publish the container's port only to the scraper")
    if address is not None and address.is_global:
        text = f"[metrics] bind: {host} is a public address, and metrics need no password; {_PRIVATE}"
        return Finding("metrics", "FAIL", text)
    return Finding("metrics", "ok", f"{url}, without a password; allow access only from the scraper")


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address, including short forms ("0" is 0.0.0.0). Return None for a host name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
