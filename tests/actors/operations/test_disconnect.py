"""Tests that a disconnect removes the service's unchanged resources, lists all others, and ends with one response."""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.actors.operations.disconnect import GATHERED_S
from svc.clock import iso
from svc.ids import new_id
from svc.store import disconnects, operations
from svc.store.tx import sql
from tests.actors.checks.test_health_check import CustomerApi
from tests.actors.conftest import NEVER_S

# One engine is sufficient, because Cloudflare behaves in the same way with both engines.
ON_SQLITE = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
SCRIPT = "*/workers/scripts/svc-edge"
DATABASE = "*/d1/database/*"
ROUTE = "*/workers/routes/*"


async def disconnect(service, account_id=None, **headers):
    """Disconnect successfully, and return the body of the response."""
    account_id = account_id or (await service.account()).id
    path = f"/v1/accounts/{account_id}"
    response = await service.world.call("DELETE", path, headers={**service.session, **headers})
    assert response.status == 200, response.raw
    assert response.body["ok"] is True
    return response.body


async def with_resources(service, zone):
    """Create an account with a site and a link, and wait for all routes. Return the account, the site and the link."""
    account_id = await service.ready()
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})).body["site"]
    body = {"account_id": account_id, "url": "https://example.org/", "code": "sale"}
    link = (await service.call("POST", "/v1/links", body)).body["link"]

    async def routed():
        shown = (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]
        host = (await service.shown())["link_host"]
        return (shown["state"] == host["state"] == "active") or None

    await eventually(routed)
    return account_id, site, link


def routes_of(held):
    return sorted(route["pattern"] for zone in held["zones"].values() for route in zone["routes"])


async def assert_cloudflare_is_empty(service):
    held = await service.held()
    assert (held["scripts"], held["databases"], routes_of(held)) == ({}, {}, [])


@pytest.mark.rule("A17", "C4", "S6", "L3")
async def test_disconnect_removes_all_resources_and_keeps_reports(service, zone):
    account_id, site, link = await with_resources(service, zone)
    token = (await service.account()).token_name
    assert await disconnect(service) == {"ok": True, "revoke_token": token, "left": [], "leftovers": []}
    await assert_cloudflare_is_empty(service)
    assert await service.token_names() == [token]
    assert (await service.call("GET", f"/v1/accounts/{account_id}")).status == 404
    assert (await service.call("GET", "/v1/accounts")).body["accounts"] == []
    assert (await service.call("GET", "/v1/sites")).body["sites"] == []
    assert (await service.call("GET", "/v1/links")).body["links"] == []
    shown = (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]
    assert (shown["state"], shown["snippet"], shown["config"]) == ("deleted", None, "synced")
    shown = (await service.call("GET", f"/v1/links/{link['id']}")).body["link"]
    assert (shown["state"], shown["short_url"], shown["config"]) == ("deleted", None, "synced")
    report = (await service.call("GET", f"/v1/links/{link['id']}/report?period=today")).body["report"]
    assert (report["unavailable"], report["totals"]["views"]) == (None, 0)
    assert report["as_of"] == iso(service.clock())
    report = (await service.call("GET", f"/v1/links/{link['id']}/report?breakdowns=1")).body["report"]
    assert (report["unavailable"], report["breakdowns"]) == ("not_installed", None)
    report = (await service.call("GET", f"/v1/sites/{site['id']}/report?period=7d&breakdowns=1")).body["report"]
    assert (report["unavailable"], report["breakdowns"]) == ("not_installed", None)

    # A key with access to only this Cloudflare account can read the account's history. Other restricted
    # keys cannot.
    mine = await service.world.key(service.user, allow_accounts=(service.customer.account_id,))
    another = await service.world.key(service.user, allow_accounts=("0" * 32,))
    stranger = await service.world.session(await service.world.user())
    for path in (f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}"):
        for tail in ("", "/report?period=7d"):
            assert (await service.world.call("GET", path + tail, headers=mine)).status == 200
            assert (await service.world.call("GET", path + tail, headers=another)).status == 404
            assert (await service.world.call("GET", path + tail, headers=stranger)).status == 404


@pytest.mark.rule("A17", "G3")
async def test_concurrent_and_repeated_requests_get_one_response(service):
    account_id = await service.ready()
    responses = []

    async def ask(**headers):
        responses.append(await disconnect(service, account_id, **headers))

    async with trio.open_nursery() as nursery:
        for headers in ({}, {}, {"Idempotency-Key": "one"}):
            nursery.start_soon(partial(ask, **headers))
    assert responses[0] == responses[1] == responses[2]
    deleted = [call for call in await service.emulator.requests() if call["method"] == "DELETE"]
    assert len([call for call in deleted if call["path"].endswith("/svc-edge")]) == 1
    for headers in ({}, {"Idempotency-Key": "one"}, {"Idempotency-Key": "two"}):
        assert await disconnect(service, account_id, **headers) == responses[0], headers
    other = await service.world.session(await service.world.user())
    assert (await service.world.call("DELETE", f"/v1/accounts/{account_id}", headers=other)).status == 404


@pytest.mark.rule("A17", "G4")
async def test_client_that_disconnects_gets_the_response_with_its_key(service):
    account_id = await service.ready()
    await service.emulator.fault("slow", SCRIPT, method="DELETE", delay_s=0.5)
    responses = []

    async def ask():
        responses.append(await disconnect(service, account_id, **{"Idempotency-Key": "one"}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await service.emulator.faulted()
        nursery.cancel_scope.cancel()
    assert responses == []

    async def gone():
        return (await service.call("GET", f"/v1/accounts/{account_id}")).status == 404 or None

    await eventually(gone)
    headers = {**service.session, "Idempotency-Key": "one"}
    again = await service.world.call("DELETE", f"/v1/accounts/{account_id}", headers=headers)
    assert (again.status, again.headers["Idempotent-Replayed"], again.body["left"]) == (200, "true", [])


@pytest.mark.rule("A10", "A17")
async def test_disconnect_during_an_install_is_refused_immediately(place):
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        # Hold the upload, so that the install cannot continue until the disconnect has its response.
        await service.emulator.fault("hold", SCRIPT, method="PUT")
        assert (await service.connect()).status == 202
        account = await service.account()
        await service.emulator.faulted()
        running = await service.store.read(operations.running(account.id))
        assert (running.kind, running.step) == ("install", "script")
        response = await service.call("DELETE", f"/v1/accounts/{account.id}")
        assert (response.status, response.code) == (409, "operation_in_progress")
        await service.emulator.clear_faults()
        await service.settled("ready")


@pytest.mark.rule("A17")
async def test_account_with_a_pending_connect_can_be_disconnected(service):
    await service.emulator.fault("drop_before", "*/tokens/permission_groups", times=None)
    assert (await service.connect()).status == 503
    assert (await service.shown())["state"] == "pending"
    response = await disconnect(service)
    assert (response["revoke_token"], response["left"]) == (None, [])


@pytest.mark.rule("A8", "A17")
async def test_lost_connect_names_the_tokens_that_may_still_be_valid(service):
    await service.emulator.fault("drop_after", "*/tokens", method="POST", times=None)
    assert (await service.connect()).status == 503
    account = await service.account()
    lost = await service.store.read(operations.with_open_token(account.id))
    assert lost
    response = await disconnect(service)
    assert response["revoke_token"] is None
    assert [re.findall(r"svc-op_\w+", sentence) for sentence in response["left"]] == [[f"svc-{one.id}"] for one in lost]
    assert (await service.call("GET", f"/v1/accounts/{account.id}")).status == 404


@pytest.mark.rule("A17")
async def test_account_that_was_never_installed_leaves_no_database(service):
    await service.emulator.fault("refuse", SCRIPT, method="PUT", status=400, code=10021, times=None)
    assert (await service.connect()).status == 202
    await service.settled("connected")
    assert (await service.held())["databases"]
    assert (await disconnect(service))["left"] == []
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17")
async def test_database_whose_creation_got_no_response_is_found_by_name(service):
    await service.emulator.fault("drop_after", "*/d1/database", method="POST")
    # After the lost response, the service cannot find out whether the database exists, neither in this attempt of the
    # install nor in the next one.
    await service.emulator.fault("refuse", "*/d1/database", method="GET", after=2, times=None, status=400, code=7400)
    assert (await service.connect()).status == 202
    await service.settled("connected")
    assert (await service.account()).database_id is None
    await service.emulator.clear_faults()
    assert (await disconnect(service))["left"] == []
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17")
async def test_unwanted_route_is_removed_as_well(service, zone):
    account_id, _, _ = await with_resources(service, zone)
    await service.emulator.fault("refuse", ROUTE, method="DELETE", status=500, times=None)
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"other.{zone}"})
    await service.idle()
    assert f"go.{zone}/*" in routes_of(await service.held())
    await service.emulator.clear_faults()
    assert (await disconnect(service))["left"] == []
    await assert_cloudflare_is_empty(service)


# ------------------------------------------------------------------------------------------------ remaining resources


async def root_token(service):
    _, token = await service.emulator.create_token(
        service.customer.account_id,
        rights=["Workers Scripts Write", "D1 Write", "Workers Routes Write", "Account API Tokens Write"],
    )
    return token


@pytest.mark.rule("A17")
async def test_with_an_invalid_token_everything_remains_and_is_named(service, zone, expected_errors):
    _, site, _ = await with_resources(service, zone)
    account = await service.account()
    path = f"/accounts/{service.customer.account_id}/tokens/{account.token_id}"
    await service.as_platform("DELETE", path, await root_token(service))
    response = await disconnect(service)
    why, route = "the working token no longer works", f"{zone}{site['path']}*"
    assert response == {
        "ok": True,
        "revoke_token": account.token_name,
        "left": [
            f"Route go.{zone}/* in the zone of go.{zone}: {why}.",
            f"Route {route} in the zone of {zone}: {why}.",
            f"Worker svc-edge: {why}.",
            f"D1 database svc-edge ({account.database_id}): {why}.",
        ],
        "leftovers": [
            {"kind": kind, "why": "token_dead", "facts": facts}
            for kind, facts in (
                ("route", {"route": f"go.{zone}/*", "host": f"go.{zone}"}),
                ("route", {"route": route, "host": zone}),
                ("worker", {"worker": "svc-edge"}),
                ("database", {"database": f"svc-edge ({account.database_id})"}),
            )
        ],
    }
    assert (await service.held())["scripts"]


@pytest.mark.rule("A17", "A25")
async def test_expired_token_is_not_named(service):
    await service.ready()
    await CustomerApi(service).expire_token()
    response = await disconnect(service)
    assert response["revoke_token"] is None
    assert len(response["left"]) == 2


@pytest.mark.rule("A17", "A25")
async def test_token_that_the_user_has_extended_is_used(service):
    await service.ready()
    token = (await service.account()).token_name
    await service.store.run(set_expiry(service.clock() - 1))
    response = await disconnect(service)
    assert (response["left"], response["revoke_token"]) == ([], token)
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17", "A25")
async def test_refused_token_is_not_named_after_its_stored_expiry(service):
    await service.ready()
    account = await service.account()
    path = f"/accounts/{service.customer.account_id}/tokens/{account.token_id}"
    await service.as_platform("DELETE", path, await root_token(service))
    await service.store.run(set_expiry(service.clock() - 1))
    response = await disconnect(service)
    assert response["revoke_token"] is None
    assert len(response["left"]) == 2


def set_expiry(at):
    yield sql("update accounts set token_expires_at = $1", at)


def set_state(state):
    yield sql("update accounts set state = $1", state)


STATES = ("revoked", "permission_error", "resource_drift", "no_connection", "connected")


@pytest.mark.rule("A17")
@pytest.mark.parametrize("state", STATES if EVERYTHING else random.Random(SEED).sample(STATES, 2))
async def test_disconnect_from_every_state(service, state):
    await service.ready()
    await service.store.run(set_state(state))
    assert (await disconnect(service))["left"] == []
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17")
async def test_token_refused_for_more_than_an_hour_is_not_named(service):
    await service.ready()
    account = await service.account()
    path = f"/accounts/{service.customer.account_id}/tokens/{account.token_id}"
    await service.as_platform("DELETE", path, await root_token(service))
    await service.store.run(set_state("revoked"))
    assert (await disconnect(service))["revoke_token"] is None


@pytest.mark.rule("A17")
@pytest.mark.parametrize("fault", ["drop_before", "slow"])
@ON_SQLITE
async def test_cloudflare_outage_is_reported_within_the_time_limit(place, fault):
    place.edge["connect_s"] = 20
    async with place.running() as service:
        await service.ready()
        token = (await service.account()).token_name
    place.edge |= {"connect_s": 1, "timeout_s": 30}
    async with place.running() as service:
        await service.idle()
        await service.emulator.fault(fault, "*", delay_s=20, times=None)
        with trio.fail_after(10):
            response = await disconnect(service)
        await service.emulator.clear_faults()
    why = {"drop_before": "returned an error or could not be reached", "slow": "did not respond in time"}[fault]
    assert response["revoke_token"] == token
    assert len(response["left"]) == 2
    assert all(why in sentence for sentence in response["left"])


@pytest.mark.rule("A13", "A17")
async def test_resources_changed_outside_remain(service, zone):
    _, site, _ = await with_resources(service, zone)
    token, customer = await root_token(service), service.customer
    zone_id = customer.zones[zone]
    module = ("worker.js", b"export default {}", "application/javascript+module")
    files = {"metadata": (None, b'{"main_module": "worker.js"}', "application/json"), "worker.js": module}
    scripts = f"/accounts/{customer.account_id}/workers/scripts"
    await service.as_platform("PUT", f"{scripts}/other", token, files=files)
    held = await service.held()
    [counter] = [
        route for routes in held["zones"].values() for route in routes["routes"] if route["pattern"].startswith(zone)
    ]
    own = f"/zones/{zone_id}/workers/routes"
    await service.as_platform("PUT", f"{own}/{counter['id']}", token, json={**counter, "script": "other"})
    await service.as_platform("POST", own, token, json={"pattern": f"{zone}/mine*", "script": "svc-edge"})
    files = {**files, "metadata": (None, b'{"main_module": "worker.js", "keep_bindings": ["plain_text"]}', "text/json")}
    await service.as_platform("PUT", f"{scripts}/svc-edge", token, files=files)
    response = await disconnect(service)
    assert response["left"] == [
        f"Route {zone}{site['path']}* in the zone of {zone}: it points to the Worker other.",
        "Worker svc-edge: it was changed outside the service.",
        (
            f"Route {zone}/mine* in the zone of {zone}: the service did not create this route,"
            " which points to the Worker svc-edge."
        ),
    ]
    held = await service.held()
    assert routes_of(held) == sorted([f"{zone}/mine*", f"{zone}{site['path']}*"])
    assert sorted(held["scripts"]) == ["other", "svc-edge"]
    assert held["databases"] == {}


@pytest.mark.rule("A17")
async def test_worker_that_another_worker_needs_remains(service):
    await service.ready()
    metadata = b'{"main_module": "worker.js", "tail_consumers": [{"service": "svc-edge"}]}'
    module = ("worker.js", b"export default {}", "application/javascript+module")
    files = {"metadata": (None, metadata, "application/json"), "worker.js": module}
    path = f"/accounts/{service.customer.account_id}/workers/scripts/other"
    await service.as_platform("PUT", path, await root_token(service), files=files)
    [left] = (await disconnect(service))["left"]
    assert left.startswith("Worker svc-edge: Cloudflare refused: Cannot delete this Worker")
    held = await service.held()
    assert (sorted(held["scripts"]), held["databases"]) == (["other", "svc-edge"], {})


@pytest.mark.rule("A17")
async def test_resource_remains_if_its_permission_is_missing(service):
    await service.ready()
    await service.emulator.fault("refuse", DATABASE, method="DELETE", status=403, code=10000, times=None)
    response = await disconnect(service)
    [left] = response["left"]
    assert left.startswith("D1 database svc-edge (")
    assert left.endswith("): the working token lacks the required permission.")
    assert (await service.held())["scripts"] == {}


@pytest.mark.rule("A17")
async def test_database_that_could_not_be_read_is_not_deleted(service):
    await service.ready()
    await service.emulator.fault("drop_before", f"{DATABASE}/query", method="POST", times=None)
    [left] = (await disconnect(service))["left"]
    assert "its last counts could not be read (Cloudflare returned an error or could not be reached)" in left
    held = await service.held()
    assert (held["scripts"], len(held["databases"])) == ({}, 1)


@pytest.mark.rule("A17")
async def test_database_that_was_emptied_outside_is_deleted(service):
    await service.ready()
    account = await service.account()
    path = f"/accounts/{service.customer.account_id}/d1/database/{account.database_id}/query"
    await service.as_platform("POST", path, await root_token(service), json={"sql": "drop table hour"})
    assert (await disconnect(service))["left"] == []
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17")
async def test_routes_of_a_zone_that_left_the_account_do_not_remain(service, zone):
    await with_resources(service, zone)
    await service.emulator.delete_zone(service.customer.account_id, zone)
    assert (await disconnect(service))["left"] == []


DELETIONS = (ROUTE, SCRIPT, DATABASE)


@pytest.mark.rule("A17")
@pytest.mark.parametrize("paths", [DELETIONS, *((path,) for path in DELETIONS if EVERYTHING)], ids=" ".join)
async def test_lost_responses_to_deletions_change_nothing(service, zone, paths):
    await with_resources(service, zone)
    for path in paths:
        await service.emulator.fault("drop_after", path, method="DELETE")
    assert (await disconnect(service))["left"] == []
    assert await service.emulator.faults() == []
    await assert_cloudflare_is_empty(service)


# -------------------------------------------------------------------------------------------------------- interrupted

CALLS = [
    ("GET", "*/tokens/verify"),
    ("GET", "*/workers/routes"),
    ("DELETE", ROUTE),
    ("GET", "*/workers/scripts"),
    ("DELETE", SCRIPT),
    ("POST", f"{DATABASE}/query"),
    ("DELETE", DATABASE),
]


@pytest.mark.rule("A17")
@pytest.mark.parametrize(("method", "path"), CALLS if EVERYTHING else random.Random(SEED).sample(CALLS, 3))
@ON_SQLITE
async def test_disconnect_killed_at_any_call_is_finished_by_the_next_start(place, zone, method, path):
    async with place.running() as service:
        account_id, site, _ = await with_resources(service, zone)
        await service.idle()
        token = (await service.account()).token_name
        await service.emulator.forget_requests()
        await service.emulator.fault("slow", path, method=method, delay_s=NEVER_S)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(service.call, "DELETE", f"/v1/accounts/{account_id}")
            await service.emulator.faulted()
            nursery.cancel_scope.cancel()
        running = await service.store.read(operations.running(account_id))
        assert (running.kind, running.state) == ("disconnect", "running")
    await place.emulator.clear_faults()
    async with place.running() as service:

        async def gone():
            return (await service.call("GET", f"/v1/accounts/{account_id}")).status == 404 or None

        await eventually(gone)
        await assert_cloudflare_is_empty(service)
        assert await disconnect(service, account_id) == {"ok": True, "revoke_token": token, "left": [], "leftovers": []}
        assert (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]["state"] == "deleted"


@pytest.mark.rule("A17")
async def test_killed_disconnect_of_a_pending_account_is_finished_too(place):
    async with place.running() as service:
        await service.emulator.fault("drop_before", "*/tokens/permission_groups", times=None)
        assert (await service.connect()).status == 503
        account = await service.account()
        await service.idle()  # a disconnect begins in the task of the account, after the duties that are running
        await service.store.run(begin(account.id, service.clock()))
    async with place.running() as service:

        async def gone():
            return (await service.call("GET", f"/v1/accounts/{account.id}")).status == 404 or None

        await eventually(gone)
        assert (await disconnect(service, account.id))["left"] == []


def begin(account_id, now):
    yield from disconnects.begin_disconnect(account_id, new_id("op"), now)


# ------------------------------------------------------------------------------------------------- connected again


@pytest.mark.rule("A9", "A13", "A17")
async def test_cloudflare_account_can_be_connected_immediately_by_another_user(service, zone):
    first, site, _ = await with_resources(service, zone)
    await disconnect(service)
    other = await service.world.user()
    service.session, mine = await service.world.session(other), service.session
    _, token = await service.emulator.create_token(
        service.customer.account_id, rights=["Account Settings Read", "Account API Tokens Write"]
    )
    response = await service.connect(token)
    assert response.status == 202, response.raw
    second = (await service.settled("ready"))["id"]
    assert second != first
    again = (await service.call("POST", "/v1/sites", {"account_id": second, "host": zone})).body["site"]
    assert again["id"] != site["id"]
    assert (await service.call("GET", f"/v1/sites/{site['id']}")).status == 404
    shown = await service.world.call("GET", f"/v1/sites/{site['id']}", headers=mine)
    assert shown.body["site"]["state"] == "deleted"
    # A repeated request for the first account gets the same response, and the second account does not change.
    path = f"/v1/accounts/{first}"
    assert (await service.world.call("DELETE", path, headers=mine)).body["left"] == []
    assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("A13", "A17")
async def test_remaining_resources_are_not_adopted_by_a_new_account(service):
    await service.ready()
    await service.emulator.fault("refuse", SCRIPT, method="DELETE", status=400, code=10142, times=None)
    await service.emulator.fault("refuse", DATABASE, method="DELETE", status=400, code=7500, times=None)
    left = (await disconnect(service))["left"]
    assert [sentence.partition(":")[0].split(" (")[0] for sentence in left] == [
        "Worker svc-edge",
        "D1 database svc-edge",
    ]
    await service.emulator.clear_faults()
    held = await service.held()
    _, token = await service.emulator.create_token(
        service.customer.account_id, rights=["Account Settings Read", "Account API Tokens Write"]
    )
    assert (await service.connect(token)).status == 202
    shown = await service.settled("connected")
    assert shown["error"]["code"] == "name_taken"
    after = await service.held()
    assert (after["scripts"], list(after["databases"])) == (held["scripts"], list(held["databases"]))


def test_wait_for_buffered_events_matches_the_worker():
    text = (Path(__file__).parents[3] / "edge_worker" / "src" / "budget.js").read_text()
    [windows_ms] = re.findall(r"WINDOWS_MS = \[([\d_, ]+)\]", text)
    assert tuple(int(ms) / 1000 for ms in windows_ms.split(",")) == GATHERED_S
