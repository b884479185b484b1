"""Tests with slow, misbehaving and disconnecting clients, using a real server and real sockets."""

from __future__ import annotations

import json
import os
import struct
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
import pytest
import trio

from edge_worker.harness.service import eventually
from svc.http.serving.server import serve
from svc.store import sites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.http.conftest import World

SLOW_S = 1.0


@asynccontextmanager
async def served(
    world: World,
    connections: int = 100,
    buffer_bytes: int | None = None,
    done: trio.Event | None = None,
    app: Any = None,
) -> AsyncIterator[int]:
    """Serve an application until `done` is set or the block ends. Yield the port.

    `buffer_bytes`: the size of the socket's send buffer. `app`: the application; None means the world's application.
    """
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    if buffer_bytes is not None:
        listeners[0].socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_SNDBUF, buffer_bytes)
    done = trio.Event() if done is None else done
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            partial(serve, app or world.app, listeners, connections=connections, graceful_s=3, until=done.wait)
        )
        yield listeners[0].socket.getsockname()[1]
        done.set()


@pytest.fixture
async def port(world):
    world.app.config["BODY_TIMEOUT"] = SLOW_S
    world.app.asgi_app._within_s = SLOW_S
    async with served(world) as number:
        yield number


def head(method: str, path: str, **headers: object) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


async def response_of(
    stream: trio.SocketStream, method: str = "GET", rest: bytearray | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Read one response and return its status, headers and body. Raises trio.TooSlowError after 10 s.

    If requests are pipelined, `rest` contains the bytes received after the previous response. The function replaces
    them with the bytes received after this response.
    """
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    reader.send(h11.EndOfMessage())
    status, headers, body = 0, {}, b""
    if rest:
        reader.receive_data(bytes(rest))
    with trio.fail_after(10):
        while True:
            event = reader.next_event()
            if event is h11.NEED_DATA:
                reader.receive_data(await stream.receive_some())
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                if rest is not None:
                    rest[:] = reader.trailing_data[0]
                return status, headers, body


async def closed_by_server(stream: trio.SocketStream) -> bool:
    """Return True if the server closes the connection without sending more data."""
    with trio.move_on_after(5):
        try:
            return await stream.receive_some() == b""
        except trio.BrokenResourceError:
            return True
    return False


@pytest.mark.rule("C8")
async def test_key_revoked_before_the_body_arrives_writes_nothing(world):
    user, session, account = await world.ready()
    key = await world.key(user)
    raw = json.dumps({"account_id": account.id, "url": "https://example.org/"}).encode()
    sent = head("POST", "/v1/links", **key, Content_Type="application/json", Content_Length=len(raw))

    async def used_key() -> dict[str, str] | None:
        [shown] = (await world.call("GET", "/v1/keys", headers=session)).body["keys"]
        return shown if shown["last_used"] else None

    async with served(world) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(sent + raw[:-1])
        shown = await eventually(used_key, every_s=0.01)
        await world.call("DELETE", f"/v1/keys/{shown['id']}", headers=session)
        await stream.send_all(raw[-1:])
        status, _, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (401, "unauthorized")
    assert (await world.call("GET", "/v1/links", headers=session)).body["links"] == []


@pytest.mark.rule("G8")
async def test_body_that_never_ends_gets_a_response_and_the_connection_is_closed(world, port):
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(
            head("POST", "/auth/sign-in", Content_Type="application/json", Content_Length=1000) + b'{"email"'
        )
        status, headers, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_request")
        assert headers["connection"] == "close"
        assert await closed_by_server(stream)


@pytest.mark.rule("C13")
async def test_too_large_body_gets_its_response_although_the_client_keeps_sending(world, port):
    session = await world.session(await world.user())
    half = b"x" * 1_000_000
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(
            head("POST", "/v1/keys", Content_Type="application/json", Content_Length=2 * len(half), **session) + half
        )
        status, headers, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (413, "payload_too_large")
        assert headers["connection"] == "close"
        await stream.send_all(half)
        assert await closed_by_server(stream)


@pytest.mark.rule("C13")
async def test_too_large_chunked_body_is_refused(world, port):
    session = await world.session(await world.user())
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(
            head("POST", "/v1/keys", Content_Type="application/json", Transfer_Encoding="chunked", **session)
        )
        await stream.send_all(b"30d40\r\n" + b"x" * 200_000 + b"\r\n0\r\n\r\n")
        status, _, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (413, "payload_too_large")


async def test_error_before_the_body_was_read_closes_the_connection(world, port):
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(head("POST", "/v1/keys", Content_Type="application/json", Content_Length=10))
        status, headers, _ = await response_of(stream)
        assert (status, headers["connection"]) == (401, "close")
        assert await closed_by_server(stream)


async def test_connection_stays_open_if_the_body_was_read(world, port):
    body = b'{"email": "a@example.com"}'
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        for _ in range(3):
            await stream.send_all(
                head("POST", "/auth/password-reset", Content_Type="application/json", Content_Length=len(body)) + body
            )
            status, headers, _ = await response_of(stream)
            assert status == 202
            assert "connection" not in headers
        await stream.send_all(head("GET", "/healthz"))
        assert (await response_of(stream))[0] == 200


@pytest.mark.rule("G8")
@pytest.mark.parametrize("target", ["/v1//sites", "/v1/sites%00", "/%ff%fe", "/v1/sites/?a", "http://a/b"])
async def test_unusual_path_is_not_found_without_a_redirect(world, port, target):
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(head("GET", target))
        status, _, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "something/else"])
async def test_upgrade_header_is_ignored(world, port, protocol):
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}
        upgrade = {"Upgrade": protocol, "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABk", **key}
        for _ in range(2):
            await stream.send_all(head("GET", "/healthz", **upgrade))
            assert (await response_of(stream))[0] == 200


@pytest.mark.rule("G3")
async def test_client_that_disconnects_gets_its_response_on_repeat(world, port):
    user = await world.user()
    account = await world.account(user)
    headers = {**await world.session(user), "Idempotency-Key": "one"}
    arrived, release = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    world.supervisor.before = hold
    path = f"/v1/accounts/{account.id}/link-host"
    body = b'{"host": "go.example.com"}'
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(
            head("PUT", path, Content_Type="application/json", Content_Length=len(body), **headers) + body
        )
        await arrived.wait()
    release.set()
    response = await world.call("PUT", path, json.loads(body), headers=headers)
    assert response.status == 202
    assert (await world.call("PUT", path, json.loads(body), headers=headers)).headers["Idempotent-Replayed"] == "true"
    shown = await world.call("GET", f"/v1/accounts/{account.id}", headers=headers)
    assert shown.body["account"]["link_host"]["host"] == "go.example.com"


async def test_read_is_cancelled_if_the_client_resets_its_connection(world, port):
    user = await world.user()
    account = await world.account(user)
    arrived, ended = trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    world.supervisor.before = hold
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(head("GET", f"/v1/accounts/{account.id}/zones", **await world.session(user)))
        await arrived.wait()
        stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))
    with trio.fail_after(5):
        await ended.wait()
    assert await world.store.read(sites.count_sites(user.id)) == 0


async def test_stopping_service_responds_to_received_requests_and_closes_the_connections(world):
    _, session, account = await world.ready()
    arrived, release, done = trio.Event(), trio.Event(), trio.Event()

    async def hold() -> None:
        arrived.set()
        await release.wait()

    async def refuses() -> bool | None:
        try:
            await (await trio.open_tcp_stream("127.0.0.1", number)).aclose()
        except OSError:
            return True
        return None

    world.supervisor.before = hold
    whole = head("GET", "/healthz")
    async with served(world, done=done) as number, AsyncExitStack() as streams:
        kept, silent, fresh, half, held = [
            await streams.enter_async_context(await trio.open_tcp_stream("127.0.0.1", number)) for _ in range(5)
        ]
        for stream in (kept, silent):
            await stream.send_all(whole)
            assert "connection" not in (await response_of(stream))[1]
        await half.send_all(whole[:20])
        await held.send_all(head("GET", f"/v1/accounts/{account.id}/zones", **session))
        await arrived.wait()
        # When the server begins to stop, it has not read these bytes from the sockets yet.
        for stream, rest in ((kept, whole), (fresh, whole), (half, whole[20:])):
            os.write(stream.socket.fileno(), rest)
        done.set()
        for stream in (kept, fresh, half):
            assert (await response_of(stream))[0] == 200
        await eventually(refuses, every_s=0.01)
        release.set()
        status, headers, _ = await response_of(held)
        assert (status, headers["connection"]) == (200, "close")
        for stream in (held, kept, fresh, half, silent):
            assert await closed_by_server(stream)
