"""Two links use the same code, one after the other, in the real runtime: clicks, a change, deletions, and the reuse of
the code.
"""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually
from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.journeys.conftest import begin_yesterday, connect

LINK_HOST = "go.shop.example"
LIMIT_S = 61  # seconds; while the database responds, the Worker does not serve configuration that is older than this


@pytest.mark.rule("L3", "L5", "R4")
async def test_two_links_with_the_same_code_have_separate_clicks(emulator, customer, service):
    real, noon = await begin_yesterday(emulator)
    account_id = await connect(service, customer)
    moved_s = (noon - real) // 1000 + 20 * 60

    async def add(url: str) -> str:
        body = {"account_id": account_id, "url": url, "code": "abc"}
        return str((await service.call("POST", "/v1/links", body, expect=201))["link"]["id"])

    async def click(times: int) -> set[tuple[int, str | None]]:
        """Wait until the freshness limit has passed, click `times` times, and return the distinct responses."""
        nonlocal moved_s
        moved_s += LIMIT_S
        await emulator.clock(moved_s)
        found = set()
        for _ in range(times):
            response = await emulator.visit(LINK_HOST, "/abc", headers={"User-Agent": DESKTOP_CHROME.user_agent})
            found.add((response.status, response.headers.get("location")))
        await emulator.settled()
        return found

    async def clicks_of(link_id: str) -> int:
        # Request breakdowns so that all days are read: the platform's clock shows the day before the link's creation.
        report = (await service.call("GET", f"/v1/links/{link_id}/report?period=7d&breakdowns=1"))["report"]
        assert report["unavailable"] is None
        return int(report["totals"]["views"])

    old = await add("https://old.example/")
    await service.synced(f"/v1/links/{old}")
    assert await click(2) == {(302, "https://old.example/")}

    deleted = (await service.call("DELETE", f"/v1/links/{old}"))["link"]
    assert deleted["state"] == "deleted"
    new = await add("https://new.example/")
    await service.synced(f"/v1/links/{new}")
    assert await click(3) == {(302, "https://new.example/")}

    change = {"url": "https://new.example/2", "rules": [{"url": "https://new.example/phone", "devices": ["mobile"]}]}
    changed = (await service.call("PATCH", f"/v1/links/{new}", change))["link"]
    assert (changed["code"], changed["config"]) == ("abc", "pending")
    await service.synced(f"/v1/links/{new}")
    assert await click(4) == {(302, "https://new.example/2")}
    assert (await clicks_of(old), await clicks_of(new)) == (2, 7)

    await service.call("DELETE", f"/v1/links/{new}")
    third = await add("https://third.example/")
    await service.call("DELETE", f"/v1/links/{third}")
    await removed(service, third)
    assert await click(2) == {(404, None)}
    assert (await clicks_of(old), await clicks_of(new), await clicks_of(third)) == (2, 7, 0)


async def removed(service, link_id: str) -> None:
    """Wait until the Worker has removed the link."""

    async def poll() -> bool | None:
        return (await service.call("GET", f"/v1/links/{link_id}"))["link"]["config"] == "synced" or None

    await eventually(poll)
