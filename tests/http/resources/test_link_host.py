"""Tests of link hosts, and of their fallback URLs for `/` and for paths without a link."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from svc.store import accounts
from tests.http.conftest import EDGE_ACCOUNT

ROOT = "https://www.example.com/"
GONE = "https://www.example.com/gone?x=1#y"


@pytest.fixture
async def place(world):
    """The link host's path and the owner's session."""
    _, session, account = await world.ready()
    return f"/v1/accounts/{account.id}/link-host", session


@pytest.mark.rule("A19")
async def test_setting_a_link_host_returns_202_with_it(world):
    user = await world.user()
    account = await world.account(user)
    session = await world.session(user)
    path = f"/v1/accounts/{account.id}/link-host"
    response = await world.call("PUT", path, {"host": "Go.Example.COM."}, headers=session)
    assert response.status == 202
    assert response.body == {
        "link_host": {
            "host": "go.example.com",
            "state": "route_pending",
            "config": "pending",
            "live_at": None,
            "root_url": None,
            "not_found_url": None,
            "error": None,
        }
    }


@pytest.mark.rule("A19")
async def test_setting_the_same_link_host_wakes_the_account(world):
    _, session, account = await world.ready()
    world.supervisor.woken.clear()
    before = await world.store.read(accounts.account_by_id(account.id))
    path = f"/v1/accounts/{account.id}/link-host"
    assert (await world.call("PUT", path, {"host": "go.example.com"}, headers=session)).status == 202
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    assert await world.store.read(accounts.account_by_id(account.id)) == before


async def test_put_and_patch_set_keep_and_clear_the_fallbacks(world, place):
    path, session = place
    changes = [
        ("PUT", {"host": "go.example.com", "root_url": ROOT, "not_found_url": GONE}, ROOT, GONE),
        ("PUT", {"host": "go.example.com"}, ROOT, GONE),
        ("PUT", {"host": "to.example.com"}, ROOT, GONE),
        ("PATCH", {}, ROOT, GONE),
        ("PATCH", {"not_found_url": None}, ROOT, None),
        ("PATCH", {"root_url": "https://bücher.example/ü"}, "https://xn--bcher-kva.example/%C3%BC", None),
        ("PUT", {"host": "to.example.com", "root_url": None, "not_found_url": GONE}, None, GONE),
    ]
    for method, body, root, gone in changes:
        response = await world.call(method, path, body, headers=session)
        assert response.status == (202 if method == "PUT" else 200), response.raw
        host = response.body["link_host"]
        assert (host["root_url"], host["not_found_url"], host["config"]) == (root, gone, "pending"), body
        shown = (await world.call("GET", path.removesuffix("/link-host"), headers=session)).body["account"]
        assert shown["link_host"] == host


async def test_unchanged_fallbacks_need_no_sync(world, place):
    path, session = place
    await world.call("PATCH", path, {"root_url": ROOT}, headers=session)
    [before] = await world.store.read(accounts.list_accounts(1))
    for method, body in (("PATCH", {"root_url": ROOT}), ("PUT", {"host": "go.example.com", "root_url": ROOT})):
        assert (await world.call(method, path, body, headers=session)).status in (200, 202)
    [after] = await world.store.read(accounts.list_accounts(1))
    assert after == before


async def test_patch_keeps_the_route(world, place):
    path, session = place
    before = (await world.call("GET", path.removesuffix("/link-host"), headers=session)).body["account"]["link_host"]
    changed = (await world.call("PATCH", path, {"root_url": ROOT}, headers=session)).body["link_host"]
    assert (changed["host"], changed["state"]) == (before["host"], before["state"])


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://go.example.com/", "on_link_host"),
        ("https://GO.example.com./x", "on_link_host"),
        ("https://go.example.com:8443/x", "on_link_host"),
        ("http://www.example.com/", "not_https"),
        ("javascript:alert(1)", "not_https"),
        ("//www.example.com/", "not_https"),
        (f"https://www.example.com/{'a' * 2_040}", "too_long"),
        ("", "not_https"),
        (7, "not_text"),
    ],
)
async def test_fallbacks_follow_the_rules_of_link_targets(world, place, url, code):
    path, session = place
    for method, host in (("PUT", {"host": "go.example.com"}), ("PATCH", {})):
        for name in ("root_url", "not_found_url"):
            response = await world.call(method, path, {**host, name: url}, headers=session)
            assert (response.status, response.code) == (400, "invalid_request")
            [issue] = response.body["error"]["details"]["issues"]
            assert (issue["path"], issue["code"]) == (name, code)


async def test_host_to_which_a_kept_fallback_points_is_rejected(world, place):
    path, session = place
    await world.call("PATCH", path, {"root_url": "https://to.example.com/home"}, headers=session)
    refused = await world.call("PUT", path, {"host": "to.example.com"}, headers=session)
    [issue] = refused.body["error"]["details"]["issues"]
    assert (refused.status, issue["path"], issue["code"]) == (400, "host", "target_of_fallback")
    accepted = await world.call("PUT", path, {"host": "to.example.com", "root_url": ROOT}, headers=session)
    assert accepted.status == 202
    loop = await world.call(
        "PUT", path, {"host": "on.example.com", "root_url": "https://on.example.com"}, headers=session
    )
    assert [issue["path"] for issue in loop.body["error"]["details"]["issues"]] == ["root_url"]


async def test_longest_urls_are_accepted(world, place):
    path, session = place
    url = "https://www.example.com/" + "ü" * 337  # each ü takes 6 bytes, both in the body and in the stored form
    body = {"root_url": url, "not_found_url": url}
    response = await world.call("PATCH", path, body, headers=session)
    assert response.status == 200, response.raw
    assert len(response.body["link_host"]["root_url"]) == 24 + 337 * 6


async def test_account_without_a_link_host_has_no_fallbacks(world):
    user = await world.user()
    account = await world.account(user)
    session = await world.session(user)
    refused = await world.call("PATCH", f"/v1/accounts/{account.id}/link-host", {"root_url": ROOT}, headers=session)
    assert (refused.status, refused.code) == (409, "link_host_required")


async def test_export_has_the_fallbacks(world, place):
    path, session = place
    await world.call("PATCH", path, {"root_url": ROOT, "not_found_url": GONE}, headers=session)
    response = await world.call("GET", "/v1/export", headers=session)
    with zipfile.ZipFile(io.BytesIO(response.raw)) as archive:
        [account] = json.loads(archive.read("accounts.json"))
    assert (account["link_host"], account["root_url"], account["not_found_url"]) == ("go.example.com", ROOT, GONE)
