"""PATCH and DELETE /v1/links/bulk: each selected link gets a result, and repeats have no effect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.api.links import LinkChange
from svc.ids import new_id
from svc.model import MAX_LINK_IDS, MAX_LINKS_SELECTED
from svc.model import LinkChange as Change
from svc.store import accounts, links
from svc.store.link_lists import LinkFilter, list_links
from svc.store.tx import sql
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT
from tests.http.resources.test_disabled_targets import disable
from tests.http.resources.test_events import events_of
from tests.http.resources.test_link_texts import synced
from tests.http.serving.test_refusals import is_error
from tests.store.makers import new_link

if TYPE_CHECKING:
    from svc.model import Account, Link, User
    from svc.store.tx import Tx
    from tests.http.conftest import World

pytestmark = pytest.mark.both_engines

JSON = dict[str, Any]
PATH = "/v1/links/bulk"
UNKNOWN = "lnk_aaaaaaaaaaaaaaaaaaaa"


async def add(world: World, account: Account, code: str, *tags: str, **more: Any) -> str:
    """Add a link with these tags, and return its id."""
    link = replace(new_link(account.user_id, account.id, code, world.clock()), tags=tuple(sorted(tags)), **more)
    world.clock.now_ms += 1
    return (await world.store.run(links.add_link(link, 100_000))).id


async def link_of(world: World, user: User, link_id: str) -> Link:
    link = await world.store.read(links.get_link(user.id, link_id))
    assert link is not None
    return link


async def version_of(world: World, account: Account) -> int:
    return accounts.present(await world.store.read(accounts.account_by_id(account.id))).config_version


def kept_responses() -> Tx[int]:
    """Return the number of responses that are stored for Idempotency-Keys."""
    [row] = yield sql("select count(*) as n from idempotency")
    return int(row["n"])


def brief(results: list[dict[str, Any]]) -> list[tuple[str | None, bool, str | None]]:
    return [(each.get("code"), each["changed"], each.get("error", {}).get("code")) for each in results]


@pytest.mark.rule("L3")
async def test_each_selected_link_gets_a_result(world):
    user, session, account = await world.ready()
    stranger = await world.user()
    elsewhere = await world.account(stranger, "d" * 32, link_host="to.example.com")
    one, two = await add(world, account, "one", "a", "b"), await add(world, account, "two", "c")
    full = await add(world, account, "full", *(f"tag{n}" for n in range(9)))
    off, gone = await add(world, account, "off"), await add(world, account, "gone")
    theirs = await add(world, elsewhere, "theirs")
    await disable(world, "link", off)
    await world.store.run(links.delete_link(account.id, gone, world.clock()))
    await synced(world, account)
    version = await version_of(world, account)
    ids = [two, UNKNOWN, theirs, gone, off, full, one, two]
    body = {"ids": ids, "set": {"title": "New"}, "add_tags": ["C", "d"], "remove_tags": ["B"]}
    response = await world.call("PATCH", PATH, body, headers=session)
    assert response.status == 200, response.raw
    assert [each["id"] for each in response.body["results"]] == ids[:-1]
    assert brief(response.body["results"]) == [
        ("two", True, None),
        (None, False, "not_found"),
        (None, False, "not_found"),
        (None, False, "not_found"),
        ("off", False, "link_disabled"),
        ("full", False, "invalid_request"),
        ("one", True, None),
    ]
    issue = response.body["results"][5]["error"]["details"]["issues"][0]
    assert (issue["path"], issue["code"], issue["limit"]) == ("add_tags", "too_many", 10)
    assert (response.body["changed"], response.body["dry_run"]) == (2, False)
    shown = [await link_of(world, user, each) for each in (one, two, full, off)]
    assert [(link.title, link.tags) for link in shown[:2]] == [("New", ("a", "c", "d")), ("New", ("c", "d"))]
    assert [link.title for link in shown[2:]] == [None, None]
    assert await version_of(world, account) == version
    assert world.supervisor.woken == []
    again = await world.call("PATCH", PATH, body, headers=session)
    assert (again.body["changed"], brief(again.body["results"])[0]) == (0, ("two", False, None))
    assert (await link_of(world, stranger, theirs)).title is None


@pytest.mark.rule("L3", "X12")
async def test_change_of_targets_is_one_version_and_one_event_per_account(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.com")
    ids = [await add(world, account, "one"), await add(world, other, "one"), await add(world, account, "two")]
    await add(world, other, "same", url="https://go.example.com/x")
    versions = [await version_of(world, each) for each in (account, other)]
    world.supervisor.woken.clear()
    url = "https://go.example.com/x"  # this host is the link host of the first account
    response = await world.call("PATCH", PATH, {"filter": {}, "set": {"url": url}}, headers=session)
    assert brief(response.body["results"]) == [
        ("one", False, "invalid_request"),
        ("one", True, None),
        ("two", False, "invalid_request"),
        ("same", False, None),
    ]
    assert [await version_of(world, each) for each in (account, other)] == [versions[0], versions[1] + 1]
    assert world.supervisor.woken == [OTHER_EDGE_ACCOUNT]
    body = {"ids": ids, "set": {"url": "https://b.example/", "rules": []}, "add_tags": ["x"]}
    assert (await world.call("PATCH", PATH, body, headers=session)).body["changed"] == 3
    assert [await version_of(world, each) for each in (account, other)] == [versions[0] + 1, versions[1] + 2]
    for link_id, version in zip(ids, (versions[0] + 1, versions[1] + 2, versions[0] + 1), strict=True):
        link = await link_of(world, user, link_id)
        assert (link.url, link.tags, link.version) == ("https://b.example/", ("x",), version)
    logged = [each for each in await events_of(world, session) if each["action"] == "link.change"]
    assert [(each["target"], each["edge_account_id"], each["count"]) for each in logged][:1] == [
        (other.id, OTHER_EDGE_ACCOUNT, 1)
    ]
    assert {(each["target"], each["edge_account_id"], each["count"]) for each in logged[1:]} == {
        (account.id, EDGE_ACCOUNT, 2),
        (other.id, OTHER_EDGE_ACCOUNT, 1),
    }


@pytest.mark.rule("L3")
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_dry_run_changes_nothing(world, method):
    user, session, account = await world.ready()
    ids = [await add(world, account, "one", "a"), await add(world, account, "two", "b")]
    before = [await link_of(world, user, link_id) for link_id in ids]
    events = await events_of(world, session)
    version = await version_of(world, account)
    world.supervisor.woken.clear()
    body = {"filter": {"tag": "a"}, "dry_run": True}
    if method == "PATCH":
        body["set"] = {"url": "https://new.example/"}
    headers = {**session, "Idempotency-Key": "k"}
    for _ in range(2):
        response = await world.call(method, PATH, body, headers=headers)
        assert (response.status, brief(response.body["results"])) == (200, [("one", True, None)])
        assert (response.body["changed"], response.body["dry_run"]) == (1, True)
        assert "Idempotent-Replayed" not in response.headers
    assert await world.store.read(kept_responses()) == 0
    assert [await link_of(world, user, link_id) for link_id in ids] == before
    assert await events_of(world, session) == events
    assert (await version_of(world, account), world.supervisor.woken) == (version, [])
    done = await world.call(method, PATH, {**body, "dry_run": False}, headers=headers)
    assert await world.store.read(kept_responses()) == 1
    assert done.body == {**response.body, "dry_run": False}
    assert await link_of(world, user, ids[0]) != before[0]
    assert await link_of(world, user, ids[1]) == before[1]


@pytest.mark.rule("L3", "C4")
async def test_filter_selects_the_links_that_the_caller_can_see(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.com")
    await add(world, account, "Sale", "a")
    await add(world, account, "two", "ab", url="https://example.org/50%25_x")
    await add(world, other, "three", "a", title="Sale")

    async def selected(headers: dict[str, str], **which: str) -> list[str]:
        body = {"filter": which, "dry_run": True}
        response = await world.call("DELETE", PATH, body, headers={**headers, "Idempotency-Key": new_id("try")})
        return [each["code"] for each in response.body["results"]]

    assert await selected(session) == ["Sale", "two", "three"]
    assert await selected(session, tag="A") == ["Sale", "three"]
    assert await selected(session, q="sALE") == ["Sale", "three"]
    assert await selected(session, q="%25_") == ["two"]
    assert await selected(session, q="_") == ["two"]
    assert await selected(session, account_id=other.id) == ["three"]
    assert await selected(session, account_id=other.id, tag="ab") == []
    limited = await world.key(user, "links", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    assert await selected(limited) == ["three"]
    assert await selected(await world.session(await world.user())) == []
    by_id = {"ids": [link.id for link in await world.store.read(list_links(LinkFilter(user.id)))]}
    response = await world.call("DELETE", PATH, by_id, headers={**limited, "Idempotency-Key": "ids"})
    assert [code for code, changed, _ in brief(response.body["results"]) if changed] == ["three"]
    assert await selected(session) == ["Sale", "two"]


@pytest.mark.rule("L3", "G1", "X12")
async def test_deleted_links_free_their_codes_and_repeats_have_no_effect(world):
    user, session, account = await world.ready()
    for code in ("one", "two", "other"):
        await add(world, account, code, *(["old"] if code != "other" else []))
    version = await version_of(world, account)
    headers = {**session, "Idempotency-Key": "k"}
    first = await world.call("DELETE", PATH, {"filter": {"tag": "old"}}, headers=headers)
    assert brief(first.body["results"]) == [("one", True, None), ("two", True, None)]
    await add(world, account, "one", "old")
    again = await world.call("DELETE", PATH, {"filter": {"tag": "old"}}, headers=headers)
    assert (again.body, again.headers["Idempotent-Replayed"]) == (first.body, "true")
    assert sorted(link.code for link in await world.store.read(list_links(LinkFilter(user.id)))) == ["one", "other"]
    assert await version_of(world, account) == version + 2
    logged = [each for each in await events_of(world, session) if each["action"] == "link.delete"]
    assert [(each["target"], each["count"]) for each in logged] == [(account.id, 2)]
    is_error(await world.call("DELETE", PATH, {"filter": {}}, headers=headers), 409, "idempotency_conflict")


@pytest.mark.rule("L3")
async def test_bulk_change_while_links_are_created_and_deleted_changes_each_link_once_or_not(world):
    user, session, account = await world.ready()
    first = [await add(world, account, f"old{n}") for n in range(10)]
    responses = []

    async def create(number: int) -> None:
        link = new_link(user.id, account.id, f"new{number}", world.clock())
        await world.store.run(links.add_link(link, 100_000))

    async def remove(link_id: str) -> None:
        assert (await world.call("DELETE", f"/v1/links/{link_id}", headers=session)).status == 200

    async def change(number: int) -> None:
        body = {"filter": {"account_id": account.id}, "set": {"url": f"https://b.example/{number}"}, "add_tags": ["x"]}
        responses.append(await world.call("PATCH", PATH, body, headers=session))

    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(create, number)
            nursery.start_soon(remove, first[number])
            if number % 2:
                nursery.start_soon(change, number)
    assert [response.status for response in responses] == [200] * 3
    changed = Counter(each["id"] for response in responses for each in response.body["results"] if each["changed"])
    kept = await world.store.read(list_links(LinkFilter(user.id)))
    assert len(kept) == 10
    for link in kept:
        assert link.tags == (("x",) if changed[link.id] else ())
        assert link.url.startswith("https://b.example/") == bool(changed[link.id])
    assert {link.id for link in kept if changed[link.id]} >= set(first[6:])


@pytest.mark.rule("G8")
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_request_without_exactly_one_selection_is_refused(world, method):
    _, session, account = await world.ready()
    await add(world, account, "one")
    bodies: list[JSON] = [{}, {"ids": [UNKNOWN], "filter": {}}, {"ids": None, "filter": None}, {"dry_run": True}]
    for body in bodies:
        refused = await world.call(method, PATH, body, headers=session)
        is_error(refused, 400, "invalid_request")
        assert "exactly one" in refused.body["error"]["details"]["issues"][0]["message"]
    invalid: list[tuple[JSON, str]] = [
        ({"ids": [UNKNOWN] * (MAX_LINK_IDS + 1)}, "ids"),
        ({"ids": []}, "ids"),
        ({"filter": {"state": "deleted"}}, "filter.state"),
        ({"filter": {"tag": "a,b"}}, "filter.tag"),
        ({"filter": []}, "filter"),
        # A filter whose value is missing must not select all links.
        *(({"filter": {name: value}}, f"filter.{name}") for name in ("account_id", "q", "tag") for value in (None, "")),
        ({"filter": {"q": None, "tag": "a"}}, "filter.q"),
    ]
    for body, path in invalid:
        refused = await world.call(method, PATH, body, headers=session)
        is_error(refused, 400, "invalid_request")
        assert refused.body["error"]["details"]["issues"][0]["path"] == path
    assert (await world.call(method, PATH, {"ids": [UNKNOWN] * MAX_LINK_IDS}, headers=session)).status == 200
    assert len((await world.call("GET", "/v1/links", headers=session)).body["links"]) == 1


async def test_filter_that_selects_too_many_links_is_refused(world):
    user, _, account = await world.ready()
    batch = [new_link(user.id, account.id, f"code{n}", world.clock()) for n in range(MAX_LINKS_SELECTED + 1)]
    for first in range(0, len(batch), 2_000):
        await world.store.run(links.add_links(batch[first : first + 2_000], 100_000))
    session = await world.session(user)
    refused = await world.call("PATCH", PATH, {"filter": {}, "add_tags": ["x"]}, headers=session)
    is_error(refused, 400, "invalid_request")
    issue = refused.body["error"]["details"]["issues"][0]
    assert (issue["path"], issue["code"], issue["limit"]) == ("filter", "too_many", MAX_LINKS_SELECTED)
    await world.store.run(links.delete_link(account.id, batch[0].id, world.clock()))
    done = await world.call("PATCH", PATH, {"filter": {}, "add_tags": ["x"]}, headers=session)
    assert (done.status, done.body["changed"]) == (200, MAX_LINKS_SELECTED)
    assert len(done.body["results"]) == MAX_LINKS_SELECTED


def test_every_field_of_a_change_can_be_stored():
    assert set(LinkChange.model_fields) == set(Change.__annotations__)
