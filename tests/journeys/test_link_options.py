"""Links with all options: the service explains the clicks that the Worker redirects, and restores deleted links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

import edge_worker
from edge_worker.harness.service import eventually
from edge_worker.tools.node import node_command
from svc.clock import DAY_MS, HOUR_MS, iso
from tests.journeys.conftest import ZONE, begin_yesterday, connect

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator, Visit
    from edge_worker.harness.service import Service

HOST = f"go.{ZONE}"
DESK = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile/15E1 Safari/604.1"
SPLIT = [
    {"url": f"https://example.net/{name}?own=1", "share": share} for name, share in (("a", 20), ("b", 30), ("c", 50))
]
RULES = [
    {"url": "https://example.net/de", "languages": ["de"], "os": ["iOS", "Linux"]},
    {"url": "https://example.net/query", "query": {"name": "src", "value": "flyer"}, "countries": ["DE", "AT"]},
]
AFTER_URL = "https://example.net/over"
# Isolates use the new configuration after this time.
LIMIT_S = 61
ADDRESSES = [f"198.51.100.{n}" for n in range(12)] + [f"2001:db8::{n:x}" for n in range(6)]
_BUCKETS = """
const { bucketOf } = await import(process.argv[1]);
const visitors = JSON.parse(process.argv[2]);
console.log(JSON.stringify(visitors.map((each) => bucketOf(...each))));
"""


async def buckets_of(target: str, day: int, people: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the bucket of each (address, user agent), as the Worker's own function calculates it."""
    module = Path(edge_worker.__file__).parent / "src" / "link_split.js"
    visitors = json.dumps([[target, day, *person] for person in people])
    command = node_command("--input-type=module", "-e", _BUCKETS, module.as_uri(), visitors)
    ended = await trio.run_process(command, capture_stdout=True)
    return dict(zip(people, json.loads(ended.stdout), strict=True))


class Clicks:
    """The platform's clock, and clicks on the link with the code `abc`."""

    def __init__(self, emulator: Emulator, real: int) -> None:
        self.emulator, self._real = emulator, real

    async def move_to(self, at: int) -> int:
        """Set the platform's clock, and return its time, which can be slightly later (epoch ms)."""
        return await self.emulator.clock((at - self._real) / 1000)

    async def click(self, address: str, asked: dict[str, Any]) -> Visit:
        """Send the click that the body of an explain request (`asked`) describes."""
        headers = {"user-agent": asked["user_agent"], "accept-language": asked["accept_language"]}
        path = f"/abc?{asked['query']}" if asked["query"] else "/abc"
        cf = {"country": asked["country"]}
        return await self.emulator.visit(HOST, path, method=asked["method"], headers=headers, ip=address, cf=cf)


def asked_clicks(user_agent: str) -> list[dict[str, Any]]:
    """Return bodies of explain requests for this browser. They cover each rule, no rule, forwarded queries and HEAD."""
    base = {"user_agent": user_agent, "accept_language": "en", "query": "", "country": "FR", "method": "GET"}
    return [
        base,
        base | {"accept_language": "de-AT,en;q=0.5", "query": "own=2&x=%C3%A4&ref=mail"},
        base | {"country": "AT", "query": "src=flyer&q"},
        base | {"query": "q&own=3&a=[1]&b=+%20", "method": "HEAD"},
    ]


async def add_link(service: Service, account_id: str, starts_at: int, ends_at: int) -> str:
    """Add a link with all options, wait until the Worker has it, and return its id."""
    body = {
        "account_id": account_id,
        "code": "abc",
        "url": SPLIT[0]["url"],
        "rules": RULES,
        "split": SPLIT,
        "forward_query": True,
        "starts_at": iso(starts_at),
        "ends_at": iso(ends_at),
        "after_url": AFTER_URL,
        "title": "Spring",
        "tags": ["sale"],
    }
    link_id = str((await service.call("POST", "/v1/links", body, expect=201))["link"]["id"])
    await service.synced(f"/v1/links/{link_id}")
    return link_id


@pytest.mark.rule("X1", "Y16", "Y17")
async def test_explained_clicks_on_links_with_periods_and_splits_are_redirected_alike(
    emulator: Emulator, customer: Customer, service: Service
) -> None:
    real, noon = await begin_yesterday(emulator)
    clicks = Clicks(emulator, real)
    account_id = await connect(service, customer)
    starts_at, ends_at = noon + HOUR_MS, noon + 20 * HOUR_MS
    link_id = await add_link(service, account_id, starts_at, ends_at)
    variants, rules, kinds = set(), set(), set()
    people = [(address, agent) for address in ADDRESSES for agent in (DESK, PHONE)]
    # The last time in the period is on the next day (UTC), when the visitors have other buckets.
    for moment in (starts_at - HOUR_MS // 2, starts_at, starts_at + 12 * HOUR_MS, ends_at, ends_at + DAY_MS):
        at = await clicks.move_to(moment)
        buckets = await buckets_of(link_id, at // DAY_MS, people)
        for number, (address, agent) in enumerate(people):
            for asked in asked_clicks(agent) if number < 4 else asked_clicks(agent)[:1]:
                visit = await clicks.click(address, asked)
                body = {**asked, "at": iso(at), "bucket": buckets[address, agent]}
                explained = await service.call("POST", f"/v1/links/{link_id}/explain", body)
                assert (visit.status, visit.headers["location"]) == (302, explained["url"]), body
                variants.add(explained.get("variant"))
                rules.add(explained["rule"])
                kinds.add((explained["counted_as"]["kind"], explained["counted_as"].get("reason")))
    assert variants == {None, 0, 1, 2}
    assert rules == {None, 0, 1}
    assert kinds == {("view", None), ("bot", "head"), ("outside", "early"), ("outside", "ended")}
    await service.call("PATCH", f"/v1/links/{link_id}", {"after_url": ""})
    await service.synced(f"/v1/links/{link_id}")
    at = await clicks.move_to(ends_at + DAY_MS + LIMIT_S * 1000)
    [asked, *_] = asked_clicks(DESK)
    explained = await service.call("POST", f"/v1/links/{link_id}/explain", {**asked, "at": iso(at)})
    visit = await clicks.click(ADDRESSES[0], asked)
    assert (explained["url"], explained["counted_as"]["reason"]) == (None, "ended")
    assert (visit.status, "location" in visit.headers) == (404, False)


@pytest.mark.rule("L3", "Y16")
async def test_restored_link_redirects_as_before(emulator: Emulator, customer: Customer, service: Service) -> None:
    real, noon = await begin_yesterday(emulator)
    clicks = Clicks(emulator, real)
    account_id = await connect(service, customer)
    starts_at, ends_at = noon + HOUR_MS, noon + 3 * HOUR_MS
    link_id = await add_link(service, account_id, starts_at, ends_at)
    cases = [(address, asked) for address in ADDRESSES for asked in asked_clicks(DESK)]

    async def locations(after_ms: int) -> list[tuple[int, str | None]]:
        """Return the responses before the start, during the period and after the end."""
        found = []
        # the clock moves back, and the old isolates have configuration from a later time
        await emulator.new_isolates()
        for moment in (starts_at - HOUR_MS // 2, starts_at, ends_at):
            await clicks.move_to(moment + after_ms)
            for address, asked in cases:
                visit = await clicks.click(address, asked)
                found.append((visit.status, visit.headers.get("location")))
        return found

    before = await locations(0)
    assert {(302, AFTER_URL), (302, f"{SPLIT[2]['url']}")} <= set(before)
    link = (await service.call("GET", f"/v1/links/{link_id}"))["link"]
    await service.call("DELETE", f"/v1/links/{link_id}")

    async def removed() -> bool | None:
        return (await service.call("GET", f"/v1/links/{link_id}"))["link"]["config"] == "synced" or None

    await eventually(removed)
    assert set(await locations(2 * LIMIT_S * 1000)) == {(404, None)}
    await service.call("POST", f"/v1/links/{link_id}/restore")
    await service.synced(f"/v1/links/{link_id}")
    restored = (await service.call("GET", f"/v1/links/{link_id}"))["link"]
    assert restored | {"live_at": link["live_at"]} == link
    assert await locations(4 * LIMIT_S * 1000) == before
