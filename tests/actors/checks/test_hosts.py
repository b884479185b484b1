"""Tests of hosts for sites and links: when they are accepted, and what happens when their DNS records change later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.actors.duty import Timers
from svc.actors.sync import routes
from tests.actors.checks.test_health_check import check
from tests.actors.test_due import nothing_to_sync

SERVER = {"name": "blog", "proxied": True}  # by default, the record's content is a public IP address
DUMMY = {"type": "AAAA", "content": "100::", "proxied": True}


async def put_link_host(service, host, **confirmed):
    account_id = (await service.account()).id
    return await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": host, **confirmed})


async def add_site(service, host):
    account_id = (await service.account()).id
    return await service.call("POST", "/v1/sites", {"account_id": account_id, "host": host})


async def site_once(service, state, code=None):
    """Return the only site once it has this state and error."""

    async def poll():
        [site] = (await service.call("GET", "/v1/sites")).body["sites"]
        found = site["error"]["code"] if site["error"] else None
        return site if (site["state"], found) == (state, code) else None

    return await eventually(poll)


async def link_host_once(service, state, code=None):
    async def poll():
        host = (await service.shown())["link_host"]
        found = host["error"]["code"] if host["error"] else None
        return host if (host["state"], found) == (state, code) else None

    return await eventually(poll)


async def fail_open_by_pattern(service):
    """Return the value of `fail_open` for each route in the emulator, by pattern."""
    zones = (await service.held())["zones"].values()
    return {route["pattern"]: route["request_limit_fail_open"] for zone in zones for route in zone["routes"]}


@pytest.mark.rule("A19", "S3")
@pytest.mark.usefixtures("running_worker")
async def test_above_the_daily_limit_sites_fail_open_and_link_hosts_fail_closed(service, zone):
    await service.ready()
    assert (await put_link_host(service, f"go.{zone}")).status == 202
    site = (await add_site(service, zone)).body["site"]
    await link_host_once(service, "active")
    await site_once(service, "active")
    assert await fail_open_by_pattern(service) == {f"go.{zone}/*": False, f"{zone}{site['path']}*": True}
    await service.emulator.add_page(zone, site["path"], "the page")
    await service.emulator.set_limits(service.customer.account_id, requests=0)
    assert (await service.emulator.visit(zone, site["path"])).body == "the page"
    assert "1027" in (await service.emulator.visit(f"go.{zone}", "/code")).body


@pytest.mark.rule("A19", "S3")
async def test_routes_are_active_if_cloudflare_ignores_fail_open(service, zone):
    await service.ready()
    await service.emulator.set_failure_settings(ignores_fail_open=True)
    try:
        await put_link_host(service, f"go.{zone}")
        await add_site(service, zone)
        await link_host_once(service, "active")
        await site_once(service, "active")
    finally:
        await service.emulator.set_failure_settings(ignores_fail_open=False)


@pytest.mark.rule("A19", "S3")
async def test_no_route_is_created_for_a_link_host_that_was_replaced(service, zone):
    await service.ready()
    await put_link_host(service, f"old.{zone}")
    await link_host_once(service, "active")
    before = await service.account()
    await put_link_host(service, f"go.{zone}")
    await link_host_once(service, "active")
    await service.idle()
    # Run the duty with the account as it was before the replacement, as if the duty had read the account at that time.
    stale = replace(before, link_host=replace(before.link_host, state="route_pending", route_id=None))
    await routes.make_when_due(service.context, stale, Timers(health_at=0))
    assert list(await fail_open_by_pattern(service)) == [f"go.{zone}/*"]


def codes(warnings):
    return [warning["code"] for warning in warnings]


async def site_with_warnings(service, state, *expected):
    """Return the only site once it has this state, these warnings and no error."""

    async def poll():
        [site] = (await service.call("GET", "/v1/sites")).body["sites"]
        found = (site["state"], site["error"], codes(site["warnings"]))
        return site if found == (state, None, list(expected)) else None

    return await eventually(poll)


@pytest.mark.rule("S1", "S3")
@pytest.mark.parametrize(
    ("dns", "record"),
    [
        ([], {}),
        ([{"name": "@", "type": "TXT", "content": "v=spf1 -all"}], {}),
        ([{"name": "*", **DUMMY}], {}),
        ([{"name": "@"}], {"type": "A", "content": "12.34.56.78"}),
    ],
    ids=["none", "text", "below", "grey"],
)
async def test_site_without_a_proxied_record_is_accepted_with_the_record_to_create(service, zone, dns, record):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, zone, dns=dns)
    response = await add_site(service, zone)
    assert response.status == 202, response.raw
    site = response.body["site"]
    [warning] = site["warnings"]
    assert (site["error"], warning["code"]) == (None, "dns_not_proxied")
    assert "orange cloud" in warning["message"]
    assert "orange cloud" in warning["details"].pop("remedy")
    assert warning["details"] == {"host": zone, "record": {"name": zone, "proxied": True, **record}}
    await site_with_warnings(service, "active", "dns_not_proxied")
    [found] = await check(service)
    assert (found["kind"], found["remedy_code"]) == ("record_not_proxied", "dns_not_proxied")
    rotated = await service.call("POST", f"/v1/sites/{site['id']}/rotate")
    assert codes(rotated.body["site"]["warnings"]) == ["dns_not_proxied"]
    await site_with_warnings(service, "active", "dns_not_proxied")

    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
    assert await check(service) == []
    await site_with_warnings(service, "active")


@pytest.mark.rule("S1")
async def test_warnings_of_a_site_are_cleared_by_the_health_check(place, zone):
    place.timing["health_every_s"] = 0.25
    async with place.running() as service:
        await service.ready()
        await service.emulator.set_zone(service.customer.account_id, zone, dns=[])
        await add_site(service, zone)
        await site_with_warnings(service, "active", "dns_not_proxied")
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
        await site_with_warnings(service, "active")
        await service.emulator.set_zone(service.customer.account_id, zone, status="moved")
        await site_with_warnings(service, "active", "zone_not_active")
        await service.emulator.set_zone(service.customer.account_id, zone, status="active")
        await site_with_warnings(service, "active")


@pytest.mark.rule("S1")
async def test_healthy_account_is_checked_within_the_hour_once_a_site_has_warnings(service, zone):
    await service.ready()
    await service.idle()
    assert (await service.account()).well_at is not None
    await service.emulator.set_zone(service.customer.account_id, zone, dns=[])
    await add_site(service, zone)
    assert (await service.account()).well_at is None


@pytest.mark.rule("S1", "S3")
@pytest.mark.parametrize(
    ("change", "status", "response"),
    [
        ({"status": "pending"}, "pending", "refuses"),
        ({"status": "initializing"}, "initializing", "forbids"),
        ({"paused": True}, "paused", "refuses"),
    ],
    ids=["pending", "initializing", "paused"],
)
async def test_site_in_an_inactive_zone_gets_its_route_once_the_zone_is_active(service, zone, change, status, response):
    await service.ready()
    account_id = service.customer.account_id
    await service.emulator.set_failure_settings(inactive_zone=response)
    await service.emulator.set_zone(account_id, zone, dns=[], **change)
    added = await add_site(service, zone)
    assert added.status == 202, added.raw
    zone_warning = added.body["site"]["warnings"][0]
    assert {"zone": zone, "status": status}.items() <= zone_warning["details"].items()
    both = ("zone_not_active", "dns_not_proxied")
    await site_with_warnings(service, "route_pending", *both)
    findings = await check(service)
    assert {(one["kind"], one["remedy_code"]) for one in findings} == {
        ("zone_inactive", "zone_not_active"),
        ("route_not_made", "zone_not_active"),
    }
    await service.emulator.set_zone(account_id, **proxied_zone(zone), **change)
    await check(service)  # the DNS record is correct, but the zone is not active yet
    await site_with_warnings(service, "route_pending", "zone_not_active")
    assert (await service.shown())["state"] == "ready"

    await service.emulator.set_zone(account_id, zone, status="active")
    site = await site_with_warnings(service, "active")
    assert site["snippet"] == added.body["site"]["snippet"]
    assert list(await fail_open_by_pattern(service)) == [f"{zone}{site['path']}*"]


@pytest.mark.rule("S1", "S3")
async def test_route_is_created_in_an_inactive_zone_if_cloudflare_allows_it(service, zone):
    await service.ready()
    await service.emulator.set_failure_settings(inactive_zone="accepts")
    await service.emulator.set_zone(service.customer.account_id, zone, status="moved")
    await add_site(service, zone)
    await site_with_warnings(service, "active", "zone_not_active")
    await service.emulator.set_zone(service.customer.account_id, zone, status="active")
    assert await check(service) == []
    await site_with_warnings(service, "active")


@pytest.mark.rule("S3")
async def test_inactive_zone_is_tried_once_for_all_of_its_sites(place, zone):
    place.timing["route_retry_s"] = 3_600
    async with place.running() as service:
        await service.ready()
        await service.emulator.set_zone(service.customer.account_id, zone, status="pending")
        for name in ("a", "b", "c"):
            assert (await add_site(service, f"{name}.{zone}")).status == 202
    await place.emulator.forget_requests()
    async with place.running() as service:

        async def made():
            return [one for one in await service.emulator.requests() if one["method"] == "POST"] or None

        await eventually(made)
        for work in (service.idle, partial(check, service)):
            await work()
            await service.idle()
            calls = await service.emulator.requests()
            looks = [one for one in calls if one["path"].endswith("/zones") and "name=" in one["query"]]
            posts = [one for one in calls if one["method"] == "POST" and one["path"].endswith("/workers/routes")]
            # A host's zone can have the name of the host or of its parent domain, so each request searches for both
            # names.
            assert len(looks) == 2 * len(posts) > 0


@pytest.mark.rule("A19")
async def test_link_host_refusal_names_the_obstacle(service, zone):
    await service.ready()
    account_id = service.customer.account_id
    host = f"go.{zone}"

    async def refusal():
        refused = await put_link_host(service, host)
        assert refused.status == 422, refused.raw
        error = refused.body["error"]
        error["details"].pop("remedy")
        return error["code"], error["details"]

    await service.emulator.set_zone(account_id, zone, status="pending", dns=[])
    assert await refusal() == ("zone_not_active", {"zone": zone, "status": "pending"})
    await service.emulator.set_zone(account_id, zone, status="active")
    dummy = {"name": host, "type": "AAAA", "content": "100::", "proxied": True}
    assert await refusal() == ("dns_not_proxied", {"host": host, "record": dummy})
    await service.emulator.set_zone(account_id, zone, dns=[{"name": "*", "type": "CNAME", "content": "x.example"}])
    wildcard = {"name": f"*.{zone}", "type": "CNAME", "content": "x.example", "proxied": True}
    assert await refusal() == ("dns_not_proxied", {"host": host, "record": wildcard})
    assert (await service.shown())["link_host"] is None
    await service.emulator.set_zone(account_id, **proxied_zone(zone))
    assert (await put_link_host(service, host)).status == 202
    await link_host_once(service, "active")

    await service.emulator.set_zone(account_id, zone, status="moved")
    await check(service)
    await link_host_once(service, "active", "zone_not_active")
    await service.emulator.set_zone(account_id, zone, status="active", dns=[])
    await check(service)
    await link_host_once(service, "active", "dns_not_proxied")
    await service.emulator.set_zone(account_id, **proxied_zone(zone))
    assert await check(service) == []
    await link_host_once(service, "active")


@pytest.mark.rule("A19")
async def test_link_host_without_certificate_is_refused(service, zone):
    await service.ready()
    host = f"go.eu.{zone}"
    refused = await put_link_host(service, host)
    assert (refused.status, refused.body["error"]["code"]) == (409, "link_host_without_certificate")
    assert (await service.shown())["link_host"] is None
    assert (await put_link_host(service, host, has_certificate=True)).status == 202
    await link_host_once(service, "active")
    assert (await put_link_host(service, host)).status == 202  # the host is already the link host

    await service.emulator.set_zone(service.customer.account_id, zone, type="partial")
    assert (await put_link_host(service, f"go.us.{zone}")).status == 202


@pytest.mark.rule("A19")
async def test_link_host_with_a_website_is_refused(service, zone):
    await service.ready()
    account_id = service.customer.account_id
    records = [{"name": "@", "proxied": True}, {"name": "www", "proxied": True}, {"name": "*", **DUMMY}, SERVER]
    await service.emulator.set_zone(account_id, zone, dns=[*records, {"name": "shop", **DUMMY}])
    assert (await add_site(service, f"shop.{zone}")).status == 202
    for host, confirmed, why in (
        (f"shop.{zone}", True, "site"),
        (zone, False, "main_host"),
        (f"www.{zone}", False, "main_host"),
        (f"blog.{zone}", False, "record"),
    ):
        refused = await put_link_host(service, host, replace_website=confirmed)
        assert (refused.status, refused.body["error"]["code"]) == (409, "link_host_is_website")
        assert refused.body["error"]["details"]["why"] == why
        assert confirmed or "`replace_website: true`" in refused.body["error"]["message"]
    assert (await service.shown())["link_host"] is None
    assert (await put_link_host(service, f"blog.{zone}", replace_website=True)).status == 202
    assert (await put_link_host(service, f"go.{zone}")).status == 202


@pytest.mark.rule("A19")
async def test_apex_without_a_website_can_be_the_link_host(service, zone):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, zone, dns=[{"name": "@", **DUMMY}])
    assert (await put_link_host(service, zone)).status == 202
    await link_host_once(service, "active")


MAIL = {"name": "@", "type": "MX", "content": "mail.example.net"}


@pytest.mark.rule("A19")
@pytest.mark.usefixtures("running_worker")
@pytest.mark.parametrize(
    ("name", "dns"),
    [
        ("@", [{"name": "@", "type": "A", "content": "12.34.56.78", "proxied": True}, MAIL]),
        (
            "@",
            [
                {"name": "@", "type": "AAAA", "content": "2600::1", "proxied": True},
                {"name": "www", "type": "CNAME", "content": "origin.example", "proxied": True},
                MAIL,
            ],
        ),
        ("@", [{"name": "@", "type": "CNAME", "content": "origin.example", "proxied": True}, {"name": "www"}, MAIL]),
        ("www", [{"name": "@"}, {"name": "www", "type": "A", "content": "12.34.56.78", "proxied": True}, MAIL]),
    ],
    ids=["a", "aaaa-with-www", "cname-with-grey-www", "www"],
)
async def test_website_at_the_main_host_is_replaced_on_request_and_restored(service, zone, name, dns):
    await service.ready()
    host = zone if name == "@" else f"www.{zone}"
    await service.emulator.set_zone(service.customer.account_id, zone, dns=dns)
    await service.emulator.add_page(host, "/", "the website")

    async def records():
        [held] = (await service.held())["zones"].values()
        return [(one["name"], one["type"], one["content"], one["proxied"]) for one in held["dns"]]

    before = await records()
    refused = await put_link_host(service, host)
    assert (refused.status, refused.body["error"]["details"]["why"]) == (409, "main_host")
    assert (await service.emulator.visit(host, "/")).body == "the website"
    assert (await put_link_host(service, host, replace_website=True)).status == 202
    await link_host_once(service, "active")
    # a Worker that does not know the link host lets the website respond
    await eventually(lambda: nothing_to_sync(service))
    assert (await service.emulator.visit(host, "/")).body != "the website"
    assert (await put_link_host(service, host)).status == 202  # the host is already the link host

    left = await service.call("DELETE", f"/v1/accounts/{(await service.account()).id}")
    assert (left.status, left.body["left"]) == (200, [])
    assert (await service.emulator.visit(host, "/")).body == "the website"
    assert await records() == before


@pytest.mark.rule("A19")
async def test_main_host_with_an_unproxied_record_needs_the_proxy_first(service, zone):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, zone, dns=[{"name": "@"}, MAIL])
    for confirmed in (False, True):
        refused = await put_link_host(service, zone, replace_website=confirmed)
        assert (refused.status, refused.body["error"]["code"]) == (422, "dns_not_proxied")
        assert refused.body["error"]["details"]["record"]["type"] == "A"


@pytest.mark.rule("A19")
async def test_website_at_the_main_host_is_back_after_a_change_of_the_link_host(service, zone):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
    assert (await put_link_host(service, zone, replace_website=True)).status == 202
    await link_host_once(service, "active")
    assert (await put_link_host(service, f"go.{zone}")).status == 202

    async def moved():
        return list(await fail_open_by_pattern(service)) == [f"go.{zone}/*"] or None

    await eventually(moved)
