"""Tests of accounts in the browser, with the emulated platform."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.service import eventually
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.clock import DAY_MS, system_clock
from svc.security.token_page import TOKEN_PAGE
from svc.worker.bundle import SCRIPT_NAME
from tests.web.places import signed_in_tab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from edge_worker.emulator.client import Customer, Emulator
    from tests.web.places import Place, World


@pytest.fixture
def page(browser: Browser, furnished: Place) -> Iterator[Page]:
    with signed_in_tab(browser, furnished) as tab:
        yield tab


def state(page: Page, word: str) -> None:
    """Wait until the head of the page shows this status."""
    expect(page.locator(".page-head .mark")).to_have_text(re.compile(word))


def alert(page: Page) -> Locator:
    return page.get_by_role("alert")


def test_connect_account_and_resolve_failed_install(page, world, customer):
    """The user first enters a user token. The install then waits for the platform, and finds no free cron trigger."""
    page.goto(f"{world.place.url}/accounts")
    page.get_by_role("link", name="Connect an account").wait_for()
    page.keyboard.press("n")
    form = page.get_by_role("link", name="Open Cloudflare's form")
    expect(form).to_have_attribute("href", TOKEN_PAGE)
    expect(form).to_have_attribute("rel", "noopener noreferrer")

    account, token = page.get_by_label("Account ID"), page.get_by_label("Bootstrap token")
    account.fill(f"https://dash.cloudflare.com/{customer.account_id}/workers-and-pages")
    expect(account).to_have_value(customer.account_id)
    token.fill("cfut_0123")
    page.get_by_text("This is a user token").wait_for()
    # The account's database cannot be created until the fault is cleared. Then, no cron trigger is free.
    databases = f"/accounts/{customer.account_id}/d1/database"
    world.platform(lambda emulator: emulator.fault("refuse", databases, method="POST", status=503, times=None))
    world.platform(lambda emulator: emulator.set_limits(customer.account_id, crons=0))
    token.fill(customer.bootstrap_token)
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("heading", level=1, name="Customer").wait_for()
    assert page.evaluate("document.documentElement.outerHTML").find(customer.bootstrap_token) < 0

    step = page.locator("[aria-current=step]")
    expect(step).to_contain_text("Database")
    page.reload()
    expect(step).to_contain_text("Database")
    state(page, "Installing")
    world.platform(lambda emulator: emulator.clear_faults())
    state(page, "Not installed")
    expect(alert(page)).to_contain_text("cron_limit")
    world.platform(lambda emulator: emulator.set_limits(customer.account_id, crons=5))
    alert(page).get_by_role("button", name="Reinstall").click()
    state(page, "Ready")
    expect(alert(page)).to_have_count(0)
    found = world.account(customer)
    assert found is not None
    assert found["state"] == "ready"
    world.call("DELETE", f"/v1/accounts/{found['id']}", {})


def test_site_shows_missing_dns_and_link_host_replaces_website(page, world, customer, zone):
    account_id = world.connected(customer)
    page.goto(f"{world.place.url}/accounts/{account_id}")
    state(page, "Ready")
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, status="pending", dns=[]))
    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    page.goto(f"{world.place.url}/sites/{site['id']}")
    page.get_by_text(f"Zone {zone}, status: pending").wait_for()
    page.get_by_text("A, AAAA or CNAME", exact=True).wait_for()
    page.goto(f"{world.place.url}/sites")
    expect(page.get_by_role("row").filter(has_text=zone)).to_contain_text("Zone not active")

    world.platform(lambda emulator: emulator.set_zone(customer.account_id, **proxied_zone(zone)))
    world.call("POST", f"/v1/accounts/{account_id}/check", {})
    page.goto(f"{world.place.url}/sites/{site['id']}")
    page.get_by_role("heading", name="Snippet").wait_for()
    expect(page.get_by_text("zone_not_active")).to_have_count(0)

    page.goto(f"{world.place.url}/accounts/{account_id}")
    page.get_by_role("combobox", name="Host").fill(f"www.{zone}")
    page.get_by_role("button", name="Set link host").click()
    page.get_by_role("checkbox", name="Replace the website").check()
    page.get_by_role("button", name="Set link host").click()
    expect(page.get_by_role("region", name="Link host")).to_contain_text("Active")


def test_rename_renew_check_and_disconnect_account(page, world, customer, zone):
    """Also set a link host that has no DNS record at first, and check the plan usage and the statement of counts."""
    account_id = world.connected(customer)
    page.goto(f"{world.place.url}/accounts/{account_id}")
    state(page, "Ready")
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Name").fill("<b>Daily</b> news")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="<b>Daily</b> news", exact=True).wait_for()

    before = world.call("GET", f"/v1/accounts/{account_id}")["account"]["token"]["name"]
    page.get_by_text(before).wait_for()
    token = world.platform(
        lambda emulator: emulator.create_token(
            customer.account_id, rights=["Account Settings Read", "Account API Tokens Write"]
        )
    )[1]
    page.get_by_role("button", name="Renew token").click()
    page.get_by_label("Bootstrap token").fill(token)
    page.get_by_role("button", name="Renew", exact=True).click()
    page.get_by_role("dialog").wait_for(state="detached")
    after = world.call("GET", f"/v1/accounts/{account_id}")["account"]["token"]["name"]
    assert after != before
    page.get_by_text(after).wait_for()

    host = page.get_by_role("combobox", name="Host")
    records = proxied_zone(zone)["dns"]
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=records[:2]))
    host.fill(f"go.{zone}")
    page.get_by_role("button", name="Set link host").click()
    page.get_by_text("AAAA", exact=True).wait_for()
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=records))
    page.get_by_role("button", name="Set link host").click()
    section = page.get_by_role("region", name="Link host")
    expect(section).to_contain_text("Active")
    expect(section).to_contain_text("Live")

    yesterday = system_clock() // DAY_MS - 1
    world.platform(lambda emulator: emulator.set_usage(customer.account_id, yesterday, rows_written=84_000))
    page.get_by_label("Cloudflare plan").select_option("Paid")
    expect(page.get_by_role("meter")).to_have_count(1)
    page.get_by_label("Cloudflare plan").select_option("Free")
    meter = page.get_by_role("meter", name="Rows written per day")
    expect(meter).to_have_attribute("aria-valuetext", "84,000 of 100,000")
    expect(page.get_by_role("region", name="Plan usage")).to_contain_text("Upgrade soon")

    _clicks(world, account_id, customer, zone)
    page.get_by_role("button", name="Show statement").click()
    row = page.get_by_role("row").filter(has_text="/hello")
    ledger = world.call("GET", f"/v1/accounts/{account_id}/ledger")["ledger"]
    assert [target["accepted"] for target in ledger["targets"]] == [{"views": 2, "bots": 1}]
    expect(row.get_by_role("cell").first).to_have_text(re.compile("^2.*bots: 1"))
    expect(row).to_contain_text("yes")
    page.get_by_text("All numbers match.").wait_for()

    page.get_by_role("button", name="Check now").click()
    page.get_by_text("Everything is in order.").wait_for()
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=[]))
    page.get_by_role("button", name="Check now").click()
    finding = page.get_by_role("region", name="Health check").get_by_role("listitem")
    expect(finding.first).to_contain_text("needs attention")

    page.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    page.get_by_role("heading", level=1, name="Disconnected: <b>Daily</b> news").wait_for()
    page.get_by_text(after).wait_for()
    assert world.account(customer) is None
    page.get_by_role("button", name="Back to accounts").click()
    page.get_by_role("heading", level=1, name="Accounts", exact=True).wait_for()
    expect(page.get_by_role("link", name="<b>Daily</b> news")).to_have_count(0)


def test_breakdown_retention_is_changed_and_suggested_until_minimum(page, world, customer):
    """Use only the keyboard. If a number is out of range, its field shows an error."""
    account_id = world.connected(customer)
    world.platform(lambda emulator: emulator.set_usage(customer.account_id, size=450_000_000))
    page.goto(f"{world.place.url}/accounts/{account_id}")
    for plan, meters in (("Paid", 1), ("Free", 4)):  # each change of the plan recomputes the advice
        page.get_by_label("Cloudflare plan").select_option(plan)
        expect(page.get_by_role("meter")).to_have_count(meters)
    section = page.get_by_role("region", name="Plan usage")
    fewer = section.get_by_role("button", name="Keep fewer days")
    expect(section).to_contain_text("35 days")

    fewer.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Change breakdown retention")
    field = dialog.get_by_label("Breakdown retention")
    expect(field).to_be_focused()
    expect(field).to_have_value("35")
    for wrong, said in (("13", "Enter 14 or more."), ("36", "Enter 35 or less."), ("", "Enter 14 or more.")):
        field.fill(wrong)
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text(said)
        expect(field).to_be_focused()
    field.fill("20")
    page.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    expect(section).to_contain_text("20 days")
    expect(fewer).to_be_focused()

    section.get_by_role("button", name="Change retention").click()
    field.fill("14")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    expect(section).to_contain_text("20 days")
    section.get_by_role("button", name="Change retention").click()
    expect(field).to_have_value("20")
    field.fill("14")
    dialog.get_by_role("button", name="Save").click()
    expect(section).to_contain_text("14 days")
    expect(fewer).to_have_count(0)
    found = world.account(customer)
    assert found is not None
    assert (found["days_kept"], found["advice"]["suggest"], found["advice"]["level"]) == (14, None, "over")


def _clicks(world: World, account_id: str, customer: Customer, zone: str) -> None:
    """Create a link and click it: twice as a person, once as a bot."""
    body = {"account_id": account_id, "code": "hello", "url": f"https://{zone}/landing"}
    link = world.call("POST", "/v1/links", body)["link"]["id"]

    async def live() -> bool | None:
        return world.call("GET", f"/v1/links/{link}")["link"]["config"] == "synced" or None

    async def click(emulator: Emulator) -> None:
        await eventually(live)
        await emulator.cron(customer.account_id, SCRIPT_NAME)
        for ip in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            agent = "curl/8.14.1" if ip.endswith("3") else DESKTOP_CHROME.user_agent
            await emulator.visit(f"go.{zone}", "/hello", headers={"user-agent": agent}, ip=ip)
        await emulator.settled()

    world.platform(click)
