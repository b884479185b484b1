"""Tests of /v1/sites: creation, changes, rotation, deletion, and lists."""

from __future__ import annotations

import itertools
import re
import secrets
from dataclasses import replace

import pytest
import trio

from svc.api.cursors import cursor_of
from svc.clock import day_of
from svc.model import WorkerSettings
from svc.store import accounts, sites, states, syncs, totals
from svc.worker.config_rows import rows_of
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT

LIVE_AT = START_MS + 60_000  # epoch ms; after this time, every isolate serves the synced configuration
NOW = "2026-11-21T04:00:00.000Z"


@cases(
    "host",
    [
        "",
        "example",
        "-a.example.com",
        "a..example.com",
        "192.0.2.1",
        "a b.example.com",
        "i❤.example.com",
        "a.example.com/x",
        "*.example.com",
        "a" * 64 + ".com",
        "a.example.com:443",
    ],
)
async def test_invalid_host_is_refused(world, ready, host):
    _, session, account = ready
    site = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": host}, headers=session)
    assert site.code == "invalid_request"
    put = await world.call("PUT", f"/v1/accounts/{account.id}/link-host", {"host": host}, headers=session)
    assert put.code == "invalid_request"


@pytest.mark.rule("S1", "A19")
async def test_international_host_is_stored_in_ascii(world):
    _, session, account = await world.ready()
    site = await world.call(
        "POST", "/v1/sites", {"account_id": account.id, "host": "Bücher。Example.com."}, headers=session
    )
    assert (site.status, site.body["site"]["host"]) == (202, "xn--bcher-kva.example.com")
    again = {"account_id": account.id, "host": "xn--bcher-kva.EXAMPLE.com"}
    assert (await world.call("POST", "/v1/sites", again, headers=session)).code == "site_exists"
    put = await world.call("PUT", f"/v1/accounts/{account.id}/link-host", {"host": "gö.example.com"}, headers=session)
    assert (put.status, put.body["link_host"]["host"]) == (202, "xn--g-1ga.example.com")


@pytest.mark.rule("S1")
@pytest.mark.rule("S7")
async def test_adding_a_site_returns_202_with_its_snippet(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "Shop.example.com", "excluded_paths": ["/admin", "/a%20b"]}
    world.supervisor.woken.clear()
    response = await world.call("POST", "/v1/sites", body, headers=session)
    assert (response.status, list(response.body)) == (202, ["site"])
    site = response.body["site"]
    assert re.fullmatch(r"site_[a-z2-7]{20}", site["id"])
    assert site["snippet"]["inline"].startswith("<script>")
    assert site["path"] in site["snippet"]["inline"]
    assert f'src="{site["path"]}/' in site["snippet"]["script_tag"]
    rest = {name: field for name, field in site.items() if name not in ("id", "path", "snippet")}
    assert rest == {
        "account_id": account.id,
        "host": "shop.example.com",
        "state": "route_pending",
        "excluded_paths": ["/admin", "/a%20b"],
        "excluded_networks": [],
        "excluded_countries": [],
        "excluded_asns": [],
        "respect_gpc": False,
        "visitor_opt_out": False,
        "config": "pending",
        "live_at": None,
        "retiring": [],
        "error": None,
        "warnings": [],
        "created_at": NOW,
        "first_view_at": None,
    }
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    shown = await world.call("GET", f"/v1/sites/{site['id']}", headers=session)
    assert shown.body == {"site": site}
    version = (await world.store.read(accounts.account_by_id(account.id))).config_version
    await world.store.run(syncs.end_sync(account.id, 0, version, {}, LIVE_AT))
    shown = await world.call("GET", f"/v1/sites/{site['id']}", headers=session)
    assert shown.body == {"site": {**site, "config": "synced", "live_at": "2026-11-21T04:01:00.000Z"}}
    [listed] = (await world.call("GET", "/v1/sites", headers=session)).body["sites"]
    assert listed == {**shown.body["site"], "views_7d": 0, "series_7d": [0] * 7}


@pytest.mark.parametrize("setting", ["respect_gpc", "visitor_opt_out"])
async def test_site_can_respect_gpc_and_offer_an_opt_out(world, setting):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "shop.example.com", setting: True}
    response = await world.call("POST", "/v1/sites", body, headers=session)
    assert (response.status, response.body["site"][setting]) == (202, True)
    path = f"/v1/sites/{response.body['site']['id']}"
    assert (await world.call("GET", path, headers=session)).body["site"][setting] is True
    for wrong in ("true", 1, None):
        refused = await world.call("POST", "/v1/sites", {**body, setting: wrong}, headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request")
    rotated = await world.call("POST", f"{path}/rotate", headers=session)
    assert rotated.body["site"][setting] is True
    for value in (None, False):
        changed = await world.call("PATCH", path, {setting: value}, headers=session)
        assert changed.body["site"] == {**rotated.body["site"], setting: value is None}
    for other in ("false", 0):
        refused = await world.call("PATCH", path, {setting: other}, headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request")


@pytest.mark.rule("S1")
@pytest.mark.rule("A15")
@cases(
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
async def test_site_requires_a_working_account(world, ready, state, allowed):
    user, session, _ = ready
    account = await world.account(user, secrets.token_hex(16), state)
    response = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    assert (response.status, response.code) == ((202, None) if allowed else (409, "account_not_ready"))


@pytest.mark.rule("S1")
@cases(
    ("state", "remedy"),
    [
        ("pending", "repeat the request POST /v1/accounts"),
        ("bootstrap_lost", "connect the account again"),
        ("connected", "Install the Worker: POST"),
        ("installing", "Wait until"),
        ("permission_error", "Restore the token's permissions"),
        ("revoked", "Renew the working token"),
        ("resource_drift", "Install the Worker again"),
    ],
)
async def test_error_has_the_remedy_for_the_state_of_the_account(world, ready, state, remedy):
    user, session, _ = ready
    account = await world.account(user, secrets.token_hex(16), state)
    response = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    assert remedy in response.body["error"]["details"]["remedy"]


@pytest.mark.rule("S1")
async def test_host_outside_the_zones_and_duplicate_host_are_refused(world):
    _, session, account = await world.ready()
    outside = {"account_id": account.id, "host": "example.org"}
    response = await world.call("POST", "/v1/sites", outside, headers=session)
    assert (response.status, response.code) == (422, "zone_not_found")
    body = {"account_id": account.id, "host": "example.com"}
    responses = []

    async def add() -> None:
        responses.append(await world.call("POST", "/v1/sites", body, headers=session))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(add)
    assert sorted(response.status for response in responses) == [202, 409, 409, 409]
    assert {response.code for response in responses} == {None, "site_exists"}


@pytest.mark.rule("S4")
@cases(
    ("paths", "status"),
    [
        ([], 202),
        (["/", "/a b", "/" + "ü" * 166], 202),
        ([f"/{n}" for n in range(50)], 202),
        ([f"/{n}" for n in range(51)], 400),
        (["admin"], 400),
        ([""], 400),
        (["/a?b"], 400),
        (["/a#b"], 400),
        (["/a\\b"], 400),
        (["/" + "ü" * 167], 400),
        (["/a\n"], 400),
    ],
)
async def test_excluded_paths_begin_with_a_slash_and_are_limited_to_fifty(world, ready, paths, status):
    _, session, account = ready
    body = {"account_id": account.id, "host": f"{secrets.token_hex(4)}.example.com", "excluded_paths": paths}
    assert (await world.call("POST", "/v1/sites", body, headers=session)).status == status


@pytest.mark.rule("S4")
async def test_excluded_path_is_stored_and_returned_as_browsers_send_it(world, ready):
    user, session, account = ready
    wanted = ["/über uns ", "/a%20b|[c]", "/日本"]
    encoded = ["/%C3%BCber%20uns", "/a%20b|[c]", "/%E6%97%A5%E6%9C%AC"]
    site = await added(world, session, account, excluded_paths=wanted)
    assert site["excluded_paths"] == encoded
    stored = await world.store.read(sites.get_site(user.id, site["id"]))
    assert stored.excluded_paths == tuple(encoded)
    response = await world.call("PATCH", f"/v1/sites/{site['id']}", {"excluded_paths": ["/x y"]}, headers=session)
    assert response.body["site"]["excluded_paths"] == ["/x%20y"]


@pytest.mark.rule("S4")
@pytest.mark.parametrize("path", ["/a?b", "/a#b"])
async def test_error_explains_query_and_fragment_in_an_excluded_path(world, ready, path):
    _, session, account = ready
    body = {"account_id": account.id, "host": "a.example.com", "excluded_paths": [path]}
    [issue] = (await world.call("POST", "/v1/sites", body, headers=session)).body["error"]["details"]["issues"]
    assert (issue["path"], issue["code"]) == ("excluded_paths.0", "not_path")
    assert "without query and fragment" in issue["message"]


@cases(
    ("network", "canonical"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8:0:0:1::9/64", "2001:db8::/64"),
        ("2001:db8::1/128", "2001:db8::1"),
        ("2001:db8::192.0.2.7", "2001:db8::c000:207"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:c000:207/120", "192.0.2.0/24"),
        ("::/0", "::/0"),
    ],
)
async def test_excluded_network_is_returned_in_its_canonical_form(world, ready, network, canonical):
    user, session, account = ready
    site = await added(world, session, account, f"{secrets.token_hex(4)}.example.com", excluded_networks=[network] * 2)
    assert site["excluded_networks"] == [canonical]
    assert (await world.store.read(sites.get_site(user.id, site["id"]))).excluded_networks == (canonical,)
    await world.store.run(sites.delete_site(account.id, site["id"]))


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@cases(
    ("field", "value", "code"),
    [
        ("excluded_networks", ["192.0.2.256"], "not_network"),
        ("excluded_networks", ["192.0.2.0/33"], "not_network"),
        ("excluded_networks", ["2001:db8::/129"], "not_network"),
        ("excluded_networks", ["fe80::1%eth0"], "not_network"),
        ("excluded_networks", ["192.0.2.1\n"], "not_network"),
        ("excluded_networks", ["office"], "not_network"),
        ("excluded_networks", [""], "not_network"),
        ("excluded_networks", [3_221_225_991], "not_text"),
        ("excluded_networks", [f"192.0.2.{n}" for n in range(21)], "too_many"),
        ("excluded_networks", "192.0.2.1", "not_list"),
        ("excluded_countries", ["de"], "wrong_form"),
        ("excluded_countries", ["DEU"], "wrong_form"),
        ("excluded_countries", ["DE"] * 51, "too_many"),
        ("excluded_asns", [0], "too_small"),
        ("excluded_asns", [2**32], "too_large"),
        ("excluded_asns", ["64496"], "not_integer"),
        ("excluded_asns", [True], "not_integer"),
        ("excluded_asns", [64496.5], "not_integer"),
        ("excluded_asns", list(range(1, 22)), "too_many"),
    ],
)
async def test_invalid_list_of_visitors_is_refused(world, ready, method, field, value, code):
    _, session, account = ready
    host = f"{secrets.token_hex(4)}.example.com"
    path, body = "/v1/sites", {"account_id": account.id, "host": host, field: value}
    if method == "PATCH":
        site = await added(world, session, account, host)
        path, body = f"/v1/sites/{site['id']}", {field: value}
    response = await world.call(method, path, body, headers=session)
    [issue] = response.body["error"]["details"]["issues"]
    assert (response.status, issue["path"].partition(".")[0], issue["code"]) == (400, field, code)
    if method == "PATCH":
        await world.store.run(sites.delete_site(account.id, site["id"]))


async def test_visitors_to_exclude_are_limited_to_the_largest_lists(world):
    """The service accepts lists of the maximum size. They add less than 2 kB to the site's row in the Worker's
    database.
    """
    user, session, account = await world.ready()
    largest = {
        "excluded_networks": [f"2001:db8:ffff:ffff:ffff:ffff:ffff:ff{n:02}" for n in range(20)],
        "excluded_countries": [f"{a}{b}" for a in "ABCDE" for b in "ABCDEFGHIJ"],
        "excluded_asns": [2**32 - 1 - n for n in range(20)],
    }
    site = await added(world, session, account, **largest)
    assert {name: site[name] for name in largest} == largest
    stored = await world.store.read(sites.get_site(user.id, site["id"]))
    without = replace(stored, excluded_networks=(), excluded_countries=(), excluded_asns=())
    [row], [small] = (rows_of([one], [], None, WorkerSettings(), 0) for one in (stored, without))
    assert len(row.body or "") - len(small.body or "") < 2_000


async def test_lists_of_visitors_can_be_changed_one_by_one(world):
    _, session, account = await world.ready()
    lists = {"excluded_networks": ["192.0.2.0/24"], "excluded_countries": ["FR"], "excluded_asns": [64496]}
    site = await added(world, session, account, **lists)
    path = f"/v1/sites/{site['id']}"
    expected = dict(site)
    changes: tuple[dict[str, list[object] | None], ...] = (
        {"excluded_networks": ["198.51.100.9/24", "2001:db8::/64", "198.51.100.0/24"]},
        {"excluded_countries": ["DE", "FR", "DE"]},
        {"excluded_asns": []},
        {"excluded_asns": None, "excluded_paths": ["/admin"]},
    )
    for change in changes:
        response = await world.call("PATCH", path, change, headers=session)
        expected |= {name: list(dict.fromkeys(value)) for name, value in change.items() if value is not None}
        if "excluded_networks" in change:
            expected["excluded_networks"] = ["198.51.100.0/24", "2001:db8::/64"]
        assert response.body["site"] == expected
    assert (await world.call("GET", path, headers=session)).body["site"] == expected


async def test_sites_and_links_of_a_user_are_limited(world):
    _, session, account = await world.ready()
    sites = [
        await world.call("POST", "/v1/sites", {"account_id": account.id, "host": f"{n}.example.com"}, headers=session)
        for n in range(4)
    ]
    assert [response.code for response in sites] == [None, None, None, "limit_reached"]
    links = [
        await world.call("POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}, headers=session)
        for _ in range(5)
    ]
    assert [response.code for response in links] == [None] * 4 + ["limit_reached"]


async def test_long_lists_are_paged(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT)
    for n, owner in enumerate((account, account, other)):
        body = {"account_id": owner.id, "host": f"{n}.example.com"}
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


async def added(world, session, account, host="shop.example.com", **fields):
    body = {"account_id": account.id, "host": host, **fields}
    response = await world.call("POST", "/v1/sites", body, headers=session)
    assert response.status == 202, response.raw
    return response.body["site"]


async def synced(world, account):
    version = (await world.store.read(accounts.account_by_id(account.id))).config_version
    await world.store.run(syncs.end_sync(account.id, 0, version, {}, LIVE_AT))


@pytest.mark.rule("S4")
async def test_exclusions_of_a_site_can_be_changed(world):
    _, session, account = await world.ready()
    site = await added(world, session, account, excluded_paths=["/admin"])
    await synced(world, account)
    world.supervisor.woken.clear()
    path = f"/v1/sites/{site['id']}"
    response = await world.call("PATCH", path, {"excluded_paths": ["/a", "/b"]}, headers=session)
    assert (response.status, list(response.body)) == (200, ["site"])
    assert response.body["site"] == {**site, "excluded_paths": ["/a", "/b"], "config": "pending"}
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    settings = {"respect_gpc": True, "excluded_paths": [], "visitor_opt_out": True}
    response = await world.call("PATCH", path, settings, headers=session)
    assert response.body["site"] == {**site, **settings, "config": "pending"}
    assert (await world.call("GET", path, headers=session)).body == response.body


@pytest.mark.rule("S4")
@pytest.mark.parametrize(
    "body",
    [{}, {"excluded_paths": None}, {"excluded_paths": ["/admin"], "respect_gpc": False, "visitor_opt_out": False}],
)
async def test_change_without_effect_triggers_no_sync(world, body):
    _, session, account = await world.ready()
    site = await added(world, session, account, excluded_paths=["/admin"])
    await synced(world, account)
    world.supervisor.woken.clear()
    response = await world.call("PATCH", f"/v1/sites/{site['id']}", body, headers=session)
    assert response.body == {"site": {**site, "config": "synced", "live_at": "2026-11-21T04:01:00.000Z"}}
    assert world.supervisor.woken == []


@pytest.fixture
async def owned_site(world, ready):
    """The headers of a session, and a site of its user."""
    _, session, account = ready
    return session, await added(world, session, account)


@pytest.mark.rule("S4")
@cases(
    "body",
    [
        {"excluded_paths": [f"/{n}" for n in range(51)]},
        {"excluded_paths": ["admin"]},
        {"respect_gpc": 1},
        {"host": "a"},
    ],
)
async def test_invalid_change_is_refused(world, owned_site, body):
    session, site = owned_site
    response = await world.call("PATCH", f"/v1/sites/{site['id']}", body, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")


@pytest.mark.rule("S6", "S8")
async def test_deleted_site_can_be_read_but_not_changed(world):
    _, session, account = await world.ready()
    site = await added(world, session, account)
    path = f"/v1/sites/{site['id']}"
    await world.call("POST", f"{path}/rotate", headers=session)
    world.supervisor.woken.clear()
    response = await world.call("DELETE", path, headers=session)
    assert response.status == 200
    deleted = response.body["site"]
    assert (deleted["state"], deleted["snippet"], deleted["retiring"]) == ("deleted", None, [])
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    assert (await world.call("GET", path, headers=session)).body == {"site": deleted}
    assert (await world.call("GET", f"{path}/report", headers=session)).status == 200
    assert (await world.call("GET", "/v1/sites", headers=session)).body == {"sites": []}
    assert (await world.call("GET", "/v1/me", headers=session)).body["use"]["sites"] == 0
    for method, suffix, body in (
        ("PATCH", "", {"excluded_paths": []}),
        ("DELETE", "", None),
        ("POST", "/rotate", None),
    ):
        refused = await world.call(method, f"{path}{suffix}", body, headers=session)
        assert (refused.status, refused.code) == (409, "site_not_active")
    again = await added(world, session, account)
    assert again["id"] != site["id"]
    assert again["path"] not in (site["path"], deleted["path"])


@pytest.mark.rule("S5")
async def test_rotated_site_has_a_new_snippet_and_lists_its_old_paths(world):
    _, session, account = await world.ready()
    site = await added(world, session, account)
    path = f"/v1/sites/{site['id']}"
    seen = [site]
    for hour in range(3):
        response = await world.call("POST", f"{path}/rotate", headers=session)
        assert response.status == 200
        seen.append(response.body["site"])
        world.clock.advance_s(3_600)
        until = [{"path": old["path"], "until": f"2026-12-21T{4 + n:02}:00:00.000Z"} for n, old in enumerate(seen[:-1])]
        assert seen[-1]["retiring"] == until
        assert len(until) == hour + 1
    for name in ("path", "snippet"):
        assert len({str(one[name]) for one in seen}) == 4
    names = [re.findall(r"([a-z2-7]+)\.js", one["snippet"]["script_tag"]) for one in seen]
    assert all(one != other for one, other in itertools.pairwise(names))
    same = ("id", "host", "excluded_paths", "excluded_networks", "respect_gpc", "created_at", "error")
    assert {name: seen[-1][name] for name in same} == {name: site[name] for name in same}
    assert (seen[-1]["state"], seen[-1]["config"]) == ("route_pending", "pending")
    assert (await world.call("GET", path, headers=session)).body == {"site": seen[-1]}


@pytest.mark.rule("S5")
async def test_old_paths_of_a_site_are_limited_to_ten(world):
    _, session, account = await world.ready()
    site = await added(world, session, account)
    path = f"/v1/sites/{site['id']}/rotate"
    for _ in range(10):
        last = await world.call("POST", path, headers=session)
        assert last.status == 200
    refused = await world.call("POST", path, headers=session)
    assert (refused.status, refused.code) == (403, "limit_reached")
    assert "2026-12-21T04:00:00.000Z" in refused.body["error"]["message"]
    assert refused.body["error"]["details"]["remedy"] == "Try again after this time."
    assert (await world.call("GET", f"/v1/sites/{site['id']}", headers=session)).body == last.body


@pytest.mark.rule("S5", "S6")
@pytest.mark.parametrize(("method", "suffix"), [("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")])
async def test_repeated_action_gets_the_first_response(world, method, suffix):
    user, session, account = await world.ready()
    site = await added(world, session, account)
    key = await world.key(user, "sites")
    body = {"respect_gpc": True} if method == "PATCH" else None
    responses = []

    async def act() -> None:
        responses.append(await world.call(method, f"/v1/sites/{site['id']}{suffix}", body, headers=key))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(act)
    await act()
    assert {response.status for response in responses} == {200}
    assert len({response.raw for response in responses}) == 1


@pytest.mark.rule("S6", "S8")
async def test_each_concurrent_action_gets_its_own_outcome(world):
    _, session, account = await world.ready()
    site = await added(world, session, account)
    path = f"/v1/sites/{site['id']}"
    ends = []

    async def act(method, suffix, body=None) -> None:
        response = await world.call(method, f"{path}{suffix}", body, headers=session)
        ends.append((method, response.code))

    async with trio.open_nursery() as nursery:
        for n in range(5):
            nursery.start_soon(act, "PATCH", "", {"excluded_paths": [f"/{n}"]})
            nursery.start_soon(act, "POST", "/rotate")
            nursery.start_soon(act, "DELETE", "")
    assert ends.count(("DELETE", None)) == 1
    assert ends.count(("DELETE", "site_not_active")) == 4
    assert {code for _, code in ends} <= {None, "site_not_active"}
    shown = (await world.call("GET", path, headers=session)).body["site"]
    assert (shown["state"], shown["retiring"]) == ("deleted", [])


@pytest.mark.rule("C3", "G10")
async def test_changing_a_site_requires_scope_and_access(world):
    user, session, account = await world.ready()
    site = await added(world, session, account)
    other = await world.session(await world.user())
    links_only = await world.key(user, "links", "reports", "accounts")
    elsewhere = await world.key(user, "sites", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    for method, suffix in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")):
        path = f"/v1/sites/{site['id']}{suffix}"
        for headers, code in ((other, "not_found"), (elsewhere, "not_found"), (links_only, "scope_required")):
            assert (await world.call(method, path, headers=headers)).code == code
    assert (await world.call("GET", f"/v1/sites/{site['id']}", headers=session)).body == {"site": site}


@pytest.mark.rule("S4", "S5", "S6")
@cases(
    "state",
    ["pending", "bootstrap_lost", "connected", "installing", "permission_error", "revoked", "resource_drift"],
)
async def test_site_can_be_changed_rotated_and_deleted_in_any_state_of_its_account(world, ready, state):
    _, session, account = ready
    site = await added(world, session, account)
    await world.store.run(states.move(account.id, ("ready",), state, None, START_MS))
    path = f"/v1/sites/{site['id']}"
    assert (await world.call("PATCH", path, {"respect_gpc": True}, headers=session)).status == 200
    assert (await world.call("POST", f"{path}/rotate", headers=session)).status == 200
    assert (await world.call("DELETE", path, headers=session)).status == 200
    await world.store.run(states.move(account.id, (state,), "ready", None, START_MS))


async def listed(world, session, query=""):
    """Return the hosts of all listed sites. Reads two sites per page."""
    page = (await world.call("GET", f"/v1/sites?limit=2{query}", headers=session)).body
    hosts = [site["host"] for site in page["sites"]]
    while "next_cursor" in page:
        path = f"/v1/sites?limit=2{query}&cursor={page['next_cursor']}"
        page = (await world.call("GET", path, headers=session)).body
        hosts += [site["host"] for site in page["sites"]]
    return hosts


@pytest.mark.rule("X15")
async def test_search_finds_sites_by_part_of_their_host_in_each_order(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT)
    everything = ["b.shop.example.com", "a.example.com", "c-shop.example.com"]
    for host, owner in zip(everything, (account, account, other), strict=True):
        await added(world, session, owner, host)
        world.clock.advance_s(1)
    assert await listed(world, session) == everything
    assert await listed(world, session, "&order=oldest&state=active&q=") == everything
    assert await listed(world, session, "&order=newest") == everything[::-1]
    assert await listed(world, session, "&order=host") == sorted(everything)
    assert await listed(world, session, "&q=SHOP") == [everything[0], everything[2]]
    assert await listed(world, session, "&q=SHOP&order=newest") == [everything[2], everything[0]]
    assert await listed(world, session, f"&q=shop&account_id={other.id}") == [everything[2]]
    for literal in ("%25", "_", "!", "a.example.com%25", "shop_example", "%5C", "%27"):
        assert await listed(world, session, f"&q={literal}") == []
    assert await listed(world, session, "&q=.example.com") == everything


@pytest.mark.rule("X15", "S6")
async def test_deleted_sites_are_listed_on_request(world):
    _, session, account = await world.ready()
    old = await added(world, session, account)
    await world.call("DELETE", f"/v1/sites/{old['id']}", headers=session)
    await added(world, session, account)
    world.clock.advance_s(1)
    await added(world, session, account, "b.example.com")
    assert await listed(world, session, "&state=deleted") == ["shop.example.com"]
    assert await listed(world, session) == ["shop.example.com", "b.example.com"]
    [shown] = (await world.call("GET", "/v1/sites?state=deleted&q=shop", headers=session)).body["sites"]
    assert (shown["id"], shown["state"], shown["snippet"]) == (old["id"], "deleted", None)


@pytest.mark.rule("X15")
@pytest.mark.parametrize("order", ["oldest", "newest", "host"])
async def test_list_that_changes_while_it_is_paged_shows_each_remaining_site_once(world, order):
    _, session, account = await world.ready()
    for n in range(3):
        await added(world, session, account, f"{n}.example.com")
        world.clock.advance_s(1)
    first = (await world.call("GET", f"/v1/sites?limit=1&order={order}", headers=session)).body
    [shown] = first["sites"]
    # Delete the site that the cursor points to, and add another site with the same host.
    await world.call("DELETE", f"/v1/sites/{shown['id']}", headers=session)
    await added(world, session, account, shown["host"])
    rest = (await world.call("GET", f"/v1/sites?order={order}&cursor={first['next_cursor']}", headers=session)).body
    stayed = [site["host"] for site in rest["sites"] if site["host"] != shown["host"]]
    assert stayed == sorted(
        {"0.example.com", "1.example.com", "2.example.com"} - {shown["host"]}, reverse=order == "newest"
    )


@pytest.mark.rule("X15")
async def test_search_finds_international_hosts(world):
    _, session, account = await world.ready()
    for host in ("münchen.example.com", "a.example.com"):
        await added(world, session, account, host)
    client = world.app.test_client(use_cookies=False)
    for q in ("münchen", "MÜNCHEN.example", "münchen.example.com", "\uff4dünchen"):
        response = await client.get("/v1/sites", query_string={"q": q}, headers=session)
        assert [site["host"] for site in (await response.get_json())["sites"]] == ["xn--mnchen-3ya.example.com"], q
    response = await client.get("/v1/sites", query_string={"q": "köln"}, headers=session)
    assert (await response.get_json())["sites"] == []


@pytest.mark.rule("X15", "G8")
async def test_cursor_of_another_list_is_refused(world):
    _, session, account = await world.ready()
    for host in ("a.example.com", "b.example.com"):
        await added(world, session, account, host)
    cursor = (await world.call("GET", "/v1/sites?limit=1", headers=session)).body["next_cursor"]
    of_links = cursor_of(("oldest", None, "", "active"), (1, "x"))
    others = [
        *(f"{query}&cursor={cursor}" for query in ("order=newest", "q=a", "state=deleted", f"account_id={account.id}")),
        *(f"cursor={wrong}" for wrong in ("", "x", cursor[:-3], of_links, "sit_" + "a" * 20, "%C3%A4", "W10")),
    ]
    for query in others:
        refused = await world.call("GET", f"/v1/sites?{query}", headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request"), query
        assert refused.body["error"]["details"]["issues"][0]["path"] == "cursor"
    assert len((await world.call("GET", f"/v1/sites?limit=5&cursor={cursor}", headers=session)).body["sites"]) == 1


@pytest.mark.parametrize("query", ["order=clicks", "order=", "state=all", "q=%00", "q=" + "x" * 201, "q=a&q=b"])
async def test_invalid_query_is_refused(world, query):
    session = await world.session(await world.user())
    response = await world.call("GET", f"/v1/sites?{query}", headers=session)
    assert (response.status, response.code) == (400, "invalid_request")


@pytest.mark.rule("X15", "C2")
async def test_list_has_views_of_a_week_with_scope_reports(world):
    user, session, account = await world.ready()
    site = await added(world, session, account)
    today = day_of(world.clock())
    for ago, views in ((8, 1_000), (7, 1), (4, 20), (1, 300), (0, 4_000)):
        day = today - ago
        part = PushedPart(ago, day, day * 86_400_000, False, (), (), ((site["id"], views, 50_000, 1),))
        assert (await world.store.run(totals.ingest(account.id, [part], world.clock()))).refused == ()
    world.clock.advance_s(1)
    await added(world, session, account, "idle.example.com")
    for headers, has_views in (
        (session, True),
        (await world.key(user, "sites", "reports"), True),
        (await world.key(user, "sites"), False),
    ):
        busy, idle = (await world.call("GET", "/v1/sites", headers=headers)).body["sites"]
        assert (busy.get("views_7d"), busy.get("series_7d")) == (
            (321, [1, 0, 0, 20, 0, 0, 300]) if has_views else (None, None)
        )
        assert (idle.get("views_7d"), idle.get("series_7d")) == ((0, [0] * 7) if has_views else (None, None))
    assert "views_7d" not in (await world.call("GET", f"/v1/sites/{site['id']}", headers=session)).body["site"]


@pytest.mark.rule("S1", "A19")
async def test_host_cannot_be_both_link_host_and_site(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "host": "go.example.com"}
    refused = await world.call("POST", "/v1/sites", body, headers=session)
    assert (refused.status, refused.code) == (409, "site_on_link_host")
    await added(world, session, account)
    path = f"/v1/accounts/{account.id}/link-host"
    refused = await world.call("PUT", path, {"host": "shop.example.com"}, headers=session)
    assert (refused.status, refused.code) == (409, "link_host_is_website")
    assert refused.body["error"]["details"]["why"] == "site"
    assert (await world.call("PUT", path, {"host": "new.example.com"}, headers=session)).status == 202
    assert (await world.call("POST", "/v1/sites", body, headers=session)).status == 202


@pytest.mark.rule("S6", "S8", "A17")
async def test_sites_of_a_disconnected_account_are_listed_as_deleted(world):
    user, session, account = await world.ready()
    site = await added(world, session, account)
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=session)).status == 200
    assert await listed(world, session) == []
    [shown] = (await world.call("GET", "/v1/sites?state=deleted", headers=session)).body["sites"]
    assert (shown["id"], shown["state"], shown["config"]) == (site["id"], "deleted", "synced")
    for allowed, count in ((EDGE_ACCOUNT, 1), (OTHER_EDGE_ACCOUNT, 0)):
        key = await world.key(user, "sites", allow_accounts=(allowed,))
        assert len((await world.call("GET", "/v1/sites?state=deleted", headers=key)).body["sites"]) == count
    for method, suffix in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")):
        refused = await world.call(method, f"/v1/sites/{site['id']}{suffix}", headers=session)
        assert (refused.status, refused.code) == (409, "site_not_active")
