"""Tests that a new link host of an account replaces the old one."""

from __future__ import annotations

import pytest

from svc.model import ObsoleteRoute
from svc.store import link_hosts, unwanted_routes
from tests.store.makers import a_site, account_of, an_account


@pytest.mark.rule("A19")
async def test_new_link_host_replaces_the_old_one_under_a_new_version(store):
    account_id = await store.run(an_account())
    await store.run(a_site(account_id))
    await store.run(link_hosts.set_link_host_route(account_id, "go.example.com", "zone", "active", "r1", None))
    same = await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone"))
    assert (same.version, same.state, same.route_id) == (1, "active", "r1")
    await store.run(link_hosts.put_link_host(account_id, "l.example.com", "zone"))
    account = await store.read(account_of(account_id))
    assert account.link_host is not None
    assert (account.link_host.host, account.link_host.version, account.config_version) == ("l.example.com", 3, 3)
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    assert unwanted == [ObsoleteRoute(account_id, "zone", "go.example.com", "go.example.com/*", "r1")]
    await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone"))
    [left] = await store.read(unwanted_routes.of_account(account_id))
    assert (left.host, left.route_id) == ("l.example.com", None)
    # The host is now in another zone, so the route in the old zone is not needed any more.
    await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone2"))
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    assert [(route.host, route.zone_id) for route in unwanted] == [
        ("go.example.com", "zone"),
        ("l.example.com", "zone"),
    ]
    await store.run(unwanted_routes.forget(unwanted[0]))
    assert await store.read(unwanted_routes.of_account(account_id)) == unwanted[1:]
