"""Tests of the rules and options of links in imports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from svc.actors.requests.bulk import add_wanted
from svc.api import export
from svc.clock import DAY_MS
from svc.imports.links.table import Row
from svc.model import Rule, Variant, WantedLink
from svc.store import accounts
from svc.store.link_lists import LinkFilter, list_links
from tests.clock import START_MS
from tests.imports.links.imported import imported, rows_in
from tests.store.makers import an_account

if TYPE_CHECKING:
    from svc.model import Account, Link
    from svc.store.tx import Store

pytestmark = pytest.mark.rule("X2")

URL = "https://a.example/"
SPLIT = (Variant("https://b.example/", 30), Variant("https://c.example/?a,b;c", 70))
# Links with each option alone, with all options, and with a period that has ended.
LINKS = (
    WantedLink(URL, "plain"),
    WantedLink(URL, "forward", forward_query=True),
    WantedLink(URL, "started", starts_at=START_MS - DAY_MS),
    WantedLink(URL, "ended", ends_at=START_MS - 1, after_url="https://over.example/"),
    WantedLink(URL, "later", starts_at=START_MS + 1, ends_at=START_MS + 2),
    WantedLink(URL, "split", split=SPLIT),
    WantedLink(
        URL,
        "all",
        rules=(Rule("https://m.example/", None, ("mobile",)),),
        title="=Title",
        note="Note\nof two lines",
        tags=("a", "b"),
        forward_query=True,
        starts_at=START_MS - DAY_MS,
        ends_at=START_MS + DAY_MS,
        after_url="https://over.example/",
        split=SPLIT,
    ),
)


async def an_owned_account(store: Store, edge_account_id: str) -> Account:
    account_id = await store.run(an_account(edge_account_id=edge_account_id))
    return accounts.present(await store.read(accounts.account_by_id(account_id)))


async def links_of(store: Store, account: Account) -> dict[str, Link]:
    return {link.code: link for link in await store.read(list_links(LinkFilter(account.user_id)))}


def exported(links: dict[str, Link], edge_account_id: str) -> bytes:
    """Return the file links.csv of an export with these links."""
    rows = [export.cells_of(export.Link.from_model(link, edge_account_id)) for link in links.values()]
    return export.csv_lines([export.Link.model_fields, *rows]).encode()


async def test_exported_links_are_imported_without_a_difference(store):
    account, other = [await an_owned_account(store, char * 32) for char in "cd"]
    await store.run(add_wanted(account, LINKS, 100, START_MS))
    links = await links_of(store, account)
    rows = rows_in(exported(links, other.edge_account_id))
    for apply in (False, True, True):
        report, refused = await imported(store, other, rows, limit=100, now=START_MS, apply=apply)
        assert (report.created + report.existing, report.dated, refused) == (len(LINKS), 0, [])
        assert not report.restricted
    assert report.existing == len(LINKS)
    made = await links_of(store, other)
    assert made == {
        code: replace(
            link,
            id=made[code].id,
            account_id=other.id,
            user_id=other.user_id,
            version=made[code].version,
        )
        for code, link in links.items()
    }


async def test_rows_with_other_options_than_the_existing_link_are_rejected(store):
    account = await an_owned_account(store, "c" * 32)
    await store.run(add_wanted(account, LINKS, 100, START_MS))
    links = await links_of(store, account)
    changed = {
        "plain": replace(links["plain"], forward_query=True),
        "forward": replace(links["forward"], forward_query=False),
        "started": replace(links["started"], starts_at=None),
        "ended": replace(links["ended"], after_url=None),
        "later": replace(links["later"], ends_at=START_MS + 3),
        "split": replace(links["split"], split=()),
        "all": replace(links["all"], rules=()),
    }
    rows = rows_in(exported(changed, account.edge_account_id))
    report, refused = await imported(store, account, rows, limit=100, now=START_MS, apply=True)
    reasons = {code: reason.removeprefix("the account has this link with ") for _, code, reason in refused}
    assert report.existing == 0
    assert reasons == {
        "plain": "another value of forward_query",
        "forward": "another value of forward_query",
        "started": "another value of starts_at",
        "ended": "another value of after_url",
        "later": "another value of ends_at",
        "split": "another value of split",
        "all": "other rules",
    }
    assert await links_of(store, account) == links


async def test_options_of_existing_links_are_kept_if_the_file_has_no_columns_for_them(store):
    account = await an_owned_account(store, "c" * 32)
    await store.run(add_wanted(account, LINKS, 100, START_MS))
    links = await links_of(store, account)
    lines = "".join(f"{code},{URL},2098-01-01\n" for code in links)
    rows = rows_in(f"code,url,expires\n{lines}".encode())
    report, refused = await imported(store, account, rows, limit=100, now=START_MS, apply=True)
    assert (report.created, report.existing, refused) == (0, len(LINKS), [])
    assert await links_of(store, account) == links


async def test_invalid_options_are_rejected(store):
    account = await an_owned_account(store, "c" * 32)
    text = b"""code,url,starts_at,ends_at,after_url,forward_query,split
backward,https://a.example/,2098-01-02,2098-01-01,,,
equal,https://a.example/,2098-01-01,2098-01-01,,,
late,https://a.example/,2100-01-01,,,,
plain-http,https://a.example/,,,http://b.example/,,
loop,https://a.example/,,,https://go.example.com/x,,
maybe,https://a.example/,,,,maybe,
broken,https://a.example/,,,,,[{
number,https://a.example/,,,,,5
whole,https://a.example/,,,,,"[{""url"":""https://b.example/"",""share"":9},{""url"":""https://c.example"",""share"":9}]"
unclear,https://a.example/,,31.12.2098,,,
good,https://a.example/,,2098-01-01,\\N,no,NULL
"""
    report, refused = await imported(store, account, rows_in(text), limit=100, now=START_MS, apply=True)
    assert (report.created, report.dated) == (1, 3)
    reasons = {code: reason for _, code, reason in refused}
    assert reasons["backward"] == reasons["equal"] == "ends_at must be after starts_at"
    assert reasons["late"] == "starts_at must be a time from 2000-01-01 to 2099-12-31"
    assert reasons["plain-http"].startswith("after_url ")
    assert reasons["loop"] == "after_url must not be on the link host"
    assert reasons["maybe"].startswith("forward_query ")
    assert reasons["broken"] == "split must be a JSON list"
    assert reasons["number"].startswith("split ")
    assert reasons["whole"] == "split must have shares that add up to 100"
    assert reasons["unclear"].startswith("ends_at is `31.12.2098`, which is not a date")
    assert list(await links_of(store, account)) == ["good"]


async def test_same_code_with_other_options_in_one_file_is_rejected(store):
    account = await an_owned_account(store, "c" * 32)
    rows = [Row(line, "abc", URL, options={"forward_query": text}) for line, text in ((2, "true"), (3, "1"), (4, ""))]
    report, refused = await imported(store, account, rows, limit=100, now=START_MS, apply=True)
    assert (report.created, report.existing) == (1, 1)
    assert refused == [(4, "abc", "line 2 has the same code with another value of forward_query")]
