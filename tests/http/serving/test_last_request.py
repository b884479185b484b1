"""Data after a client's last request, or a half-closed connection, does not change the response.

The tests use real sockets.
"""

from __future__ import annotations

import json
import struct
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from tests.http.serving.test_sockets import closed_by_server, head, response_of, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.http.conftest import World

CLOSE = {"Connection": "close"}


class Held:
    """The application, but each response is held back until `release` is set."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[str] = []
        self.responses: list[int] = []
        self.held = trio.Event()
        self.release = trio.Event()

    async def wait_until_held(self) -> None:
        """Wait until the first response is held back. Raises trio.TooSlowError after 10 s."""
        with trio.fail_after(10):
            await self.held.wait()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.requests.append(f"{scope['method']} {scope['path']}")

        async def hold(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.responses.append(message["status"])
                self.held.set()
                await self.release.wait()
            await send(message)

        await self._app(scope, receive, hold)


@asynccontextmanager
async def locked_file(world: World) -> AsyncIterator[tuple[Held, trio.SocketStream]]:
    """Connect a client to an application that holds back its responses."""
    app = Held(world.app)
    async with (
        served(world, app=app) as port,
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        yield app, stream


@asynccontextmanager
async def connected(world: World) -> AsyncIterator[trio.SocketStream]:
    """Connect a client to the application."""
    async with served(world) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield stream


async def statuses(stream: trio.SocketStream, *methods: str) -> list[int]:
    """Read the responses to pipelined requests, and return their statuses."""
    rest = bytearray()
    return [(await response_of(stream, method, rest))[0] for method in methods]


class Write:
    """A request that creates an object, and a method that counts the created objects."""

    def __init__(self, world: World, path: str, body: object, session: dict[str, str]) -> None:
        self._world = world
        self._path = path
        self._body = json.dumps(body).encode()
        self._session = session

    def bytes_of(self, *, version: str = "1.1", **headers: str) -> bytes:
        """Return the request's bytes."""
        fields = {"Content_Type": "application/json", "Content_Length": len(self._body), **self._session, **headers}
        return head("POST", self._path, **fields).replace(b"HTTP/1.1", f"HTTP/{version}".encode(), 1) + self._body

    async def created(self) -> int:
        """Return the number of objects that exist."""
        response = await self._world.call("GET", self._path, headers=self._session)
        return len(response.body[self._path.rpartition("/")[2]])


async def write(world: World, path: str) -> Write:
    _, session, account = await world.ready()
    bodies = {
        "/v1/links": {"account_id": account.id, "url": "https://example.org/"},
        "/v1/keys": {"name": "one", "scopes": ["links"]},
    }
    return Write(world, path, bodies[path], session)


@pytest.mark.rule("Y4")
@pytest.mark.parametrize("path", ["/v1/links", "/v1/keys"])
@pytest.mark.parametrize(("version", "headers"), [("1.1", CLOSE), ("1.0", {})], ids=["connection close", "HTTP 1.0"])
@pytest.mark.parametrize("behind", [b"\r\n", b"\x00garbage\r\n\r\n", b"x" * 100_000])
async def test_bytes_after_the_last_request_do_not_replace_its_response(world, path, version, headers, behind):
    made = await write(world, path)
    sent = made.bytes_of(version=version, **headers)
    async with connected(world) as stream:
        await stream.send_all(sent + behind)
        status, shown, _ = await response_of(stream, "POST")
        assert (status, shown["connection"]) == (201, "close")
        assert await closed_by_server(stream)
    assert await made.created() == 1


@pytest.mark.rule("Y4")
@pytest.mark.parametrize("path", ["/v1/links", "/v1/keys"])
@pytest.mark.parametrize(("version", "headers"), [("1.1", CLOSE), ("1.0", {})], ids=["connection close", "HTTP 1.0"])
async def test_bytes_during_the_last_request_do_not_replace_its_response(world, path, version, headers):
    made = await write(world, path)
    async with locked_file(world) as (app, stream):
        await stream.send_all(made.bytes_of(version=version, **headers))
        await app.wait_until_held()
        for late in (b"\r\n", b"garbage"):
            await stream.send_all(late)
            await trio.testing.wait_all_tasks_blocked()
        app.release.set()
        assert (await response_of(stream, "POST"))[0] == 201
        assert await closed_by_server(stream)
    assert (app.requests, app.responses) == ([f"POST {path}"], [201])
    assert await made.created() == 1


async def test_request_after_the_last_one_is_not_executed(world):
    made = await write(world, "/v1/links")
    async with locked_file(world) as (app, stream):
        app.release.set()
        await stream.send_all(made.bytes_of(**CLOSE) + made.bytes_of())
        assert (await response_of(stream, "POST"))[0] == 201
        assert await closed_by_server(stream)
    assert app.requests == ["POST /v1/links"]
    assert await made.created() == 1


@pytest.mark.parametrize("empty", [b"\r\n", b"\n", b"\r\n" * 4])
async def test_empty_lines_before_a_request_are_ignored(world, empty):
    made = await write(world, "/v1/links")
    async with connected(world) as stream:
        for _ in range(2):  # the limit on empty lines applies to each request separately
            await stream.send_all(empty + made.bytes_of() + empty + head("GET", "/healthz"))
            assert await statuses(stream, "POST", "GET") == [201, 200]
    assert await made.created() == 2


async def test_empty_line_sent_byte_by_byte_is_ignored(world):
    async with connected(world) as stream:
        for byte in b"\r\n" + head("GET", "/healthz") + b"\r\n" + head("GET", "/healthz"):
            await stream.send_all(bytes([byte]))
            await trio.testing.wait_all_tasks_blocked()
        assert await statuses(stream, "GET", "GET") == [200, 200]


async def test_empty_line_during_a_request_is_ignored(world):
    async with locked_file(world) as (app, stream):
        await stream.send_all(head("GET", "/healthz"))
        await app.wait_until_held()
        for late in (b"\r", b"\n", head("GET", "/healthz")):
            await stream.send_all(late)
            await trio.testing.wait_all_tasks_blocked()
        app.release.set()
        assert await statuses(stream, "GET", "GET") == [200, 200]


@pytest.mark.rule("G8")
async def test_too_many_empty_lines_are_refused(world):
    async with connected(world) as stream:
        await stream.send_all(b"\r\n" * 5 + head("GET", "/healthz"))
        status, headers, body = await response_of(stream)
        assert (status, headers["connection"]) == (400, "close")
        assert b'"code":"invalid_request"' in body
        assert await closed_by_server(stream)


async def test_empty_lines_do_not_keep_a_slot(world):
    """The server closes a connection that sends only empty lines, to make its slot available."""
    async with served(world, connections=2) as port, AsyncExitStack() as streams:
        first, second, third = [
            await streams.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port)) for _ in range(3)
        ]
        for stream in (second, first):
            await stream.send_all(b"\r\n")
        await third.send_all(head("GET", "/healthz"))
        assert (await response_of(third))[0] == 200
        assert await closed_by_server(first)


@pytest.mark.parametrize("keep", [{}, CLOSE], ids=["kept", "closing"])
@pytest.mark.parametrize("path", ["/v1/links", "/v1/keys"])
async def test_client_that_half_closes_after_a_write_gets_its_response(world, path, keep):
    made = await write(world, path)
    async with locked_file(world) as (app, stream):
        await stream.send_all(made.bytes_of(**keep))
        await stream.send_eof()
        await app.wait_until_held()
        await trio.testing.wait_all_tasks_blocked()
        app.release.set()
        status, headers, _ = await response_of(stream, "POST")
        assert (status, headers["connection"]) == (201, "close")
        assert await closed_by_server(stream)
    assert await made.created() == 1


async def test_client_that_half_closes_after_several_requests_gets_all_responses(world):
    made = await write(world, "/v1/links")
    async with connected(world) as stream:
        await stream.send_all(made.bytes_of() + b"\r\n" + head("GET", "/healthz"))
        await stream.send_eof()
        assert await statuses(stream, "POST", "GET") == [201, 200]
        assert await closed_by_server(stream)


async def test_client_that_half_closes_during_a_response_gets_the_rest(world):
    """The response head was sent without `Connection: close`, but the server closes the connection anyway."""
    sent, release = trio.Event(), trio.Event()

    async def in_two(scope: Any, receive: Any, send: Any) -> None:
        length = (b"content-length", b"2")
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        sent.set()
        await release.wait()
        await send({"type": "http.response.body", "body": b"b", "more_body": False})

    async with served(world, app=in_two) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head("GET", "/"))
        await sent.wait()
        await stream.send_eof()
        await trio.testing.wait_all_tasks_blocked()
        release.set()
        status, headers, body = await response_of(stream)
        assert (status, body) == (200, b"ab")
        assert "connection" not in headers
        assert await closed_by_server(stream)


@pytest.mark.rule("C8")
async def test_client_that_half_closes_during_a_request_ends_it(world):
    made = await write(world, "/v1/links")
    whole = made.bytes_of()
    for sent in (whole[:40], whole[:-1], head("GET", "/healthz")[:-2]):
        async with connected(world) as stream:
            await stream.send_all(sent)
            await stream.send_eof()
            assert await closed_by_server(stream)
    assert await made.created() == 0


async def test_client_that_resets_after_its_half_close_releases_its_slot(world):
    """The server detects the reset when it sends the response. It handles the error and releases the slot."""
    app = Held(world.app)
    async with served(world, connections=1, app=app) as port:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(head("GET", "/healthz"))
        await stream.send_eof()
        await app.wait_until_held()
        await trio.testing.wait_all_tasks_blocked()
        stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        app.release.set()
        async with await trio.open_tcp_stream("127.0.0.1", port) as another:
            await another.send_all(head("GET", "/healthz"))
            assert (await response_of(another))[0] == 200


async def test_stopping_service_responds_to_a_half_closed_client(world):
    done = trio.Event()
    app = Held(world.app)
    async with served(world, done=done, app=app) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(head("GET", "/healthz"))
        await stream.send_eof()
        await app.wait_until_held()
        done.set()
        await trio.testing.wait_all_tasks_blocked()
        app.release.set()
        status, headers, _ = await response_of(stream)
        assert (status, headers["connection"]) == (200, "close")
        assert await closed_by_server(stream)
