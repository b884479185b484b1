"""Configuration: how soon a change is served, what is served when the database fails, and what a stranger can cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from edge_worker.harness.installed import DAY_MS, SITE_HOST, SITE_PATH, InstalledWorker

if TYPE_CHECKING:
    from pathlib import Path

FRESH_S, STALE_S, COPY_EVERY_S = 10, 60, 5


def link(url: str) -> dict[str, str]:
    """A link's row."""
    return {"target": "lnk_a", "url": url}


async def rows_read(worker: InstalledWorker) -> int:
    """Rows that the account has read today."""
    state = await worker.emulator.state()
    usage = state["accounts"][worker.customer.account_id]["usage"]
    return sum(day["rows_read"] for day in usage.values())


@pytest.mark.rule("S7")
async def test_a_change_is_served_after_ten_seconds_in_the_background_and_after_sixty_at_once(
    worker: InstalledWorker,
) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.configure({"link:abc": link("https://example.net/2"), "link:new": link("https://example.net/new")})
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.clock(FRESH_S + 1)
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
    await worker.emulator.settled()
    assert (await worker.click("abc")).headers["location"] == "https://example.net/2"
    assert (await worker.click("new")).headers["location"] == "https://example.net/new"
    await worker.configure({"link:abc": None})
    await worker.clock(FRESH_S + STALE_S + 5)
    assert (await worker.click("abc")).status == 404


async def test_the_last_known_configuration_is_served_while_the_database_fails(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    for hours in (1, 24, 100):
        await worker.clock(hours * 3600)
        assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
        assert (await worker.view()).status == 204
    await worker.emulator.clear_faults()


@pytest.mark.rule("L5")
async def test_a_new_isolate_serves_the_last_known_configuration_while_the_database_fails(
    worker: InstalledWorker, bundle: Path
) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    await worker.configure({"link:abc": link("https://example.net/1")})
    # Each place has a copy of its own: a cache belongs to one zone.
    assert (await worker.click("abc")).status == 302
    await worker.clock(COPY_EVERY_S)
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    await worker.emulator.fault("d1_drop_before", times=None)
    for first in ("link", "site"):
        await worker.upload(bundle, manifest, f"install-{first}")
        if first == "site":
            assert (await worker.view()).status == 204
        assert (await worker.click("abc")).headers["location"] == "https://example.net/1"
        assert (await worker.click("none")).status == 404
        if first == "link":
            assert (await worker.view()).status == 204
        await worker.emulator.settled()
    await worker.emulator.clear_faults()
    await worker.clock(3600)
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    # The isolate that ended in the outage took its events with it; those of the one that outlived it are there.
    assert sorted(json.loads(line)[0] for line in lines) == ["lnk_a"] * 2 + ["site_a"] * 3


async def test_a_new_isolate_that_knows_nothing_asks_a_links_visitor_to_come_again(
    worker: InstalledWorker, bundle: Path
) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    await worker.emulator.fault("d1_drop_before", times=None)
    await worker.upload(bundle, manifest, "install-2")
    answer = await worker.click("abc")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    # What is no link's code may be a page of the site.
    await worker.emulator.add_page(SITE_HOST, f"{SITE_PATH}/page", "the shop")
    answer = await worker.emulator.visit(SITE_HOST, f"{SITE_PATH}/page")
    assert (answer.status, answer.body) == (200, "the shop")


@pytest.mark.rule("W5")
async def test_links_work_when_the_days_reads_are_used_up(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    await worker.emulator.set_usage(worker.customer.account_id, rows_read=5_000_000, rows_written=100_000)
    await worker.clock(3600)
    assert (await worker.click("abc")).headers["location"] == "https://example.net/1"


async def test_random_codes_cost_no_reads_when_every_link_is_known(worker: InstalledWorker) -> None:
    await worker.configure({"link:abc": link("https://example.net/1")})
    assert (await worker.click("abc")).status == 302
    await worker.emulator.settled()
    before = await rows_read(worker)
    for i in range(100):
        assert (await worker.click(f"no-{i}")).status == 404
    assert await rows_read(worker) == before


async def test_random_codes_cost_few_reads_in_an_account_with_many_links(worker: InstalledWorker) -> None:
    await worker.configure({f"link:code{i:04}": link(f"https://example.net/{i}") for i in range(700)})
    await worker.configure({"link:newest": link("https://example.net/newest")})
    assert (await worker.click("newest")).status == 302
    # The oldest of 701 is not among the links that an isolate starts with: it is read once.
    assert (await worker.click("code0000")).headers["location"] == "https://example.net/0"
    before = await rows_read(worker)
    assert (await worker.click("code0000")).status == 302
    await worker.emulator.settled()
    statuses = [(await worker.click(f"no-{i}")).status for i in range(300)]
    assert set(statuses) == {404, 503}
    assert await rows_read(worker) - before < 60
    # Known links do not suffer.
    assert (await worker.click("newest")).status == 302


@pytest.mark.rule("S5")
async def test_a_retiring_path_counts_until_its_day(worker: InstalledWorker) -> None:
    now = await worker.clock(0)
    old = {"target": "site_a", "script": "old", "until": now + DAY_MS}
    await worker.configure({f"path:{SITE_HOST}{SITE_PATH}": old})
    assert (await worker.view()).status == 204
    await worker.emulator.settled()
    await worker.clock(2 * DAY_MS / 1000)
    assert (await worker.view()).status != 204
    await worker.emulator.settled()
    body = (await worker.sql("select lines from event_log"))[0]["lines"]
    assert [json.loads(line)[0] for line in body.splitlines()] == ["site_a"]
