"""Tests of /v1/links: creation, changes, deletion, and QR codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.actors.requests.links import CODE_ALPHABET, new_code
from svc.model import RESERVED_CODES
from svc.qr.svg import draw_svg
from svc.store import accounts, link_hosts, link_lists, links, moderation, syncs, target_checks, totals
from svc.store.tx import sql
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import EDGE_ACCOUNT
from tests.store.makers import a_broken_target

if TYPE_CHECKING:
    from svc.store.tx import Tx

LIVE_AT = START_MS + 60_000  # epoch ms; after this time, every isolate serves the synced configuration
NOW = "2026-11-21T04:00:00.000Z"


@pytest.mark.rule("L1", "L2")
async def test_adding_a_link_responds_with_201(world):
    _, session, account = await world.ready()
    rules = [
        {"url": "https://example.org/de", "countries": ["DE", "AT"], "devices": ["mobile"]},
        {"url": "https://example.org/desk", "devices": ["desktop"]},
        {"url": "https://example.org/pt", "languages": ["pt-br", "de"], "os": ["iOS", "macOS"]},
        {"url": "https://example.org/q", "query": {"name": "ref", "value": "Ä b"}},
        {"url": "https://example.org/r", "query": {"name": "ref"}},
        {"url": "https://example.org/all"},
    ]
    body = {"account_id": account.id, "url": "https://example.org/?a=%20#x", "code": "My_code-1", "rules": rules}
    world.supervisor.woken.clear()
    response = await world.call("POST", "/v1/links", body, headers=session)
    assert (response.status, list(response.body)) == (201, ["link"])
    link = response.body["link"]
    assert link == {
        "id": link["id"],
        "account_id": account.id,
        "code": "My_code-1",
        "short_url": "https://go.example.com/My_code-1",
        "url": "https://example.org/?a=%20#x",
        "rules": rules,
        "title": None,
        "note": None,
        "tags": [],
        "forward_query": False,
        "starts_at": None,
        "ends_at": None,
        "after_url": None,
        "split": None,
        "state": "active",
        "config": "pending",
        "live_at": None,
        "error": None,
        "created_at": NOW,
    }
    assert world.supervisor.woken == [EDGE_ACCOUNT]
    assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body == {"link": link}


@pytest.mark.rule("L1")
async def test_default_code_has_six_random_characters(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://a.example"}
    codes = {(await world.call("POST", "/v1/links", body, headers=session)).body["link"]["code"] for _ in range(4)}
    assert len(codes) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9]{6}", code) for code in codes)
    assert len({new_code() for _ in range(1_000)}) == 1_000


@pytest.mark.rule("L1")
@cases(
    ("code", "status"),
    [
        ("abc", 201),
        ("x" * 32, 201),
        ("-_-", 201),
        ("ab", 400),
        ("x" * 33, 400),
        ("a.b", 400),
        ("abc\n", 400),
        ("äbc", 400),
        ("cdn-cgi", 400),
        ("wp-login", 400),
        ("login", 201),
    ],
)
async def test_code_has_3_to_32_allowed_characters(world, ready, code, status):
    _, session, account = ready
    body = {"account_id": account.id, "url": "https://a.example", "code": code}
    assert (await world.call("POST", "/v1/links", body, headers=session)).status == status


@pytest.mark.rule("L1")
async def test_reserved_code_is_refused_with_the_reason(world):
    _, session, account = await world.ready()
    for code, asker in RESERVED_CODES.items():
        body = {"account_id": account.id, "url": "https://a.example", "code": code}
        response = await world.call("POST", "/v1/links", body, headers=session)
        assert (response.status, response.code) == (400, "invalid_request")
        [issue] = response.body["error"]["details"]["issues"]
        assert issue["path"] == "code"
        assert asker in issue["message"]


@pytest.mark.rule("L1")
def test_random_code_is_never_reserved_and_spells_no_word():
    possible = set(CODE_ALPHABET)
    for code in RESERVED_CODES:
        assert re.fullmatch(r"[A-Za-z0-9_-]{3,32}", code), "not a valid code"
        assert len(code) != 6 or not possible.issuperset(code)
    assert not possible & set("aeiouAEIOU"), "a word needs a vowel"
    assert not possible & set("0O1lI"), "similar characters"
    assert len(possible) == len(CODE_ALPHABET) == 48
    assert possible.issuperset("".join(new_code() for _ in range(100)))


@pytest.mark.rule("L1")
async def test_concurrent_requests_for_one_code_create_one_link(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://a.example", "code": "same"}
    responses = []

    async def add() -> None:
        responses.append(await world.call("POST", "/v1/links", body, headers=session))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(add)
    assert sorted(response.status for response in responses) == [201, 409, 409, 409]
    assert {response.code for response in responses} == {None, "link_exists"}


@pytest.mark.rule("L1")
async def test_link_requires_a_link_host(world):
    user = await world.user()
    account = await world.account(user)
    body = {"account_id": account.id, "url": "https://a.example"}
    response = await world.call("POST", "/v1/links", body, headers=await world.session(user))
    assert (response.status, response.code) == (409, "link_host_required")


@pytest.mark.rule("L2")
@cases(
    "url",
    [
        "http://example.org",
        "https:example.org",
        "https://",
        "https:///x",
        "https:////example.org",
        "//example.org",
        "example.org",
        "javascript:alert(1)",
        "https://exa mple.org",
        "https://example.org/\r\nSet-Cookie: a=b",
        "https://i❤.example.org/",
        "https://g\N{SOFT HYPHEN}o.\N{FULLWIDTH LATIN SMALL LETTER E}xample。com/abc",
        "https://example.org\\@go.example.com",
        "https://example.org:99999/",
        "https://[::1",
        "https://go%2Eexample.com/",
        "https://go.example.com/abc",
        "https://GO.example.com./abc",
        "https://user@go.example.com:443/",
        "https://example.org/" + "x" * 2029,
    ],
)
async def test_destination_that_is_not_https_too_long_or_on_the_link_host_is_refused(world, ready, url):
    _, session, account = ready
    for body in ({"url": url}, {"url": "https://a.example", "rules": [{"url": url}]}):
        response = await world.call("POST", "/v1/links", {"account_id": account.id, **body}, headers=session)
        assert (response.status, response.code) == (400, "invalid_request"), url
        path = response.body["error"]["details"]["issues"][0]["path"]
        assert path == ("rules.0.url" if "rules" in body else "url")


@pytest.mark.rule("L2")
@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "HTTPS://Example.org/A?b=c&d[]=e#f",
        "https://xn--exmple-cua.com/%C3%A4",
        "https://user:pass@example.org:8443/",
        "https://[2001:db8::1]/",
        "https://not-go.example.com/",
        "https://my_host.example.org/~a/(b)/@c",
        "https://example.org/" + "x" * 2028,
    ],
)
async def test_other_https_urls_are_accepted(world, url):
    _, session, account = await world.ready()
    response = await world.call("POST", "/v1/links", {"account_id": account.id, "url": url}, headers=session)
    assert (response.status, response.body["link"]["url"]) == (201, url)


@pytest.mark.rule("L2")
async def test_international_destinations_are_stored_in_ascii(world):
    user = await world.user()
    account = await world.account(user, link_host="xn--lnk-zma.example")
    session = await world.session(user)
    rules = [{"url": "https://例え.テスト/ü"}]
    link = await add(world, session, account, url="https://Münch\N{SOFT HYPHEN}en.example/straße?q=ü", rules=rules)
    assert link["url"] == "https://xn--mnchen-3ya.example/stra%C3%9Fe?q=%C3%BC"
    assert link["rules"] == [{"url": "https://xn--r8jz45g.xn--zckzah/%C3%BC"}]
    # the link host in another spelling, which browsers convert to the same host
    body = {"url": "https://LÏNK.example。/abc"}
    for method, path in (("PATCH", f"/v1/links/{link['id']}"), ("POST", "/v1/links")):
        more = body if method == "PATCH" else {**body, "account_id": account.id}
        refused = await world.call(method, path, more, headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request")
        assert "link host" in refused.body["error"]["details"]["issues"][0]["message"]


@pytest.mark.rule("L2")
@cases(
    "rules",
    [
        [{"url": "https://a.example"}] * 11,
        [{}],
        [{"url": "https://a.example", "countries": ["de"]}],
        [{"url": "https://a.example", "countries": ["DEU"]}],
        [{"url": "https://a.example", "countries": "DE"}],
        [{"url": "https://a.example", "countries": []}],
        [{"url": "https://a.example", "devices": []}],
        [{"url": "https://a.example", "devices": ["tablet"]}],
        [{"url": "https://a.example", "weight": 1}],
        [{"url": "https://a.example", "languages": []}],
        [{"url": "https://a.example", "languages": ["*"]}],
        [{"url": "https://a.example", "languages": ["de_AT"]}],
        [{"url": "https://a.example", "languages": ["de-"]}],
        [{"url": "https://a.example", "languages": ["d"]}],
        [{"url": "https://a.example", "languages": ["de" + "-a" * 17]}],
        [{"url": "https://a.example", "languages": ["de"] * 31}],
        [{"url": "https://a.example", "os": []}],
        [{"url": "https://a.example", "os": ["ios"]}],
        [{"url": "https://a.example", "os": ["ChromeOS"]}],
        [{"url": "https://a.example", "query": {}}],
        [{"url": "https://a.example", "query": {"name": ""}}],
        [{"url": "https://a.example", "query": {"name": "x" * 101}}],
        [{"url": "https://a.example", "query": {"name": "a\x00"}}],
        [{"url": "https://a.example", "query": {"name": "a", "value": "x" * 201}}],
        [{"url": "https://a.example", "query": {"name": "a", "value": "b\n"}}],
        [{"url": "https://a.example", "query": [{"name": "a"}]}],
    ],
)
async def test_invalid_rules_are_refused(world, ready, rules):
    _, session, account = ready
    body = {"account_id": account.id, "url": "https://a.example", "rules": rules}
    response = await world.call("POST", "/v1/links", body, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")


@pytest.mark.rule("L2")
async def test_conditions_are_stored_in_one_form(world, ready):
    _, session, account = ready
    rule = {
        "url": "https://a.example", "countries": None, "languages": ["PT-br", "de", "pt-BR"],
        "query": {"name": "a", "value": None},
    }  # fmt: skip
    link = await add(world, session, account, rules=[rule])
    expected = {"url": "https://a.example", "languages": ["pt-br", "de"], "query": {"name": "a"}}
    assert link["rules"] == [expected]
    again = {"rules": [expected]}
    changed = await world.call("PATCH", f"/v1/links/{link['id']}", again, headers=session)
    assert changed.body["link"] == link


@pytest.mark.rule("L2", "L3")
async def test_link_is_pending_until_the_worker_knows_its_features(world):
    _, session, account = await world.ready()
    plain = await add(world, session, account, rules=[{"url": "https://a.example/de", "countries": ["DE"]}])
    link = await add(world, session, account, rules=[{"url": "https://a.example/de", "languages": ["de"]}])
    await synced(world, account)

    async def states():
        links = (await world.call("GET", "/v1/links", headers=session)).body["links"]
        return {link["id"]: (link["config"], link["live_at"] is not None) for link in links}

    assert await states() == {plain["id"]: ("synced", True), link["id"]: ("pending", False)}
    await world.store.run(knows_format(account, 2))
    assert await states() == {plain["id"]: ("synced", True), link["id"]: ("synced", True)}


@pytest.fixture
async def owned_link(world, ready):
    """The headers of a session, and a link of its user."""
    _, session, account = ready
    return session, await add(world, session, account)


OPTIONS = {
    "forward_query": True,
    "starts_at": "2026-12-01T00:00:00.000Z",
    "ends_at": "2027-01-01T12:30:15.500Z",
    "after_url": "https://b.example/over",
    "split": [{"url": "https://b.example/1", "share": 1}, {"url": "https://b.example/2", "share": 99}],
}
NO_OPTIONS: dict[str, Any] = {**dict.fromkeys(OPTIONS), "forward_query": False}


@pytest.mark.rule("L3")
async def test_options_are_set_kept_changed_and_removed(world, ready):
    _, session, account = ready
    sent = {**OPTIONS, "starts_at": "2026-12-01t02:00:00+02:00"}
    link = await add(world, session, account, **sent)
    assert {name: link[name] for name in OPTIONS} == OPTIONS
    path = f"/v1/links/{link['id']}"

    async def change(**fields):
        response = await world.call("PATCH", path, fields, headers=session)
        assert response.status == 200, response.raw
        return {name: response.body["link"][name] for name in OPTIONS}

    version = await version_of(world, account)
    assert await change(**sent) == await change(**dict.fromkeys(OPTIONS)) == OPTIONS
    assert await version_of(world, account) == version
    removal = {"forward_query": False, "starts_at": "", "ends_at": "", "after_url": "", "split": []}
    for name, value in removal.items():
        assert await change(**{name: value}) == {**OPTIONS, name: NO_OPTIONS[name]}
        assert await change(**{name: OPTIONS[name]}) == OPTIONS
    assert await version_of(world, account) == version + 2 * len(removal)
    assert await change(**removal) == NO_OPTIONS
    [result] = (
        await world.call(
            "POST",
            "/v1/links/bulk",
            {"account_id": account.id, "links": [{"url": "https://a.example/", **OPTIONS}]},
            headers=session,
        )
    ).body["results"]
    assert {name: result["link"][name] for name in OPTIONS} == OPTIONS


@pytest.mark.rule("L2", "L3")
@cases(
    ("body", "path"),
    [
        ({"forward_query": "yes"}, "forward_query"),
        *(
            ({"starts_at": text}, "starts_at")
            for text in (
                *(
                    "2026-12-01",
                    "2026-12-01T00:00:00",
                    "2026-12-01T00:00Z",
                    "2026-12-01 00:00:00Z",
                    "2026-02-30T00:00:00Z",
                ),
                *("2026-12-01T24:00:00Z", "2026-12-01T00:00:60Z", "20261201T000000Z", "1999-12-31T23:59:59Z", "now"),
                *("2100-01-01T00:00:00Z", "2026-12-01T00:00:00Z\n", "\u0662026-12-01T00:00:00Z"),
            )
        ),
        ({"ends_at": 1_800_000_000}, "ends_at"),
        ({"starts_at": "2026-12-01T00:00:00Z", "ends_at": "2026-12-01T00:00:00Z"}, "ends_at"),
        ({"starts_at": "2026-12-01T00:00:00Z", "ends_at": "2026-12-01T01:00:00+02:00"}, "ends_at"),
        ({"after_url": "http://a.example/"}, "after_url"),
        ({"after_url": "https://go.example.com/x"}, "after_url"),
        ({"split": [{"url": "https://a.example", "share": 100}]}, "split.0.share"),
        ({"split": [{"url": "https://a.example", "share": 99}]}, "split"),
        ({"split": [{"url": "https://a.example", "share": 50}] * 3}, "split"),
        ({"split": [{"url": "https://a.example", "share": 10}] * 11}, "split"),
        ({"split": [{"url": "https://a.example", "share": 0}] * 2}, "split.0.share"),
        ({"split": [{"url": "https://a.example", "share": 0.5}] * 2}, "split.0.share"),
        ({"split": [{"url": "https://a.example"}] * 2}, "split.0.share"),
        ({"split": [{"url": "https://GO.example.com.", "share": 50}] * 2}, "split.0.url"),
    ],
)
async def test_invalid_options_are_refused(world, owned_link, body, path):
    session, link = owned_link
    for method, url, more in (
        ("POST", "/v1/links", {"account_id": link["account_id"], "url": "https://a.example/"}),
        ("PATCH", f"/v1/links/{link['id']}", {}),
    ):
        response = await world.call(method, url, {**more, **body}, headers=session)
        assert (response.status, response.code) == (400, "invalid_request")
        assert response.body["error"]["details"]["issues"][0]["path"] == path


@pytest.mark.rule("L3")
async def test_period_is_checked_together_with_the_stored_times(world, ready):
    _, session, account = ready
    link = await add(world, session, account, ends_at="2026-12-01T00:00:00Z")
    path = f"/v1/links/{link['id']}"
    refused = await world.call("PATCH", path, {"starts_at": "2026-12-01T00:00:00Z"}, headers=session)
    issue = {"path": "ends_at", "code": "end_before_start", "message": "must be after starts_at"}
    assert refused.body["error"]["details"]["issues"] == [issue]
    both = {"starts_at": "2026-12-01T00:00:00Z", "ends_at": ""}
    assert (await world.call("PATCH", path, both, headers=session)).status == 200
    [result] = (
        await world.call(
            "POST",
            "/v1/links/bulk",
            {
                "account_id": account.id,
                "links": [{"url": "https://a.example/", "starts_at": both["starts_at"], "ends_at": both["starts_at"]}],
            },
            headers=session,
        )
    ).body["results"]
    assert result["error"]["details"]["issues"] == [issue]


def knows_format(account, link_format):
    """Record that this format of links is the newest one that the account's Worker can read."""
    yield sql("update accounts set edge_link_format = $2 where id = $1", account.id, link_format)


async def add(world, headers, account, **fields):
    """Create a link and return the response."""
    body = {"account_id": account.id, "url": "https://a.example/", **fields}
    response = await world.call("POST", "/v1/links", body, headers=headers)
    assert response.status == 201, response.raw
    return response.body["link"]


async def version_of(world, account):
    """Return the current version of the account's configuration."""
    return (await world.store.read(accounts.account_by_id(account.id))).config_version


async def synced(world, account):
    """Record that the Worker has the current configuration."""
    await world.store.run(syncs.end_sync(account.id, 0, await version_of(world, account), {}, LIVE_AT))


@pytest.mark.rule("L3")
async def test_changed_link_keeps_its_code_and_is_pending_until_the_sync(world):
    _, session, account = await world.ready()
    rules = [{"url": "https://a.example/de", "countries": ["DE"]}]
    link = await add(world, session, account, code="abc", rules=rules)
    await synced(world, account)
    path = f"/v1/links/{link['id']}"
    before = (await world.call("GET", path, headers=session)).body["link"]
    assert before["config"] == "synced"
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"url": "https://b.example/"}, {"url": "https://b.example/"}),
        ({"rules": []}, {"rules": []}),
        ({"url": None, "rules": rules}, {"rules": rules}),
        ({"url": "https://c.example/", "rules": None}, {"url": "https://c.example/"}),
    ]
    for body, changed in changes:
        await synced(world, account)
        world.supervisor.woken.clear()
        response = await world.call("PATCH", path, body, headers=session)
        before = {**before, **changed, "live_at": None}
        assert (response.status, response.body) == (200, {"link": {**before, "config": "pending"}})
        assert world.supervisor.woken == [EDGE_ACCOUNT]
        assert (await world.call("GET", path, headers=session)).body == response.body


@pytest.mark.rule("L3")
async def test_change_without_effect_triggers_no_sync(world):
    _, session, account = await world.ready()
    link = await add(world, session, account, rules=[{"url": "https://a.example/de", "devices": ["mobile"]}])
    await synced(world, account)
    world.supervisor.woken.clear()
    for body in ({}, {"url": None}, {"url": link["url"]}, {"url": link["url"], "rules": link["rules"]}):
        response = await world.call("PATCH", f"/v1/links/{link['id']}", body, headers=session)
        assert (response.status, response.body) == (
            200,
            {"link": {**link, "config": "synced", "live_at": "2026-11-21T04:01:00.000Z"}},
        )
    assert world.supervisor.woken == []


@pytest.mark.rule("L2", "L3")
@cases(
    ("body", "path"),
    [
        ({"url": "http://a.example"}, "url"),
        ({"url": "https://GO.example.com./x"}, "url"),
        ({"rules": [{"url": "https://a.example"}, {"url": "https://go.example.com:443"}]}, "rules.1.url"),
        ({"rules": [{"url": "https://a.example"}] * 11}, "rules"),
        ({"code": "another"}, "code"),
        ({"state": "deleted"}, "state"),
        ([], ""),
    ],
)
async def test_change_is_validated_like_a_new_link(world, owned_link, body, path):
    session, link = owned_link
    response = await world.call("PATCH", f"/v1/links/{link['id']}", body, headers=session)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.body["error"]["details"]["issues"][0]["path"] == path
    assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"] == link


@pytest.mark.rule("L3")
async def test_deleted_link_frees_its_code_and_can_only_be_read(world):
    _, session, account = await world.ready()
    link = await add(world, session, account, code="abc")
    await synced(world, account)
    path = f"/v1/links/{link['id']}"
    key = {**session, "Idempotency-Key": "k"}
    deleted = await world.call("DELETE", path, headers=key)
    gone = {
        **link,
        "state": "deleted",
        "short_url": None,
        "config": "pending",
        "restorable_until": "2026-12-21T04:00:00.000Z",
    }
    assert (deleted.status, deleted.body) == (200, {"link": gone})
    assert (await world.call("GET", path, headers=session)).body == {"link": gone}
    assert (await world.call("GET", f"{path}/report", headers=session)).status == 200
    assert (await world.call("GET", "/v1/links", headers=session)).body["links"] == []
    for method, more in (("DELETE", ""), ("PATCH", ""), ("GET", "/qr.svg")):
        refused = await world.call(method, path + more, {} if method == "PATCH" else None, headers=session)
        assert (refused.status, refused.code) == (404, "not_found")
        assert "deleted" in refused.body["error"]["message"]
    assert (await world.call("DELETE", path, headers=key)).body == deleted.body
    new = await add(world, session, account, code="abc", url="https://new.example/")
    assert new["id"] != link["id"]
    assert (await world.call("GET", path, headers=session)).body == {"link": gone}


@pytest.mark.rule("L3", "G8")
async def test_deleted_link_does_not_count_against_the_limit(world):
    _, session, account = await world.ready()
    made = [await add(world, session, account) for _ in range(world.config.limits.links)]
    body = {"account_id": account.id, "url": "https://a.example"}
    assert (await world.call("POST", "/v1/links", body, headers=session)).code == "limit_reached"
    await world.call("DELETE", f"/v1/links/{made[0]['id']}", headers=session)
    assert (await world.call("POST", "/v1/links", body, headers=session)).status == 201


@pytest.mark.rule("C3", "C4", "G10")
async def test_only_the_user_can_change_or_delete_a_link(world):
    user, session, account = await world.ready()
    link = await add(world, session, account)
    stranger = await world.session(await world.user())
    elsewhere = await world.key(user, "links", allow_accounts=("f" * 32,))
    for headers in (stranger, elsewhere):
        for method in ("PATCH", "DELETE"):
            response = await world.call(method, f"/v1/links/{link['id']}", {}, headers=headers)
            assert (response.status, response.code) == (404, "not_found")
    reader = await world.key(user, "reports", "sites", "accounts")
    for method in ("PATCH", "DELETE"):
        assert (await world.call(method, f"/v1/links/{link['id']}", {}, headers=reader)).code == "scope_required"
    assert (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"] == link


async def concurrently(count, one):
    """Run `one(0)` … `one(count - 1)` concurrently. Return the status and code of each response."""
    outcomes = []

    async def ask(number):
        response = await one(number)
        outcomes.append((response.status, response.code))

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(ask, number)
    return sorted(outcomes, key=str)


@pytest.mark.rule("L1", "L3")
async def test_of_twenty_concurrent_requests_one_creates_and_one_deletes_the_link(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://a.example/", "code": "same"}
    for _ in range(2):  # in the second round, the code has just become available again
        outcomes = await concurrently(20, lambda n: world.call("POST", "/v1/links", body, headers=session))
        assert outcomes == [(201, None), *[(409, "link_exists")] * 19]
        [link] = (await world.call("GET", "/v1/links", headers=session)).body["links"]
        path = f"/v1/links/{link['id']}"
        outcomes = await concurrently(20, lambda n, path=path: world.call("DELETE", path, headers=session))
        assert outcomes == [(200, None), *[(404, "not_found")] * 19]


@pytest.mark.rule("L3")
async def test_concurrent_changes_and_a_deletion_leave_a_deleted_link_with_the_newest_version(world):
    user, session, account = await world.ready()
    for _ in range(3):
        link = await add(world, session, account, code="abc")
        path = f"/v1/links/{link['id']}"
        before = await version_of(world, account)

        async def one(number, path=path):
            if number == 10:
                return await world.call("DELETE", path, headers=session)
            return await world.call("PATCH", path, {"url": f"https://a.example/{number}"}, headers=session)

        outcomes = await concurrently(20, one)
        assert set(outcomes) <= {(200, None), (404, "not_found")}
        kept = await world.store.read(links.get_link(user.id, link["id"]))
        assert (kept.state, kept.version) == ("deleted", await version_of(world, account))
        assert kept.version == before + outcomes.count((200, None))


@pytest.mark.rule("L4")
async def test_list_has_clicks_of_a_week_with_scope_reports(world):
    user, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://a.example"}
    link = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    assert "clicks_7d" not in link
    today = world.clock() // 86_400_000
    parts = [
        PushedPart(n, day, (day + 1) * 86_400_000, True, (), (), ((link["id"], views, 9, 1),))
        for n, (day, views) in enumerate([(today - 8, 1), (today - 7, 10), (today - 1, 100)])
    ]
    ingested = await world.store.run(totals.ingest(account.id, parts, world.clock()))
    assert len(ingested.accepted) == 3
    listed = (await world.call("GET", "/v1/links", headers=session)).body["links"]
    assert [one["clicks_7d"] for one in listed] == [110]
    with_reports = await world.key(user, "links", "reports")
    assert (await world.call("GET", "/v1/links", headers=with_reports)).body["links"][0]["clicks_7d"] == 110
    without = await world.key(user, "links")
    assert "clicks_7d" not in (await world.call("GET", "/v1/links", headers=without)).body["links"][0]
    assert "clicks_7d" not in (await world.call("GET", f"/v1/links/{link['id']}", headers=session)).body["link"]


@pytest.mark.rule("L6")
async def test_qr_code_is_an_svg_of_the_short_url(world):
    _, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://a.example", "code": "abc"}
    link = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    path = f"/v1/links/{link['id']}/qr.svg"
    response = await world.call("GET", path, headers=session)
    assert response.headers["Content-Type"] == "image/svg+xml"
    assert response.raw.decode() == draw_svg("https://go.example.com/abc?q")
    assert (await world.call("GET", f"{path}?size=64", headers=session)).raw.decode() == draw_svg(
        "https://go.example.com/abc?q", size=64
    )
    for wrong in ("size=63", "size=10000", "size=x", "size=", "size=64&size=65", "width=64"):
        assert (await world.call("GET", f"{path}?{wrong}", headers=session)).code == "invalid_request"


@pytest.mark.rule("Y18")
async def test_broken_targets_are_shown_until_the_target_changes(world):
    _, session, account = await world.ready()
    url, other = "https://example.org/sale#top", "https://example.org/other"
    body = {"account_id": account.id, "url": other, "rules": [{"url": url, "countries": ["DE"]}]}
    link = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    path = f"/v1/links/{link['id']}"
    await world.call("POST", "/v1/links", {"account_id": account.id, "url": other}, headers=session)
    await world.store.run(a_broken_target("https://example.org/sale", "tls_failed", START_MS))
    broken = [{"url": url, "problem": "tls_failed", "since": "2026-11-20T04:00:00.000Z", "checked_at": NOW}]

    async def listed(query: str) -> list[dict[str, Any]]:
        response = await world.call("GET", f"/v1/links?{query}", headers=session)
        return [each for each in response.body["links"] if "broken_targets" in each or query != ""]

    assert (await world.call("GET", path, headers=session)).body["link"]["broken_targets"] == broken
    for query in ("", "broken=true", "broken=true&order=clicks", "broken=true&order=code&q=example"):
        assert [each["broken_targets"] for each in await listed(query)] == [broken], query
    assert len(await listed("broken=false")) == 2
    assert await listed("broken=true&state=deleted") == []
    # A change to another target does not clear the problem of this target.
    changed = await world.call("PATCH", path, {"url": "https://example.org/new"}, headers=session)
    assert changed.body["link"]["broken_targets"] == broken
    changed = await world.call("PATCH", path, {"rules": []}, headers=session)
    assert "broken_targets" not in changed.body["link"]
    assert "broken_targets" not in (await world.call("GET", path, headers=session)).body["link"]
    for query in ("", "broken=true", "broken=true&order=clicks"):
        assert await listed(query) == []


def recovered(url: str) -> Tx[None]:
    """Record a request for the URL of a link target that succeeded."""
    check = target_checks.Check(target_checks.target_digest(url), url, START_MS)
    yield sql("update target_checks set due_at = $2 where digest = $1", check.digest, START_MS)
    assert (yield from target_checks.claim(check, START_MS))
    yield from target_checks.record(check, START_MS, None, START_MS)


@pytest.mark.rule("Y18")
async def test_list_of_broken_links_is_current_if_another_link_breaks_and_one_recovers(world):
    _, session, account = await world.ready()
    urls = ["https://example.org/first", "https://example.org/second"]
    first, second = [await add(world, session, account, url=url) for url in urls]

    async def listed() -> list[str]:
        response = await world.call("GET", "/v1/links?broken=true&order=clicks", headers=session)
        return [each["id"] for each in response.body["links"]]

    await world.store.run(a_broken_target(urls[0]))
    assert await listed() == [first["id"]]
    await world.store.run(recovered(urls[0]))
    await world.store.run(a_broken_target(urls[1]))
    assert await listed() == [second["id"]]


async def shown(world, headers, link):
    """Return the link as GET shows it."""
    return (await world.call("GET", f"/v1/links/{link['id']}", headers=headers)).body["link"]


@pytest.mark.rule("L3", "X12")
async def test_restored_link_has_its_id_code_texts_and_totals(world):
    user, session, account = await world.ready()
    key = await world.key(user)  # a session would expire during the test
    texts = {"title": "Sale", "note": "x", "tags": ["a"]}
    link = await add(world, session, account, code="abc", rules=[{"url": "https://b.example/"}], **texts)
    path = f"/v1/links/{link['id']}"
    part = PushedPart(1, START_MS // 86_400_000, START_MS, False, (), (), ((link["id"], 5, 1, 1),))
    await world.store.run(totals.ingest(account.id, [part], START_MS))
    await world.call("DELETE", path, headers=session)
    await synced(world, account)
    world.supervisor.woken.clear()
    world.clock.advance_s(30 * 86_400 - 1)
    before = await version_of(world, account)
    restored = await world.call("POST", f"{path}/restore", headers={**key, "Idempotency-Key": "k"})
    assert (restored.status, restored.body["link"]) == (200, {**link, "config": "pending"})
    assert "restorable_until" not in restored.body["link"]
    assert (await version_of(world, account), world.supervisor.woken) == (before + 1, [EDGE_ACCOUNT])
    assert await shown(world, key, link) == restored.body["link"]
    stored = await world.store.read(totals.day_counts(link["id"], 0, 99_999))
    assert [counts.views for counts, _, _ in stored.values()] == [5]
    again = await world.call("POST", f"{path}/restore", headers={**key, "Idempotency-Key": "k2"})
    assert (again.status, again.body) == (200, restored.body)
    assert await version_of(world, account) == before + 1
    events = (await world.call("GET", "/v1/events", headers=key)).body["events"]
    assert [event["action"] for event in events].count("link.restore") == 1
    await world.call("DELETE", path, headers={**key, "Idempotency-Key": "k3"})
    await world.call("POST", f"{path}/restore", headers={**key, "Idempotency-Key": "k4"})
    replayed = await world.call("POST", f"{path}/restore", headers={**key, "Idempotency-Key": "k"})
    assert replayed.headers["Idempotent-Replayed"] == "true"


@pytest.mark.rule("L3")
async def test_link_can_be_restored_for_30_days(world):
    user, session, account = await world.ready()
    key = await world.key(user)
    link = await add(world, session, account, code="abc")
    await world.call("DELETE", f"/v1/links/{link['id']}", headers=session)
    assert (await shown(world, session, link))["restorable_until"] == "2026-12-21T04:00:00.000Z"
    world.clock.advance_s(30 * 86_400)
    refused = await world.call("POST", f"/v1/links/{link['id']}/restore", headers={**key, "Idempotency-Key": "k"})
    assert (refused.status, refused.code) == (404, "not_found")
    assert "30 days" in refused.body["error"]["message"]


@pytest.mark.rule("L1", "L3")
async def test_link_whose_code_is_taken_disabled_or_beyond_the_limit_is_not_restored(world):
    user, session, account = await world.ready()
    link = await add(world, session, account, code="abc")
    path = f"/v1/links/{link['id']}"
    await world.call("DELETE", path, headers=session)
    deleted = await shown(world, session, link)
    other = await add(world, session, account, code="abc")

    async def refusal():
        response = await world.call("POST", f"{path}/restore", headers=session)
        assert await shown(world, session, link) == deleted
        return response.status, response.code

    assert await refusal() == (409, "link_exists")
    [target] = await world.store.read(moderation.with_id("link", other["id"]))
    await world.store.run(moderation.disable(target, "phishing", world.clock()))
    assert await refusal() == (403, "link_disabled")
    await world.call("DELETE", f"/v1/links/{other['id']}", headers=session)
    assert await refusal() == (403, "link_disabled")  # the operator has disabled the link with this code
    [target] = await world.store.read(moderation.with_id("link", other["id"]))
    await world.store.run(moderation.enable(target, world.clock()))
    for _ in range(world.config.limits.links):
        await add(world, session, account)
    assert await refusal() == (403, "limit_reached")
    stranger = await world.session(await world.user())
    assert (await world.call("POST", f"{path}/restore", headers=stranger)).status == 404
    [first, *_] = await world.store.read(link_lists.list_links(link_lists.LinkFilter(user.id)))
    await world.call("DELETE", f"/v1/links/{first.id}", headers=session)
    assert (await world.call("POST", f"{path}/restore", headers=session)).status == 200


@pytest.mark.rule("L2", "L3")
async def test_link_to_the_new_link_host_is_not_restored(world):
    _, session, account = await world.ready()
    link = await add(world, session, account, url="https://to.example.com/x")
    await world.call("DELETE", f"/v1/links/{link['id']}", headers=session)
    await world.store.run(link_hosts.put_link_host(account.id, "to.example.com", "zone"))
    refused = await world.call("POST", f"/v1/links/{link['id']}/restore", headers=session)
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert refused.body["error"]["details"]["issues"][0]["code"] == "on_link_host"


@pytest.mark.rule("L3", "A17")
async def test_links_of_a_disconnected_account_are_not_restored(world):
    _, session, account = await world.ready()
    links_ = [await add(world, session, account) for _ in range(2)]
    await world.call("DELETE", f"/v1/links/{links_[0]['id']}", headers=session)
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=session)).status == 200
    for link in links_:
        assert "restorable_until" not in await shown(world, session, link)
        refused = await world.call("POST", f"/v1/links/{link['id']}/restore", headers=session)
        assert (refused.status, refused.code) == (404, "not_found")


@pytest.mark.rule("L1", "L3")
async def test_of_concurrent_restores_of_one_code_one_succeeds(world):
    _, session, account = await world.ready()
    ids = []
    for _ in range(2):
        link = await add(world, session, account, code="same")
        await world.call("DELETE", f"/v1/links/{link['id']}", headers=session)
        ids.append(link["id"])
    outcomes = await concurrently(10, lambda n: world.call("POST", f"/v1/links/{ids[n % 2]}/restore", headers=session))
    assert outcomes == [*[(200, None)] * 5, *[(409, "link_exists")] * 5]
