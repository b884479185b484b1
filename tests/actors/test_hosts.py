"""Which hosts may be sites and link hosts, and what becomes of those whose records change later."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually

SERVER = {"name": "blog", "proxied": True}  # its content is an address of the internet
DUMMY = {"type": "AAAA", "content": "100::", "proxied": True}


async def put_link_host(service, host, **confirmed):
    account_id = (await service.account()).id
    return await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": host, **confirmed})


async def add_site(service, host):
    account_id = (await service.account()).id
    return await service.call("POST", "/v1/sites", {"account_id": account_id, "host": host})


async def site_once(service, state, code=None):
    """The only site, once it has this state and error."""

    async def look():
        [site] = (await service.call("GET", "/v1/sites")).body["sites"]
        found = site["error"]["code"] if site["error"] else None
        return site if (site["state"], found) == (state, code) else None

    return await eventually(look)


async def link_host_once(service, state, code=None):
    async def look():
        host = (await service.shown())["link_host"]
        found = host["error"]["code"] if host["error"] else None
        return host if (host["state"], found) == (state, code) else None

    return await eventually(look)


async def fails_open(service):
    """By pattern: what each route at the platform does past the day's requests."""
    zones = (await service.held())["zones"].values()
    return {route["pattern"]: route["request_limit_fail_open"] for zone in zones for route in zone["routes"]}


@pytest.mark.rule("A19", "S3")
@pytest.mark.usefixtures("running_worker")
async def test_past_the_days_requests_a_site_is_as_without_us_and_a_link_host_shows_the_platforms_page(service, zone):
    await service.ready()
    assert (await put_link_host(service, f"go.{zone}")).status == 202
    site = (await add_site(service, zone)).body["site"]
    await link_host_once(service, "active")
    await site_once(service, "active")
    assert await fails_open(service) == {f"go.{zone}/*": False, f"{zone}{site['path']}*": True}
    await service.emulator.add_page(zone, site["path"], "the page")
    await service.emulator.set_limits(service.customer.account_id, requests=0)
    assert (await service.emulator.visit(zone, site["path"])).body == "the page"
    assert "1027" in (await service.emulator.visit(f"go.{zone}", "/code")).body


@pytest.mark.rule("A19", "S3")
async def test_routes_are_active_where_the_platform_ignores_what_they_do_past_the_limit(service, zone):
    await service.ready()
    await service.emulator.set_rudeness(ignores_fail_open=True)
    try:
        await put_link_host(service, f"go.{zone}")
        await add_site(service, zone)
        await link_host_once(service, "active")
        await site_once(service, "active")
    finally:
        await service.emulator.set_rudeness(ignores_fail_open=False)


@pytest.mark.rule("S1")
@pytest.mark.parametrize("dns", [[], [{"name": "@"}], [{"name": "*", **DUMMY}]])
async def test_a_site_whose_visitors_pass_the_platform_by_is_refused(service, zone, dns):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, zone, dns=dns)
    refused = await add_site(service, zone)
    assert refused.status == 422
    assert refused.body["error"]["code"] == "zone_not_found"
    assert "orange cloud" in refused.body["error"]["message"]
    assert "proxied" in refused.body["error"]["details"]["remedy"]
    assert (await service.call("GET", "/v1/sites")).body["sites"] == []


@pytest.mark.rule("A19")
async def test_a_link_host_that_the_free_certificate_does_not_cover_is_refused(service, zone):
    await service.ready()
    host = f"go.eu.{zone}"
    refused = await put_link_host(service, host)
    assert (refused.status, refused.body["error"]["code"]) == (409, "link_host_without_certificate")
    assert (await service.shown())["link_host"] is None
    assert (await put_link_host(service, host, has_certificate=True)).status == 202
    await link_host_once(service, "active")
    assert (await put_link_host(service, host)).status == 202  # it is the link host already

    await service.emulator.set_zone(service.customer.account_id, zone, type="partial")
    assert (await put_link_host(service, f"go.us.{zone}")).status == 202


@pytest.mark.rule("A19")
async def test_a_link_host_takes_no_website_down(service, zone):
    await service.ready()
    account_id = service.customer.account_id
    records = [{"name": "@", "proxied": True}, {"name": "www", "proxied": True}, {"name": "*", **DUMMY}, SERVER]
    await service.emulator.set_zone(account_id, zone, dns=[*records, {"name": "shop", **DUMMY}])
    assert (await add_site(service, f"shop.{zone}")).status == 202
    for host, confirmed, why in (
        (f"shop.{zone}", True, "site"),
        (zone, True, "main_host"),
        (f"www.{zone}", True, "main_host"),
        (f"blog.{zone}", False, "record"),
    ):
        refused = await put_link_host(service, host, replace_website=confirmed)
        assert (refused.status, refused.body["error"]["code"]) == (409, "link_host_is_website")
        assert refused.body["error"]["details"]["why"] == why
    assert (await service.shown())["link_host"] is None
    assert (await put_link_host(service, f"blog.{zone}", replace_website=True)).status == 202
    assert (await put_link_host(service, f"go.{zone}")).status == 202


@pytest.mark.rule("A19")
async def test_a_domain_of_links_only_may_have_them_at_its_apex(service, zone):
    await service.ready()
    await service.emulator.set_zone(service.customer.account_id, zone, dns=[{"name": "@", **DUMMY}])
    assert (await put_link_host(service, zone)).status == 202
    await link_host_once(service, "active")
