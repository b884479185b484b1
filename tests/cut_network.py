"""A TCP proxy that a test can interrupt. No bytes pass during an interruption, but connections stay open."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Network:
    """A TCP proxy that forwards bytes in both directions unless it is interrupted."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._to_server = _Gate()
        self._to_program = _Gate()
        self._open: set[trio.CancelScope] = set()

    def cut(self) -> None:
        """Stop forwarding. New connections are accepted but get no response."""
        self._to_server.close()
        self.cut_answers()

    def cut_answers(self) -> None:
        """Stop forwarding bytes from the server. Bytes from the client still pass."""
        self._to_program.close()

    def restore(self, *, forget: bool = False) -> None:
        """Forward everything again, including the bytes that were held. If `forget` is set, first drop all open
        connections.
        """
        if forget:
            for each in self._open:
                each.cancel()
        self._to_server.open()
        self._to_program.open()

    async def pass_on(self, program: trio.SocketStream) -> None:
        """Forward the bytes of one connection until the connection ends."""
        with trio.CancelScope() as scope:
            self._open.add(scope)
            try:
                async with program, await trio.open_tcp_stream(*self._server) as server, trio.open_nursery() as both:
                    both.start_soon(_pump, program, server, self._to_server, scope)
                    both.start_soon(_pump, server, program, self._to_program, scope)
            finally:
                self._open.discard(scope)


class _Gate:
    def __init__(self) -> None:
        self._opened = trio.Event()
        self._opened.set()

    def close(self) -> None:
        self._opened = trio.Event()

    def open(self) -> None:
        self._opened.set()

    async def passed(self) -> None:
        while not self._opened.is_set():
            await self._opened.wait()


async def _pump(source: trio.SocketStream, target: trio.SocketStream, gate: _Gate, scope: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some(65_536):
            await gate.passed()
            await target.send_all(data)
        await gate.passed()
    except trio.BrokenResourceError:
        pass
    scope.cancel()


@asynccontextmanager
async def open_network(url: str) -> AsyncIterator[tuple[Network, str]]:
    """Start a proxy for the server at `url`. Yield the proxy, and the URL that reaches the server through it."""
    there = urlsplit(url)
    network = Network(there.hostname or "", there.port or 0)
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    here = f"127.0.0.1:{listener.socket.getsockname()[1]}"
    user, _, _ = there.netloc.rpartition("@")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(trio.serve_listeners, network.pass_on, [listener]))
        yield network, there._replace(netloc=f"{user}@{here}").geturl()
        nursery.cancel_scope.cancel()
