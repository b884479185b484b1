"""POST /v1/links/{link_id}/explain over HTTP. tests/worker and tests/journeys compare it with real redirects."""

from __future__ import annotations

import pytest

from svc.store.tx import sql
from tests.cases import cases
from tests.http.serving.test_refusals import is_error

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E1 Safari/604.1"
RULES = [
    {"url": "https://example.org/de", "countries": ["DE"], "devices": ["mobile"]},
    {"url": "https://example.org/mobile", "devices": ["mobile"]},
]


@pytest.fixture
async def link(world):
    """The path of a link with two rules, and the headers of its user's session."""
    _, session, account = await world.ready()
    body = {"account_id": account.id, "url": "https://example.org/", "rules": RULES}
    made = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    return f"/v1/links/{made['id']}", session


@pytest.mark.rule("X1")
async def test_response_has_the_matching_rule_and_how_the_click_is_counted(world, link):
    path, session = link
    asked = {"country": "DE", "user_agent": PHONE, "query": "?utm_source=Mail", "method": "GET"}
    response = await world.call("POST", f"{path}/explain", asked, headers=session)
    assert (response.status, response.body) == (
        200,
        {
            "url": "https://example.org/de",
            "rule": 0,
            "counted_as": {"kind": "view", "source": "mail", "device": "mobile", "browser": "Safari", "os": "iOS"},
        },
    )
    asked |= {"country": "FR", "query": "q"}
    response = await world.call("POST", f"{path}/explain", asked, headers=session)
    assert (response.body["rule"], response.body["counted_as"]["source"]) == (1, "qr")
    response = await world.call("POST", f"{path}/explain", asked | {"method": "HEAD"}, headers=session)
    assert response.body["url"] == "https://example.org/mobile"
    assert (response.body["counted_as"]["kind"], response.body["counted_as"]["reason"]) == ("bot", "head")
    assert response.body["counted_as"]["source"] == ""


@pytest.mark.rule("X1")
async def test_languages_systems_and_parameters_are_evaluated(world):
    _, session, account = await world.ready()
    rules = [
        {"url": "https://example.org/de", "languages": ["de"], "os": ["iOS"]},
        {"url": "https://example.org/mail", "query": {"name": "from", "value": "Ä b"}},
    ]
    body = {"account_id": account.id, "url": "https://example.org/", "rules": rules}
    made = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]

    async def rule(**asked):
        return (await world.call("POST", f"/v1/links/{made['id']}/explain", asked, headers=session)).body["rule"]

    assert await rule(accept_language="de-AT,en;q=0.5", user_agent=PHONE) == 0
    assert await rule(accept_language="de-AT,en;q=0.5") is None
    assert await rule(user_agent=PHONE) is None
    assert await rule(query="from=%C3%84+b", accept_language="de") == 1
    assert await rule(query="?from=Ä b#") == 1
    assert await rule(query="from=%C3%84") is None


@pytest.mark.rule("X1")
@pytest.mark.parametrize("body", [{}, None, {"country": None, "user_agent": None, "query": None, "method": None}])
async def test_absent_fields_count_as_not_sent(world, link, body):
    path, session = link
    response = await world.call("POST", f"{path}/explain", body, headers=session)
    assert (response.status, response.body["url"], response.body["rule"]) == (200, "https://example.org/", None)
    assert response.body["counted_as"] == {
        "kind": "bot",
        "reason": "empty",
        "source": "",
        "device": "other",
        "browser": "Other",
        "os": "Other",
    }


@pytest.mark.rule("X1")
@cases(
    "wrong",
    [
        {"country": "de"},
        {"country": "DEU"},
        {"country": ""},
        {"user_agent": "a\nb"},
        {"user_agent": "a\x00b"},
        {"user_agent": "x" * 16_001},
        {"query": "a\rb"},
        {"accept_language": "de\n"},
        {"at": "2026-12-01"},
        {"at": ""},
        {"bucket": 100},
        {"bucket": -1},
        {"accept_language": "x" * 16_001},
        {"method": "POST"},
        {"method": "get"},
        {"device": "mobile"},
    ],
)
async def test_impossible_click_is_an_invalid_request(world, link, wrong):
    path, session = link
    response = await world.call("POST", f"{path}/explain", wrong, headers=session)
    is_error(response, 400, "invalid_request")
    assert response.body["error"]["details"]["issues"][0]["path"] == next(iter(wrong))


@pytest.mark.rule("X1")
async def test_longest_user_agent_and_query_are_accepted_and_truncated(world, link):
    path, session = link
    asked = {"user_agent": PHONE + " x" * 7_900 + "bot", "query": "ref=a&b=" + "c" * 15_000}
    response = await world.call("POST", f"{path}/explain", asked, headers=session)
    assert response.status == 200
    assert (response.body["counted_as"]["kind"], response.body["counted_as"]["source"]) == ("view", "a")


@pytest.mark.rule("X1")
async def test_link_that_cannot_be_clicked_is_not_explained(world, link):
    path, session = link
    await world.store.run(_execute("update links set state = 'deleted'"))
    is_error(await world.call("POST", f"{path}/explain", {}, headers=session), 404, "not_found")
    await world.store.run(_execute("update links set state = 'active'"))
    await world.store.run(_execute("delete from link_hosts"))
    is_error(await world.call("POST", f"{path}/explain", {}, headers=session), 409, "link_host_required")
    other = await world.session(await world.user())
    is_error(await world.call("POST", f"{path}/explain", {}, headers=other), 404, "not_found")


@pytest.mark.rule("X1", "G1", "G3")
async def test_request_with_a_key_requires_an_idempotency_key(world, link):
    path, _ = link
    user = await world.store.read(_first_user())
    key = await world.key(user, "links")
    first = await world.call("POST", f"{path}/explain", {}, headers=key)
    again = await world.call("POST", f"{path}/explain", {}, headers=key)
    assert (again.raw, again.headers["Idempotent-Replayed"]) == (first.raw, "true")
    del key["Idempotency-Key"]
    is_error(await world.call("POST", f"{path}/explain", {}, headers=key), 400, "invalid_request")
    other = await world.key(user, "sites")
    is_error(await world.call("POST", f"{path}/explain", {}, headers=other), 403, "scope_required")


@pytest.mark.rule("X1", "Y16", "Y17")
async def test_period_split_and_query_are_evaluated(world):
    _, session, account = await world.ready()
    split = [{"url": "https://example.org/a?x=1", "share": 30}, {"url": "https://example.org/b", "share": 70}]
    body = {
        "account_id": account.id, "url": "https://example.org/", "split": split, "forward_query": True,
        "starts_at": "2026-12-01T00:00:00Z", "ends_at": "2026-12-02T00:00:00Z",
    }  # fmt: skip
    made = (await world.call("POST", "/v1/links", body, headers=session)).body["link"]
    path = f"/v1/links/{made['id']}"

    async def explained(**asked):
        response = await world.call("POST", f"{path}/explain", {"user_agent": PHONE, **asked}, headers=session)
        counted = response.body["counted_as"]
        return response.body["url"], response.body.get("variant"), counted["kind"], counted.get("reason")

    assert await explained() == (None, None, "outside", "early")  # the current time is before the link's start
    early = {"at": "2026-11-30T23:59:59.999Z"}
    assert await explained(**early) == (None, None, "outside", "early")
    assert await explained(**early, method="HEAD") == (None, None, "bot", "head")
    during = {"at": "2026-12-01T00:00:00Z", "query": "q&x=2&y=3"}
    assert await explained(**during) == ("https://example.org/a?x=1&y=3", 0, "view", None)
    assert (await explained(**during, bucket=29))[1] == 0
    assert await explained(**during, bucket=30) == ("https://example.org/b?x=2&y=3", 1, "view", None)
    assert (await explained(**during, bucket=99))[1] == 1
    late = {"at": "2026-12-02T01:00:00+01:00"}
    assert await explained(**late) == (None, None, "outside", "ended")
    fallback = {"not_found_url": "https://example.org/none"}
    await world.call("PATCH", f"/v1/accounts/{account.id}/link-host", fallback, headers=session)
    assert (await explained(**late))[0] == "https://example.org/none"
    await world.call("PATCH", path, {"after_url": "https://example.org/over"}, headers=session)
    assert (await explained(**late))[0] == "https://example.org/over"
    rules = [{"url": "https://example.org/de", "countries": ["DE"]}]
    await world.call("PATCH", path, {"rules": rules}, headers=session)
    assert await explained(at=during["at"], country="DE", bucket=50) == ("https://example.org/de", None, "view", None)


def _execute(text):
    yield sql(text)


def _first_user():
    from svc.store import users

    rows = yield sql("select id from users order by id limit 1")
    return (yield from users.get_user(rows[0]["id"]))
