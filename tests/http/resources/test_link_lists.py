"""Tests of GET /v1/links: search, order, and cursors."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from svc.api.cursors import cursor_of
from svc.http.resources.rankings import Rankings
from svc.model import WorkerPush
from svc.store import links, pushes, totals
from svc.store.link_lists import LinkFilter
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.http.conftest import OTHER_EDGE_ACCOUNT
from tests.store.makers import new_link

pytestmark = pytest.mark.both_engines

DAY_MS = 86_400_000


async def add(world, account, *codes, url="https://shop.example.com/sale"):
    """Add links with these codes, and return their ids by code."""
    batch = [replace(new_link(account.user_id, account.id, code, world.clock()), url=url) for code in codes]
    made = await world.store.run(links.add_links(batch, 100_000))
    return {link.code: link.id for link in made}


def forward(world, ms):
    """Advance the clock by `ms`, and return its new time."""
    world.clock.now_ms += ms
    return world.clock()


async def push(world, account, clicks):
    """Push yesterday's clicks, as the account's Worker does. `clicks`: the number of clicks by link id."""
    day = world.clock() // DAY_MS - 1
    rows = tuple((link_id, n, 0, 1) for link_id, n in clicks.items())
    part = PushedPart(1, day, day * DAY_MS + 3_600_000, False, (), (), rows)
    at = forward(world, 1)

    def pushed():
        ingested = yield from totals.ingest(account.id, [part], at)
        yield from pushes.record_pushes([(account.id, WorkerPush(at, "b"))])
        return ingested

    assert (await world.store.run(pushed())).accepted == (1,)


async def walk(world, headers, query, between=None):
    """Return all pages of a list, each as a list of links."""
    pages, cursor = [], ""
    while True:
        response = await world.call("GET", f"/v1/links?{query}{cursor}", headers=headers)
        assert response.status == 200, response.raw
        pages.append(response.body["links"])
        if "next_cursor" not in response.body:
            return pages
        cursor = f"&cursor={response.body['next_cursor']}"
        if between is not None:
            await between()


@pytest.mark.rule("X15")
async def test_links_are_listed_in_each_order_page_by_page(world):
    user, session, account = await world.ready()
    ids: dict[str, str] = {}
    for code in ("bbb", "Aaa", "ccc", "aab"):
        ids |= await add(world, account, code)
        forward(world, 1)
    await push(world, account, {ids["ccc"]: 9, ids["Aaa"]: 10})
    for query, expected in [
        ("", ["bbb", "Aaa", "ccc", "aab"]),
        ("order=oldest", ["bbb", "Aaa", "ccc", "aab"]),
        ("order=newest", ["aab", "ccc", "Aaa", "bbb"]),
        ("order=code", ["Aaa", "aab", "bbb", "ccc"]),
        ("order=clicks", ["Aaa", "ccc", "bbb", "aab"]),
    ]:
        for limit in (1, 2, 3, 4, 1000):
            pages = await walk(world, session, f"{query}&limit={limit}")
            assert [link["code"] for page in pages for link in page] == expected
            assert len(pages) == -(-4 // limit)
    [[first, *_]] = await walk(world, session, "order=clicks")
    assert first["clicks_7d"] == 10
    assert (await world.call("GET", "/v1/links?order=bytes", headers=session)).code == "invalid_request"
    without = await world.key(user, "links")
    refused = await world.call("GET", "/v1/links?order=clicks", headers=without)
    assert (refused.code, refused.body["error"]["details"]["scopes"]) == ("scope_required", ["reports"])


@pytest.mark.rule("X15")
async def test_paging_by_clicks_shows_each_link_once_while_clicks_change(world):
    user, _, account = await world.ready()
    session = await world.key(user)  # use a key, because a session would expire during the test
    chance = random.Random(2)
    ids = list((await add(world, account, *(f"code{n}" for n in range(40)))).values())
    clicks = dict.fromkeys(ids, 0)

    async def more() -> None:
        for link_id in chance.sample(ids, 15):
            clicks[link_id] += chance.randrange(100)
        await push(world, account, clicks)

    await more()
    numbers = iter(range(100, 200))
    deleted = set()

    async def change() -> None:
        await more()
        await add(world, account, f"code{next(numbers)}")
        removed = chance.choice([each for each in ids if each not in deleted])
        await world.store.run(links.delete_link(account.id, removed, world.clock()))
        deleted.add(removed)
        forward(world, DAY_MS // 12)  # one of these steps passes midnight

    pages = await walk(world, session, "order=clicks&limit=5", change)
    seen = [link["id"] for page in pages for link in page]
    assert len(seen) == len(set(seen))
    assert set(seen) >= set(ids) - deleted
    assert [len(page) for page in pages[:1]] == [5]

    async def beginning() -> list[int]:
        response = await world.call("GET", "/v1/links?order=clicks&limit=7", headers=session)
        return [link["clicks_7d"] for link in response.body["links"]]

    # A client that restarts at the first page gets the current order after each push.
    for _ in range(3):
        clicks = {link_id: chance.randrange(1_000_000) for link_id in ids}
        forward(world, DAY_MS)
        await push(world, account, clicks)
        living = sorted((n for link_id, n in clicks.items() if link_id not in deleted), reverse=True)
        shown = await beginning()
        assert shown == sorted(shown, reverse=True)
        assert shown[0] >= living[0]


@pytest.mark.rule("X15")
async def test_changes_of_links_show_in_the_order_by_clicks_immediately(world):
    _, session, account = await world.ready()

    async def codes(query=""):
        [page] = await walk(world, session, f"order=clicks{query}")
        return [link["code"] for link in page]

    ids = await add(world, account, "abc")
    assert await codes() == ["abc"]
    ids |= await add(world, account, "new", url="https://elsewhere.example/")
    assert set(await codes()) == {"abc", "new"}
    assert await codes("&q=elsewhere") == ["new"]
    await world.call("PATCH", f"/v1/links/{ids['abc']}", {"url": "https://elsewhere.example/x"}, headers=session)
    assert set(await codes("&q=elsewhere")) == {"abc", "new"}
    await world.call("DELETE", f"/v1/links/{ids['new']}", headers=session)
    assert await codes("&q=elsewhere") == ["abc"]
    assert await codes("&state=deleted") == ["new"]


@pytest.mark.rule("X15")
async def test_cursor_works_for_its_list_only(world):
    _, session, account = await world.ready()
    await add(world, account, "aaa", "bbb", "ccc")
    other_user = await world.user()
    await world.account(other_user, OTHER_EDGE_ACCOUNT, link_host="go.example.com")
    stranger = await world.session(other_user)
    queries = ["", "order=newest", "order=code", "order=clicks", "q=a", "state=deleted", f"account_id={account.id}"]
    queries.append("broken=true")
    for query in queries:
        response = await world.call("GET", f"/v1/links?{query}&limit=1", headers=session)
        cursor = response.body.get("next_cursor")
        for other in queries:
            if cursor is None or other == query:
                continue
            refused = await world.call("GET", f"/v1/links?{other}&cursor={cursor}", headers=session)
            assert (refused.status, refused.code) == (400, "invalid_request")
            assert refused.body["error"]["details"]["issues"][0]["path"] == "cursor"
        if query == "order=clicks":
            refused = await world.call("GET", f"/v1/links?{query}&cursor={cursor}", headers=stranger)
            assert "expired" in refused.body["error"]["details"]["issues"][0]["message"]
        elif cursor is not None:  # another user gets no links with this cursor, because it encodes only a position
            response = await world.call("GET", f"/v1/links?{query}&cursor={cursor}", headers=stranger)
            assert response.body["links"] == [] or response.code == "invalid_request"


@pytest.mark.rule("X15", "G8")
@cases(
    "place",
    [
        (),
        (1,),
        (1, 2),
        ("a", "b"),
        (-1, "x"),
        (2**63, "x"),
        (True, "x"),
        (1.5, "x"),
        (1, "\x00"),
        (1, "x", "y"),
        (None, "x"),
    ],
)
async def test_manipulated_cursor_is_refused(world, ready, place):
    _, session, _ = ready
    cursor = cursor_of(("oldest", None, "", "active"), place)
    refused = await world.call("GET", f"/v1/links?cursor={cursor}", headers=session)
    assert (refused.status, refused.code) == (400, "invalid_request")


@pytest.mark.rule("X15", "G8")
@cases("cursor", ["x", "lnk_" + "a" * 20, "W10", "%5B%5D", "=", "%00", "e30", "W1tbW1tb", "a" * 201, "%C3%A4"])
async def test_invalid_cursor_is_refused(world, ready, cursor):
    _, session, _ = ready
    for order in ("oldest", "clicks"):
        refused = await world.call("GET", f"/v1/links?order={order}&cursor={cursor}", headers=session)
        assert (refused.status, refused.code) == (400, "invalid_request")


@pytest.mark.rule("X15")
async def test_cursor_of_a_ranking_lost_in_a_restart_has_expired(world):
    _, session, _ = await world.ready()
    cursor = cursor_of(("clicks", None, "", "active"), ("a" * 16, 5))
    refused = await world.call("GET", f"/v1/links?order=clicks&cursor={cursor}", headers=session)
    assert "expired" in refused.body["error"]["details"]["issues"][0]["message"]


@pytest.mark.rule("X15")
async def test_search_finds_international_text(world):
    _, session, account = await world.ready()
    await add(world, account, "host", url="https://xn--mnchen-3ya.example/")
    await add(world, account, "path", url="https://a.example/stra%C3%9Fe")
    await add(world, account, "plain", url="https://a.example/100%25_x")
    for q, found in [
        ("münchen.example", ["host"]),
        ("https://MÜNCHEN.example/", ["host"]),
        ("straße", ["path"]),
        ("https://a.example/straße", ["path"]),
        ("%25_X", ["plain"]),
        ("_", ["plain"]),
        ("例", []),
    ]:
        response = await world.app.test_client(use_cookies=False).get(
            "/v1/links", query_string={"q": q}, headers=session
        )
        assert [link["code"] for link in (await response.get_json())["links"]] == found
    assert (await world.call("GET", f"/v1/links?q={'x' * 51}", headers=session)).code == "invalid_request"
    assert (await world.call("GET", "/v1/links?q=%00", headers=session)).code == "invalid_request"


def test_rankings_are_cached_within_their_limits():
    kept = Rankings(most_links=100)
    which = [LinkFilter(user_id, contains=(str(n),)) for user_id in (1, 2) for n in range(10)]
    first = kept.keep(which[0], 1, ["lnk_a", "lnk_b"])
    assert kept.current(which[0], 1) is first
    assert kept.current(which[0], 2) is None
    assert kept.named(first.name, which[1]) is None
    assert (len(first), first.page(1, 5), first.page(2, 5), first.page(9, 1)) == (2, ["lnk_b"], [], [])
    mine = [kept.keep(each, 1, []) for each in which[1:8]]
    assert kept.named(first.name, which[0]) is first  # reading the entry makes it the most recently used one
    kept.keep(which[8], 1, ["lnk_c"])
    assert kept.named(mine[0].name, which[1]) is None
    assert kept.named(first.name, which[0]) is first
    others = [kept.keep(each, 1, ["lnk_x"] * 40) for each in which[10:13]]
    assert [kept.named(each.name, each.which) is not None for each in others] == [False, True, True]
    large = kept.keep(which[14], 1, ["lnk_x"] * 500)
    assert len(large) == 500
    assert kept.current(which[14], 1) is large
    assert kept.current(which[11], 1) is None


@pytest.mark.rule("L3", "A17")
@pytest.mark.parametrize("order", ["oldest", "newest", "code", "clicks"])
async def test_links_of_a_disconnected_account_are_listed_as_deleted(world, order):
    user, session, account = await world.ready()
    await add(world, account, "old")
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=session)).status == 200
    assert (await world.call("GET", f"/v1/links?order={order}", headers=session)).body["links"] == []
    path = f"/v1/links?state=deleted&order={order}"
    [shown] = (await world.call("GET", path, headers=session)).body["links"]
    assert (shown["code"], shown["state"], shown["config"], shown["short_url"]) == ("old", "deleted", "synced", None)
    for allowed, count in ((account.edge_account_id, 1), (OTHER_EDGE_ACCOUNT, 0)):
        key = await world.key(user, "links", "reports", allow_accounts=(allowed,))
        assert len((await world.call("GET", path, headers=key)).body["links"]) == count
