"""Tests of the titles, notes and tags of links, which the service stores but does not send to the Worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from svc.store import links, syncs
from svc.worker.config_rows import rows_of
from tests.http.resources.test_disabled_targets import disable
from tests.http.resources.test_links import LIVE_AT, add, version_of

pytestmark = pytest.mark.both_engines

TEXTS: dict[str, Any] = {
    "title": "Autumn <b>sale</b>",
    "note": "Flyer\nand poster",
    "tags": ["autumn", "new-york", "מבצע"],
}


async def synced(world, account):
    """Record that the Worker has the current configuration."""
    await world.store.run(syncs.end_sync(account.id, 0, await version_of(world, account), {}, LIVE_AT))
    world.supervisor.woken.clear()


@pytest.mark.rule("L1")
async def test_texts_are_returned_by_every_request_for_the_link(world):
    _, session, account = await world.ready()
    sent = {"title": " Autumn <b>sale</b> ", "note": "Flyer\r\nand poster ", "tags": ["מבצע", "New  York", "AUTUMN"]}
    link = await add(world, session, account, **sent)
    assert {name: link[name] for name in TEXTS} == TEXTS
    url = "https://a.example/"
    rows = [{"url": url, **sent}, {"url": url}, {"url": url, "tags": ["/"]}]
    bulk = await world.call("POST", "/v1/links/bulk", {"account_id": account.id, "links": rows}, headers=session)
    first, second, third = bulk.body["results"]
    assert {name: first["link"][name] for name in TEXTS} == TEXTS
    assert {name: second["link"][name] for name in TEXTS} == {"title": None, "note": None, "tags": []}
    assert [issue["path"] for issue in third["error"]["details"]["issues"]] == ["tags.0"]
    shown = (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"]
    assert shown == link
    links_now = (await world.call("GET", "/v1/links", headers=session)).body["links"]
    [listed] = [each for each in links_now if each["id"] == link["id"]]
    assert {name: listed[name] for name in TEXTS} == TEXTS
    deleted = (await world.call("DELETE", f"/v1/links/{link['id']}", headers=session)).body["link"]
    assert {name: deleted[name] for name in TEXTS} == TEXTS


@pytest.mark.rule("L3")
async def test_change_of_texts_causes_no_sync(world):
    user, session, account = await world.ready()
    link = await add(world, session, account)
    await synced(world, account)
    version = await version_of(world, account)
    before = (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"]
    assert before["config"] == "synced"
    changes = [
        (TEXTS, TEXTS),
        ({"title": None, "note": None, "tags": None}, TEXTS),
        ({"title": ""}, {**TEXTS, "title": None}),
        ({"note": " "}, {**TEXTS, "title": None, "note": None}),
        ({"tags": ["Two", "one", "ONE"]}, {"title": None, "note": None, "tags": ["one", "two"]}),
        ({"tags": []}, {"title": None, "note": None, "tags": []}),
    ]
    for body, expected in changes:
        response = await world.call("PATCH", f"/v1/links/{link['id']}", body, headers=session)
        assert (response.status, response.body) == (200, {"link": {**before, **expected}})
        assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body == response.body
    assert world.supervisor.woken == []
    assert await version_of(world, account) == version
    stored = await world.store.read(links.get_link(user.id, link["id"]))
    [plain], [with_texts] = (
        rows_of([], [each], None, account.settings, version)
        for each in (stored, replace(stored, title="x", tags=("x",)))
    )
    assert plain == with_texts


@pytest.mark.rule("L3")
async def test_change_of_texts_and_target_is_one_change(world):
    _, session, account = await world.ready()
    link = await add(world, session, account, **TEXTS)
    await synced(world, account)
    version = await version_of(world, account)
    body = {"url": "https://b.example/", "title": "New", "tags": ["x"]}
    changed = (await world.call("PATCH", f"/v1/links/{link['id']}", body, headers=session)).body["link"]
    assert {**body, "note": TEXTS["note"]} == {name: changed[name] for name in (*body, "note")}
    assert (changed["config"], await version_of(world, account)) == ("pending", version + 1)
    assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"] == changed


@pytest.mark.rule("L3")
async def test_texts_of_a_disabled_link_cannot_be_changed(world):
    _, session, account = await world.ready()
    link = await add(world, session, account, **TEXTS)
    assert await disable(world, "link", link["id"])
    refused = await world.call("PATCH", f"/v1/links/{link['id']}", {"title": "x"}, headers=session)
    assert (refused.status, refused.code) == (403, "link_disabled")
    assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"]["title"] == TEXTS["title"]
