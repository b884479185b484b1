"""Tests of requests to the targets of links, over real sockets and TLS: responses, redirects and failures."""

from __future__ import annotations

import datetime as dt
import socket
from contextlib import asynccontextmanager

import pytest
import trio
import trustme

from svc.edge.target_visits import visit_target
from tests.tls_server import PUBLIC, local_visitor, sends, sends_by_url, serving, status

pytestmark = pytest.mark.rule("Y18")

HOSTS = ("shop.example", "www.shop.example", "intranet.example")
URL = "https://shop.example/sale"


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.issue_cert(*HOSTS)


@asynccontextmanager
async def anytime(_):
    yield


async def visit(respond, authority, certificate, url=URL, **more):
    """Return the result of a visit, and the host and path of each request."""
    async with serving(respond, certificate) as server:
        visitor = local_visitor(server, authority, **more)
        result = await visit_target(visitor, url.format(port=server.port), anytime)
    return result, server.urls


@pytest.mark.parametrize(
    ("code", "result"),
    [
        *[(code, "works") for code in (200, 204, 206, 300, 304)],
        (404, "http_404"),
        (410, "http_410"),
        *[(code, "unclear") for code in (400, 401, 403, 405, 406, 418, 429, 451, 500, 503, 521, 999)],
    ],
)
async def test_status(authority, certificate, code, result):
    assert await visit(sends(status(code)), authority, certificate) == (result, ["shop.example/sale"])


async def test_challenge_of_cloudflare_says_nothing(authority, certificate):
    challenge = b"HTTP/1.1 404 No\r\ncf-ray: 1\r\ncf-mitigated: challenge\r\n\r\n"
    assert (await visit(sends(challenge), authority, certificate))[0] == "unclear"


async def test_request_has_no_body_cookie_or_fragment(authority, certificate):
    async with serving(sends(status(200)), certificate) as server:
        visitor = local_visitor(server, authority, user_agent="svc-link-check/1 (bot)")
        await visit_target(visitor, "https://shop.example:443/a%20b/ü?q=ü#part", anytime)
    [request] = server.requests
    assert request.startswith(b"GET /a%20b/%C3%BC?q=%C3%BC HTTP/1.1\r\nHost: shop.example\r\n")
    lines = request.lower().split(b"\r\n")
    assert b"user-agent: svc-link-check/1 (bot)" in lines
    assert not [line for line in lines if line.startswith((b"cookie", b"authorization", b"referer"))]


@pytest.mark.parametrize(
    ("responses", "result", "urls"),
    [
        (
            {"shop.example/sale": status(301, "https://www.shop.example/sale"), "www.shop.example/sale": status(404)},
            "http_404",
            ["shop.example/sale", "www.shop.example/sale"],
        ),
        ({"shop.example/sale": status(302, "/new?a=1#b")}, "works", ["shop.example/sale", "shop.example/new?a=1"]),
        ({"shop.example/sale": status(308, "//www.shop.example")}, "works", ["shop.example/sale", "www.shop.example/"]),
        ({"shop.example/sale": status(303, "mailto:a@example.com")}, "works", ["shop.example/sale"]),
        ({"shop.example/sale": status(302)}, "works", ["shop.example/sale"]),
        ({"shop.example/sale": status(302, "https://[bad/")}, "works", ["shop.example/sale"]),
        ({"shop.example/sale": status(302, "app:open")}, "works", ["shop.example/sale"]),
        ({"shop.example/sale": status(302, "/sale")}, "unclear", ["shop.example/sale"] * 11),
    ],
    ids=["other host", "relative", "no scheme", "mail", "no location", "bad location", "app", "loop"],
)
async def test_redirects(authority, certificate, responses, result, urls):
    assert await visit(sends_by_url(responses), authority, certificate) == (result, urls)


@pytest.mark.parametrize(
    "location",
    [
        "https://intranet.example/admin",
        "http://intranet.example/admin",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/",
        "https://shop.example:22/",
        "http://shop.example:25/",
        "https://%zz/",
        "file:///etc/passwd",
    ],
)
async def test_redirect_to_a_private_address_is_not_followed(authority, certificate, location):
    def lookup(host):
        return ["10.0.0.1" if host == "intranet.example" else PUBLIC]

    responses = {"shop.example/sale": status(302, location)}
    result, urls = await visit(sends_by_url(responses), authority, certificate, lookup=lookup)
    assert (result, urls) == ("works" if location.startswith("file") else "unclear", ["shop.example/sale"])


async def test_redirect_to_plain_http(authority, certificate):
    async with serving(sends(status(404))) as plain:
        responses = {"shop.example/sale": status(302, "http://www.shop.example/sale")}
        result, _ = await visit(sends_by_url(responses), authority, certificate, plain_port=plain.port)
    assert (result, plain.urls) == ("http_404", ["www.shop.example/sale"])


async def test_other_port(authority, certificate):
    result, [url] = await visit(sends(status(410)), authority, certificate, "https://shop.example:{port}/sale")
    assert (result, url.startswith("shop.example:")) == ("http_410", True)


async def test_tls_failures(authority, certificate):
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    expired = authority.issue_cert(*HOSTS, not_before=past, not_after=past.replace(day=2))
    for refused in (expired, authority.issue_cert("other.example"), trustme.CA().issue_cert(*HOSTS)):
        assert await visit(sends(status(200)), authority, refused) == ("tls_failed", [])
    redirect = {"shop.example/sale": status(301, "https://other.example/")}
    assert await visit(sends_by_url(redirect), authority, certificate) == ("tls_failed", ["shop.example/sale"])


async def test_server_without_tls(authority):
    async with serving(sends(status(200))) as server:
        assert await visit_target(local_visitor(server, authority), URL, anytime) == "tls_failed"


async def hangs_up(stream, _):
    await stream.aclose()


async def is_silent(stream, _):
    await stream.receive_some()


async def has_endless_headers(stream, _):
    await stream.send_all(b"HTTP/1.1 404 No\r\n")
    while True:
        await stream.send_all(b"X-More: and more\r\n" * 1_000)


@pytest.mark.parametrize(
    ("respond", "more"),
    [(hangs_up, {}), (is_silent, {"response_s": 0.2}), (has_endless_headers, {}), (sends(b"\x00" * 99), {})],
    ids=["hangs up", "silent", "endless headers", "binary"],
)
async def test_without_a_response_nothing_is_known(authority, certificate, respond, more):
    assert (await visit(respond, authority, certificate, **more))[0] == "unclear"


async def test_body_is_not_read(authority, certificate):
    sent = 0

    async def respond(stream, _):
        nonlocal sent
        await stream.send_all(b"HTTP/1.1 404 No\r\nContent-Length: 999999999\r\n\r\n")
        while True:
            await stream.send_all(b"x" * 65_536)
            sent += 65_536

    assert (await visit(respond, authority, certificate))[0] == "http_404"
    assert sent < 64 * 1024 * 1024


async def test_hosts_that_are_not_reached(authority, certificate):
    def lookup(host):
        if host == "gone.example":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    for url, result in (("https://gone.example/", "unknown_host"), ("https://later.example/", "unclear")):
        assert await visit(sends(status(200)), authority, certificate, url, lookup=lookup) == (result, [])
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert (await visit(sends(status(200)), authority, certificate, URL, at="127.0.0.1"))[0] == "works"
        closed = f"https://shop.example:{port}/"
        assert await visit(sends(status(200)), authority, certificate, closed) == ("unclear", [])


async def test_each_request_of_a_visit_waits_for_its_host(authority, certificate):
    running, hosts = 0, []

    @asynccontextmanager
    async def one_at_a_time(host):
        nonlocal running
        hosts.append(host)
        running += 1
        assert running == 1
        await trio.lowlevel.checkpoint()
        yield
        running -= 1

    responses = {"shop.example/sale": status(301, "https://www.shop.example/")}
    async with serving(sends_by_url(responses), certificate) as server:
        assert await visit_target(local_visitor(server, authority), URL, one_at_a_time) == "works"
    assert hosts == ["shop.example", "www.shop.example"]
