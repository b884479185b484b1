"""Tests that stored JSON is read by field name, because a newer or older version of the service may have written it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from svc.errors import ErrorNote
from svc.model import ObsoleteRoute, Rule, WorkerPush
from svc.store import accounts, links, operations, pushes, sites, states, unwanted_routes
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, an_account, owner_of

if TYPE_CHECKING:
    from svc.store.tx import Tx

OLDER = {"code": "resource_drift", "message": "It was changed outside."}
NOTE = ErrorNote("resource_drift", "It was changed outside.", {"status": 404})


def with_text(table: str, row_id: str, column: str, stored: object) -> Tx[None]:
    yield sql(f"update {table} set {column} = $2 where id = $1", row_id, json.dumps(stored))


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"at": START_MS, "bundle": "b"}, WorkerPush(START_MS, "b", None, 0, None, {}, "")),
        (
            {"at": START_MS, "bundle": "b", "schema": 3, "queue": 2, "error": "e", "dropped": {"busy": 1},
             "install": "op", "region": "weur"},
            WorkerPush(START_MS, "b", 3, 2, "e", {"busy": 1}, "op"),
        ),
    ],
    ids=["older", "newer"],
)  # fmt: skip
async def test_push_of_another_version_is_read(store, stored, read):
    account_id = await store.run(an_account())
    await store.run(with_text("accounts", account_id, "push", stored))
    assert accounts.present(await store.read(accounts.account_by_id(account_id))).push == read


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (OLDER, replace(NOTE, details=None)),
        ({**OLDER, "details": {"status": 404}, "seen_at": 1}, NOTE),
        # A code that this version does not know is replaced by a known code, so that clients can rely on the list of
        # codes.
        ({**OLDER, "code": "of_a_newer_version"}, replace(NOTE, code="internal", details=None)),
    ],
    ids=["older", "newer", "newer code"],
)
async def test_error_of_another_version_is_read(store, stored, read):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site_id = await store.run(a_site(account_id))
    operation = await store.read(operations.running(account_id))
    for table, row_id in (("accounts", account_id), ("operations", operation.id), ("sites", site_id)):
        await store.run(with_text(table, row_id, "error", stored))
    await store.run(with_host_error(account_id, stored))
    account = accounts.present(await store.read(accounts.account_by_id(account_id)))
    operation = await store.read(operations.running(account_id))
    site = await store.read(sites.get_site(user_id, site_id))
    host = account.link_host
    assert [account.error, host and host.error, operation.error, site.error] == [read] * 4


async def test_warnings_of_a_site_are_independent_of_its_error(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    site_id = await store.run(a_site(account_id))
    warning = ErrorNote("dns_not_proxied", "It has no DNS record.", {"host": "shop.example.com"})

    async def notes():
        site = await store.read(sites.get_site(user_id, site_id))
        return site.error, site.warnings

    await store.run(sites.set_warnings(site_id, [warning]))
    assert await notes() == (None, (warning,))
    route = ObsoleteRoute(account_id, "zone", "shop.example.com", "shop.example.com/old*", None, site_id)
    await store.run(unwanted_routes.forget(route, NOTE))
    assert await notes() == (NOTE, (warning,))
    await store.run(sites.set_warnings(site_id, []))
    assert await notes() == (NOTE, ())


def with_host_error(account_id: str, stored: object) -> Tx[None]:
    yield sql("update link_hosts set error = $2 where account_id = $1", account_id, json.dumps(stored))


async def test_rules_of_another_version_are_read(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    link_id = await store.run(a_link(account_id))
    url = "https://shop.example.com/app"
    await store.run(
        with_text("links", link_id, "rules", [{"url": url}, {"url": url, "devices": ["mobile"], "hours": 1}])
    )
    link = await store.read(links.get_link(user_id, link_id))
    assert link.rules == (Rule(url), Rule(url, devices=("mobile",)))


async def test_stored_json_is_read_unchanged(store):
    account_id = await store.run(an_account())
    note = ErrorNote("cloudflare_error", "é \u2028 '\"", {"status": 500, "tokens": ["a", "b"]})
    assert await store.run(states.move(account_id, ("pending",), "connected", note, START_MS))
    push = WorkerPush(START_MS, "b" * 64, 3, 7, "push: no response", {"budget": 2}, "op_x")
    await store.run(pushes.record_pushes([(account_id, push)]))
    account = accounts.present(await store.read(accounts.account_by_id(account_id)))
    assert (account.error, account.push) == (note, push)
