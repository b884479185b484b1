"""Tests that all routes of deleted and rotated sites are removed, but not too early, and that other routes remain."""

from __future__ import annotations

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from svc.store import states, unwanted_routes
from tests.actors.checks.test_hosts import add_site, site_once
from tests.actors.test_due import nothing_to_sync, patterns, routes_are
from tests.clock import START_MS

ROUTES = "/zones/*/workers/routes"
ROUTE = "/zones/*/workers/routes/*"
A_SECOND = 1 / 86_400  # in days


async def act(service, method, site, of="", body=None):
    """Send a request about the site to the API, and return the site in the response."""
    response = await service.call(method, f"/v1/sites/{site['id']}{of}", body)
    assert response.status == 200, response.raw
    return response.body["site"]


def route_of(site):
    return f"{site['host']}{site['path']}*"


async def active_site(service, zone):
    """Add a site, and return the site once its route exists."""
    assert (await add_site(service, zone)).status == 202
    return await site_once(service, "active")


async def nothing_unwanted(service):
    account = await service.account()

    async def poll():
        return not await service.store.read(unwanted_routes.of_account(account.id)) or None

    await eventually(poll)


async def searched_once(service):
    """Wait until the service has searched once for the only unwanted route and has not found it."""
    account = await service.account()

    async def poll():
        [route] = await service.store.read(unwanted_routes.of_account(account.id))
        return route.again_at

    await eventually(poll)


async def counted_paths(service):
    """Wait for the sync.

    Return two sets of the `path:` keys in the Worker's database: those with a body, and those without.
    """
    await eventually(lambda: nothing_to_sync(service))
    account = await service.account()
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["D1 Write"])
    path = f"/accounts/{service.customer.account_id}/d1/database/{account.database_id}/query"
    statement = {"sql": "select key, body from config where key like 'path:%'"}
    response = await service.as_platform("POST", path, api_token, json=statement)
    rows = response.json()["result"][0]["results"]
    return {row["key"][5:] for row in rows if row["body"]}, {row["key"][5:] for row in rows if not row["body"]}


def place_of(site):
    return f"{site['host']}{site['path']}"


async def remove_worker_from_route(service, zone, site):
    """Remove the Worker from the site's route, as a customer does in the dashboard."""
    zones = (await service.held())["zones"].values()
    [route] = [route for held in zones for route in held["routes"] if route["pattern"] == route_of(site)]
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["Workers Routes Write"])
    path = f"/zones/{service.customer.zones[zone]}/workers/routes/{route['id']}"
    await service.as_platform("PUT", path, api_token, json={"pattern": route_of(site)})


@pytest.mark.rule("S6")
async def test_deleted_site_loses_its_routes_and_its_worker_rows(service, zone):
    await service.ready()
    site = await active_site(service, zone)
    rotated = await act(service, "POST", site, "/rotate")
    await routes_are(service, route_of(site), route_of(rotated))
    assert await counted_paths(service) == ({place_of(site), place_of(rotated)}, set())
    await act(service, "DELETE", site)
    await routes_are(service)
    await nothing_unwanted(service)
    assert await counted_paths(service) == (set(), {place_of(site), place_of(rotated)})
    shown = (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]
    assert (shown["state"], shown["error"], shown["config"]) == ("deleted", None, "synced")
    again = await active_site(service, zone)
    await routes_are(service, route_of(again))


@pytest.mark.rule("S5")
@pytest.mark.parametrize("restarted", [False, True])
async def test_old_path_is_counted_until_its_time_and_removed_with_its_route(place, zone, restarted):
    place.timing["retiring_days"] = 2 * A_SECOND
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        first = await active_site(service, zone)
        second = await act(service, "POST", first, "/rotate")
        place.clock.advance_s(1)
        third = await act(service, "POST", first, "/rotate")
        await site_once(service, "active")
        await routes_are(service, route_of(first), route_of(second), route_of(third))
        assert await counted_paths(service) == ({place_of(site) for site in (first, second, third)}, set())
        if not restarted:
            place.clock.advance_s(1)
            await routes_are(service, route_of(second), route_of(third))
            assert await counted_paths(service) == ({place_of(second), place_of(third)}, {place_of(first)})
            [old] = (await site_once(service, "active"))["retiring"]
            assert old["path"] == second["path"]
    place.clock.advance_s(2)
    # Prevent retries and health checks during the test.
    place.timing |= {"route_retry_s": 3600, "health_every_s": 86_400}
    async with place.running() as service:
        await routes_are(service, route_of(third))
        await nothing_unwanted(service)
        assert await counted_paths(service) == ({place_of(third)}, {place_of(first), place_of(second)})
        assert (await site_once(service, "active"))["retiring"] == []


async def site_with_lost_route_response(service, zone):
    """Add a site. The response to the request that creates its route is lost."""
    await service.emulator.fault("drop_after", ROUTES, method="POST")
    await service.emulator.fault("refuse", ROUTES, method="GET", after=1, times=None, status=500)
    assert (await add_site(service, zone)).status == 202
    site = await site_once(service, "route_pending")
    await routes_are(service, route_of(site))
    return site


@pytest.mark.rule("S6")
async def test_site_deleted_during_route_creation_leaves_no_route(place, zone):
    place.edge["retries"] = 0
    async with place.running() as service:
        await service.ready()
        site = await site_with_lost_route_response(service, zone)
        await act(service, "DELETE", site)
        await service.emulator.clear_faults()
        await routes_are(service)
        await nothing_unwanted(service)


@pytest.mark.rule("S5")
async def test_site_rotated_during_route_creation_has_both_routes(place, zone):
    place.edge["retries"] = 0
    async with place.running() as service:
        await service.ready()
        site = await site_with_lost_route_response(service, zone)
        rotated = await act(service, "POST", site, "/rotate")
        await service.emulator.clear_faults()
        await site_once(service, "active")
        await routes_are(service, route_of(site), route_of(rotated))
        await act(service, "DELETE", site)
        await routes_are(service)
        await nothing_unwanted(service)


@pytest.mark.rule("S5", "S3")
async def test_site_rotated_before_it_has_a_route_gets_both(service, zone):
    await service.ready()
    await service.emulator.fault("refuse", ROUTES, method="POST", times=None, status=500)
    assert (await add_site(service, zone)).status == 202
    site = await site_once(service, "route_pending")
    rotated = await act(service, "POST", site, "/rotate")
    await service.emulator.clear_faults()
    await routes_are(service, route_of(site), route_of(rotated))


@pytest.mark.rule("S6")
async def test_route_created_late_is_found_and_removed(place, zone):
    """The response to the creation is lost, and the site is deleted before Cloudflare creates the route."""
    place.edge |= {"retries": 0, "timeout_s": 3}
    async with place.running() as service:
        await service.ready()
        await service.emulator.fault("slow", ROUTES, method="POST", delay_s=12)
        assert (await add_site(service, zone)).status == 202
        [site] = (await service.call("GET", "/v1/sites")).body["sites"]

        async def asked():
            return any(entry["fault"] for entry in await service.emulator.requests()) or None

        await eventually(asked)
        await act(service, "DELETE", site)
        await searched_once(service)
        await routes_are(service, route_of(site))
        service.clock.advance_s(301)
        await routes_are(service)
        await nothing_unwanted(service)


@pytest.mark.rule("S8", "S3")
async def test_route_of_another_worker_is_a_conflict_and_survives_the_site(service, zone):
    await service.ready()
    await service.emulator.fault("refuse", ROUTES, method="GET", times=None, status=500)
    assert (await add_site(service, zone)).status == 202
    site = await site_once(service, "route_pending")
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["Workers Routes Write"])
    path = f"/zones/{service.customer.zones[zone]}/workers/routes"
    await service.as_platform("POST", path, api_token, json={"pattern": route_of(site)})
    await service.emulator.clear_faults()
    conflict = await site_once(service, "route_conflict", "route_conflict")
    assert "without a Worker" in conflict["error"]["message"]
    await act(service, "DELETE", site)
    await searched_once(service)
    service.clock.advance_s(301)
    await nothing_unwanted(service)
    assert await patterns(service) == [route_of(site)]
    shown = (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]
    assert (shown["state"], shown["error"]) == ("deleted", None)


@pytest.mark.rule("S5", "S6")
async def test_routes_of_a_zone_that_left_are_created_again_once_it_is_back(place, zone):
    place.timing["health_every_s"] = 0.3
    async with place.running() as service:
        await service.ready()
        site = await active_site(service, zone)
        rotated = await act(service, "POST", site, "/rotate")
        await site_once(service, "active")
        await service.emulator.delete_zone(service.customer.account_id, zone)
        await site_once(service, "route_pending", "zone_not_found")
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(zone))
        await site_once(service, "active")
        await routes_are(service, route_of(site), route_of(rotated))
        await service.emulator.delete_zone(service.customer.account_id, zone)
        await act(service, "DELETE", site)
        await nothing_unwanted(service)
        assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("S6", "A15")
async def test_deletions_are_carried_out_once_the_account_works_again(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        site = await active_site(service, zone)
        await service.idle()
        await service.store.run(states.move(account_id, ("ready",), "permission_error", None, START_MS))
        await act(service, "DELETE", site)
        await service.idle()
        assert await patterns(service) == [route_of(site)]
        await service.store.run(states.move(account_id, ("permission_error",), "ready", None, START_MS))
    place.timing |= {"route_retry_s": 3600, "health_every_s": 86_400}
    async with place.running() as service:
        await routes_are(service)
        await nothing_unwanted(service)


@pytest.mark.rule("S3", "S6")
async def test_zone_that_refuses_a_route_does_not_affect_other_zones(service, zone):
    """A zone refuses a new route, for example because it already has 1,000 routes."""
    await service.ready()
    # the service processes zones in the order of their names, so this zone comes after the first zone
    other = f"z{zone}"
    await service.emulator.set_zone(service.customer.account_id, **proxied_zone(other))
    full = f"/zones/{service.customer.zones[zone]}/workers/routes"
    await service.emulator.fault("refuse", full, method="POST", times=None, status=400, code=10073)
    first = (await add_site(service, zone)).body["site"]
    second = (await add_site(service, other)).body["site"]
    await routes_are(service, route_of(second))

    async def shows_error():
        shown = (await service.call("GET", f"/v1/sites/{first['id']}")).body["site"]
        return shown if shown["error"] else None

    shown = await eventually(shows_error)
    assert (shown["state"], shown["error"]["code"]) == ("route_pending", "cloudflare_error")
    await service.emulator.clear_faults()
    await routes_are(service, route_of(first), route_of(second))
    await service.emulator.fault("refuse", f"{full}/*", method="DELETE", times=None, status=400, code=10073)
    await act(service, "DELETE", first)
    await act(service, "DELETE", second)
    await routes_are(service, route_of(first))
    await service.emulator.clear_faults()
    await routes_are(service)
    assert (await service.shown())["state"] == "ready"
