"""Tests that a failed install can be repeated, and that a new attempt finds the resources of earlier attempts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_PERMISSIONS
from svc.errors import CATALOGUE
from tests.actors.conftest import NEVER_S

pytestmark = pytest.mark.usefixtures("every_state_is_logged")

SCRIPT = "*/workers/scripts/svc-edge"


async def install_again(service, *states):
    response = await service.call("POST", f"/v1/accounts/{(await service.account()).id}/install")
    assert response.status == 202, response.raw
    return await service.settled(*states)


@pytest.mark.rule("A12", "A13", "A21")
async def test_update_that_failed_after_its_upload_is_completed_by_an_install(place):
    async with place.running() as service:
        await service.ready()
    place.upgrade()
    async with place.running() as service:
        await service.emulator.fault("refuse", f"{SCRIPT}/schedules", method="GET", status=400, code=10026)
        shown = await install_again(service, "connected")
        assert shown["error"]["code"] == "cloudflare_error"
        # the upload had succeeded before the call that failed
        assert (shown["edge"]["bundle"], shown["edge"]["up_to_date"]) == ("newer", True)
        shown = await install_again(service, "ready")
        assert shown["error"] is None


@pytest.mark.rule("Y5")
async def test_update_with_another_snippet_changes_no_sites_snippet(place):
    async with place.running() as service:
        account_id = await service.ready()
        body = {"account_id": account_id, "host": next(iter(service.customer.zones))}
        site = (await service.call("POST", "/v1/sites", body)).body["site"]
    place.upgrade()
    place.bundle = replace(place.bundle, snippet='navigator.sendBeacon("__PATH__","another")')
    async with place.running() as service:
        await install_again(service, "ready")
        path = f"/v1/sites/{site['id']}"
        assert (await service.call("GET", path)).body["site"]["snippet"] == site["snippet"]
        rotated = (await service.call("POST", f"{path}/rotate")).body["site"]
        assert "another" in rotated["snippet"]["inline"]


@pytest.mark.rule("A6", "A11")
@pytest.mark.usefixtures("running_worker")
async def test_account_that_never_used_workers_gets_a_workers_dev_name(service):
    # The first response is lost. The name was registered nevertheless, so no second name is requested.
    await service.emulator.fault("drop_after", "*/workers/subdomain", method="PUT")
    await service.ready()
    held = await service.held()
    assert held["subdomain"]
    script = held["scripts"]["svc-edge"]
    assert (script["subdomain_enabled"], script["previews_enabled"]) == (False, False)


@pytest.mark.rule("A12")
async def test_install_stopped_by_a_refused_token_continues_once_the_token_is_accepted(place):
    place.timing["health_every_s"] = 0.2
    async with place.running() as service:
        await service.ready()
        await service.emulator.fault("refuse", "*", status=401, code=1000, times=None)
        shown = await install_again(service, "connected")
        assert shown["error"]["code"] == "token_refused"
        assert shown["error"]["details"]["remedy"] == CATALOGUE["token_refused"].remedy
    async with place.running() as service:  # the state must be the same after a restart
        await service.emulator.clear_faults()

        async def well():
            return (await service.shown())["state"] == "ready" or None

        await eventually(well)
        assert (await service.shown())["error"] is None


@pytest.mark.rule("A10", "A12")
async def test_request_does_not_wait_for_the_check_whether_the_token_is_accepted(place):
    place.timing["health_every_s"] = 0.2
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        await service.ready()
        await service.emulator.fault("refuse", "*", status=401, code=1000, times=None)
        await install_again(service, "connected")
        await service.emulator.clear_faults()
        await service.emulator.fault("hold", "*", method="GET")
        await service.emulator.faulted()
        path = f"/v1/accounts/{(await service.account()).id}/install"
        assert (await service.call("POST", path)).status == 202
        await service.emulator.clear_faults()


@pytest.mark.rule("A12", "A25")
async def test_install_stopped_by_an_hour_of_refusals_asks_for_a_renewal(place):
    place.timing["health_every_s"] = 0.2
    async with place.running() as service:
        await service.ready()
        await service.emulator.fault("refuse", "*", status=401, code=1000, times=None)
        await install_again(service, "connected")
        await eventually(lambda: refused_for_good(service))
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("connected", "revoked")
        assert "Renew" in shown["error"]["details"]["remedy"]


async def refused_for_good(service):
    service.clock.advance_s(1800)
    return (await service.shown())["error"]["code"] == "revoked" or None


@pytest.mark.rule("A14")
async def test_account_above_its_cron_limit_can_be_reinstalled(service):
    await service.ready()
    await service.emulator.set_limits(service.customer.account_id, crons=0)
    await install_again(service, "ready")


@pytest.mark.rule("A11")
async def test_worker_that_is_not_visible_everywhere_yet_is_uploaded_once(service):
    await service.emulator.fault("refuse", f"{SCRIPT}/subdomain", method="POST", status=404, code=10007)
    await service.ready()
    uploads = [call for call in await service.emulator.requests() if call["path"].endswith("/svc-edge")]
    assert len(uploads) == 1


@pytest.mark.rule("A12", "A13")
async def test_upload_with_a_lost_response_is_not_drift(place):
    place.edge["retries"] = 0
    async with place.running() as service:
        await service.ready()
    place.upgrade()
    async with place.running() as service:
        await service.emulator.fault("drop_after", SCRIPT, method="PUT")
        # In the second attempt of the operation, Cloudflare refuses a call before the upload.
        await service.emulator.fault("refuse", "*/d1/database/*/query", method="POST", after=2, status=400, code=7500)
        shown = await install_again(service, "connected")
        assert shown["error"]["code"] == "cloudflare_error"
        await install_again(service, "ready")


@pytest.mark.rule("A13", "A20")
async def test_foreign_change_is_drift_despite_an_upload_that_never_arrived(place):
    place.edge["retries"] = 0
    async with place.running() as service:
        await service.ready()
        before = await service.account()
    place.upgrade()
    async with place.running() as service:
        await service.emulator.fault("drop_before", SCRIPT, method="PUT")
        await service.emulator.fault("refuse", "*/d1/database/*/query", method="POST", after=2, status=400, code=7500)
        await install_again(service, "connected")
        await edited(service, before.install_id)
        shown = await install_again(service, "connected")
        assert shown["error"]["code"] == "resource_drift"


@pytest.mark.rule("A13")
async def test_killed_upload_is_repeated_and_not_drift(place):
    async with place.running() as service:
        await service.ready()
    place.upgrade()
    async with place.running() as service:
        # Cloudflare accepts the upload, but the service ends before it gets the response.
        await service.emulator.fault("drop_after", SCRIPT, method="PUT", times=None)
        await service.call("POST", f"/v1/accounts/{(await service.account()).id}/install")
        await service.emulator.faulted()
    await place.emulator.clear_faults()
    async with place.running() as service:
        await service.settled("ready")


@pytest.mark.rule("A12", "A13")
async def test_database_with_a_lost_response_is_adopted_by_the_next_operation(service):
    await service.emulator.fault("drop_after", "*/d1/database", method="POST")
    # The service searches for the database during the connect operation, and before and after the creation. The third
    # search fails.
    await service.emulator.fault("refuse", "*/d1/database", method="GET", after=2, status=400, code=7500)
    assert (await service.connect()).status == 202
    shown = await service.settled("connected")
    assert shown["error"]["code"] == "cloudflare_error"
    await install_again(service, "ready")
    assert len((await service.held())["databases"]) == 1


@pytest.mark.rule("A12")
async def test_install_blocked_by_a_rate_limit_is_retried_after_the_block(service):
    await service.ready()
    await service.confirmed()
    await service.idle()
    # Cloudflare blocks the token for longer than a call waits before its retry
    await service.emulator.set_failure_settings(rate_limit=1, rate_window_s=8)
    await service.emulator.forget_requests()
    response = await service.call("POST", f"/v1/accounts/{(await service.account()).id}/install")
    assert response.status == 202, response.raw
    while not (blocked := [call for call in await service.emulator.requests() if call["status"] == 429]):
        pass
    await service.emulator.set_failure_settings(rate_limit=1000)  # a higher limit does not end the current block
    await service.settled("ready")
    assert [call for call in await service.emulator.requests() if call["status"] == 429] == blocked


@pytest.mark.rule("A1")
@pytest.mark.rule("X9")
@pytest.mark.parametrize(("location", "hint", "jurisdiction"), [("oc", "oc", None), ("eu", None, "eu")])
async def test_database_is_created_in_the_requested_location(service, location, hint, jurisdiction):
    assert (await service.connect(location="the moon")).status == 400
    response = await service.connect(location=location)
    assert response.body["account"]["location"] == location
    await service.settled("ready")
    (database,) = (await service.held())["databases"].values()
    assert (database["location_hint"], database["jurisdiction"]) == (hint, jurisdiction)


@pytest.mark.rule("A5")
async def test_name_from_the_connect_stays_when_the_connect_continues(service):
    await service.emulator.fault("refuse", "*/tokens", method="POST", times=None, status=503)
    assert (await service.connect(name="Shop")).status == 503
    assert (await service.shown())["name"] == "Shop"
    await service.emulator.clear_faults()
    assert (await service.connect(name="Shop")).status == 202
    assert (await service.settled("ready"))["name"] == "Shop"


async def edited(service, install_id, tags=None, name="svc-edge"):
    """Upload other code for the script `name` as the customer. The binding INSTALL contains `install_id`."""
    rights = [right.name for right in WORKING_PERMISSIONS]
    _, token = await service.emulator.create_token(service.customer.account_id, rights=rights)
    head = {
        "main_module": "theirs.js",
        "compatibility_date": "2026-04-01",
        "bindings": [{"type": "plain_text", "name": "INSTALL", "text": install_id}],
        **({} if tags is None else {"tags": tags}),
    }
    code = "export default { fetch() { return new Response('theirs'); } };"
    form = [
        ("metadata", (None, json.dumps(head), "application/json")),
        ("files", ("theirs.js", code, "application/javascript+module")),
    ]
    path = f"/accounts/{service.customer.account_id}/workers"
    if (await service.held())["subdomain"] is None:
        await service.as_platform(
            "PUT", f"{path}/subdomain", token, json={"subdomain": f"w{service.customer.account_id[:12]}"}
        )
    await service.as_platform("PUT", f"{path}/scripts/{name}", token, files=form)
