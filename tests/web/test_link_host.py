"""Tests of an account's link host in the browser, with the emulated platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.places import signed_in_tab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place


@pytest.fixture
def page(browser: Browser, furnished: Place) -> Iterator[Page]:
    with signed_in_tab(browser, furnished) as tab:
        yield tab


def test_redirects_are_set_and_removed_and_a_replacement_shows_its_losses(page, world, customer, zone):
    account_id = world.connected(customer)
    page.goto(f"{world.place.url}/accounts/{account_id}")
    expect(page.locator(".page-head .mark")).to_contain_text("Ready")
    section = page.get_by_role("region", name="Link host")
    section.get_by_role("combobox", name="Host").fill(f"go.{zone}")
    section.get_by_role("button", name="Set link host").click()
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(2)

    section.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Clicks in the last 30 days: 0, including QR code scans: 0.")
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Change redirects").click()
    root, unknown = page.get_by_label("Visitors to the host itself"), page.get_by_label("Unknown codes and paths")
    root.fill(f"www.{zone}/home")
    unknown.fill(f"https://go.{zone}/gone")
    page.get_by_role("button", name="Save").click()
    expect(unknown).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("dialog")).to_contain_text("cannot be on the link host")
    unknown.fill("")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for(state="detached")
    expect(section.get_by_text(f"https://www.{zone}/home")).to_be_visible()
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(1)

    page.get_by_role("button", name="Change redirects").click()
    expect(root).to_have_value(f"https://www.{zone}/home")
    root.fill("")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for(state="detached")
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(2)
