"""Tests with a zone that is removed from the customer's account and added again, or is not active yet."""

from __future__ import annotations

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually, open_service
from tests.databases import sqlite_config
from tests.journeys.conftest import connect, settings_of
from tests.journeys.test_main_job import FIREFOX


async def site_with(service, site_id, **wanted):
    """Wait until the fields of the site have these values, and return the site."""

    async def poll():
        site = (await service.call("GET", f"/v1/sites/{site_id}"))["site"]
        return site if {name: site[name] for name in wanted} == wanted else None

    return await eventually(poll)


@pytest.mark.rule("S1")
async def test_removed_zone_affects_only_its_site(emulator, customer, tmp_path):
    shorter = {"SVC_TIMING_ROUTE_RETRY_S": "0.5"}
    settings = settings_of(emulator, sqlite_config(tmp_path), **shorter)
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        await emulator.set_zone(customer.account_id, **proxied_zone("leaving.example"))
        account_id = await connect(service, customer)
        # Reject all new routes until the zone is removed.
        await emulator.fault("refuse", "/zones/*/workers/routes", method="POST", times=None, status=500)
        made = []
        for host in ("leaving.example", "www.shop.example"):
            body = {"account_id": account_id, "host": host}
            made.append((await service.call("POST", "/v1/sites", body, expect=202))["site"]["id"])
        await emulator.delete_zone(customer.account_id, "leaving.example")
        await emulator.clear_faults()

        await site_with(service, made[1], state="active", error=None)
        site = await site_with(service, made[0], state="route_pending")
        site = await eventually(lambda: noted(service, made[0]))
        assert site["error"]["code"] == "zone_not_found"
        assert (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]["state"] == "ready"

        # Add the zone again. It gets a different id.
        await emulator.set_zone(customer.account_id, **proxied_zone("leaving.example"))
        await site_with(service, made[0], state="active", error=None)


async def noted(service, site_id):
    site = (await service.call("GET", f"/v1/sites/{site_id}"))["site"]
    return site if site["error"] is not None else None


@pytest.mark.rule("S1", "S3", "W1")
async def test_first_view_is_counted_once_dns_is_switched(emulator, customer, tmp_path):
    """The user adds the site and its snippet before the domain moves to the platform. After that, the user does not
    have to do anything else.
    """
    timing = {"SVC_TIMING_ROUTE_RETRY_S": "0.5", "SVC_TIMING_HEALTH_EVERY_S": "1"}
    async with open_service(tmp_path / "svc", settings_of(emulator, sqlite_config(tmp_path), **timing)) as service:
        await service.sign_up("a@example.com", "a long password")
        await emulator.set_zone(customer.account_id, "new.example", status="pending", dns=[])
        account_id = await connect(service, customer)
        body = {"account_id": account_id, "host": "new.example"}
        site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
        assert [warning["code"] for warning in site["warnings"]] == ["zone_not_active", "dns_not_proxied"]
        await site_with(service, site["id"], state="route_pending", config="synced", error=None)

        await emulator.set_zone(customer.account_id, "new.example", dns=[])
        await with_warnings(service, site["id"], "dns_not_proxied")
        # wait for the route, which is created independently of the warnings
        await site_with(service, site["id"], state="active")
        view = {"method": "POST", "headers": {"User-Agent": FIREFOX, "Content-Type": "text/plain"}}
        missed = await emulator.visit("new.example", site["path"], **view, body="/\n")
        assert missed.status != 204
        await emulator.set_zone(customer.account_id, **proxied_zone("new.example"))
        counted = await emulator.visit("new.example", site["path"], **view, body="/\n")
        assert counted.status == 204
        await emulator.settled()
        first = (await service.call("GET", f"/v1/sites/{site['id']}/first-view"))["first_view"]
        assert first["seen"]
        now = await with_warnings(service, site["id"])
        assert (now["state"], now["snippet"]) == ("active", site["snippet"])


async def with_warnings(service, site_id, *codes):
    """Wait until the site has exactly these warnings, and return it."""

    async def poll():
        site = (await service.call("GET", f"/v1/sites/{site_id}"))["site"]
        return site if [warning["code"] for warning in site["warnings"]] == list(codes) else None

    return await eventually(poll)
