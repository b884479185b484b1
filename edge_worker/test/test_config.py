"""Configuration: how soon a change is served, what is served when the database fails, and what a stranger can cost."""

from __future__ import annotations

import json

import pytest

from .field import DAY_MS, SITE_HOST, SITE_PATH, Field, now_of

FRESH_S, STALE_S = 10, 60


def link(url: str) -> dict[str, str]:
    """A link's row."""
    return {"t": "lnk_a", "u": url}


async def rows_read(field: Field) -> int:
    """Rows that the account has read today."""
    state = await field.emulator.state()
    usage = state["accounts"][field.customer.account_id]["usage"]
    return sum(day["rows_read"] for day in usage.values())


@pytest.mark.rule("S7")
async def test_a_change_is_served_after_ten_seconds_in_the_background_and_after_sixty_at_once(field: Field) -> None:
    await field.configure({"l:abc": link("https://example.net/1")})
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await field.configure({"l:abc": link("https://example.net/2"), "l:new": link("https://example.net/new")})
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await now_of(field.emulator, FRESH_S + 1)
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"
    await field.emulator.settled()
    assert (await field.click("abc")).headers["location"] == "https://example.net/2"
    assert (await field.click("new")).headers["location"] == "https://example.net/new"
    await field.configure({"l:abc": None})
    await now_of(field.emulator, FRESH_S + STALE_S + 5)
    assert (await field.click("abc")).status == 404


async def test_the_last_known_configuration_is_served_while_the_database_fails(field: Field) -> None:
    await field.configure({"l:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    await field.emulator.fault("d1_drop_before", times=None)
    for hours in (1, 24, 100):
        await now_of(field.emulator, hours * 3600)
        assert (await field.click("abc")).headers["location"] == "https://example.net/1"
        assert (await field.view()).status == 204
    await field.emulator.clear_faults()


@pytest.mark.rule("W5")
async def test_links_work_when_the_days_reads_are_used_up(field: Field) -> None:
    await field.configure({"l:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    await field.emulator.set_usage(field.customer.account_id, rows_read=5_000_000, rows_written=100_000)
    await now_of(field.emulator, 3600)
    assert (await field.click("abc")).headers["location"] == "https://example.net/1"


async def test_random_codes_cost_no_reads_when_every_link_is_known(field: Field) -> None:
    await field.configure({"l:abc": link("https://example.net/1")})
    assert (await field.click("abc")).status == 302
    await field.emulator.settled()
    before = await rows_read(field)
    for i in range(100):
        assert (await field.click(f"no-{i}")).status == 404
    assert await rows_read(field) == before


async def test_random_codes_cost_few_reads_in_an_account_with_many_links(field: Field) -> None:
    await field.configure({f"l:code{i:04}": link(f"https://example.net/{i}") for i in range(700)})
    await field.configure({"l:newest": link("https://example.net/newest")})
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
    now = await now_of(field.emulator)
    old = {"t": "site_a", "n": "old", "until": now + DAY_MS}
    await field.configure({f"p:{SITE_HOST}{SITE_PATH}": old})
    assert (await field.view()).status == 204
    await field.emulator.settled()
    await now_of(field.emulator, 2 * DAY_MS / 1000)
    assert (await field.view()).status != 204
    await field.emulator.settled()
    body = (await field.sql("select body from part"))[0]["body"]
    assert [json.loads(line)[0] for line in body.splitlines()] == ["site_a"]
