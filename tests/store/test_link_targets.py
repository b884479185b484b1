"""Tests that links never point to the link host, and that no host is both a site and the link host.

The order in which the objects are added does not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio

from svc.errors import Conflict, Invalid
from svc.model import Rule, Variant, url_host
from svc.store import accounts, link_hosts, links, sites
from tests.cases import cases
from tests.store.makers import an_account, new_link, new_site, owner_of

HOST = "c.example.com"
# Valid URLs that spell the link host in different ways. Browsers request the same host for all of them.
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


async def add(store, account_id, **fields):
    user_id = await store.run(owner_of(account_id))
    return await store.run(links.add_link(replace(new_link(user_id, account_id), **fields), 1_000))


async def put(store, account_id, host=HOST):
    return await store.run(link_hosts.put_link_host(account_id, host, "zone"))


@pytest.mark.rule("L2", "A19")
@cases("url", SPELLINGS)
async def test_target_host_of_a_link_cannot_become_the_link_host(store, url):
    account_id = await store.run(an_account())
    link = await add(store, account_id, code="loop", url=url)
    with pytest.raises(Invalid) as refused:
        await put(store, account_id)
    assert "loop" in str(refused.value.details)
    kept = (await store.read(accounts.account_by_id(account_id))).link_host
    assert kept.host == "go.example.com"
    assert url_host(link.url) == HOST


@pytest.mark.rule("L2", "A19")
async def test_targets_of_rules_are_checked_and_the_error_names_a_few_links(store, account_id):
    for n in range(30):
        url = SPELLINGS[n % len(SPELLINGS)]
        fields = {
            "rules": (Rule(url, ("DE",)),),
            "split": (Variant("https://a.example/", 50), Variant(url, 50)),
            "after_url": url,
        }
        name = sorted(fields)[n % 3]
        await add(store, account_id, code=f"loop{n}", **{name: fields[name]})
    with pytest.raises(Invalid) as refused:
        await put(store, account_id)
    issues = issues_of(refused)
    assert 1 <= len(issues) <= 20
    assert {(issue["path"], issue["code"]) for issue in issues} == {("host", "target_of_link")}


@pytest.mark.rule("L2", "A19")
@cases("url", OTHERS)
async def test_similar_hosts_are_allowed(store, url):
    account_id = await store.run(an_account())
    await add(store, account_id, code="fine", url=url)
    assert (await put(store, account_id)).host == HOST


@pytest.mark.rule("L2")
@cases("url", SPELLINGS)
async def test_link_to_the_link_host_is_rejected_in_every_spelling(store, url):
    account_id = await store.run(an_account())
    await put(store, account_id)
    with pytest.raises(Invalid) as refused:
        await add(store, account_id, url=url)
    assert [issue["path"] for issue in issues_of(refused)] == ["url"]
    with pytest.raises(Invalid) as refused:
        await add(store, account_id, rules=(Rule("https://fine.example/"), Rule(url)))
    assert [issue["path"] for issue in issues_of(refused)] == ["rules.1.url"]


@pytest.mark.rule("L2", "A19")
async def test_concurrent_link_and_link_host_never_both_succeed(store, account_id):
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


@pytest.mark.rule("S1", "A19")
async def test_concurrent_site_and_link_host_never_share_a_host(store, account_id):
    user_id = await store.run(owner_of(account_id))
    for n in range(10):
        host = f"d{n}.example.com"
        ends: list[str] = []

        async def one(name, tx, ends=ends):
            try:
                await store.run(tx)
                ends.append(name)
            except Conflict as error:
                ends.append(error.code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, "site", sites.add_site(new_site(user_id, account_id, host), 100))
            nursery.start_soon(one, "link host", link_hosts.put_link_host(account_id, host, "zone"))
        assert sorted(ends) in (["link host", "site_on_link_host"], ["link_host_is_website", "site"])


@pytest.mark.rule("S1", "A19")
async def test_host_is_free_after_its_site_or_link_host_is_removed(store, account_id):
    user_id = await store.run(owner_of(account_id))
    with pytest.raises(Conflict) as refused:
        await store.run(sites.add_site(new_site(user_id, account_id, "go.example.com"), 10))
    assert (refused.value.code, refused.value.details) == ("site_on_link_host", {"host": "go.example.com"})
    site = await store.run(sites.add_site(new_site(user_id, account_id, HOST), 10))
    with pytest.raises(Conflict) as refused:
        await put(store, account_id)
    assert refused.value.details == {"host": HOST, "why": "site"}
    await store.run(sites.delete_site(account_id, site.id))
    assert (await put(store, account_id)).host == HOST
    await store.run(sites.add_site(new_site(user_id, account_id, "go.example.com"), 10))
