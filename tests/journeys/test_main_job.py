"""The main use case: connect, install, add a site and a link, visit, push and report. Also tests rejected requests.

The test of reported views runs on both database engines, with the emulator's strict defaults.
"""

from __future__ import annotations

import json

import pytest

from edge_worker.harness.visitors import Tally, views
from svc.clock import DAY_MS, HOUR_MS, day_of, system_clock
from tests.journeys.conftest import PUSHED_BY_MS, STRICT_PLATFORM, begin_yesterday, crons

MINUTE_MS = 60_000
LINK_HOST = "go.shop.example"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"


async def connected(service, customer) -> str:
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
    assert account["state"] == "pending"
    await service.account_in(account["id"], "ready")
    return str(account["id"])


async def run_cron(emulator, customer) -> None:
    run = await emulator.cron(customer.account_id, "svc-edge")
    assert run["outcome"] == "ok", run


@pytest.mark.both_engines
@STRICT_PLATFORM
@pytest.mark.rule("A2", "A4", "A11", "A21", "A22", "A23", "S1", "S7", "R2", "W1", "W3")
async def test_every_view_of_an_hour_ago_is_in_the_report(emulator, customer, service):
    real, noon = await begin_yesterday(emulator)
    account_id = await connected(service, customer)
    site = (await service.call("POST", "/v1/sites", {"account_id": account_id, "host": "shop.example"}, expect=202))[
        "site"
    ]
    assert site["snippet"]["inline"].startswith("<script>")
    await service.synced(f"/v1/sites/{site['id']}")

    tally = Tally()
    for hit in views(40, seed=1):
        response = await emulator.visit(
            "shop.example",
            site["path"],
            method="POST",
            headers={"User-Agent": hit.user_agent, "Content-Type": "text/plain"},
            body=f"{hit.page}\n{hit.referrer}",
            cf={"country": hit.country},
            ip=hit.address,
        )
        assert response.status == 204
        tally.add(hit, noon)
    await emulator.settled()
    await crons(emulator, customer, real, noon + HOUR_MS + 4 * MINUTE_MS, 4)
    await crons(emulator, customer, real, noon + HOUR_MS + PUSHED_BY_MS, 4)

    report = (await service.call("GET", f"/v1/sites/{site['id']}/report?period=7d&breakdowns=1"))["report"]
    day = noon // DAY_MS
    assert report["totals"] == tally.day(day)
    assert {entry["key"]: entry["n"] for entry in report["breakdowns"]["bots"]} == dict(tally.top("bots", day, day))
    # The view has an earlier time than the creation of the site. In this case, the site shows the time of its creation
    # as that of its first view.
    site = (await service.call("GET", f"/v1/sites/{site['id']}"))["site"]
    assert site["first_view_at"] == site["created_at"]
    account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
    assert account["operation"]["state"] == "done"
    assert account["push"]["queue"] == 0
    assert account["push"]["bundle"] == account["edge"]["bundle"]
    assert account["edge"]["up_to_date"] is True
    listed = (await service.call("GET", "/v1/accounts"))["accounts"][0]
    assert "operation" not in listed
    assert "link_host" not in listed

    held = (await emulator.state())["accounts"][customer.account_id]
    [token] = held["tokens"].values()
    assert token["name"].startswith("svc-op_")
    assert token["id"] != customer.bootstrap_token_id


@pytest.mark.rule("A19", "L1", "L5", "R4")
async def test_click_is_in_the_report_immediately_without_a_cron(emulator, customer, service):
    account_id = await connected(service, customer)
    refused = await service.call(
        "POST", "/v1/links", {"account_id": account_id, "url": "https://a.example"}, expect=409
    )
    assert refused["error"]["code"] == "link_host_required"
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": LINK_HOST}, expect=202)
    body = {"account_id": account_id, "url": "https://a.example/x", "code": "abc"}
    link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
    await service.synced(f"/v1/links/{link['id']}")

    day = day_of(system_clock())
    response = await emulator.visit(LINK_HOST, "/abc?q", headers={"User-Agent": FIREFOX})
    assert (response.status, response.headers["location"]) == (302, "https://a.example/x")
    await emulator.settled()
    for period in ("today", "7d"):
        path = f"/v1/links/{link['id']}/report?period={period}&breakdowns=1"
        report = (await service.call("GET", path))["report"]
        assert report["unavailable"] is None
        if period == "7d" or day_of(system_clock()) == day:  # otherwise, the day has ended during the test
            assert report["totals"] == {"views": 1, "bots": 0, "visitors": 1}
            assert report["breakdowns"]["sources"] == [{"key": "qr", "n": 1}]


@pytest.mark.rule("A3")
@pytest.mark.parametrize(
    ("rights", "named"),
    [
        (["Account Settings Read"], "Account API Tokens Write"),
        (["Account API Tokens Write"], "Account Settings Read"),
    ],
)
async def test_error_names_the_missing_permission_of_a_bootstrap_token(emulator, customer, service, rights, named):
    _, token = await emulator.create_token(customer.account_id, rights=rights)
    body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
    refused = await service.call("POST", "/v1/accounts", body, expect=422)
    assert refused["error"]["code"] == "bootstrap_permission_error"
    assert refused["error"]["details"]["missing"] == [named]
    assert (await service.call("GET", "/v1/accounts"))["accounts"] == []


@pytest.mark.rule("A3")
async def test_invalid_or_foreign_token_is_rejected(emulator, customer, service):
    other = await emulator.create_account(["other.example"])
    for token in ("nonsense", "cfat_" + "a" * 48, other.bootstrap_token):
        body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
        refused = await service.call("POST", "/v1/accounts", body, expect=422)
        assert refused["error"]["code"] == "invalid_bootstrap"


@pytest.mark.rule("A9", "A10", "G10")
async def test_edge_account_can_be_connected_only_once(emulator, customer, service):
    account_id = await connected(service, customer)
    _, token = await emulator.create_token(customer.account_id)
    body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
    assert (await service.call("POST", "/v1/accounts", body, expect=409))["error"]["code"] == "already_connected"
    await service.sign_up("b@example.com", "another password")
    assert (await service.call("POST", "/v1/accounts", body, expect=409))["error"]["code"] == "account_taken"
    assert (await service.call("GET", f"/v1/accounts/{account_id}", expect=404))["error"]["code"] == "not_found"


@pytest.mark.rule("A12", "A13")
async def test_foreign_worker_with_our_name_is_not_changed(emulator, service):
    customer = await emulator.create_account(["shop.example"], subdomain="theirs")
    _, token = await emulator.create_token(customer.account_id, rights=["Workers Scripts Write"])
    module = b"export default { fetch() { return new Response('theirs') } }"
    metadata = json.dumps({"main_module": "w.js", "compatibility_date": "2026-04-01"}).encode()
    uploaded = await service.client.put(
        f"{emulator.api}/accounts/{customer.account_id}/workers/scripts/svc-edge",
        headers={"Authorization": f"Bearer {token}"},
        files={
            "metadata": ("m.json", metadata, "application/json"),
            "w.js": ("w.js", module, "application/javascript+module"),
        },
    )
    assert uploaded.is_success, uploaded.text
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
    account = await service.account_in(account["id"], "connected", "ready")
    assert account["state"] == "connected"
    assert account["error"]["code"] == "name_taken"
    held = (await emulator.state())["accounts"][customer.account_id]["scripts"]["svc-edge"]
    assert len(held["versions"]) == 1

    deleted = await service.client.delete(
        f"{emulator.api}/accounts/{customer.account_id}/workers/scripts/svc-edge",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert deleted.is_success
    await service.call("POST", f"/v1/accounts/{account['id']}/install", expect=202)
    await service.account_in(account["id"], "ready")


@pytest.mark.rule("A14", "W7")
async def test_reinstall_keeps_the_database_and_replaces_the_key(emulator, customer, service):
    account_id = await connected(service, customer)
    await run_cron(emulator, customer)
    before = (await emulator.state())["accounts"][customer.account_id]
    await service.call("POST", f"/v1/accounts/{account_id}/install", expect=202)
    await service.account_in(account_id, "ready")
    await run_cron(emulator, customer)
    after = (await emulator.state())["accounts"][customer.account_id]
    assert list(after["databases"]) == list(before["databases"])
    account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
    assert account["operation"]["state"] == "done"
    assert account["error"] is None
