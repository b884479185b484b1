"""Tests that duties are still due after a restart, and that routes are created and removed despite lost responses."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually

ROUTES = "/zones/*/workers/routes"


async def patterns(service):
    """Return the route patterns in the emulator."""
    zones = (await service.held())["zones"].values()
    return sorted(route["pattern"] for zone in zones for route in zone["routes"])


async def routes_are(service, *expected):
    async def poll():
        return await patterns(service) == sorted(expected) or None

    await eventually(poll)


async def put_link_host(service, host):
    account_id = (await service.account()).id
    response = await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": host})
    assert response.status == 202, response.raw


async def in_state(service, state):
    async def poll():
        shown = await service.shown()
        return shown if shown["state"] == state else None

    return await eventually(poll)


@pytest.mark.rule("A19")
async def test_route_of_a_replaced_link_host_is_removed_after_a_lost_response(place, zone):
    place.edge["retries"] = 0
    async with place.running() as service:
        await service.ready()
        await service.emulator.fault("drop_after", ROUTES, method="POST")
        await service.emulator.fault("refuse", ROUTES, method="GET", after=1, times=None, status=500)
        await put_link_host(service, f"a.{zone}")
        await routes_are(service, f"a.{zone}/*")
        assert (await service.shown())["link_host"]["state"] == "route_pending"
        await put_link_host(service, f"b.{zone}")
        await service.emulator.clear_faults()
        await routes_are(service, f"b.{zone}/*")


@pytest.mark.rule("A19")
async def test_route_to_another_worker_is_left_in_place(service, zone):
    await service.ready()
    await put_link_host(service, f"a.{zone}")
    host = await eventually(lambda: active_link_host(service))
    zone_id = service.customer.zones[zone]
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["Workers Routes Write"])
    body = {"pattern": f"a.{zone}/*"}
    await service.as_platform("PUT", f"/zones/{zone_id}/workers/routes/{host.route_id}", api_token, json=body)
    await put_link_host(service, f"b.{zone}")
    await routes_are(service, f"a.{zone}/*", f"b.{zone}/*")


@pytest.mark.rule("S3", "A19")
@pytest.mark.parametrize("what", ["site", "link host", "replaced link host"])
async def test_pending_route_is_created_right_after_a_restart(place, zone, what):
    async with place.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        if what == "replaced link host":
            await put_link_host(service, f"a.{zone}")
            await routes_are(service, f"a.{zone}/*")
        await service.emulator.fault("refuse", ROUTES, times=None, status=500)
        if what == "site":
            await service.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})
        else:
            await put_link_host(service, f"b.{zone}")
        # Wait for the sync, so that only the route remains to be created.
        await eventually(lambda: nothing_to_sync(service))
    await place.emulator.clear_faults()
    # Prevent retries and health checks during the test.
    place.timing |= {"route_retry_s": 3600, "health_every_s": 86_400}
    async with place.running() as service:
        if what == "site":
            [site] = (await service.call("GET", "/v1/sites")).body["sites"]
            await routes_are(service, f"{zone}{site['path']}*")
        else:
            await routes_are(service, f"b.{zone}/*")


async def active_link_host(service):
    host = (await service.account()).link_host
    return host if host.state == "active" else None


async def nothing_to_sync(service):
    account = await service.account()
    return account.synced_version == account.config_version or None


@pytest.mark.rule("A15")
async def test_silence_that_began_before_a_restart_is_noticed_on_time(place):
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
    place.timing |= {"silent_after_s": 3, "health_every_s": 86_400}
    place.clock.advance_s(2)
    async with place.running() as service:
        assert (await service.shown())["state"] == "ready"
        place.clock.advance_s(1.5)
        assert (await in_state(service, "no_connection"))["error"]["code"] == "worker_silent"
        await service.confirmed()
        assert (await in_state(service, "ready"))["error"] is None


@pytest.mark.rule("A11")
async def test_self_check_that_began_before_a_restart_ends_on_time(place):
    async with place.running() as service:
        await service.ready()
    place.timing |= {"selfcheck_window_s": 1, "health_every_s": 86_400}
    place.clock.advance_s(2)
    async with place.running() as service:
        shown = await eventually(lambda: has_warning(service))
        assert shown["state"] == "ready"
        assert shown["operation"]["error"]["code"] == "self_check_timeout"
        await service.confirmed()  # this push arrives after the limit for the first push
        shown = await service.shown()
        assert (shown["state"], shown["error"]) == ("ready", None)


async def has_warning(service):
    shown = await service.shown()
    return shown if shown["error"] and "not_confirmed" in shown["error"]["warnings"] else None
