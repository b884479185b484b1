"""Tests that requests never get a 500 if they fail because of the account or Cloudflare, and that the account shows the
error.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_PERMISSIONS
from tests.actors.operations.test_renew import renew
from tests.actors.service.test_notifications import in_state


@pytest.fixture
async def account_id(service):
    made = await service.ready()
    await service.idle()  # wait for the account's health check, which could otherwise find the error first
    return made


def requests(account_id, zone):
    """Return every request that calls Cloudflare with the working token."""
    return [
        ("GET", f"/v1/accounts/{account_id}/zones", None),
        ("POST", "/v1/sites", {"account_id": account_id, "host": zone}),
        ("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"}),
    ]


@pytest.mark.rule("A20", "G8")
async def test_requests_with_a_deleted_token_are_refused_and_the_account_shows_it(service, account_id, zone):
    rights = ["Account API Tokens Write"]
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=rights)
    for request in requests(account_id, zone):
        token_id = (await service.account()).token_id
        await service.as_platform("DELETE", f"/accounts/{service.customer.account_id}/tokens/{token_id}", api_token)
        response = await service.call(*request)
        assert (response.status, response.code) == (409, "account_not_ready"), request
        assert response.body["error"]["details"]["reason"] == "token_refused", request
        assert response.body["error"]["details"]["remedy"], request
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("permission_error", "token_refused"), request
        if request[0] != "GET":  # a second write is refused for the same reason
            again = await service.call(*request)
            assert (again.status, again.code) == (409, "account_not_ready"), request
            assert again.body["error"]["details"]["reason"] == "token_refused", request
        await service.idle()
        assert (await renew(service)).status == 200, request  # the next request needs a valid token
        await service.idle()
        assert (await service.shown())["state"] == "ready", request


@pytest.mark.rule("A20", "G8")
async def test_requests_without_a_permission_are_refused_and_the_account_recovers(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
    for request in requests(account_id, zone):
        async with place.running() as service:
            await service.idle()
            await service.emulator.fault("refuse", "/zones", times=None, status=403, code=10000)
            response = await service.call(*request)
            assert (response.status, response.code) == (409, "account_not_ready"), request
            assert response.body["error"]["details"]["reason"] == "permission_error", request
            shown = await service.shown()
            assert (shown["state"], shown["error"]["code"]) == ("permission_error", "permission_error"), request
            await service.emulator.clear_faults()
        hourly, place.timing = place.timing, {**place.timing, "health_every_s": 0.1}
        async with place.running() as service:
            await eventually(partial(is_ready, service))
        place.timing = hourly


async def is_ready(service):
    return (await service.account()).state == "ready" or None


@pytest.mark.rule("S1", "A20")
async def test_zone_that_left_is_an_error_of_its_site_for_each_form_of_refusal(service, account_id, zone):
    for zone_gone in ("refused", "invalid", "unroutable"):
        await service.emulator.set_failure_settings(zone_gone=zone_gone)
        await service.emulator.fault("refuse", "/zones/*/workers/routes", method="POST", times=None, status=500)
        name = f"{zone_gone}-{zone}"
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(name))
        body = {"account_id": account_id, "host": name}
        site = (await service.call("POST", "/v1/sites", body)).body["site"]
        await service.emulator.delete_zone(service.customer.account_id, name)
        await service.emulator.clear_faults()

        async def shows_error(path: str = f"/v1/sites/{site['id']}") -> Any:
            return (await service.call("GET", path)).body["site"]["error"]

        assert (await eventually(shows_error))["code"] == "zone_not_found", zone_gone
        assert (await service.shown())["state"] == "ready", zone_gone


@pytest.mark.rule("A20")
async def test_single_refusal_does_not_change_the_accounts_state(service, account_id, zone):
    for request in requests(account_id, zone):
        await service.emulator.fault("refuse", "/zones", status=403, code=10000)
        response = await service.call(*request)
        assert response.status in (200, 202), (request, response.raw)
        assert not await service.emulator.faults(), request
        assert (await service.shown())["state"] == "ready", request


@pytest.mark.rule("A12", "G8")
async def test_requests_after_the_key_file_was_lost_are_refused_and_the_account_shows_it(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
    (place.folder / "vault.key").unlink()
    async with place.running() as service:
        for request in requests(account_id, zone):
            response = await service.call(*request)
            assert (response.status, response.code) == (409, "account_not_ready"), request
            assert response.body["error"]["details"]["reason"] == "credentials_unreadable", request
            shown = await service.shown()
            assert (shown["state"], shown["error"]["code"]) == ("permission_error", "credentials_unreadable"), request
            await service.idle()
            # Reset the state, so that the next request has to find the error again.
            await service.store.run(in_state(account_id, "ready", None))


@pytest.mark.rule("A20")
@pytest.mark.parametrize("waiting", ["/zones/*/workers/routes", "*/d1/database/*/query"])
async def test_work_that_needs_a_lost_key_file_shows_an_account_error(place, zone, waiting):
    async with place.running() as service:
        account_id = await service.ready()
        await service.emulator.fault("html", waiting, times=None)
        response = await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        assert response.status == 202, response.raw
    await service.emulator.clear_faults()
    (place.folder / "vault.key").unlink()
    async with place.running() as service:

        async def shown() -> Any:
            account = await service.shown()
            return account if account["state"] != "ready" else None

        account = await eventually(shown)
    assert (account["state"], account["error"]["code"]) == ("permission_error", "credentials_unreadable")


@pytest.mark.rule("R5", "A20")
async def test_refused_report_is_also_shown_on_the_account(service, account_id, zone):
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    body = {"account_id": account_id, "url": "https://example.org/"}
    link = (await service.call("POST", "/v1/links", body)).body["link"]

    async def synced() -> bool | None:  # wait for the sync of the link, which could otherwise find the error first
        account = await service.account()
        return account.synced_version == account.config_version or None

    await eventually(synced)
    await service.emulator.fault("refuse", "*/d1/database/*/query", times=None, status=403, code=7403)
    report = (await service.call("GET", f"/v1/links/{link['id']}/report")).body["report"]
    assert report["unavailable"] == "cloudflare"
    assert (await service.shown())["state"] == "permission_error"


REFUSED_PATHS = ("*/tokens/verify", "*/tokens", "*/tokens/permission_groups", "*/tokens/*")
REFUSALS = ((403, 10000), (401, 1000), (400, 1234), (404, 7003), (500, 1))


@pytest.mark.rule("A3", "G8")
@pytest.mark.parametrize("path", REFUSED_PATHS)
async def test_refused_connect_is_not_an_internal_error(place, path):
    drawn = random.Random(f"{SEED} {path}")
    place.limits["accounts"] = len(REFUSALS)
    async with place.running() as service:
        for status, code in REFUSALS if EVERYTHING else drawn.sample(REFUSALS, 2):
            service.customer = await service.emulator.create_account()
            await service.emulator.fault("refuse", path, times=None, status=status, code=code)
            response = await service.connect()
            assert response.status in (422, 502, 503), (status, code, response.raw)
            assert response.code in (
                "invalid_bootstrap",
                "bootstrap_permission_error",
                "token_check_failed",
                "orphan_not_deleted",
                "cloudflare_unavailable",
            ), (status, code)
            await service.idle()
            await service.emulator.clear_faults()


def test_working_token_has_no_additional_permissions():
    """The service needs the permission to list tokens when it searches for lost tokens. Working tokens must not have
    this permission.
    """
    assert not [right for right in WORKING_PERMISSIONS if "Token" in right.name]
