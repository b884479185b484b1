"""Tests of an account's link host in the browser, with the emulated platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.browser import fetched

if TYPE_CHECKING:
    from playwright.sync_api import Route


def test_redirects_are_set_and_removed_and_a_replacement_shows_its_losses(tab, world, customer, zone):
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    expect(tab.locator(".page-head .mark")).to_contain_text("Ready")
    section = tab.get_by_role("region", name="Link host")
    section.get_by_role("combobox", name="Host").fill(f"go.{zone}")
    section.get_by_role("button", name="Set link host").click()
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(2)

    section.get_by_role("button", name="Change", exact=True).click()
    expect(tab.get_by_role("dialog")).to_contain_text("Clicks in the last 30 days: 0 (0 from QR codes).")
    tab.keyboard.press("Escape")

    tab.get_by_role("button", name="Change redirects").click()
    root, unknown = tab.get_by_label("Visits without a code"), tab.get_by_label("Unknown codes and paths")
    root.fill(f"www.{zone}/home")
    unknown.fill(f"https://go.{zone}/gone")
    tab.get_by_role("button", name="Save").click()
    expect(unknown).to_have_attribute("aria-invalid", "true")
    expect(tab.get_by_role("dialog")).to_contain_text("cannot be on the link host")
    unknown.fill("")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("dialog").wait_for(state="detached")
    expect(section.get_by_text(f"https://www.{zone}/home")).to_be_visible()
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(1)

    tab.get_by_role("button", name="Change redirects").click()
    expect(root).to_have_value(f"https://www.{zone}/home")
    root.fill("")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("dialog").wait_for(state="detached")
    expect(section.get_by_text("Show a short “not found” page")).to_have_count(2)


def test_link_host_is_set_in_the_form_of_a_new_link(tab, world, customer, zone):
    """The form of the link appears on the same page, for the account that was selected."""
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/links/new")
    tab.get_by_label("Account").select_option(account_id)
    expect(tab.get_by_text("This account has no link host yet.")).to_be_visible()
    tab.get_by_role("combobox", name="Host").fill(f"go.{zone}")
    tab.get_by_role("button", name="Set link host").click()
    tab.get_by_label("Destination", exact=True).fill(f"https://www.{zone}/menu")
    tab.get_by_label("Code").fill("menu")
    expect(tab.locator(".preview")).to_contain_text(f"go.{zone}/menu")
    tab.get_by_role("button", name="Create link").click()
    tab.get_by_role("heading", name=f"go.{zone}/menu").wait_for()


def test_link_host_waits_for_the_account(tab, furnished):
    """While an account is not ready, the page gives the reason and links to the account."""

    def waiting(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        body["account"] |= {"link_host": None, "state": "degraded"}
        route.fulfill(response=response, json=body)

    account_id = furnished.ids["accounts"]
    tab.route(f"**/v1/accounts/{account_id}", waiting)
    tab.goto(f"{furnished.url}/links/new")
    expect(tab.get_by_text("You can set a link host once the account is ready.")).to_be_visible()
    expect(tab.locator(f'main a[href="/accounts/{account_id}"]')).to_be_visible()
    expect(tab.get_by_role("button", name="Set link host")).to_have_count(0)
    tab.unroute_all(behavior="wait")
