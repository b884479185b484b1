"""Tests of lists of links.

The lists are complete, have the same order on both engines, and can be paged through during changes.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from svc.clock import day_of
from svc.model import Link
from svc.store import link_lists, links, totals
from svc.store.link_lists import LinkFilter, list_links, listed, place_of, ranked_by_clicks
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.store.makers import a_user, an_account, new_link, owner_of

TODAY = day_of(START_MS)


@pytest.fixture
async def user_id(store, account_id):
    return await store.run(owner_of(account_id))


async def add(store, user_id, account_id, *codes, url="https://shop.example.com/", at=START_MS):
    """Add the links one after another. Return their ids."""
    made = []
    for code in codes:
        link = replace(new_link(user_id, account_id, code, at), url=url)
        made.append((await store.run(links.add_link(link, 10_000))).id)
    return made


async def clicked(store, account_id, day, **views):
    """Push the clicks of a closed day. `views`: the number of clicks by link id."""
    rows = tuple((link_id, n, 7, 1) for link_id, n in views.items())
    part = PushedPart(1, day, (day + 1) * 86_400_000, False, (), (), rows)
    ingested = await store.run(totals.ingest(account_id, [part], START_MS))
    assert (ingested.accepted, ingested.unknown_targets) == ((1,), ())


@pytest.mark.rule("X15")
async def test_both_engines_order_codes_ignoring_case(store, user_id, account_id):
    ordered = [
        "-dash",
        "1ab",
        "a-b",
        "a_b",
        "aBc",
        "abc",
        "abd",
        "Abe",
        "ABF",
        "b-a",
        "B00",
        "b01",
        "_low",
        "zzz",
        "ZZZ1",
    ]
    ordered.sort(key=lambda code: (code.lower(), code))
    shuffled = random.Random(3).sample(ordered, len(ordered))
    await add(store, user_id, account_id, *shuffled)
    found = await store.read(list_links(LinkFilter(user_id), "code"))
    assert [link.code for link in found] == ordered


@pytest.fixture
async def searched_links(store, user_id, account_id):
    """Add links with similar codes and addresses."""
    await add(store, user_id, account_id, "Sale", "sale_26", url="https://Shop.example.com/")
    await add(store, user_id, account_id, "100", url="https://shop.example.com/50%2F100%")
    await add(store, user_id, account_id, "other", url="https://other.example/?a='x'")


@pytest.mark.rule("X15")
@cases(
    ("text", "found"),
    [
        ("", {"Sale", "sale_26", "100", "other"}),
        ("sale", {"Sale", "sale_26"}),
        ("SALE", {"Sale", "sale_26"}),
        ("e_2", {"sale_26"}),
        ("_", {"sale_26"}),
        ("%", {"100"}),
        ("%2F100%", {"100"}),
        ("%2F%", set()),
        ("%2f", {"100"}),
        ("\\", set()),
        ("shop.EXAMPLE", {"Sale", "sale_26", "100"}),
        ("https://other.example/?A", {"other"}),
        ("'", {"other"}),
        ("nowhere", set()),
    ],
)
async def test_search_matches_parts_of_code_or_address_without_wildcards(store, user_id, searched_links, text, found):
    which = LinkFilter(user_id, contains=(text,) if text else ())
    for order in link_lists.PLACE_KINDS:
        assert {link.code for link in await store.read(list_links(which, order))} == found
    assert len(await store.read(ranked_by_clicks(which, TODAY))) == len(found)


@pytest.mark.rule("X15", "L3")
async def test_deleted_links_are_listed_on_request(store, user_id, account_id):
    one, two = await add(store, user_id, account_id, "one", "two")
    await store.run(links.delete_link(account_id, one, START_MS))
    [again] = await add(store, user_id, account_id, "one")
    living, gone = LinkFilter(user_id), LinkFilter(user_id, state="deleted")
    assert {link.id for link in await store.read(list_links(living))} == {two, again}
    assert [link.id for link in await store.read(list_links(gone, "code"))] == [one]
    assert await store.read(ranked_by_clicks(gone, TODAY)) == [one]
    assert [link.id for link in await store.read(listed(living, [again, one, two]))] == [again, two]


@pytest.mark.rule("X15", "C4")
async def test_list_has_only_the_users_links_in_permitted_accounts(store, user_id, account_id):
    other = await store.run(an_account(user_id, edge_account_id="e" * 32))
    [here] = await add(store, user_id, account_id, "abc")
    [there] = await add(store, user_id, other, "abc")
    for which, ids in [
        (LinkFilter(user_id), {here, there}),
        (LinkFilter(user_id, account_id), {here}),
        (LinkFilter(user_id, None, ("e" * 32,)), {there}),
        (LinkFilter(user_id, account_id, ("e" * 32,)), set()),
        (LinkFilter(user_id, None, ()), set()),
        (LinkFilter(await store.run(a_user())), set()),
    ]:
        for order in link_lists.PLACE_KINDS:
            assert {link.id for link in await store.read(list_links(which, order))} == ids
        assert set(await store.read(ranked_by_clicks(which, TODAY))) == ids
        assert {link.id for link in await store.read(listed(which, [here, there]))} == ids


@pytest.mark.rule("X15", "L4")
async def test_ranking_is_by_clicks_of_seven_closed_days_then_by_age(store, user_id, account_id):
    none, few, many, older = await add(store, user_id, account_id, "none", "few", "many", "older")
    [young] = await add(store, user_id, account_id, "young", at=START_MS + 1)
    await clicked(store, account_id, TODAY - 8, **{none: 1_000})
    await clicked(store, account_id, TODAY - 7, **{few: 3, many: 5})
    await clicked(store, account_id, TODAY - 1, **{many: 5, young: 3})
    equals = sorted((none, older))
    assert await store.read(ranked_by_clicks(LinkFilter(user_id), TODAY)) == [many, few, young, *equals]


@pytest.mark.rule("X15")
@pytest.mark.parametrize("order", ["oldest", "newest", "code"])
async def test_pagination_returns_each_lasting_link_once_despite_changes(store, user_id, account_id, order):
    chance = random.Random(5)
    numbers = iter(range(1_000))

    async def add_some(count: int) -> list[str]:
        made = []
        for _ in range(count):
            code = f"{chance.choice('aBc')}{chance.choice('-_Zz')}{next(numbers)}"
            made += await add(store, user_id, account_id, code, at=START_MS + chance.randrange(10))
        return made

    ids = await add_some(40)
    gone: set[str] = set()
    walked: list[Link] = []
    after = None
    while page := await store.read(list_links(LinkFilter(user_id), order, 7, after)):
        walked += page
        after = place_of(order, page[-1])
        ids += await add_some(3) if len(walked) < 60 else []
        doomed = {page[-1].id, chance.choice(ids)} - gone  # one of these links is the one that the cursor names
        for link_id in doomed:
            await store.run(links.delete_link(account_id, link_id, START_MS))
        gone |= doomed
        for link_id in set(chance.sample(ids, 5)) - gone:
            await store.run(links.change_link(account_id, link_id, {"url": f"https://b.example/{len(walked)}"}))
    met = [link.id for link in walked]
    assert len(set(met)) == len(met)
    assert set(met) >= set(ids[:40]) - gone
    places = [place_of(order, link) for link in walked]
    assert places == sorted(places, reverse=order == "newest")
