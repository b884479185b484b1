"""Configuration: how soon a change is served, what is served when the database fails, and what a stranger can cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .field import DAY_MS, SITE_HOST, SITE_PATH, Field

if TYPE_CHECKING:
    from pathlib import Path

FRESH_S, STALE_S, COPY_EVERY_S = 10, 60, 5


def link(url: str) -> dict[str, str]:
    """A link's row."""
    return {"target": "lnk_a", "url": url}


async def rows_read(field: Field) -> int:
    """Rows that the account has read today."""
    state = await field.emulator.state()
    usage = state["accounts"][field.customer.account_id]["usage"]
    return sum(day["rows_read"] for day in usage.values())


@pytest.mark.rule("S7")
async def test_a_change_is_served_after_ten_seconds_in_the_background_and_after_sixty_at_once(field: Field) -> None:
    await field.configure({"link:abc": link("https://example.net/1")})
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await field.configure({"link:abc": link("https://example.net/2"), "link:new": link("https://example.net/new")})
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await field.clock(FRESH_S + 1)
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await field.emulator.settled()
    assert (await field.click("abc")).headers["location"] == "https://example.net/2"
    assert (await field.click("new")).headers["location"] == "https://example.net/new"
    await field.configure({"link:abc": None})
    await field.clock(FRESH_S + STALE_S + 5)
    assert (await field.click("abc")).status == 404


async def test_the_last_known_configuration_is_served_while_the_database_fails(field: Field) -> None:
    await field.configure({"link:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    await field.emulator.fault("d1_drop_before", times=None)
    for hours in (1, 24, 100):
        await field.clock(hours * 3600)
        assert (await field.click("abc")).headers["location"] == "https://example.net/1"
        assert (await field.view()).status == 204
    await field.emulator.clear_faults()


@pytest.mark.rule("L5")
async def test_a_new_isolate_serves_the_last_known_configuration_while_the_database_fails(
    field: Field, bundle: Path
) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    await field.configure({"link:abc": link("https://example.net/1")})
    # Each place has a copy of its own: a cache belongs to one zone.
    assert (await field.click("abc")).status == 302
    await field.clock(COPY_EVERY_S)
    assert (await field.view()).status == 204
    await field.emulator.settled()
    await field.emulator.fault("d1_drop_before", times=None)
    for first in ("link", "site"):
        await field.upload(bundle, manifest, f"install-{first}")
        if first == "site":
            assert (await field.view()).status == 204
        assert (await field.click("abc")).headers["location"] == "https://example.net/1"
        assert (await field.click("none")).status == 404
        if first == "link":
            assert (await field.view()).status == 204
        await field.emulator.settled()
    await field.emulator.clear_faults()
    await field.clock(3600)
    assert (await field.view()).status == 204
    await field.emulator.settled()
    lines = [line for row in await field.sql("select lines from event_log") for line in row["lines"].splitlines()]
    # The isolate that ended in the outage took its events with it; those of the one that outlived it are there.
    assert sorted(json.loads(line)[0] for line in lines) == ["lnk_a"] * 2 + ["site_a"] * 3


async def test_a_new_isolate_that_knows_nothing_asks_a_links_visitor_to_come_again(field: Field, bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    await field.emulator.fault("d1_drop_before", times=None)
    await field.upload(bundle, manifest, "install-2")
    answer = await field.click("abc")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    # What is no link's code may be a page of the site.
    await field.emulator.add_page(SITE_HOST, f"{SITE_PATH}/page", "the shop")
    answer = await field.emulator.visit(SITE_HOST, f"{SITE_PATH}/page")
    assert (answer.status, answer.body) == (200, "the shop")


@pytest.mark.rule("W5")
async def test_links_work_when_the_days_reads_are_used_up(field: Field) -> None:
    await field.configure({"link:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    await field.emulator.set_usage(field.customer.account_id, rows_read=5_000_000, rows_written=100_000)
    await field.clock(3600)
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"


async def test_random_codes_cost_no_reads_when_every_link_is_known(field: Field) -> None:
    await field.configure({"link:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    before = await rows_read(field)
    for i in range(100):
        assert (await field.click(f"no-{i}")).status == 404
    assert await rows_read(field) == before


async def test_random_codes_cost_few_reads_in_an_account_with_many_links(field: Field) -> None:
    await field.configure({f"link:code{i:04}": link(f"https://example.net/{i}") for i in range(700)})
    await field.configure({"link:newest": link("https://example.net/newest")})
    assert (await field.click("newest")).status == 302
    # The oldest of 701 is not among the links that an isolate starts with: it is read once.
    assert (await field.click("code0000")).headers["location"] == "https://example.net/0"
    before = await rows_read(field)
    assert (await field.click("code0000")).status == 302
    await field.emulator.settled()
    statuses = [(await field.click(f"no-{i}")).status for i in range(300)]
    assert set(statuses) == {404, 503}
    assert await rows_read(field) - before < 60
    # Known links do not suffer.
    assert (await field.click("newest")).status == 302


@pytest.mark.rule("S5")
async def test_a_retiring_path_counts_until_its_day(field: Field) -> None:
    now = await field.clock(0)
    old = {"target": "site_a", "script": "old", "until": now + DAY_MS}
    await field.configure({f"path:{SITE_HOST}{SITE_PATH}": old})
    assert (await field.view()).status == 204
    await field.emulator.settled()
    await field.clock(2 * DAY_MS / 1000)
    assert (await field.view()).status != 204
    await field.emulator.settled()
    body = (await field.sql("select lines from event_log"))[0]["lines"]
    assert [json.loads(line)[0] for line in body.splitlines()] == ["site_a"]
