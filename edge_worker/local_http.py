"""An HTTP client for services on this host, for the emulator, tests and the demonstration."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# A TLS context without certificates, because loading certificates for each client would take longer than a test's
# requests.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class OneChunk(httpx.AsyncByteStream):
    """A request body that is sent in one chunk.

    It replaces httpx's async generator, for which Trio logs a warning if the server ends while the body is being sent.
    """

    def __init__(self, content: bytes) -> None:
        self._chunks = [content]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._chunks:
            raise StopAsyncIteration
        return self._chunks.pop()


def local_client(*, timeout: float = 30, **options: Any) -> httpx.AsyncClient:
    """Return a client that ignores proxies and cannot use https.

    `timeout`: seconds. `options`: other arguments of httpx.AsyncClient.
    """
    hooks = {"request": [_send_in_one_chunk]}
    return httpx.AsyncClient(trust_env=False, verify=NO_CERTIFICATES, timeout=timeout, event_hooks=hooks, **options)


async def _send_in_one_chunk(request: httpx.Request) -> None:
    request.stream = OneChunk(await request.aread())
