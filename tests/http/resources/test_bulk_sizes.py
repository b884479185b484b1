"""PATCH and DELETE /v1/links/bulk with large rules: the amount of data that a request reads and writes is limited."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from svc.model import Rule
from svc.store import links
from svc.store.link_batches import MAX_RULES_CHARS
from svc.store.tx import sql
from tests.http.resources.test_bulk_changes import PATH, add
from tests.http.serving.test_refusals import is_error
from tests.store.makers import new_link

pytestmark = [pytest.mark.both_engines, pytest.mark.rule("L3")]

LONG = "https://m.example/" + "x" * 2_000
COUNTRIES = tuple(f"{first}{second}" for first in "ABCDEFGHIJKL" for second in "ABCDEFGHIJKLMNOPQRSTUVWXY")
LARGE = (Rule(LONG, countries=COUNTRIES),) * 10
BODY: list[dict[str, Any]] = [{"url": LONG, "countries": COUNTRIES}] * 10
# One request may not set rules as large as these on this number of links.
LINKS = 500


async def add_many(world, account, **fields: Any) -> list[str]:
    """Add many links with these fields. Return their ids."""
    batch = [replace(new_link(account.user_id, account.id, f"code{n}", world.clock()), **fields) for n in range(LINKS)]
    return [each.id for each in await world.store.run(links.add_links(batch, 100_000))]


async def issue_of(world, session, body: dict[str, Any]) -> dict[str, Any]:
    refused = await world.call("PATCH", PATH, body, headers=session)
    is_error(refused, 400, "invalid_request")
    issue: dict[str, Any]
    [issue] = refused.body["error"]["details"]["issues"]
    return issue


async def test_large_new_rules_limit_the_number_of_links(world):
    _, session, account = await world.ready()
    ids = await add_many(world, account)
    body = {"filter": {}, "set": {"rules": BODY}}
    issue = await issue_of(world, session, body)
    assert (issue["path"], issue["code"]) == ("filter", "too_many")
    limit = issue["limit"]
    assert 0 < limit < LINKS
    for_ids = await issue_of(world, session, {**body, "ids": ids[: limit + 1], "filter": None, "dry_run": True})
    assert for_ids == {**issue, "path": "ids"}
    done = await world.call("PATCH", PATH, {"ids": ids[:limit], "set": {"rules": BODY}}, headers=session)
    assert (done.status, done.body["changed"]) == (200, limit)
    stored = await world.store.read(sql_row("select sum(length(rules)) as chars from links"))
    assert MAX_RULES_CHARS - 100_000 < stored["chars"] <= MAX_RULES_CHARS + LINKS * len("[]")
    small = await world.call("PATCH", PATH, {"filter": {}, "set": {"rules": BODY[:1], "split": []}}, headers=session)
    assert (small.status, small.body["changed"]) == (200, LINKS)


async def test_links_with_large_rules_can_be_tagged_and_deleted_but_not_redirected(world):
    user, session, account = await world.ready()
    ids = await add_many(world, account, rules=LARGE)
    issue = await issue_of(world, session, {"filter": {}, "set": {"url": "https://b.example/"}})
    assert (issue["path"], issue["code"]) == ("filter", "too_much")
    few = await world.call("PATCH", PATH, {"ids": ids[:2], "set": {"url": "https://b.example/"}}, headers=session)
    assert (few.status, few.body["changed"]) == (200, 2)
    body = {"filter": {}, "set": {"title": "New"}, "add_tags": ["x"]}
    tagged = await world.call("PATCH", PATH, body, headers=session)
    assert (tagged.status, tagged.body["changed"]) == (200, LINKS)
    link = await world.store.read(links.get_link(user.id, ids[0]))
    assert (link.title, link.tags, link.rules, link.url) == ("New", ("x",), LARGE, "https://b.example/")
    deleted = await world.call("DELETE", PATH, {"filter": {}}, headers=session)
    assert (deleted.status, deleted.body["changed"]) == (200, LINKS)


async def test_deletion_does_not_read_rules(world):
    _, session, account = await world.ready()
    link_id = await add(world, account, "one")
    await world.store.run(sql_row("update links set rules = 'not JSON' where id = $1 returning id", link_id))
    deleted = await world.call("DELETE", PATH, {"ids": [link_id]}, headers=session)
    assert (deleted.status, deleted.body["changed"]) == (200, 1)


async def test_links_with_equal_rules_share_them(world):
    _, session, account = await world.ready()
    ids = [await add(world, account, code) for code in ("one", "two", "other")]
    for some, rules in ((ids[:2], BODY), (ids[2:], BODY[:1])):
        await world.call("PATCH", PATH, {"ids": some, "set": {"rules": rules}}, headers=session)
    one, two, other = await world.store.read(links.changed_links(account.id, 1))
    assert one.rules == LARGE
    assert one.rules is two.rules
    assert one.rules[0].countries is not None
    assert other.rules[0].countries is not None
    assert all(a is b for a, b in zip(one.rules[0].countries, other.rules[0].countries, strict=True))


async def test_repeated_conditions_are_stored_once(world):
    _, session, account = await world.ready()
    link_id = await add(world, account, "one")
    rule = {"countries": ["DE", "AT"], "devices": ["mobile"], "languages": ["de"], "os": ["iOS", "Linux"]}
    repeated = {"devices": ["mobile"] * 2, "countries": ["DE", "AT", "DE"] * 100, "os": ["iOS", "Linux", "iOS"]}
    sent = {"url": "https://a.example", **rule, **repeated}
    await world.call("PATCH", PATH, {"ids": [link_id], "set": {"rules": [sent]}}, headers=session)
    link = (await world.call("GET", f"/v1/links/{link_id}", headers=session)).body["link"]
    assert link["rules"] == [{"url": "https://a.example", **rule}]


def sql_row(text: str, *parameters: str):
    """Return the only row of a statement's result."""
    [row] = yield sql(text, *parameters)
    return row
