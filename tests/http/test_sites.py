"""Sites: their shape, and what is refused."""

from __future__ import annotations

import re

import pytest
import trio

from svc.store import accounts, syncs
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT

NOW = "2026-11-21T04:00:00.000Z"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example",
        "-a.example.com",
        "a..example.com",
        "192.0.2.1",
        "a b.example.com",
        "exämple.com",
        "a.example.com/x",
        "*.example.com",
        "a" * 64 + ".com",
        "a.example.com:443",
    ],
)
async def test_what_is_no_host_is_refused(world, host):
    _, session, account = await world.ready()
    site = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": host}, headers=session)
    assert site.code == "invalid_request"
    put = await world.call("PUT", f"/v1/accounts/{account.id}/link-host", {"host": host}, headers=session)
    assert put.code == "invalid_request"


@pytest.mark.rule("S1")
@pytest.mark.rule("S7")
async def test_a_new_site_answers_202_with_its_snippet(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "Shop.example.com", "excluded_paths": ["/admin", "/a%20b"]}
    world.supervisor.woken.clear()
    answer = await world.call("POST", "/v1/sites", body, headers=session)
    assert (answer.status, list(answer.body)) == (202, ["site"])
    site = answer.body["site"]
    assert re.fullmatch(r"site_[a-z2-7]{20}", site["id"])
    assert site["snippet"]["inline"].startswith("<script>")
    assert site["path"] in site["snippet"]["inline"]
    assert f'src="{site["path"]}/' in site["snippet"]["script_tag"]
    rest = {name: of for name, of in site.items() if name not in ("id", "path", "snippet")}
    assert rest == {
        "account_id": account.id,
        "host": "shop.example.com",
        "state": "route_pending",
        "excluded_paths": ["/admin", "/a%20b"],
        "respect_gpc": False,
        "config": "pending",
        "retiring": [],
        "error": None,
        "created_at": NOW,
    }
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    shown = await world.call("GET", f"/v1/sites/{site['id']}", headers=session)
    assert shown.body == {"site": site}
    version = (await world.store.read(accounts.account_by_id(account.id))).config_version
    await world.store.run(syncs.end_sync(account.id, 0, version, {}))
    shown = await world.call("GET", f"/v1/sites/{site['id']}", headers=session)
    assert shown.body == {"site": {**site, "config": "synced"}}
    assert (await world.call("GET", "/v1/sites", headers=session)).body == {"sites": [shown.body["site"]]}


async def test_a_site_respects_gpc_when_it_is_asked_to(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "shop.example.com", "respect_gpc": True}
    answer = await world.call("POST", "/v1/sites", body, headers=session)
    assert (answer.status, answer.body["site"]["respect_gpc"]) == (202, True)
    shown = await world.call("GET", f"/v1/sites/{answer.body['site']['id']}", headers=session)
    assert shown.body["site"]["respect_gpc"] is True
    for wrong in ("true", 1, None):
        refused = await world.call("POST", "/v1/sites", {**body, "respect_gpc": wrong}, headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request")


@pytest.mark.rule("S1")
@pytest.mark.rule("A15")
@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        ("pending", False),
        ("bootstrap_lost", False),
        ("connected", False),
        ("installing", False),
        ("ready", True),
        ("no_connection", True),
        ("permission_error", False),
        ("revoked", False),
        ("resource_drift", False),
    ],
)
async def test_a_site_needs_an_account_that_works(world, state, allowed):
    _, session, account = await world.ready(state=state)
    answer = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    assert (answer.status, answer.code) == ((202, None) if allowed else (409, "account_not_ready"))


@pytest.mark.rule("S1")
async def test_a_host_outside_the_zones_and_a_host_twice_are_refused(world):
    _, session, account = await world.ready()
    outside = {"account_id": account.id, "host": "example.org"}
    answer = await world.call("POST", "/v1/sites", outside, headers=session)
    assert (answer.status, answer.code) == (422, "zone_not_found")
    body = {"account_id": account.id, "host": "example.com"}
    answers = []

    async def add() -> None:
        answers.append(await world.call("POST", "/v1/sites", body, headers=session))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(add)
    assert sorted(answer.status for answer in answers) == [202, 409, 409, 409]
    assert {answer.code for answer in answers} == {None, "site_exists"}


@pytest.mark.rule("S4")
@pytest.mark.parametrize(
    ("paths", "status"),
    [
        ([], 202),
        (["/"], 202),
        ([f"/{n}" for n in range(50)], 202),
        ([f"/{n}" for n in range(51)], 400),
        (["admin"], 400),
        ([""], 400),
        (["/a b"], 400),
        (["/a?b"], 400),
        (["/a\n"], 400),
    ],
)
async def test_excluded_paths_begin_with_a_slash_and_are_fifty_at_most(world, paths, status):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "example.com", "excluded_paths": paths}
    assert (await world.call("POST", "/v1/sites", body, headers=session)).status == status


async def test_a_user_has_only_so_many_sites_and_links(world):
    _, session, account = await world.ready()
    sites = [
        await world.call("POST", "/v1/sites", {"account_id": account.id, "host": f"{n}.example.com"}, headers=session)
        for n in range(4)
    ]
    assert [answer.code for answer in sites] == [None, None, None, "limit_reached"]
    links = [
        await world.call("POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}, headers=session)
        for _ in range(5)
    ]
    assert [answer.code for answer in links] == [None] * 4 + ["limit_reached"]


async def test_long_lists_are_read_a_page_at_a_time(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT)
    for n, of in enumerate((account, account, other)):
        body = {"account_id": of.id, "host": f"{n}.example.com"}
        assert (await world.call("POST", "/v1/sites", body, headers=session)).status == 202
    whole = (await world.call("GET", "/v1/sites", headers=session)).body
    assert list(whole) == ["sites"]
    found, cursor = [], ""
    for _ in range(3):
        page = (await world.call("GET", f"/v1/sites?limit=1{cursor}", headers=session)).body
        found += page["sites"]
        cursor = f"&cursor={page.get('next_cursor')}"
    assert "next_cursor" not in page
    assert found == whole["sites"]
    of_account = (await world.call("GET", f"/v1/sites?account_id={account.id}", headers=session)).body
    assert {site["account_id"] for site in of_account["sites"]} == {account.id}
    assert len(of_account["sites"]) == 2
