"""The link host's redirects of visitors without a link, from the API to the visitor's response."""

from __future__ import annotations

from edge_worker.harness.service import eventually

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
