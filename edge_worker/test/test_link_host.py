"""The link host's responses to requests without a link: redirects, a page in the visitor's language, fixed files."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.harness.installed import CHROME, LINK_HOST, VOCABULARY
from edge_worker.harness.sampling import EVERYTHING
from edge_worker.test.test_config import FRESH_S, STALE_S, link, rows_read, rows_written

if TYPE_CHECKING:
    from edge_worker.emulator.client import Visit
    from edge_worker.harness.installed import InstalledWorker

ROOT_URL = "https://www.example.com/?from=links#top"
NOT_FOUND_URL = "https://www.example.com/gone"
FALLBACKS = {"host": LINK_HOST, "root_url": ROOT_URL, "not_found_url": NOT_FOUND_URL}
CODES = 10_000 if EVERYTHING else 3_000
# Paths that cannot be codes of links, or from which a faulty Worker could extract a wrong code.
ODD_PATHS = (
    "/ab",
    "/a/b",
    "/abc/",
    "/none/../none",
    f"/{'a' * 33}",
    f"/{'a' * 8_000}",
    "/%00%ff%c0%ae",
    "/%2e%2e/%2f",
    "//evil.example/",
    "/\\evil.example",
    "/https://evil.example",
    "/%0d%0alocation:%20https://evil.example",
    "/robots.txt/",
    "/favicon.ico.png",
    "/.well-known/security.txt",
    "/~config",
)


async def ask(worker: InstalledWorker, path: str, method: str = "GET", **headers: str) -> Visit:
    """Send a request to the link host."""
    return await worker.emulator.visit(LINK_HOST, path, method=method, headers={"user-agent": CHROME, **headers})


async def counted(worker: InstalledWorker) -> int:
    """Return the number of events that the Worker has stored."""
    await worker.emulator.settled()
    return sum(row["lines"].count("\n") for row in await worker.sql("select lines from event_log"))


@pytest.mark.rule("Y8")
async def test_root_and_unknown_codes_redirect_where_the_owner_chose(worker: InstalledWorker) -> None:
    await worker.configure({"host": FALLBACKS, "link:abc": link("https://example.net/1")})
    for method in ("GET", "HEAD"):
        for query in ("", "?q", "?url=https://evil.example&next=//evil.example"):
            response = await ask(worker, f"/{query}", method)
            assert (response.status, response.headers["location"], response.body) == (302, ROOT_URL, "")
            response = await ask(worker, f"/none{query}", method)
            assert (response.status, response.headers["location"], response.body) == (302, NOT_FOUND_URL, "")
            assert response.headers["cache-control"] == "no-store"
    for path in ODD_PATHS:
        response = await ask(worker, path)
        assert (response.status, response.headers.get("location")) == (302, NOT_FOUND_URL), path
    assert (await ask(worker, "/abc")).headers["location"] == "https://example.net/1"
    assert await counted(worker) == 1


@pytest.mark.rule("Y8")
async def test_without_a_choice_there_is_a_page_in_the_visitors_language(worker: InstalledWorker) -> None:
    for path in ("/", "/none", *ODD_PATHS):
        response = await ask(worker, path, **{"accept-language": "sv,de-CH;q=0.9,en;q=0.8"})
        assert (response.status, response.headers["content-language"]) == (404, "de"), path
        assert '<html lang="de">' in response.body
        assert len(response.body.encode()) < 1_000
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["content-security-policy"] == VOCABULARY["not_found_policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["x-robots-tag"] == "noindex"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["vary"] == "accept-language"
        assert not {"set-cookie", "location"} & response.headers.keys()
    head = await ask(worker, "/none", "HEAD", **{"accept-language": "ja"})
    assert (head.status, head.body, head.headers["content-language"]) == (404, "", "ja")
    longest = await ask(worker, "/none", **{"accept-language": "pl;q=0.2," + "sv;q=0.9," * 1_000})
    assert (longest.status, longest.headers["content-language"]) == (404, "pl")
    assert await counted(worker) == 0


async def test_each_fallback_works_without_the_other(worker: InstalledWorker) -> None:
    await worker.configure({"host": {"host": LINK_HOST, "root_url": ROOT_URL}})
    assert (await ask(worker, "/")).headers["location"] == ROOT_URL
    assert (await ask(worker, "/none")).status == 404
    await worker.configure({"host": {"host": LINK_HOST, "not_found_url": NOT_FOUND_URL}})
    await worker.clock(FRESH_S + STALE_S)
    assert (await ask(worker, "/")).status == 404
    assert (await ask(worker, "/none")).headers["location"] == NOT_FOUND_URL
    await worker.configure({"host": {"host": LINK_HOST}})
    await worker.clock(2 * (FRESH_S + STALE_S))
    assert [(await ask(worker, path)).status for path in ("/", "/none")] == [404, 404]


async def test_robots_are_refused_and_other_methods_rejected(worker: InstalledWorker) -> None:
    for row in ({"host": LINK_HOST}, FALLBACKS):
        await worker.configure({"host": row, "link:abc": link("https://example.net/1")})
        robots = await ask(worker, "/robots.txt?x")
        assert (robots.status, robots.body) == (200, "User-agent: *\nDisallow: /\n")
        assert robots.headers["content-type"] == "text/plain; charset=utf-8"
        assert (await ask(worker, "/robots.txt", "HEAD")).body == ""
        for method in ("GET", "HEAD"):
            icon = await ask(worker, "/favicon.ico", method)
            assert (icon.status, icon.body) == (204, "")
        for path in ("/", "/abc", "/none", "/a/b", "/robots.txt", "/favicon.ico"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
                response = await ask(worker, path, method)
                assert (response.status, response.headers["allow"]) == (405, "GET, HEAD"), (path, method)
                assert "location" not in response.headers
    assert await counted(worker) == 0


@pytest.mark.rule("Y8")
async def test_thousands_of_unknown_codes_write_no_row_and_read_few(worker: InstalledWorker) -> None:
    await worker.configure({"host": FALLBACKS})
    assert (await ask(worker, "/none")).status == 302
    await worker.emulator.settled()
    read, written = await rows_read(worker), await rows_written(worker)
    todo = iter([secrets.token_urlsafe(6) for _ in range(CODES)])
    port = int(worker.emulator.edge.rsplit(":", 1)[1])

    async def visitor() -> None:
        # Use plain sockets, because an HTTP client takes more CPU time than the Worker. Reading the response is simple,
        # because it has no body.
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            for code in todo:
                request = f"GET /{code} HTTP/1.1\r\nhost: {LINK_HOST}\r\nuser-agent: {CHROME}\r\n\r\n"
                await stream.send_all(request.encode())
                response = b""
                while not response.endswith(b"\r\n\r\n"):
                    received = await stream.receive_some()
                    assert received, response
                    response += received
                assert response.startswith(b"HTTP/1.1 302 "), response
                assert f"\r\nlocation: {NOT_FOUND_URL}\r\n".encode() in response.lower(), response

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(visitor)
    assert await counted(worker) == 0
    assert await rows_written(worker) == written
    # The free plan allows 100,000 requests and 5,000,000 read rows a day. At this rate, such requests read at most a
    # fifth of these rows.
    assert await rows_read(worker) - read <= 10 * CODES
    # For paths that cannot be codes, the Worker reads nothing except the configuration version, in the background and
    # every ten seconds.
    read = await rows_read(worker)
    paths = ("/", *ODD_PATHS, "/robots.txt", "/favicon.ico") * 3
    for path in paths:
        assert (await ask(worker, path)).status < 400
    assert await rows_read(worker) - read < 2 * len(paths)


@pytest.mark.rule("L5")
async def test_new_isolate_knows_the_redirects_while_the_database_fails(worker: InstalledWorker) -> None:
    await worker.configure({"host": FALLBACKS})
    assert (await ask(worker, "/")).headers["location"] == ROOT_URL
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.emulator.new_isolates()
    for path, location in (("/", ROOT_URL), ("/a/b", NOT_FOUND_URL)):
        assert (await ask(worker, path)).headers["location"] == location
    assert (await ask(worker, "/none")).status == 503  # the code may have a link, but the Worker cannot read it
    await worker.emulator.clear_faults()
