"""A TLS server on the loopback interface that takes the place of users' public hosts, and a visitor that connects to
it.
"""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

from svc.edge.visits import Visitor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    import trustme

    # Called with the connection and the first bytes of the request.
    Respond = Callable[[Any, bytes], Awaitable[None]]

# Time limits that are sufficient on a busy machine.
LONG = {"connect_s": 30.0, "response_s": 30.0, "longest_s": 60.0}
# The address to which the hosts of `LocalVisitor` resolve.
PUBLIC = "1.1.1.1"


@dataclass
class Server:
    """A server on the loopback interface. `requests`: the first bytes of each connection."""

    address: str
    port: int
    requests: list[bytes] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """The host and path of each request."""
        return [host_of(request) + path_of(request) for request in self.requests]


@asynccontextmanager
async def serving(
    respond: Respond, certificate: trustme.LeafCert | None = None, address: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Server]:
    """Call `respond(stream, request)` for each connection with a request. With a certificate, use TLS.

    `port`: 0 for any free port.
    """
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(port, host=address)
        server = Server(address, listener.socket.getsockname()[1])

        async def accept(stream: Any) -> None:
            async with stream:
                try:
                    if context is not None:
                        stream = trio.SSLStream(stream, context, server_side=True, https_compatible=True)
                    request = bytes(await stream.receive_some(65_536))
                    if request:  # without data, the client has only ended the handshake
                        server.requests.append(request)
                        await respond(stream, request)
                except trio.BrokenResourceError:
                    pass  # the client has closed the connection

        nursery.start_soon(trio.serve_listeners, accept, [listener])
        yield server
        nursery.cancel_scope.cancel()


def sends(data: bytes) -> Respond:
    """Return a function that sends these bytes and closes the connection."""

    async def respond(stream: Any, request: bytes) -> None:
        await stream.send_all(data)

    return respond


def sends_by_url(responses: Mapping[str, bytes]) -> Respond:
    """Return a function that sends the response for the request's host and path, or an empty page if there is none."""

    async def respond(stream: Any, request: bytes) -> None:
        await stream.send_all(responses.get(host_of(request) + path_of(request), status(200)))

    return respond


def status(code: int, location: str = "") -> bytes:
    """Return a response without a body."""
    head = f"HTTP/1.1 {code} Some\r\nContent-Length: 0\r\n"
    return (head + (f"Location: {location}\r\n" if location else "") + "\r\n").encode()


def path_of(request: bytes) -> str:
    """Return the path of a request."""
    return request.split(b" ")[1].decode()


def host_of(request: bytes) -> str:
    """Return the Host header of a request."""
    return next(line[6:] for line in request.decode().split("\r\n") if line.startswith("Host: "))


def trusting(authority: trustme.CA) -> Callable[[], ssl.SSLContext]:
    """Return a function that creates TLS contexts which trust this authority, in addition to those of the system."""

    def context() -> ssl.SSLContext:
        made = ssl.create_default_context()
        authority.configure_trust(made)
        return made

    return context


@dataclass(frozen=True)
class LocalVisitor(Visitor):
    """A visitor for which all hosts have a public address, but that connects to the loopback interface instead.

    `at`: the address that the server listens on.
    """

    at: str = "127.0.0.1"

    async def get_from(self, addresses: Any, host: str, path: str, **more: Any) -> Any:
        """Send the request to the server."""
        assert addresses == [PUBLIC]
        return await super().get_from([self.at], host, path, **more)


def local_visitor(server: Server, authority: trustme.CA, **more: Any) -> LocalVisitor:
    """Return a visitor that sends all requests to `server`."""
    fields: dict[str, Any] = {"lookup": lambda _: [PUBLIC], **LONG, **more}
    return LocalVisitor(port=server.port, tls=trusting(authority), **fields)
