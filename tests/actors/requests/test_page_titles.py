"""Tests of the titles of web pages: how a title is found, and which hosts are contacted."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
import trio
import trustme
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from svc.actors.requests import page_titles
from svc.actors.requests.page_titles import PageTitles, find_title, title_of
from svc.api.fields import HttpsUrl
from svc.api.link_texts import LinkTitle
from svc.edge.public_addresses import public_addresses
from svc.edge.visits import Answer, Visitor
from tests.tls_server import LONG, PUBLIC, local_visitor, sends, serving, trusting

PATIENT: dict[str, Any] = LONG
PARSE = TypeAdapter(HttpsUrl).validate_python
TITLE: TypeAdapter[str] = TypeAdapter(LinkTitle)


def page(body: bytes | str, content_type: str = "text/html; charset=utf-8", status: int = 200) -> Answer:
    content = body.encode() if isinstance(body, str) else body
    return Answer(status, "", "", False, False, content, content_type=content_type)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        (page("<!doctype html><html><head><title>Sale</title>"), "Sale"),
        (page("<TITLE lang=en\n>\n  Autumn \t sale\n&amp; &#233; 50&nbsp;%</TITLE >"), "Autumn sale & é 50 %"),
        (page("<title>a < b <b>c</b></title>"), "a < b <b>c</b>"),
        (page("<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>"), "<script>alert(1)</script>"),
        (page("<!-- <title>Old</title> --><script>'<title>x</title>'</script><title>New</title>"), "New"),
        (page("<svg><title>Icon</title></svg><style>a{}</style><title>Page</title>"), "Page"),
        (page("<titles>x</titles><title-bar>x</title-bar><title>Right</titles></title>"), "Right</titles>"),
        (page("<noscript><title>Old</title></noscript><title>New</title>"), "New"),
        (page("<title>" + "x" * 200 + "</title>"), "x" * 200),
        (page("<title>" + "x" * 10_000 + "</title>"), "x" * 199 + "…"),
        (page("<title>" + "&#x000001f600;" * 201 + "</title>"), "\U0001f600" * 199 + "…"),
        (page("<title>One&#10;two\r\n\ttwo\u2028three</title>"), "One two two three"),
        (page(f"<title>Sale &#{'9' * 10_000};</title>"), "Sale \ufffd"),
        (page("<title>&amp;amp; &notit; &unknown; &#xd800;</title>"), "&amp; ¬it; &unknown; \ufffd"),
        (page("<title>مرحبا \U0001f469\u200d\U0001f4bb</title>"), "مرحبا \U0001f469\u200d\U0001f4bb"),
        (page("<title>null &#0; &#x1b;[31m</title>"), "null \ufffd [31m"),
        (page("<title>ü</title>".encode("latin-1"), "text/html; charset=ISO-8859-1"), "ü"),
        (page('<meta charset="Shift_JIS"><title>例</title>'.encode("shift_jis"), "text/html"), "例"),
        (page("<title>ü</title>".encode("utf-16"), "text/html"), "ü"),
        (page("\ufeff<title>ü</title>", "text/html"), "ü"),
        (page("\ufeff<title>ü</title>", "text/html; charset=iso-8859-1"), "ü"),
        (page("<title>ü</title>".encode("utf-16-be"), "text/html; charset=utf-16be"), "ü"),
        (page("<meta charset=utf-16><title>ü</title>", "text/html"), "ü"),
        (page("<title>€</title>".encode("cp1252"), "text/html; charset=latin1"), "€"),
        (page(b"<title>\xff</title>", "text/html"), "\ufffd"),
        (page("<title>ü</title>", "text/html; charset=idna"), "ü"),
        (page("<title>ü</title>", "text/html; charset=windows-9999"), "ü"),
        (page("<title>Sale"), None),
        (page("<title"), None),
        (page("<title> \u200b </title>"), None),
        (page("<!-- <title>Sale</title>"), None),
        (page(""), None),
        (page("<title>Sale</title>", "text/plain"), None),
        (page("<title>Sale</title>", ""), None),
        (page("<title>Not found</title>", status=404), None),
        (replace(page("<title>Just a moment</title>"), is_challenge=True), None),
    ],
)
def test_title_is_the_text_of_the_title_element(answer, title):
    assert title_of(answer) == title


@given(st.binary(max_size=400), st.sampled_from(["text/html", "text/html;charset=gbk", "text/html;charset=utf-7"]))
def test_any_page_has_a_title_that_the_api_accepts(body, content_type):
    title = title_of(page(b"<title>" + body, content_type))
    assert title is None or TITLE.validate_python(title) == title


@pytest.mark.parametrize("text", ["<!--", "<script", "<title", "<svg><title>", "<", "</title"])
def test_large_page_without_ends_has_no_title(text):
    """The test exceeds its time limit if the search for the title takes quadratic time."""
    assert find_title(text * (262_144 // len(text))) is None


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def response(body: str, *headers: str, status: str = "200 OK") -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{lines}\r\n{body}".encode()


async def test_page_is_read_through_redirects_to_other_hosts(authority):
    pages = {
        b"GET /?a=%20b ": response("", "Location: /next#x", status="301 Moved"),
        b"GET /next ": response("", "Location: https://WWW.example.org", status="302 Found"),
        b"GET / ": response("<title>Arrived</title>", "Set-Cookie: a=b"),
    }

    async def respond(stream, request):
        [page] = [page for start, page in pages.items() if request.startswith(start)]
        await stream.send_all(page)

    async with serving(respond, authority.issue_cert("example.com", "www.example.org")) as server:
        client = local_visitor(server, authority)
        assert await PageTitles(client, PARSE).read("https://example.com?a=%20b#part") == "Arrived"
    assert server.urls == ["example.com/?a=%20b", "example.com/next", "www.example.org/"]
    for request in server.requests:
        text = request.decode().lower()
        assert "user-agent: svc-title-bot/1.0" in text
        assert "accept-encoding: identity" in text
        assert "cookie" not in text


@pytest.mark.parametrize(
    "location",
    [
        "http://example.com/",
        "https://example.com:8443/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "//[",
    ],
)
async def test_redirect_to_another_scheme_or_port_is_not_followed(authority, location):
    redirect = response("<title>Moved</title>", f"Location: {location}", status="302 Found")
    async with serving(sends(redirect), authority.issue_cert("example.com")) as server:
        client = local_visitor(server, authority)
        assert await PageTitles(client, PARSE).read("https://example.com/") is None
    assert len(server.requests) == 1


async def test_endless_redirects_end(authority):
    redirect = response("", "Location: /", status="302 Found")
    async with serving(sends(redirect), authority.issue_cert("example.com")) as server:
        assert await PageTitles(local_visitor(server, authority), PARSE).read("https://example.com/") is None
    assert len(server.requests) == 6


@pytest.mark.parametrize("host", ["intranet.example.org", "10.0.0.1", "[::1]"])
async def test_redirect_to_a_private_address_is_not_followed(authority, host):
    """The redirect leads to a name with a private address, or to a private address. In both cases, the test server
    would respond.
    """

    def lookup(name: str) -> list[str]:
        return {"example.com": [PUBLIC], "intranet.example.org": ["10.0.0.1"]}.get(name, [name])

    redirect = response("", f"Location: https://{host}/", status="302 Found")
    async with serving(sends(redirect), authority.issue_cert("example.com", "intranet.example.org")) as server:
        assert (
            await PageTitles(local_visitor(server, authority, lookup=lookup), PARSE).read("https://example.com") is None
        )
    assert server.urls == ["example.com/"]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "100.64.0.1"])
async def test_private_address_is_not_contacted(authority, address):
    async with serving(sends(response("<title>Secret</title>")), authority.issue_cert("example.com")) as server:
        client = Visitor(port=server.port, tls=trusting(authority), lookup=lambda _: [address], **PATIENT)
        assert await PageTitles(client, PARSE).read("https://example.com/") is None
    assert server.requests == []


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "https://example.com:22/"])
async def test_address_or_port_in_the_url_is_not_contacted(url):
    def lookup(host: str) -> list[str]:
        assert host in ("127.0.0.1", "::1")
        return [host]

    assert await PageTitles(Visitor(lookup=lookup, **PATIENT), PARSE).read(url) is None


async def test_compressed_page_is_not_decompressed(authority):
    packed = response("<title>Sale</title>", "Content-Encoding: gzip")
    async with serving(sends(packed), authority.issue_cert("example.com")) as server:
        assert await PageTitles(local_visitor(server, authority), PARSE).read("https://example.com/") is None


async def test_endless_page_is_read_up_to_a_limit(authority):
    sent = 0

    async def respond(stream, request):
        nonlocal sent
        await stream.send_all(response("<title>Endless</title>"))
        while True:
            await stream.send_all(b"x" * 65_536)
            sent += 65_536

    async with serving(respond, authority.issue_cert("example.com")) as server:
        assert await PageTitles(local_visitor(server, authority), PARSE).read("https://example.com/") == "Endless"
    assert sent < 64 * 1024 * 1024


async def test_slow_page_has_no_title(authority, monkeypatch):
    monkeypatch.setattr(page_titles, "LONGEST_S", 0.2)

    async def respond(stream, request):
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Slow")
        await trio.sleep_forever()

    async with serving(respond, authority.issue_cert("example.com")) as server:
        assert await PageTitles(local_visitor(server, authority), PARSE).read("https://example.com/") is None


async def test_name_server_that_does_not_respond_keeps_no_other_lookup_waiting(monkeypatch):
    shared = 4
    monkeypatch.setattr("svc.edge.public_addresses._LOOKUPS", trio.CapacityLimiter(shared))
    started, responds = trio.Semaphore(0), threading.Event()

    def lookup(_: str) -> list[str]:
        trio.from_thread.run_sync(started.release)
        assert responds.wait(300)
        return []

    titles = PageTitles(Visitor(lookup=lookup, **PATIENT), PARSE)
    async with trio.open_nursery() as nursery:
        try:
            for _ in range(shared):
                nursery.start_soon(titles.read, "https://example.com/")
            for _ in range(shared):
                await started.acquire()
            assert await public_addresses("go.example.com", lambda _: [PUBLIC]) == [PUBLIC]
        finally:
            responds.set()
