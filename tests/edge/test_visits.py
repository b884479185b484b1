"""Tests of requests to link hosts over real sockets: what a response reveals about the host, and the reasons for a
missing response.
"""

from __future__ import annotations

import datetime as dt
import socket
from functools import partial

import pytest
import trustme

from svc.edge.visits import USER_AGENT, Answer, NoAnswer, Visitor
from tests.tls_server import LONG, Server, sends, serving, trusting

HOST = "go.example.com"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Security-Policy: default-src 'none'\r\ncf-ray: 1-AMS\r\n\r\n"


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def visitor(server, authority, **more):
    return Visitor(port=server.port, tls=trusting(authority), **{**LONG, **more})


async def visit(respond, authority, *, certificate=None, address="127.0.0.1", **more):
    """Return the result of one request to a TLS server for `HOST`, and the requests that the server received."""
    certificate = certificate or authority.issue_cert(HOST)
    async with serving(respond, certificate, address) as server:
        answer = await visitor(server, authority, **more).get_from([address], HOST, "/code")
    return answer, server.requests


async def test_response_of_the_worker(authority):
    answer, [request] = await visit(sends(NOT_FOUND), authority)
    assert answer == Answer(404, "", "default-src 'none'", through_cloudflare=True, is_challenge=False)
    head, *lines = request.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
    assert head == "GET /code HTTP/1.1"
    assert (headers["host"], headers["user-agent"]) == (HOST, USER_AGENT)
    assert not headers.keys() & {"cookie", "authorization", "referer"}


async def test_redirect_is_not_followed_and_cookies_are_not_kept(authority):
    redirect = b"HTTP/1.1 301 Moved\r\nLocation: https://go.example.com/next\r\nSet-Cookie: a=b\r\ncf-ray: 1\r\n\r\n"
    async with serving(sends(redirect), authority.issue_cert(HOST)) as server:
        client = visitor(server, authority)
        answers = [await client.get_from(["127.0.0.1"], HOST, "/code") for _ in range(2)]
    assert answers == [Answer(301, "https://go.example.com/next", "", through_cloudflare=True, is_challenge=False)] * 2
    assert len(server.requests) == 2
    assert b"cookie" not in b"".join(server.requests).lower()


@pytest.mark.parametrize("location", ["mailto:a@example.com", "app:open", "https://[bad/", "https://a\x00b/"])
async def test_redirect_to_something_else_is_a_response(authority, location):
    redirect = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n".encode()
    if "\x00" in location:
        assert (await visit(sends(redirect), authority))[0] == NoAnswer("not_http")
    else:
        assert (await visit(sends(redirect), authority))[0].location == location


async def test_challenge_and_response_of_another_server(authority):
    challenge, _ = await visit(sends(b"HTTP/1.1 403 No\r\ncf-ray: 1\r\ncf-mitigated: challenge\r\n\r\n"), authority)
    assert challenge == Answer(403, "", "", through_cloudflare=True, is_challenge=True)
    other, _ = await visit(sends(b"HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\nhello"), authority)
    assert other == Answer(200, "", "", through_cloudflare=False, is_challenge=False)


async def test_endless_body_is_not_read(authority):
    sent = 0

    async def respond(stream, _):
        nonlocal sent
        await stream.send_all(NOT_FOUND)
        while True:
            await stream.send_all(b"x" * 65_536)
            sent += 65_536

    answer, _ = await visit(respond, authority)
    assert isinstance(answer, Answer)
    assert sent < 64 * 1024 * 1024


async def endless_headers(stream, _):
    await stream.send_all(b"HTTP/1.1 200 OK\r\n")
    while True:
        await stream.send_all(b"X-More: and more\r\n" * 1_000)


async def silence(stream, _):
    await stream.receive_some()


async def stalled(stream, _):
    await stream.send_all(b"HTTP/1.1 200")
    await stream.receive_some()


@pytest.mark.parametrize(
    ("respond", "more"),
    [
        (sends(b"SSH-2.0-OpenSSH_9.9\r\n"), {}),
        (sends(b"\x00\x01\x02\xff" * 1_000), {}),
        (sends(b""), {}),
        (sends(b"HTTP/1.1 200 OK\r\nX: "), {}),
        (endless_headers, {}),
        (silence, {"response_s": 0.2}),
        (stalled, {"longest_s": 0.5}),
    ],
    ids=["ssh", "binary", "nothing", "half", "endless", "silent", "stalled"],
)
async def test_no_http_response(authority, respond, more):
    certificate = authority.issue_cert(HOST)
    async with serving(respond, certificate) as server:
        client = visitor(server, authority, emulated_edge=f"https://127.0.0.1:{server.port}", **more)
        answer = await client.get(HOST, "/code")
    assert answer == NoAnswer("not_http")


def certificates(authority):
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    return {
        "expired": (partial(authority.issue_cert, HOST, not_before=past, not_after=past.replace(day=2)), "expired"),
        "other name": (partial(authority.issue_cert, "www.example.com"), "Hostname mismatch"),
        "address": (partial(authority.issue_cert, "127.0.0.1"), "Hostname mismatch"),
        "unknown authority": (partial(trustme.CA().issue_cert, HOST), "unable to get local issuer"),
    }


@pytest.mark.parametrize("kind", ["expired", "other name", "address", "unknown authority"])
async def test_invalid_certificate(authority, kind):
    issue, said = certificates(authority)[kind]
    answer, requests = await visit(sends(NOT_FOUND), authority, certificate=issue())
    assert (answer.reason, said in answer.said) == ("certificate", True), answer
    assert requests == []


async def test_server_without_tls_has_no_valid_certificate(authority):
    async with serving(sends(NOT_FOUND)) as server:
        answer = await visitor(server, authority).get_from(["127.0.0.1"], HOST, "/code")
    assert (answer.reason, "TLS handshake failed" in answer.said) == ("certificate", True), answer


async def test_refused_connection_and_the_next_address(authority):
    addresses = ["127.0.0.1", "127.0.0.2"]
    with socket.socket() as unused:
        # No other program can listen at this address and port, so the first connection is refused.
        unused.bind((addresses[0], 0))
        port = unused.getsockname()[1]
        answer = await visitor(Server(addresses[0], port), authority).get_from(addresses, HOST, "/code")
        assert answer == NoAnswer("not_connected")
        async with serving(sends(NOT_FOUND), authority.issue_cert(HOST), addresses[1], port) as server:
            answer = await visitor(server, authority).get_from(addresses, HOST, "/code")
    assert isinstance(answer, Answer)


async def test_host_with_ipv6_only(authority):
    answer, [_] = await visit(sends(NOT_FOUND), authority, address="::1")
    assert isinstance(answer, Answer)


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "64:ff9b::7f00:1"])
async def test_private_address_is_not_requested(authority, address):
    async with serving(sends(NOT_FOUND), authority.issue_cert(HOST)) as server:
        client = visitor(server, authority, lookup=lambda _: ["1.1.1.1", address])
        assert await client.get(HOST, "/code") == NoAnswer("not_public", address)
    assert server.requests == []


class Recorder(Visitor):
    """A Visitor that returns the addresses and does not connect to them."""

    async def get_from(self, addresses, host, path, **_):
        return NoAnswer("not_connected", " ".join(addresses))


async def test_connection_uses_the_checked_addresses_of_the_only_lookup():
    results = iter([["1.1.1.1"], ["127.0.0.1"]])
    assert await Recorder(lookup=lambda _: next(results)).get(HOST, "/code") == NoAnswer("not_connected", "1.1.1.1")
    assert next(results) == ["127.0.0.1"]


async def test_failed_lookups():
    def unknown(_: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    def failing(_: str) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    assert await Visitor(lookup=unknown).get(HOST, "/code") == NoAnswer("not_resolved")
    assert await Visitor(lookup=failing).get(HOST, "/code") == NoAnswer("unchecked", "try again")
