"""A code over the life of two links: clicked, changed, deleted and used again, through the real runtime."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually
from edge_worker.harness.visitors import DESKTOP_CHROME
from tests.journeys.conftest import begin_yesterday, connect

LINK_HOST = "go.shop.example"
LIMIT_S = 61  # nothing older is served while the database answers


@pytest.mark.rule("L3", "L5", "R4")
async def test_each_of_two_links_with_one_code_has_its_own_clicks(emulator, customer, service):
    real, noon = await begin_yesterday(emulator)
    account_id = await connect(service, customer)
    moved_s = (noon - real) // 1000 + 20 * 60

    async def add(url: str) -> str:
        body = {"account_id": account_id, "url": url, "code": "abc"}
        return str((await service.call("POST", "/v1/links", body, expect=201))["link"]["id"])

    async def click(times: int) -> set[tuple[int, str | None]]:
        """What so many clicks are answered with, when what is older than the limit is no longer served."""
        nonlocal moved_s
        moved_s += LIMIT_S
        await emulator.clock(moved_s)
        found = set()
        for _ in range(times):
            answer = await emulator.visit(LINK_HOST, "/abc", headers={"User-Agent": DESKTOP_CHROME.user_agent})
            found.add((answer.status, answer.headers.get("location")))
        await emulator.settled()
        return found

    async def clicks_of(link_id: str) -> int:
        # With breakdowns all days are read: the platform's clock is that of yesterday, before the link was created.
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
    """The worker knows that the link is no more."""

    async def look() -> bool | None:
        return (await service.call("GET", f"/v1/links/{link_id}"))["link"]["config"] == "synced" or None

    await eventually(look)
