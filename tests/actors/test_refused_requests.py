"""A request that meets a trouble of the account or the platform: never an HTTP 500, and the account shows it."""

from __future__ import annotations

from typing import Any

import pytest

from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_RIGHTS


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
@pytest.mark.parametrize("number", range(3))
async def test_a_token_that_is_gone_is_shown_by_the_account_and_said_to_the_request(service, account_id, zone, number):
    rights = ["Account API Tokens Write"]
    _, hand = await service.emulator.create_token(service.customer.account_id, rights=rights)
    token_id = (await service.account()).token_id
    await service.as_platform("DELETE", f"/accounts/{service.customer.account_id}/tokens/{token_id}", hand)
    answer = await service.call(*requests(account_id, zone)[number])
    assert (answer.status, answer.code) == (409, "account_not_ready")
    assert answer.body["error"]["details"]["reason"] == "token_refused"
    assert answer.body["error"]["details"]["remedy"]
    shown = await service.shown()
    assert (shown["state"], shown["error"]["code"]) == ("permission_error", "token_refused")
    if number:  # what changes something is refused at once from then on, for the same reason
        again = await service.call(*requests(account_id, zone)[number])
        assert (again.status, again.code) == (409, "account_not_ready")
        assert again.body["error"]["details"]["reason"] == "token_refused"


@pytest.mark.rule("A20", "G8")
@pytest.mark.parametrize("number", range(3))
async def test_a_missing_right_is_shown_by_the_account_and_heals_by_itself(place, zone, number):
    async with place.running() as service:
        account_id = await service.ready()
        await service.emulator.fault("refuse", "/zones", times=None, status=403, code=10000)
        answer = await service.call(*requests(account_id, zone)[number])
        assert (answer.status, answer.code) == (409, "account_not_ready")
        assert answer.body["error"]["details"]["reason"] == "permission_error"
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("permission_error", "permission_error")
        await service.emulator.clear_faults()
    place.timing["health_every_s"] = 0.1
    async with place.running() as service:
        while (await service.shown())["state"] != "ready":
            pass


@pytest.mark.rule("S1", "A20")
@pytest.mark.parametrize("zone_gone", ["refused", "invalid", "unroutable"])
async def test_a_zone_that_has_left_is_its_sites_trouble_however_it_is_refused(service, account_id, zone, zone_gone):
    await service.emulator.set_rudeness(zone_gone=zone_gone)
    await service.emulator.fault("refuse", "/zones/*/workers/routes", method="POST", times=None, status=500)
    body = {"account_id": account_id, "host": zone}
    site = (await service.call("POST", "/v1/sites", body)).body["site"]
    await service.emulator.delete_zone(service.customer.account_id, zone)
    await service.emulator.clear_faults()

    async def noted() -> Any:
        return (await service.call("GET", f"/v1/sites/{site['id']}")).body["site"]["error"]

    assert (await eventually(noted))["code"] == "zone_not_found"
    assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("A20")
@pytest.mark.parametrize("number", range(3))
async def test_one_stray_refusal_is_nobodys_trouble(service, account_id, zone, number):
    await service.emulator.fault("refuse", "/zones", status=403, code=10000)
    answer = await service.call(*requests(account_id, zone)[number])
    assert answer.status in (200, 202), answer.raw
    assert (await service.shown())["state"] == "ready"


@pytest.mark.rule("A12", "G8")
@pytest.mark.parametrize("number", range(3))
async def test_a_key_file_that_was_lost_is_the_accounts_trouble(place, zone, number):
    async with place.running() as service:
        account_id = await service.ready()
    (place.folder / "vault.key").unlink()
    async with place.running() as service:
        answer = await service.call(*requests(account_id, zone)[number])
        assert (answer.status, answer.code) == (409, "account_not_ready")
        assert answer.body["error"]["details"]["reason"] == "credentials_unreadable"
        shown = await service.shown()
        assert (shown["state"], shown["error"]["code"]) == ("permission_error", "credentials_unreadable")


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
    while (await service.account()).synced_version < 1:
        pass
    await service.emulator.fault("refuse", "*/d1/database/*/query", times=None, status=403, code=7403)
    report = (await service.call("GET", f"/v1/links/{link['id']}/report")).body["report"]
    assert report["unavailable"] == "cloudflare"
    assert (await service.shown())["state"] == "permission_error"


@pytest.mark.rule("A3", "G8")
@pytest.mark.parametrize("path", ["*/tokens/verify", "*/tokens", "*/tokens/permission_groups", "*/tokens/*"])
@pytest.mark.parametrize(("status", "code"), [(403, 10000), (401, 1000), (400, 1234), (404, 7003), (500, 1)])
async def test_no_refusal_of_a_connect_is_a_failure_of_the_service(service, path, status, code):
    await service.emulator.fault("refuse", path, times=None, status=status, code=code)
    answer = await service.connect()
    assert answer.status in (422, 502, 503), answer.raw
    assert answer.code in (
        "invalid_bootstrap",
        "bootstrap_permission_error",
        "token_check_failed",
        "orphan_not_deleted",
        "cloudflare_unavailable",
    )


def test_the_working_tokens_rights_are_no_more_than_before():
    """To look for lost tokens is no reason to let every account's token list them all."""
    assert not [right for right in WORKING_RIGHTS if "Token" in right.name]
