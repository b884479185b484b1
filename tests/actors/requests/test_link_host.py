"""Tests of the link host's redirects for requests that match no link, and of its numbers of clicks and scans."""

from __future__ import annotations

import json

from edge_worker.harness.service import eventually
from svc.clock import day_of, day_text
from svc.store.tx import sql

ROOT, GONE = "https://www.example.com/", "https://www.example.com/gone"


async def test_redirects_reach_the_worker(service, zone, running_worker):
    account_id = await service.ready()
    host, path = f"go.{zone}", f"/v1/accounts/{account_id}/link-host"
    assert (await service.call("PUT", path, {"host": host, "root_url": ROOT})).status == 202

    async def is_synced():
        shown = (await service.shown())["link_host"]
        return (shown["state"], shown["config"]) == ("active", "synced") or None

    async def visit(at: str):
        response = await service.emulator.visit(host, at)
        return response.status, response.headers.get("location")

    await eventually(is_synced)
    assert [await visit("/?next=//evil.example"), await visit("/none")] == [(302, ROOT), (404, None)]
    assert (await service.call("PATCH", path, {"root_url": None, "not_found_url": GONE})).status == 200
    await eventually(is_synced)
    await service.emulator.new_isolates()
    assert [await visit("/"), await visit("/none?u=//evil.example")] == [(404, None), (302, GONE)]


async def test_usage_counts_clicks_and_scans_of_existing_links_in_the_last_30_days(service, zone):
    account_id = await service.ready()
    path = f"/v1/accounts/{account_id}/link-host"
    assert (await service.call("GET", f"{path}/usage")).code == "link_host_required"
    response = await service.call("PUT", path, {"host": f"go.{zone}"})
    assert (response.status, response.body.get("replaced")) == (202, None)
    body = {"account_id": account_id, "url": "https://example.org/"}
    kept, deleted = [(await service.call("POST", "/v1/links", body)).body["link"]["id"] for _ in range(2)]
    assert (await service.call("DELETE", f"/v1/links/{deleted}")).status == 200

    async def synced():
        account = await service.account()
        return account.synced_version == account.config_version or None

    await eventually(synced)
    today = day_of(service.clock())
    await add_day(service, kept, today, 40, 7)
    await add_day(service, kept, today - 29, 2, 1)
    await add_day(service, kept, today - 30, 1_000, 500)
    await add_day(service, deleted, today, 100, 50)
    usage = (await service.call("GET", f"{path}/usage")).body["usage"]
    since = day_text(today - 29)
    assert usage == {
        "host": f"go.{zone}",
        "since": since,
        "clicks_30d": 42,
        "scans_30d": 8,
        "scans_since": since,
        "unavailable": None,
    }
    replaced = await service.call("PUT", path, {"host": f"to.{zone}"})
    assert (replaced.status, replaced.body["replaced"]) == (202, {"host": f"go.{zone}", "clicks_30d": 42})
    assert "replaced" not in (await service.call("PUT", path, {"host": f"to.{zone}"})).body


async def test_clicks_are_known_while_the_worker_database_fails(service, zone):
    account_id = await service.ready()
    path = f"/v1/accounts/{account_id}/link-host"
    assert (await service.call("PUT", path, {"host": f"go.{zone}"})).status == 202
    await service.emulator.fault("refuse", "*/d1/database/*/query", times=None, status=400, code=7500)
    usage = (await service.call("GET", f"{path}/usage")).body["usage"]
    assert (usage["clicks_30d"], usage["scans_30d"], usage["scans_since"]) == (0, None, None)
    assert usage["unavailable"] == "cloudflare"
    await service.emulator.clear_faults()


async def add_day(service, link_id, day, clicks, scans):
    """Add a day's clicks to the store and to the Worker's database."""
    await service.store.run(_stored(link_id, day, clicks))
    totals = {"views": clicks, "sources": {"qr": scans, "(direct)": clicks - scans}}
    account = await service.account()
    _, api_token = await service.emulator.create_token(service.customer.account_id, rights=["D1 Write"])
    path = f"/accounts/{service.customer.account_id}/d1/database/{account.database_id}/query"
    statement = {"sql": "insert into day values (?, ?, ?)", "params": [link_id, day, json.dumps(totals)]}
    await service.as_platform("POST", path, api_token, json=statement)


def _stored(link_id, day, clicks):
    yield sql(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 0, 0, 0)",
        link_id,
        day,
        clicks,
    )
