"""Tests that the service sends requests only to servers with a trusted certificate."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import trio
import trustme

from svc.config import EdgeConfig
from svc.edge import visits, zones
from svc.edge.client import open_edge
from svc.edge.tls import trusted
from svc.errors import EdgeUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NO_CONTENT = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"


@asynccontextmanager
async def open_server(authority: trustme.CA) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Start a server with a certificate from this authority. Yield the server's address and the received requests."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    requests: list[bytes] = []

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        async with stream:
            try:
                requests.append(bytes(await stream.receive_some()))
                await stream.send_all(NO_CONTENT)
            except trio.BrokenResourceError:
                return

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_ssl_over_tcp, serve, 0, context)
        yield f"localhost:{listeners[0].transport_listener.socket.getsockname()[1]}", requests
        nursery.cancel_scope.cancel()


async def test_nothing_is_sent_to_a_server_with_untrusted_certificate():
    async with open_server(trustme.CA()) as (host, requests):
        config = EdgeConfig(api_base_url=f"https://{host}", retries=1)
        async with open_edge(config, first_wait_s=0) as edge:
            with pytest.raises(EdgeUnavailable):
                await zones.account_name(edge.access("a" * 32, "t" * 40))
        assert await visits.send_view(host, "/path") is None
    assert requests == []


async def test_server_with_trusted_certificate_is_accepted(monkeypatch):
    authority, context = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(context)
    monkeypatch.setattr(visits, "trusted", lambda: context)
    async with open_server(authority) as (host, requests):
        assert await visits.send_view(host, "/path") == 204
    assert requests[0].startswith(b"POST /path ")


def test_authorities_are_loaded_once():
    assert trusted() is trusted()
