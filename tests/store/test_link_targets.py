"""No click goes round, and no link hides behind a site's counter: whichever of the two comes first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio

from svc.errors import Conflict, Invalid
from svc.model import Rule, url_host
from svc.store import accounts, link_hosts, links, sites
from tests.store.makers import an_account, new_link, new_site, owner_of

HOST = "c.example.com"
# What our validation lets through and what a browser takes for the same host.
SPELLINGS = [
    "https://c.example.com/loop",
    "https://C.Example.COM/loop",
    "https://c.example.com./loop",
    "https://c.example.com:443/loop",
    "https://user:pass@c.example.com/loop",
    "https://c.example.com?x=1",
    "HTTPS://c.example.com#x",
]
OTHERS = [
    "https://cc.example.com/",
    "https://c.example.com.evil.test/",
    "https://example.com/c.example.com",
    "https://c.example.com@example.org/",
    "https://example.com/?to=https://c.example.com/",
]


def issues_of(refused: pytest.ExceptionInfo[Invalid]) -> list[Any]:
    details: Any = refused.value.details
    return list(details["issues"])


@pytest.fixture
async def account_id(store):
    return await store.run(an_account())


async def add(store, account_id, **fields):
    user_id = await store.run(owner_of(account_id))
    return await store.run(links.add_link(replace(new_link(user_id, account_id), **fields), 1_000))


async def put(store, account_id, host=HOST):
    return await store.run(link_hosts.put_link_host(account_id, host, "zone"))


@pytest.mark.rule("L2", "A19")
@pytest.mark.parametrize("url", SPELLINGS)
async def test_a_host_that_a_link_leads_to_cannot_become_the_link_host(store, account_id, url):
    link = await add(store, account_id, code="loop", url=url)
    with pytest.raises(Invalid) as refused:
        await put(store, account_id)
    assert "loop" in str(refused.value.details)
    kept = (await store.read(accounts.account_by_id(account_id))).link_host
    assert kept.host == "go.example.com"
    assert url_host(link.url) == HOST


@pytest.mark.rule("L2", "A19")
async def test_a_rules_address_counts_and_of_many_links_some_are_named(store, account_id):
    for n in range(30):
        await add(store, account_id, code=f"loop{n}", rules=(Rule(SPELLINGS[n % len(SPELLINGS)], ("DE",)),))
    with pytest.raises(Invalid) as refused:
        await put(store, account_id)
    issues = issues_of(refused)
    assert 1 <= len(issues) <= 20
    assert {issue["path"] for issue in issues} == {"host"}


@pytest.mark.rule("L2", "A19")
@pytest.mark.parametrize("url", OTHERS)
async def test_a_host_that_only_looks_alike_is_no_reason(store, account_id, url):
    await add(store, account_id, code="fine", url=url)
    assert (await put(store, account_id)).host == HOST


@pytest.mark.rule("L2")
@pytest.mark.parametrize("url", SPELLINGS)
async def test_a_link_to_the_link_host_is_refused_in_every_spelling(store, account_id, url):
    await put(store, account_id)
    with pytest.raises(Invalid) as refused:
        await add(store, account_id, url=url)
    assert [issue["path"] for issue in issues_of(refused)] == ["url"]
    with pytest.raises(Invalid) as refused:
        await add(store, account_id, rules=(Rule("https://fine.example/"), Rule(url)))
    assert [issue["path"] for issue in issues_of(refused)] == ["rules.1.url"]


@pytest.mark.rule("L2", "A19")
async def test_a_link_and_a_link_host_at_once_never_both_succeed(store, account_id):
    for n in range(10):
        host = f"c{n}.example.com"
        ends: list[str] = []

        async def one(tx, ends=ends):
            try:
                await store.run(tx)
                ends.append("done")
            except Invalid:
                ends.append("refused")

        user_id = await store.run(owner_of(account_id))
        link = replace(new_link(user_id, account_id), code=f"loop{n}", url=f"https://{host}/")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, links.add_link(link, 1_000))
            nursery.start_soon(one, link_hosts.put_link_host(account_id, host, "zone"))
        assert sorted(ends) == ["done", "refused"]


@pytest.mark.rule("L1")
@pytest.mark.parametrize(("path", "code"), [("/abcd2345", "abcd2345"), ("/ab2c/x9k4", "ab2c")])
async def test_a_code_that_the_counter_on_the_link_host_hides_is_taken(store, account_id, path, code):
    user_id = await store.run(owner_of(account_id))
    site = replace(new_site(user_id, account_id, "go.example.com"), path=path)
    await store.run(sites.add_site(site, 10))
    with pytest.raises(Conflict) as refused:
        await add(store, account_id, code=code)
    assert refused.value.code == "link_exists"
    assert (await add(store, account_id, code=code.upper())).code == code.upper()
    # On another host the path hides nothing.
    await store.run(sites.add_site(replace(new_site(user_id, account_id), path="/zzzz2345"), 10))
    assert (await add(store, account_id, code="zzzz2345")).code == "zzzz2345"


@pytest.mark.rule("L1", "S2")
async def test_a_new_site_on_the_link_host_avoids_the_codes_of_links(store, account_id):
    await add(store, account_id, code="ab3")
    user_id = await store.run(owner_of(account_id))
    site = await store.run(sites.add_site(new_site(user_id, account_id, "go.example.com"), 10))
    assert site.path.split("/")[1] != "ab3"
    assert (await store.read(sites.get_site(user_id, site.id))).path == site.path
    other = await store.run(sites.add_site(new_site(user_id, account_id, "shop.example.com"), 10))
    assert other.path == new_site(user_id, account_id).path


@pytest.mark.rule("A19", "L1")
async def test_a_host_whose_counter_would_hide_a_link_cannot_become_the_link_host(store, account_id):
    user_id = await store.run(owner_of(account_id))
    await store.run(sites.add_site(replace(new_site(user_id, account_id, HOST), path="/ab3/x9k"), 10))
    await add(store, account_id, code="ab3")
    with pytest.raises(Invalid) as refused:
        await put(store, account_id)
    assert "ab3" in str(refused.value.details)
    assert (await put(store, account_id, "d.example.com")).host == "d.example.com"
