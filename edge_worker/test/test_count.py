"""Counting, from the visitor's request to the push."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import trio

from edge_worker.harness.installed import (
    CHROME,
    DAY_MS,
    HOUR_MS,
    LINK_HOST,
    MINUTE_MS,
    SITE_HOST,
    SITE_PATH,
    InstalledWorker,
)

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Mobile/15E148 Safari/604.1"
)


def next_hour(now: int) -> int:
    """Return the time (epoch ms) at which the Worker can close the current hour."""
    return now - now % HOUR_MS + HOUR_MS + 4 * MINUTE_MS


@pytest.mark.rule("W1")
async def test_first_cron_confirms_the_upload_with_an_empty_push(worker: InstalledWorker) -> None:
    await worker.cron(await worker.clock(0))
    (push,) = worker.receiver.pushes
    assert (push["install"], push["parts"], push["queue"], push["error"]) == ("install-1", [], 0, None)


@pytest.mark.rule("W2")
@pytest.mark.rule("W3")
async def test_views_bots_and_visitors_reach_the_service_by_hour_and_day(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    await worker.cron(now)
    for page, ip in [("/", "192.0.2.1"), ("/a?x=1", "192.0.2.1"), ("/a", "2001:db8::2"), ("/admin/x", "192.0.2.9")]:
        assert (await worker.view(page, ip=ip)).status == 204
    await worker.view(ua="curl/8.5.0")
    await worker.emulator.settled()
    at = await worker.crons_until_quiet(next_hour(now))
    hour, day = now - now % HOUR_MS, now - now % DAY_MS
    assert worker.receiver.hours == {("site_a", hour): (3, 1, 2)}
    assert list(worker.receiver.days.values()) == [(3, 1, 2)]
    at = await worker.crons_until_quiet(day + DAY_MS + 11 * MINUTE_MS)
    assert list(worker.receiver.days.values()) == [(3, 1, 2)]
    assert len(worker.receiver.finals) == 1
    rows = await worker.sql("select totals from day")
    totals = json.loads(rows[0]["totals"])
    assert totals["visitors"] == 2
    assert totals["pages"] == {"/": 1, "/a": 2}
    assert totals["bots"] == {"list": 1}
    assert at > 0


@pytest.mark.rule("L5")
async def test_a_click_goes_to_the_first_matching_rule_and_is_counted(worker: InstalledWorker) -> None:
    rules = [
        {"countries": ["FR", "BE"], "devices": ["mobile"], "url": "https://example.net/fr-mobile"},
        {"countries": ["FR"], "url": "https://example.net/fr"},
        {"devices": ["mobile"], "url": "https://example.net/mobile"},
    ]
    await worker.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/x?y=1#z", "rules": rules}})

    async def target(ua: str, country: str, query: str = "") -> str:
        visit = await worker.click(f"abc{query}", ua=ua, cf={"country": country})
        assert visit.status == 302
        assert visit.headers["cache-control"] == "no-store"
        return visit.headers["location"]

    assert await target(IPHONE, "FR") == "https://example.net/fr-mobile"
    assert await target(CHROME, "FR") == "https://example.net/fr"
    assert await target(IPHONE, "DE") == "https://example.net/mobile"
    assert await target(CHROME, "DE") == "https://example.net/x?y=1#z"
    assert await target(CHROME, "DE", "?q") == "https://example.net/x?y=1#z"
    assert await target(CHROME, "FR", "?utm_campaign=Spring+Sale") == "https://example.net/fr"
    assert await target("curl/8.5.0", "DE", "?q") == "https://example.net/x?y=1#z"
    head = await worker.click("abc", method="HEAD")
    assert (head.status, head.headers["location"]) == (302, "https://example.net/x?y=1#z")
    await worker.click("abc", headers={"sec-purpose": "prefetch"})
    await worker.emulator.settled()
    now = await worker.clock(0)
    await worker.crons_until_quiet(next_hour(now))
    totals = json.loads((await worker.sql("select totals from day where target = 'lnk_a'"))[0]["totals"])
    assert (totals["views"], sum(totals["bots"].values())) == (6, 3)
    assert totals["sources"] == {"": 5, "qr": 1}
    assert totals["bots"] == {"list": 1, "head": 1, "prefetch": 1}
    assert totals["pages"] == {"": 6}
    assert totals["countries"] == {"FR": 3, "DE": 3}
    assert totals["campaigns"] == {"spring sale": 1}
    assert totals["targets"] == {
        "https://example.net/fr-mobile": 1,
        "https://example.net/fr": 2,
        "https://example.net/mobile": 1,
        "https://example.net/x?y=1#z": 2,
    }
    assert (totals["entries"], totals["arrivals"]) == ({}, {})


async def test_other_requests_go_to_the_site_and_unknown_paths_are_404(worker: InstalledWorker) -> None:
    await worker.emulator.add_page(SITE_HOST, f"{SITE_PATH}-shoes", "<p>shoes</p>")
    assert "shoes" in (await worker.emulator.visit(SITE_HOST, f"{SITE_PATH}-shoes")).body
    for host, path in [(LINK_HOST, "/nothing-here"), (LINK_HOST, "/"), (LINK_HOST, "/a/b"), (SITE_HOST, SITE_PATH)]:
        assert (await worker.emulator.visit(host, path)).status == 404
    script = await worker.emulator.visit(SITE_HOST, f"{SITE_PATH}/k3f.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cache-control"] == "public, max-age=86400"
    assert SITE_PATH in script.body
    assert "__PATH__" not in script.body


async def test_privacy_signals_are_respected_if_the_site_is_set_to(worker: InstalledWorker) -> None:
    site = {"target": "site_b", "script": "s", "respect_gpc": True}
    await worker.configure({f"path:{SITE_HOST}{SITE_PATH}/b": site})
    for path in (SITE_PATH, f"{SITE_PATH}/b"):
        for asked in ({}, {"sec-gpc": "1"}, {"dnt": "1"}, {"sec-gpc": "0", "dnt": "0"}):
            headers = {"user-agent": CHROME, **asked}
            visit = await worker.emulator.visit(SITE_HOST, path, method="POST", headers=headers, body="/\n")
            assert visit.status == 204
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    assert sorted(json.loads(line)[0] for line in lines) == ["site_a"] * 4 + ["site_b"] * 2


async def test_path_is_compared_with_excluded_paths_before_it_is_truncated(worker: InstalledWorker) -> None:
    excluded = f"/{'x' * 300}"
    site = {"target": "site_b", "script": "s", "excluded_paths": [excluded]}
    await worker.configure({f"path:{SITE_HOST}{SITE_PATH}/b": site})
    for page in (f"{excluded}/a", f"{excluded[:-1]}/a"):
        headers = {"user-agent": CHROME}
        visit = await worker.emulator.visit(
            SITE_HOST, f"{SITE_PATH}/b", method="POST", headers=headers, body=f"{page}\n"
        )
        assert visit.status == 204
    await worker.emulator.settled()
    [row] = await worker.sql("select lines from event_log")
    [line] = row["lines"].splitlines()
    assert excluded[:200] in json.loads(line)
    assert excluded[:201] not in line


async def test_excluded_visitors_write_nothing(worker: InstalledWorker) -> None:
    site = {
        "target": "site_b", "script": "s", "excluded_networks": ["192.0.2.0/24", "2001:db8::/64"],
        "excluded_countries": ["FR"], "excluded_asns": [64496],
    }  # fmt: skip
    path = f"{SITE_PATH}/b"
    await worker.configure(
        {f"path:{SITE_HOST}{path}": site, "link:abc": {"target": "lnk_a", "url": "https://a.example"}}
    )

    responses: set[frozenset[tuple[str, str]]] = set()

    async def view(body: str = "/\n", ua: str = CHROME, **visitor: Any) -> None:
        visit = await worker.emulator.visit(
            SITE_HOST, path, method="POST", headers={"user-agent": ua}, body=body, **visitor
        )
        assert (visit.status, visit.body) == (204, "")
        headers = {name: value for name, value in visit.headers.items() if name not in ("connection", "date")}
        responses.add(frozenset(headers.items()))

    excluded: list[dict[str, Any]] = [
        {"ip": "192.0.2.255"},
        {"ip": "2001:db8::ffff:1"},
        {"ip": "::ffff:192.0.2.1"},
        {"ip": "198.51.100.1", "cf": {"country": "FR"}},
        {"ip": "198.51.100.1", "cf": {"country": "DE", "asn": 64496}},
    ]
    for visitor in excluded:
        await view(**visitor)
        await view(ua="curl/8.5.0", **visitor)  # a bot
        await view("not a beacon", **visitor)
    await worker.emulator.settled()
    assert await worker.sql("select * from event_log") == []
    assert await worker.sql("select * from salt") == []

    await worker.click("abc", ip="192.0.2.255", cf={"country": "FR", "asn": 64496})
    await worker.view("/", ip="192.0.2.255")  # the other site excludes no networks
    for ip, cf in [
        ("192.0.3.0", {}), ("2001:db8:0:1::", {"country": "XX", "asn": 64497}), ("unknown", None), ("198.51.100.1", {}),
    ]:  # fmt: skip
        await view(ip=ip, cf=cf)
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    assert sorted(json.loads(line)[0] for line in lines) == ["lnk_a", "site_a"] + ["site_b"] * 4
    assert len(responses) == 1, "a visitor can see whether the site excludes the visitor"
    assert await worker.sql("select drops from event_log where drops <> ''") == []


async def test_change_of_excluded_visitors_takes_effect_within_a_minute(worker: InstalledWorker) -> None:
    path = f"path:{SITE_HOST}{SITE_PATH}"
    site = {"target": "site_a", "script": "k3f"}
    for number, row in enumerate([site, {**site, "excluded_networks": ["192.0.2.1"]}, site]):
        await worker.configure({path: row})
        await worker.clock(61 * (number + 1))
        await worker.view(f"/{number}", ip="192.0.2.1")
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    assert [json.loads(line)[4] for line in lines] == ["/0", "/2"]


@pytest.mark.rule("W4")
async def test_foreign_beacon_is_dropped_as_invalid(worker: InstalledWorker) -> None:
    bad = await worker.emulator.visit(SITE_HOST, SITE_PATH, method="POST", body="hello", headers={"user-agent": CHROME})
    foreign = await worker.emulator.visit(
        SITE_HOST,
        SITE_PATH,
        method="POST",
        body="/\n",
        headers={"user-agent": CHROME, "origin": "https://evil.example"},
    )
    assert (bad.status, foreign.status) == (204, 204)
    await worker.view()
    await worker.emulator.settled()
    now = await worker.clock(0)
    await worker.crons_until_quiet(next_hour(now))
    assert (await worker.state())["dropped"]["invalid"] == 2
    assert list(worker.receiver.days.values()) == [(1, 0, 1)]


async def test_header_is_truncated_before_any_processing(worker: InstalledWorker) -> None:
    """The text beyond the limit affects neither the visitor hash nor the bot detection."""
    await worker.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/1"}})
    for tail in ("electron/" * 800, "a@" * 4_000, "www.x" * 1_000):
        ua = f"{CHROME} {'x' * 600}{tail}"
        assert (await worker.click("abc", ua=ua)).status == 302
        assert (await worker.view("/", ua=ua)).status == 204
    await worker.emulator.settled()
    lines = [
        json.loads(line) for row in await worker.sql("select lines from event_log") for line in row["lines"].split()
    ]
    assert len(lines) == 6
    assert {line[2] for line in lines} == {""}
    assert len({(line[0], line[3]) for line in lines}) == 2


@pytest.mark.rule("W4")
async def test_endless_body_is_read_only_up_to_the_limit(worker: InstalledWorker) -> None:
    port = int(worker.emulator.edge.rsplit(":", 1)[1])
    chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(
            f"POST {SITE_PATH} HTTP/1.1\r\nhost: {SITE_HOST}\r\nuser-agent: {CHROME}\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        response = b""
        async with trio.open_nursery() as nursery:

            async def send() -> None:
                # The body never ends, so the test ends only if the Worker responds before it has read the whole body.
                with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    while True:
                        await stream.send_all(b"2\r\n/x\r\n" + chunk)

            nursery.start_soon(send)
            with trio.fail_after(30):
                response = await stream.receive_some()
            nursery.cancel_scope.cancel()
    assert response.startswith(b"HTTP/1.1 204")
    # A complete body in chunks, and a body with a Content-Length that is too large.
    await worker.emulator.visit(
        SITE_HOST, SITE_PATH, method="POST", body="/" + "x" * 9_000, headers={"user-agent": CHROME}
    )
    await worker.emulator.settled()
    (row,) = await worker.sql("select lines, drops from event_log")
    assert (row["lines"], json.loads(row["drops"])) == ("", ["invalid", 2])
