"""Tests of the search for a snippet on a web page, over real sockets and with various responses from the host."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.edge.page_check import _BODY_BYTES, find_snippet
from svc.edge.visits import PAGE_USER_AGENT, Visitor
from svc.worker import snippet
from tests.edge.test_visits import HOST, authority, visitor
from tests.tls_server import sends, serving

if TYPE_CHECKING:
    from svc.edge.visits import Answer, NoAnswer

pytestmark = pytest.mark.rule("Y15")

__all__ = ["authority"]
PATH = "/ab3/x9k"


@dataclass(frozen=True)
class Local(Visitor):
    """A visitor that connects to this machine instead of the host's public addresses."""

    async def get(self, host: str, path: str, **more: Any) -> Answer | NoAnswer:
        with trio.move_on_after(self.longest_s):
            return await self.get_from(["127.0.0.1"], host, path, **more)
        raise AssertionError("the test took too long")


async def found(respond: Any, authority: Any, *paths: str) -> tuple[str, list[bytes]]:
    async with serving(respond, authority.issue_cert(HOST)) as server:
        there = visitor(server, authority)
        local = Local(port=there.port, tls=there.tls, connect_s=30, response_s=30, longest_s=60)
        return await find_snippet(local, HOST, paths or (PATH,)), server.requests


def page(body: str | bytes, status: str = "200 OK", *headers: str) -> Any:
    data = body if isinstance(body, bytes) else body.encode()
    head = "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: text/html", *headers])
    return sends(head.encode() + b"\r\n\r\n" + data)


SNIPPETS = {
    "inline": snippet.inline('navigator.sendBeacon("__PATH__",location.pathname)', PATH),
    "script element": snippet.script_tag(PATH, "k3f"),
    "escaped as a string of a script": '"\\u003cscript src=\\"\\/ab3\\/x9k\\/k3f.js\\"\\u003e"',
    "escaped as HTML": "&lt;script src=&quot;&#x2F;ab3&#47;x9k/k3f.js&quot;&gt;",
}


@pytest.mark.parametrize("name", SNIPPETS)
async def test_snippet_is_found(authority: Any, name: str) -> None:
    result, [request] = await found(page(f"<html>{SNIPPETS[name]}</html>"), authority)
    assert result == "present"
    assert request.startswith(b"GET / HTTP/1.1\r\n")
    assert f"user-agent: {PAGE_USER_AGENT}".encode() in request.lower()
    assert b"accept-encoding: identity" in request.lower()


async def test_any_path_that_is_counted_is_found(authority: Any) -> None:
    assert (await found(page("<script src=/old/k3f.js>"), authority, PATH, "/old"))[0] == "present"


ABSENT = {
    "no snippet": page("<p>Hello</p>"),
    "empty page": page(""),
    "other path": page('<script src="/ab4/x9k/k3f.js">'),
    "other encoding": page(b"\xff\xfe\x00<p>\x80</p>"),
}


@pytest.mark.parametrize("name", ABSENT)
async def test_page_without_the_snippet(authority: Any, name: str) -> None:
    assert (await found(ABSENT[name], authority))[0] == "absent"


UNREAD = {
    "error": page("<p>/ab3/x9k</p>", "500 Oops"),
    "challenge": page("<p>wait</p>", "403 No", "cf-mitigated: challenge"),
    "compressed": page(gzip.compress(b"x" * 1_000), "200 OK", "Content-Encoding: gzip"),
    "too large": page("x" * (_BODY_BYTES + 1)),
    "interrupted": page("<p>", "200 OK", "Content-Length: 1000"),
    "no HTTP": sends(b"SSH-2.0-OpenSSH_9.9\r\n"),
    "redirect to another host": page("", "302 Found", "Location: https://www.example.com/"),
    "redirect without TLS": page("", "302 Found", f"Location: http://{HOST}/"),
    "redirect to another port": page("", "302 Found", f"Location: https://{HOST}:8443/"),
    "redirect with an invalid port": page("", "302 Found", f"Location: https://{HOST}:x/"),
    "redirect with a space": page("", "302 Found", "Location: /a b"),
    "redirect without location": page("", "302 Found"),
}


@pytest.mark.parametrize("name", UNREAD)
async def test_page_that_cannot_be_read(authority: Any, name: str) -> None:
    assert (await found(UNREAD[name], authority))[0] == "unread"


async def test_page_that_begins_with_the_snippet_may_be_large(authority: Any) -> None:
    assert (await found(page(f"<script src={PATH}/k.js>" + "x" * _BODY_BYTES), authority))[0] == "present"


async def test_endless_page_is_not_read_to_its_end(authority: Any) -> None:
    sent = 0

    async def respond(stream: Any, _: bytes) -> None:
        nonlocal sent
        await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await stream.send_all(b"x" * 65_536)
            sent += 65_536

    assert (await found(respond, authority))[0] == "unread"
    assert sent < 64 * 1024 * 1024


async def test_redirects_on_the_host_are_followed_a_few_times(authority: Any) -> None:
    steps = iter(range(100))

    async def respond(stream: Any, _: bytes) -> None:
        step = next(steps)
        target = ["/de", f"https://{HOST}/de/", "?a=1"][step] if step < 3 else ""
        if target:
            await stream.send_all(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode())
        else:
            await stream.send_all(f"HTTP/1.1 200 OK\r\n\r\n<script src={PATH}/k.js>".encode())

    result, requests = await found(respond, authority)
    assert result == "present"
    assert [request.split(b" ")[1] for request in requests] == [b"/", b"/de", b"/de/", b"/de/?a=1"]
    result, requests = await found(page("", "302 Found", "Location: /"), authority)
    assert (result, len(requests)) == ("unread", 4)


async def test_private_address_is_not_requested(authority: Any) -> None:
    async with serving(page(f"<p>{PATH}</p>"), authority.issue_cert(HOST)) as server:
        private = replace(visitor(server, authority), lookup=lambda _: ["127.0.0.1"])
        assert await find_snippet(private, HOST, [PATH]) == "unread"
        assert server.requests == []
