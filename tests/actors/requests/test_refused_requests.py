"""A request that meets a trouble of the account or the platform: never an HTTP 500, and the account shows it."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_RIGHTS
from tests.actors.operations.test_renew import renew
from tests.actors.service.test_notifications import in_state


@pytest.fixture
async def account_id(service):
    made = await service.ready()
    await service.idle()  # or the account's own look at its health meets the trouble before the request does
    return made


def requests(account_id, zone):
    """Every request that asks the platform something with the working token."""
    return [
        ("GET", f"/v1/accounts/{account_id}/zones", None),
        ("POST", "/v1/sites", {"account_id": account_id, "host": zone}),
        ("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"}),
    ]


@pytest.mark.rule("A20", "G8")
async def test_requests_of_an_account_whose_token_was_deleted_are_refused_and_the_account_shows_it(
    service, account_id, zone
):
    rights = ["Account API Tokens Write"]
    _, hand = await service.emulator.create_token(service.customer.account_id, rights=rights)
    for request in requests(account_id, zone):
        token_id = (await service.account()).token_id
        await service.as_platform("DELETE", f"/accounts/{service.customer.account_id}/tokens/{token_id}", hand)
        answer = await service.call(*request)
        assert (answer.status, answer.code) == (409, "account_not_ready"), request
        assert answer.body["error"]["details"]["reason"] == "token_refused", request
        assert answer.body["error"]["details"]["remedy"], request
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("permission_error", "token_refused"), request
        if request[0] != "GET":  # what changes something is refused immediately from then on, for the same reason
            again = await service.call(*request)
            assert (again.status, again.code) == (409, "account_not_ready"), request
            assert again.body["error"]["details"]["reason"] == "token_refused", request
        await service.idle()
        assert (await renew(service)).status == 200, request  # a token that works, for the next request
        await service.idle()
        assert (await service.shown())["state"] == "ready", request


@pytest.mark.rule("A20", "G8")
async def test_requests_of_an_account_without_a_right_are_refused_and_the_account_recovers_automatically(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
    for request in requests(account_id, zone):
        async with place.running() as service:
            await service.idle()
            await service.emulator.fault("refuse", "/zones", times=None, status=403, code=10000)
            answer = await service.call(*request)
            assert (answer.status, answer.code) == (409, "account_not_ready"), request
            assert answer.body["error"]["details"]["reason"] == "permission_error", request
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
async def test_a_zone_that_left_is_an_error_of_its_site_in_each_form_of_the_refusal(service, account_id, zone):
    for zone_gone in ("refused", "invalid", "unroutable"):
        await service.emulator.set_rudeness(zone_gone=zone_gone)
        await service.emulator.fault("refuse", "/zones/*/workers/routes", method="POST", times=None, status=500)
        name = f"{zone_gone}-{zone}"
        await service.emulator.set_zone(service.customer.account_id, **proxied_zone(name))
        body = {"account_id": account_id, "host": name}
        site = (await service.call("POST", "/v1/sites", body)).body["site"]
        await service.emulator.delete_zone(service.customer.account_id, name)
        await service.emulator.clear_faults()

        async def noted(path: str = f"/v1/sites/{site['id']}") -> Any:
            return (await service.call("GET", path)).body["site"]["error"]

        assert (await eventually(noted))["code"] == "zone_not_found", zone_gone
        assert (await service.shown())["state"] == "ready", zone_gone


@pytest.mark.rule("A20")
async def test_a_single_refusal_does_not_change_the_accounts_state(service, account_id, zone):
    for request in requests(account_id, zone):
        await service.emulator.fault("refuse", "/zones", status=403, code=10000)
        answer = await service.call(*request)
        assert answer.status in (200, 202), (request, answer.raw)
        assert not await service.emulator.faults(), request
        assert (await service.shown())["state"] == "ready", request


@pytest.mark.rule("A12", "G8")
async def test_requests_after_the_key_file_was_lost_are_refused_and_the_account_shows_it(place, zone):
    async with place.running() as service:
        account_id = await service.ready()
    (place.folder / "vault.key").unlink()
    async with place.running() as service:
        for request in requests(account_id, zone):
            answer = await service.call(*request)
            assert (answer.status, answer.code) == (409, "account_not_ready"), request
            assert answer.body["error"]["details"]["reason"] == "credentials_unreadable", request
            shown = await service.shown()
            assert (shown["state"], shown["error"]["code"]) == ("permission_error", "credentials_unreadable"), request
            await service.idle()
            # As before the request: the next one finds out for itself.
            await service.store.run(in_state(account_id, "ready", None))


@pytest.mark.rule("A20")
@pytest.mark.parametrize("waiting", ["/zones/*/workers/routes", "*/d1/database/*/query"])
async def test_work_that_waits_for_a_lost_key_file_is_the_accounts_trouble(place, zone, waiting):
    async with place.running() as service:
        account_id = await service.ready()
        await service.emulator.fault("html", waiting, times=None)
        answer = await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        assert answer.status == 202, answer.raw
    await service.emulator.clear_faults()
    (place.folder / "vault.key").unlink()
    async with place.running() as service:

        async def shown() -> Any:
            account = await service.shown()
            return account if account["state"] != "ready" else None

        account = await eventually(shown)
    assert (account["state"], account["error"]["code"]) == ("permission_error", "credentials_unreadable")


@pytest.mark.rule("R5", "A20")
async def test_a_report_that_is_refused_is_shown_by_the_account_too(service, account_id, zone):
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    body = {"account_id": account_id, "url": "https://example.org/"}
    link = (await service.call("POST", "/v1/links", body)).body["link"]

    async def synced() -> bool | None:
        return (await service.account()).synced_version > 0 or None

    await eventually(synced)
    await service.emulator.fault("refuse", "*/d1/database/*/query", times=None, status=403, code=7403)
    report = (await service.call("GET", f"/v1/links/{link['id']}/report")).body["report"]
    assert report["unavailable"] == "cloudflare"
    assert (await service.shown())["state"] == "permission_error"


REFUSED_PATHS = ("*/tokens/verify", "*/tokens", "*/tokens/permission_groups", "*/tokens/*")
REFUSALS = ((403, 10000), (401, 1000), (400, 1234), (404, 7003), (500, 1))


@pytest.mark.rule("A3", "G8")
@pytest.mark.parametrize("path", REFUSED_PATHS)
async def test_no_refusal_of_a_connect_is_an_internal_error(place, path):
    drawn = random.Random(f"{SEED} {path}")
    place.limits["accounts"] = len(REFUSALS)
    async with place.running() as service:
        for status, code in REFUSALS if EVERYTHING else drawn.sample(REFUSALS, 2):
            service.customer = await service.emulator.create_account()
            await service.emulator.fault("refuse", path, times=None, status=status, code=code)
            answer = await service.connect()
            assert answer.status in (422, 502, 503), (status, code, answer.raw)
            assert answer.code in (
                "invalid_bootstrap",
                "bootstrap_permission_error",
                "token_check_failed",
                "orphan_not_deleted",
                "cloudflare_unavailable",
            ), (status, code)
            await service.idle()
            await service.emulator.clear_faults()


def test_the_working_tokens_rights_are_no_more_than_before():
    """To look for lost tokens is no reason to let every account's token list them all."""
    assert not [right for right in WORKING_RIGHTS if "Token" in right.name]
