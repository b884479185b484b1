"""After a disconnect, reports include all earlier visits, even those that the Worker had not yet pushed."""

from __future__ import annotations

import pytest

from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.clock import day_of, system_clock
from tests.journeys.conftest import ZONE, connect

PEOPLE = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


async def visit(emulator, site, link, ip, agent=DESKTOP_CHROME.user_agent):
    """Send one page view and one click."""
    headers = {"user-agent": agent}
    await emulator.visit(site["host"], site["path"], method="POST", headers=headers, body="/page\n", ip=ip)
    await emulator.visit(f"go.{ZONE}", f"/{link['code']}", headers=headers, ip=ip)


@pytest.mark.rule("A17", "S6", "L3", "W2")
async def test_visits_that_were_not_pushed_are_reported_after_a_disconnect(emulator, customer, service):
    day = day_of(system_clock())
    account_id = await connect(service, customer)
    body = {"account_id": account_id, "host": ZONE}
    site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
    body = {"account_id": account_id, "url": "https://a.example/", "code": "sale"}
    link = (await service.call("POST", "/v1/links", body, expect=201))["link"]
    await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
    # The Worker writes these visits to its database. A cron folds some of them; the others are still in the log.
    for ip in PEOPLE[:2]:
        await visit(emulator, site, link, ip)
    await emulator.settled()
    await emulator.cron(customer.account_id, "svc-edge")
    await visit(emulator, site, link, PEOPLE[0])
    await emulator.settled()
    # These visits are still in an isolate's memory when the disconnect starts.
    await visit(emulator, site, link, PEOPLE[2])
    await visit(emulator, site, link, PEOPLE[2], agent="curl/8.14.1")
    response = await service.call("DELETE", f"/v1/accounts/{account_id}", expect=200)
    assert response["left"] == []
    held = (await emulator.state())["accounts"][customer.account_id]
    assert (held["scripts"], held["databases"]) == ({}, {})
    for path in (f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}"):
        for period in ("today", "7d"):
            report = (await service.call("GET", f"{path}/report?period={period}"))["report"]
            if day_of(system_clock()) == day:
                assert report["totals"] == {"views": 4, "bots": 1, "visitors": 3}, path
                assert sum(point["views"] for point in report["series"]) == 4
            elif period == "7d":  # if a new day has begun, people who visit on both days count twice
                assert (report["totals"]["views"], report["totals"]["bots"]) == (4, 1), path

    # Connect the account again immediately. It gets a new database, whose counts begin at 0.
    _, token = await emulator.create_token(
        customer.account_id, rights=["Account Settings Read", "Account API Tokens Write"]
    )
    body = {"edge_account_id": customer.account_id, "bootstrap_token": token}
    again = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
    assert again != account_id
    await service.account_in(again, "ready")
    new = (await service.call("POST", "/v1/sites", {"account_id": again, "host": ZONE}, expect=202))["site"]
    await service.synced(f"/v1/sites/{new['id']}")
    report = (await service.call("GET", f"/v1/sites/{new['id']}/report"))["report"]
    assert report["totals"]["views"] == 0
    report = (await service.call("GET", f"/v1/sites/{site['id']}/report"))["report"]
    assert report["totals"]["views"] == 4
