"""Tests of the filter by tag, the search in titles, the list of tags, and the report of a tag."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from svc.api.tags import MAX_TAGS
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, iso
from svc.store import links, totals
from svc.store.tx import sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import OTHER_EDGE_ACCOUNT
from tests.http.serving.test_refusals import is_error
from tests.store.makers import new_link

if TYPE_CHECKING:
    from svc.model import Account
    from svc.store.tx import Statement, Tx
    from tests.http.conftest import World

pytestmark = pytest.mark.both_engines

TODAY = day_of(START_MS)


async def add(world: World, account: Account, code: str, *tags: str, **more: Any) -> str:
    """Add a link with these tags, and return its id."""
    link = replace(new_link(account.user_id, account.id, code, world.clock()), tags=tuple(sorted(tags)), **more)
    return (await world.store.run(links.add_link(link, 100_000))).id


async def clicked(world: World, account: Account, day: int, hour: int, **clicks: int) -> None:
    """Push the clicks in one hour of a day, as the account's Worker does. `clicks`: the number of clicks by link id."""
    rows = tuple((link_id, n, 1, n - 1) for link_id, n in clicks.items())
    end = day * DAY_MS + (hour + 1) * HOUR_MS
    part = PushedPart(1, day, end, False, (PushedHour(end - HOUR_MS, rows),), (), rows)
    ingested = await world.store.run(totals.ingest(account.id, [part], max(end, world.clock())))
    assert (ingested.accepted, ingested.unknown_targets) == ((1,), ())


async def found(world: World, headers: dict[str, str], **query: str) -> list[str]:
    """Return the codes of the links that a request lists, over all pages."""
    codes: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        response = await world.app.test_client(use_cookies=False).get(
            "/v1/links", query_string={**query, **cursor}, headers=headers
        )
        body = json.loads(await response.get_data())
        assert response.status_code == 200, body
        codes += [link["code"] for link in body["links"]]
        if "next_cursor" not in body:
            return codes
        cursor = {"cursor": body["next_cursor"]}


@pytest.mark.rule("X15")
async def test_links_are_listed_by_tag_in_each_order_page_by_page(world):
    _, session, account = await world.ready()
    for number, tags in enumerate(
        [("a", "ab"), ("ab",), ("a",), (), ("b", "a"), ("50%_off",), ("5",), ("été",), ("מבצע",)]
    ):
        await add(world, account, f"code{number}", *tags)
        world.clock.now_ms += 1
    for order in ("oldest", "newest", "code", "clicks"):
        for limit in ("1", "2", "1000"):
            for tag, codes in [
                ("a", ["code0", "code2", "code4"]),
                (" A ", ["code0", "code2", "code4"]),
                ("ab", ["code0", "code1"]),
                ("50%_off", ["code5"]),
                ("E\N{COMBINING ACUTE ACCENT}TÉ", ["code7"]),
                ("מבצע", ["code8"]),
                ("%", []),
                ("c", []),
            ]:
                shown = await found(world, session, tag=tag, order=order, limit=limit)
                assert shown == (codes[::-1] if order == "newest" else codes), (order, tag)
    assert await found(world, session, tag="a", q="code2") == ["code2"]
    assert await found(world, session, tag="a", state="deleted") == []


@pytest.mark.rule("X15", "G8")
@cases("tag", ["%20", "a,b", "a%2Fb", ".%2e", "a%00", "%FF%FE%0a", "x" * 41])
async def test_invalid_tag_is_refused(world, ready, tag):
    _, session, _ = ready
    refused = await world.call("GET", f"/v1/links?tag={tag}", headers=session)
    is_error(refused, 400, "invalid_request")
    assert refused.body["error"]["details"]["issues"][0]["path"] == "tag"
    assert (await world.call("GET", f"/v1/tags/{tag}/report", headers=session)).status == 404


@pytest.mark.rule("X15")
async def test_cursor_works_for_its_tag_only(world):
    _, session, account = await world.ready()
    for number in range(3):
        await add(world, account, f"code{number}", "a", "b")
    for order in ("oldest", "clicks"):
        pages = {}
        for query in ("", "&tag=a", "&tag=b"):
            response = await world.call("GET", f"/v1/links?order={order}&limit=1{query}", headers=session)
            pages[query] = response.body["next_cursor"]
        for query, cursor in pages.items():
            for other in pages:
                response = await world.call("GET", f"/v1/links?order={order}{other}&cursor={cursor}", headers=session)
                assert response.status == (200 if other == query else 400)


@pytest.mark.rule("X15")
async def test_search_finds_titles_regardless_of_case_and_composition(world):
    _, session, account = await world.ready()
    for code, title in [
        ("one", "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}stanbul: Straße 50%_x"),
        ("two", "CAFE\N{COMBINING ACUTE ACCENT} <b>"),
        ("six", "מבצע \U0001f469\u200d\U0001f4bb"),
        ("ten", "\u039f\u0394\u039f\u03a3"),
    ]:
        body = {"account_id": account.id, "url": "https://a.example/", "code": code, "title": title}
        assert (await world.call("POST", "/v1/links", body, headers=session)).status == 201
    for q, codes in [
        ("istanbul", ["one"]),
        ("ISTANBUL", ["one"]),
        ("STRASSE", ["one"]),
        ("0%_X", ["one"]),
        ("%", ["one"]),
        ("café", ["two"]),
        ("<B>", ["two"]),
        ("מבצע", ["six"]),
        ("\U0001f4bb", ["six"]),
        ("\u03bf\u03b4\u03bf\u03c2", ["ten"]),
        ("e", ["one", "two", "six", "ten"]),  # the URL
        ("\\", []),
    ]:
        for order in ("code", "clicks"):
            assert sorted(await found(world, session, q=q, order=order)) == sorted(codes), q
    [link] = (await world.call("GET", "/v1/links?q=istanbul", headers=session)).body["links"]
    await world.call("PATCH", f"/v1/links/{link['id']}", {"title": "Ankara"}, headers=session)
    assert await found(world, session, q="istanbul") == []
    assert await found(world, session, q="ankara") == ["one"]


@pytest.mark.rule("X15")
async def test_changed_tags_show_in_the_order_by_clicks_immediately(world):
    _, session, account = await world.ready()
    one, two = await add(world, account, "one", "a"), await add(world, account, "two")
    assert await found(world, session, tag="a", order="clicks") == ["one"]
    await world.call("PATCH", f"/v1/links/{two}", {"tags": ["a"]}, headers=session)
    await world.call("PATCH", f"/v1/links/{one}", {"tags": []}, headers=session)
    assert await found(world, session, tag="a", order="clicks") == ["two"]


@pytest.mark.rule("X15", "L4", "C4")
async def test_tags_have_the_number_of_links_and_clicks_of_a_week(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.com")
    one, two = await add(world, account, "one", "a", "b"), await add(world, account, "two", "a", "b")
    three, four = await add(world, other, "one", "a", "c"), await add(world, account, "gone", "d", "a")
    await add(world, account, "none")
    await world.store.run(links.delete_link(account.id, four, world.clock()))
    for day, clicks in ((TODAY - 8, 100), (TODAY - 7, 1), (TODAY - 1, 10), (TODAY, 1_000)):
        await clicked(world, account, day, 1, **{one: clicks, two: 2 * clicks, four: clicks})
        await clicked(world, other, day, 1, **{three: clicks})
    expected = [
        {"tag": "a", "links": 3, "clicks_7d": 44},
        {"tag": "b", "links": 2, "clicks_7d": 33},
        {"tag": "c", "links": 1, "clicks_7d": 11},
    ]
    assert (await world.call("GET", "/v1/tags", headers=session)).body == {"tags": expected, "truncated": False}
    of_account = (await world.call("GET", f"/v1/tags?account_id={other.id}", headers=session)).body["tags"]
    assert of_account == [{**each, "links": 1, "clicks_7d": 11} for each in expected if each["tag"] != "b"]
    assert (await world.call("GET", "/v1/tags?q=B", headers=session)).body["tags"] == expected[1:2]
    limited = await world.key(user, "links", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    shown = (await world.call("GET", "/v1/tags", headers=limited)).body["tags"]
    assert shown == [{"tag": "a", "links": 1}, {"tag": "c", "links": 1}]
    stranger = await world.session(await world.user())
    assert (await world.call("GET", "/v1/tags", headers=stranger)).body == {"tags": [], "truncated": False}
    assert (await world.call("DELETE", f"/v1/accounts/{other.id}", headers=session)).status == 200
    assert [each["tag"] for each in (await world.call("GET", "/v1/tags", headers=session)).body["tags"]] == ["a", "b"]


async def test_list_of_tags_has_the_thousand_most_frequent(world):
    _, session, account = await world.ready()
    batch = [
        replace(
            new_link(account.user_id, account.id, f"code{n}", START_MS), tags=(*(f"tag{n}-{m}" for m in range(9)), "z")
        )
        for n in range(112)
    ]
    await world.store.run(links.add_links(batch, 100_000))
    body = (await world.call("GET", "/v1/tags", headers=session)).body
    assert (len(body["tags"]), body["truncated"]) == (MAX_TAGS, True)
    assert body["tags"][:2] == [
        {"tag": "z", "links": 112, "clicks_7d": 0},
        {"tag": "tag0-0", "links": 1, "clicks_7d": 0},
    ]
    assert len((await world.call("GET", "/v1/tags?q=TAG111", headers=session)).body["tags"]) == 9


@pytest.mark.rule("R1", "C4")
async def test_report_of_a_tag_is_the_sum_of_its_links(world):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.com")
    one, two = await add(world, account, "one", "new-york", "b"), await add(world, other, "two", "new-york")
    plain, gone = await add(world, account, "plain", "b"), await add(world, account, "gone", "new-york")
    await world.store.run(links.delete_link(account.id, gone, world.clock()))
    for day in (TODAY - 9, TODAY - 1, TODAY):
        await clicked(world, account, day, 2, **{one: 20, plain: 50, gone: 70})
        await clicked(world, other, day, 3, **{two: 30})

    async def report(query: str, headers: dict[str, str] = session) -> dict[str, Any]:
        response = await world.call("GET", f"/v1/tags/New%20York/report?{query}", headers=headers)
        assert response.status == 200, response.raw
        shown: dict[str, Any] = response.body["report"]
        return shown

    week = await report("period=7d&compare=previous")
    assert (week["tag"], week["links"], week["by"], week["period"]) == ("new-york", 2, "day", "7d")
    assert (week["from"], week["to"]) == (day_text(TODAY - 6), day_text(TODAY))
    # the time of the account whose Worker pushed least recently
    assert week["as_of"] == iso(TODAY * DAY_MS + 3 * HOUR_MS)
    assert week["totals"] == {"views": 100, "bots": 4, "visitors": 96}
    assert [point["views"] for point in week["series"]] == [0, 0, 0, 0, 0, 50, 50]
    assert week["comparison"]["totals"] == {"views": 50, "bots": 2, "visitors": 48}
    today = await report("period=today")
    assert (today["by"], today["totals"]["views"]) == ("hour", 50)
    assert [point["views"] for point in today["series"]] == [0, 0, 20]
    hours = await report(f"from={day_text(TODAY - 9)}&to={day_text(TODAY - 9)}&by=hour")
    assert [point["views"] for point in hours["series"]] == [0, 0, 20, 30, *[0] * 20]
    always = await report("period=all")
    assert (always["from"], always["totals"]["views"]) == (day_text(TODAY - 9), 150)
    limited = await world.key(user, "reports", allow_accounts=(OTHER_EDGE_ACCOUNT,))
    assert (await report("period=7d", limited))["totals"]["views"] == 60
    elsewhere = await world.key(user, "reports", allow_accounts=("e" * 32,))
    is_error(await world.call("GET", "/v1/tags/new-york/report", headers=elsewhere), 404, "not_found")
    assert (await world.call("PATCH", f"/v1/links/{one}", {"tags": []}, headers=session)).status == 200
    assert (await report("period=7d"))["totals"]["views"] == 60
    assert (await world.call("DELETE", f"/v1/accounts/{other.id}", headers=session)).status == 200
    is_error(await world.call("GET", "/v1/tags/new-york/report", headers=session), 404, "not_found")


@pytest.mark.rule("R1")
async def test_report_of_a_tag_marks_estimates(world):
    _, session, account = await world.ready()
    link_id = await add(world, account, "one", "a")
    await world.store.run(_one(sql("update links set created_at = $1", START_MS)))
    await world.store.run(
        _one(
            sql(
                "insert into days (target, day, views, bots, visitors, as_of, final, imported, estimated)"
                " values ($1, $2, 7, 0, 7, 0, 1, 1, 1)",
                link_id,
                TODAY - 3,
            )
        )
    )
    series = (await world.call("GET", "/v1/tags/a/report?period=month", headers=session)).body["report"]["series"]
    assert [point["at"][:10] for point in series if "estimated" in point] == [day_text(TODAY - 3)]


def _one(statement: Statement) -> Tx[None]:
    yield statement


@pytest.mark.rule("R1")
async def test_report_of_an_unknown_tag_is_not_found(world, ready):
    _, session, account = ready
    await add(world, account, "one", "a")
    assert (await world.call("GET", "/v1/tags/a/report", headers=session)).status == 200
    is_error(await world.call("GET", "/v1/tags/b/report", headers=session), 404, "not_found")
