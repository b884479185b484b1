"""Tests that an operator's limits for a user apply to every way of adding objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.actors.requests.bulk import add_wanted
from svc.config import LimitsConfig
from svc.errors import Forbidden
from svc.ids import new_id, new_secret
from svc.model import Key, WantedLink
from svc.store import accounts, connects, keys, links, sites, user_limits
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, a_user, an_account, new_link, new_site, owner_of

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

LIMITS = LimitsConfig(accounts=1, sites=1, links=1, keys_free=1)


def a_key(user_id: int) -> Tx[Any]:
    key = Key(new_id("key"), user_id, None, "svc_x", ("sites",), None, None, START_MS, None)
    return keys.add_key(key, new_secret(), LIMITS.keys_free)


def adding(user_id: int, account_id: str, number: int) -> dict[str, Tx[Any]]:
    """Return a transaction for each kind of object. Each adds an object, except that the one for accounts only checks
    whether an account may be connected.
    """
    return {
        "accounts": connects.may_connect(user_id, f"{number:e>32}", LIMITS),
        "sites": sites.add_site(new_site(user_id, account_id, f"site{number}.example.com"), LIMITS.sites),
        "links": links.add_link(new_link(user_id, account_id, f"code{number}"), LIMITS.links),
        "keys": a_key(user_id),
    }


async def is_allowed(store: Store, kind: str, user_id: int, account_id: str, number: int) -> bool:
    try:
        await store.run(adding(user_id, account_id, number)[kind])
    except Forbidden as error:
        return error.code != "limit_reached"
    return True


async def a_full_user(store: Store) -> tuple[int, str]:
    """Add a user who has one object of each kind."""
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    await store.run(a_site(account_id))
    await store.run(a_link(account_id))
    await store.run(a_key(user_id))
    return user_id, account_id


@pytest.mark.parametrize("kind", ["accounts", "sites", "links", "keys"])
async def test_own_limit_replaces_the_default_until_it_is_removed(store, kind):
    user_id, account_id = await a_full_user(store)
    assert not await is_allowed(store, kind, user_id, account_id, 1)
    assert await store.run(user_limits.set_limits(user_id, {kind: 2}))
    assert not await store.run(user_limits.set_limits(user_id, {kind: 2}))
    assert await is_allowed(store, kind, user_id, account_id, 1)
    if kind != "accounts":  # for accounts, `may_connect` only checks the limit and adds nothing
        assert not await is_allowed(store, kind, user_id, account_id, 2)
    other = await a_full_user(store)
    assert not await is_allowed(store, kind, *other, 3)
    assert await store.run(user_limits.set_limits(user_id, {kind: None}))
    assert await store.read(user_limits.own_limits(user_id)) == {}
    assert not await is_allowed(store, kind, user_id, account_id, 4)


async def test_limit_below_the_current_usage_only_prevents_new_objects(store):
    user_id, account_id = await a_full_user(store)
    await store.run(user_limits.set_limits(user_id, {"accounts": 0, "sites": 0, "links": 0, "keys": 0}))
    for kind in ("accounts", "sites", "links", "keys"):
        assert not await is_allowed(store, kind, user_id, account_id, 1)
    assert len(await store.read(accounts.list_accounts(user_id))) == 1
    assert await store.read(sites.count_sites(user_id)) == 1
    assert await store.read(links.count_links(user_id)) == 1
    assert len(await store.read(keys.list_keys(user_id))) == 1


async def test_bulk_requests_and_dry_runs_count_toward_the_own_limit(store):
    user_id, account_id = await a_full_user(store)
    await store.run(user_limits.set_limits(user_id, {"links": 4}))
    account = await store.read(accounts.account_by_id(account_id))
    assert account is not None
    wanted = [WantedLink("https://a.example/", None), WantedLink("https://b.example/", None)]
    with pytest.raises(Forbidden, match="The limit of 4 links"):
        await store.run(add_wanted(account, wanted, LIMITS.links, START_MS, unstored=2))
    assert len(await store.run(add_wanted(account, wanted, LIMITS.links, START_MS, unstored=1))) == 2
    with pytest.raises(Forbidden, match="The limit of 4 links"):
        await store.run(add_wanted(account, wanted, LIMITS.links, START_MS))


async def test_own_limits_take_precedence_over_the_plan(store):
    user_id = await store.run(a_user())
    assert (await store.read(user_limits.limits_of(user_id, "api", LIMITS)))["keys"] == LIMITS.keys_api
    await store.run(user_limits.set_limits(user_id, {"keys": 2}))
    found = await store.read(user_limits.limits_of(user_id, "api", LIMITS))
    assert found == {"accounts": 1, "sites": 1, "links": 1, "keys": 2}
