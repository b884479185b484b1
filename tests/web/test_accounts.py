"""Tests of accounts in the browser, with the emulated platform."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.visitors import DESKTOP_CHROME
from svc.clock import DAY_MS, system_clock
from svc.security.token_page import TOKEN_PAGE
from svc.worker.bundle import SCRIPT_NAME

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from edge_worker.emulator.client import Customer, Emulator
    from tests.web.world import World


# Adds content above the sections of the page, as if it loaded later.
MORE_ABOVE = """() => {
    const block = document.createElement("div");
    block.style.height = "5000px";
    document.querySelector("main").prepend(block);
}"""


def state(tab: Page, word: str) -> None:
    """Wait until the head of the page shows this status."""
    expect(tab.locator(".page-head .mark")).to_have_text(re.compile(word))


def alert(tab: Page) -> Locator:
    return tab.get_by_role("alert")


def choose(tab: Page, action: str) -> None:
    """Choose one of the actions in the account's menu."""
    tab.get_by_role("button", name="More actions").click()
    tab.get_by_role("menuitem", name=action).click()


def open_details(tab: Page) -> None:
    tab.get_by_role("heading", name="Details", exact=True).click()


def test_connect_account_and_resolve_failed_install(tab, world, customer):
    """The user first enters a token of the wrong kind. Later, the install waits for the platform, and then finds no
    free cron trigger.
    """
    tab.goto(f"{world.place.url}/accounts")
    tab.get_by_role("link", name="Connect an account").wait_for()
    tab.keyboard.press("n")
    form = tab.get_by_role("link", name="Open Cloudflare's form")
    expect(form).to_have_attribute("href", TOKEN_PAGE)  # without an account id, so Cloudflare asks for the account
    expect(form).to_have_attribute("rel", "noopener noreferrer")

    account, token = tab.get_by_label("Account ID"), tab.get_by_label("Bootstrap token")
    account.fill(f"https://dash.cloudflare.com/{customer.account_id.upper()}/workers-and-pages")
    expect(account).to_have_value(customer.account_id)
    expect(form).to_have_attribute("href", TOKEN_PAGE.replace(":account", customer.account_id))
    token.fill("cfut_0123")
    tab.get_by_text("This is a user token").wait_for()
    # The creation of the account's database fails until the fault is cleared. After that, the install fails because no
    # cron trigger is free.
    databases = f"/accounts/{customer.account_id}/d1/database"
    world.platform(lambda emulator: emulator.fault("refuse", databases, method="POST", status=503, times=None))
    world.platform(lambda emulator: emulator.set_limits(customer.account_id, crons=0))
    token.fill(customer.bootstrap_token)
    tab.get_by_role("button", name="Connect", exact=True).click()
    tab.get_by_role("heading", level=1, name="Customer").wait_for()
    assert tab.evaluate("document.documentElement.outerHTML").find(customer.bootstrap_token) < 0

    step = tab.locator("[aria-current=step]")
    expect(step).to_contain_text("Database")
    tab.reload()
    expect(step).to_contain_text("Database")
    state(tab, "Installing")
    world.platform(lambda emulator: emulator.clear_faults())
    state(tab, "Not installed")
    expect(alert(tab)).to_contain_text("cron_limit")
    world.platform(lambda emulator: emulator.set_limits(customer.account_id, crons=5))
    alert(tab).get_by_role("button", name="Reinstall").click()
    state(tab, "Ready")
    expect(alert(tab)).to_have_count(0)
    progress = tab.locator(".underway")
    expect(progress.get_by_role("heading")).to_have_text("Waiting for the Worker's first report")
    expect(step).to_contain_text("First report")
    next_step = tab.get_by_role("main").get_by_role("link", name="Add site")
    next_step.click()
    expect(tab.get_by_label("Account", exact=True)).to_have_value(tab.url.partition("account_id=")[2])
    options = tab.get_by_label("Account", exact=True).locator("option")
    offered = options.evaluate_all("(all) => all.map((one) => one.value)")
    found = world.account(customer)
    assert found is not None
    assert sorted(offered) == sorted(account["id"] for account in world.call("GET", "/v1/accounts")["accounts"])
    assert tab.url.endswith(f"/sites/new?account_id={found['id']}")
    assert found["state"] == "ready"
    world.call("DELETE", f"/v1/accounts/{found['id']}", {})


def test_site_shows_missing_dns_and_link_host_replaces_website(tab, world, customer, zone):
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    state(tab, "Ready")
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, status="pending", dns=[]))
    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    tab.goto(f"{world.place.url}/sites/{site['id']}")
    tab.get_by_text(f"Zone {zone}, status: pending").wait_for()
    tab.get_by_text("A, AAAA or CNAME", exact=True).wait_for()
    tab.goto(f"{world.place.url}/sites")
    expect(tab.get_by_role("row").filter(has_text=zone)).to_contain_text("Zone not active")

    world.platform(lambda emulator: emulator.set_zone(customer.account_id, **proxied_zone(zone)))
    world.call("POST", f"/v1/accounts/{account_id}/check", {})
    tab.goto(f"{world.place.url}/sites/{site['id']}")
    tab.get_by_role("heading", name="Snippet").wait_for()
    expect(tab.get_by_text("zone_not_active")).to_have_count(0)

    tab.goto(f"{world.place.url}/accounts/{account_id}")
    tab.get_by_role("combobox", name="Host").fill(f"www.{zone}")
    tab.get_by_role("button", name="Set link host").click()
    tab.get_by_role("checkbox", name="Replace the website").check()
    tab.get_by_role("button", name="Set link host").click()
    expect(tab.get_by_role("region", name="Link host")).to_contain_text("Active")


def test_rename_renew_check_and_disconnect_account(tab, world, customer, zone):
    """Also set a link host that has no DNS record at first, and check the plan usage and the statement of counts."""
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    state(tab, "Ready")
    tab.keyboard.press("e")
    tab.get_by_role("textbox", name="Name").fill("<b>Daily</b> news")
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", level=1, name="<b>Daily</b> news", exact=True).wait_for()

    before = world.call("GET", f"/v1/accounts/{account_id}")["account"]["token"]["name"]
    open_details(tab)
    tab.get_by_text(before).wait_for()
    token = world.platform(
        lambda emulator: emulator.create_token(
            customer.account_id, rights=["Account Settings Read", "Account API Tokens Write"]
        )
    )[1]
    choose(tab, "Renew token")
    tab.get_by_label("Bootstrap token").fill(token)
    tab.get_by_role("button", name="Renew", exact=True).click()
    tab.get_by_role("dialog").wait_for(state="detached")
    after = world.call("GET", f"/v1/accounts/{account_id}")["account"]["token"]["name"]
    assert after != before
    tab.get_by_text(after).wait_for()

    host = tab.get_by_role("combobox", name="Host")
    records = proxied_zone(zone)["dns"]
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=records[:2]))
    host.fill(f"go.{zone}")
    tab.get_by_role("button", name="Set link host").click()
    tab.get_by_text("AAAA", exact=True).wait_for()
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=records))
    tab.get_by_role("button", name="Set link host").click()
    section = tab.get_by_role("region", name="Link host")
    expect(section).to_contain_text("Active")
    expect(section).to_contain_text("Live")

    yesterday = system_clock() // DAY_MS - 1
    world.platform(lambda emulator: emulator.set_usage(customer.account_id, yesterday, rows_written=84_000))
    tab.get_by_label("Cloudflare plan").select_option("Paid")
    expect(tab.get_by_role("meter")).to_have_count(1)
    tab.get_by_label("Cloudflare plan").select_option("Free")
    meter = tab.get_by_role("meter", name="Rows written per day")
    expect(meter).to_have_attribute("aria-valuetext", "84,000 of 100,000")
    expect(tab.get_by_role("region", name="Plan usage")).to_contain_text("Upgrade soon")

    _clicks(world, account_id, customer, zone)
    tab.get_by_role("button", name="Show statement").click()
    row = tab.get_by_role("row").filter(has_text="/hello")
    ledger = world.call("GET", f"/v1/accounts/{account_id}/ledger")["ledger"]
    assert [target["accepted"] for target in ledger["targets"]] == [{"views": 2, "bots": 1}]
    expect(row.get_by_role("cell").first).to_have_text(re.compile("^2.*bots: 1"))
    expect(row).to_contain_text("yes")
    tab.get_by_text("All numbers match.").wait_for()

    tab.get_by_role("button", name="Check now").click()
    tab.get_by_text("No problems found.").wait_for()
    world.platform(lambda emulator: emulator.set_zone(customer.account_id, zone, dns=[]))
    tab.get_by_role("button", name="Check now").click()
    finding = tab.get_by_role("region", name="Health check").get_by_role("listitem")
    expect(finding.first).to_contain_text("needs attention")

    choose(tab, "Disconnect")
    dialog = tab.get_by_role("dialog", name="Disconnect <b>Daily</b> news")
    name = dialog.get_by_label("To confirm, type <b>Daily</b> news")
    expect(name).to_be_focused()
    tab.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Type <b>Daily</b> news exactly as shown.")
    expect(name).to_be_focused()
    name.fill("<b>daily</b> news")
    tab.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert world.account(customer) is not None
    name.fill(" <b>Daily</b> news")
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", level=1, name="Disconnected: <b>Daily</b> news").wait_for()
    tab.get_by_text("Only the working token remains").wait_for()
    tab.get_by_text(after).wait_for()
    expect(tab.get_by_role("link", name="Show deleted sites")).to_have_attribute("href", "/sites?state=deleted")
    expect(tab.get_by_role("link", name="Show deleted links")).to_have_attribute("href", "/links?state=deleted")
    assert world.account(customer) is None
    tab.get_by_role("button", name="Back to accounts").click()
    tab.get_by_role("heading", level=1, name="Accounts", exact=True).wait_for()
    expect(tab.get_by_role("link", name="<b>Daily</b> news")).to_have_count(0)


def test_status_usage_and_link_host_come_before_details_that_urls_open(tab: Page, world, furnished):
    """The menu is operated with the keyboard."""
    url = furnished.at("/accounts/:id")
    tab.goto(url)
    state(tab, "Ready")
    head = tab.locator(".page-head")
    expect(head).to_contain_text(re.compile("Last report"))
    expect(head.get_by_role("link", name=re.compile(r"^\d+ links?$"))).to_be_visible()
    expect(head.get_by_role("link", name=re.compile(r"^\d+ sites?$"))).to_be_visible()
    tab.get_by_role("heading", name="Plan usage").wait_for()
    expect(tab.locator("main h2:visible")).to_have_text(["Plan usage", "Link host", "Details"])

    for end, section in (
        ("#check", "Health check"),
        ("?day=2026-11-01", "Statement of counts"),
        ("#ledger", "Statement of counts"),
    ):
        tab.goto("about:blank")
        tab.goto(url + end)
        expect(tab.get_by_role("region", name=section)).to_be_in_viewport()
    assert tab.get_by_role("region", name="Health check").is_visible()
    tab.goto("about:blank")
    tab.goto(url)

    menu = tab.get_by_role("button", name="More actions")
    menu.focus()
    tab.keyboard.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    items = tab.get_by_role("menuitem")
    expect(items).to_have_text(["Reinstall", "Renew token", "Disconnect"])
    for key, at in ((None, 0), ("ArrowDown", 1), ("End", 2), ("ArrowDown", 0), ("ArrowUp", 2), ("Home", 0)):
        if key:
            tab.keyboard.press(key)
        expect(items.nth(at)).to_be_focused()
    tab.keyboard.press("Escape")
    expect(items.first).to_be_hidden()
    expect(menu).to_be_focused()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.get_by_role("dialog", name=re.compile("^Renew the token for")).wait_for()
    tab.keyboard.press("Escape")
    expect(menu).to_be_focused()


def test_section_that_the_url_names_stays_in_view_until_the_user_types(tab: Page, furnished):
    tab.set_viewport_size(
        {"width": 1180, "height": 4_000}
    )  # the window shows the whole page, so browsers do not keep the scroll position
    tab.goto(f"{furnished.at('/accounts/:id')}#ledger")
    ledger = tab.get_by_role("region", name="Statement of counts")
    expect(ledger).to_be_in_viewport()
    tab.evaluate(MORE_ABOVE)
    expect(ledger).to_be_in_viewport()
    tab.keyboard.press("Home")
    tab.evaluate(MORE_ABOVE)
    expect(ledger).not_to_be_in_viewport()


def test_account_without_sites_and_links_is_disconnected_without_its_name(tab, world, customer):
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    state(tab, "Ready")
    tab.get_by_role("link", name="0 links").wait_for()
    tab.get_by_role("link", name="0 sites").wait_for()
    choose(tab, "Disconnect")
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_role("textbox")).to_have_count(0)
    dialog.get_by_role("button", name="Disconnect").click()
    tab.get_by_role("heading", level=1, name="Disconnected: Customer").wait_for()


def test_link_host_with_links_is_replaced_only_after_typing_its_name(tab, world, customer, zone):
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    state(tab, "Ready")
    world.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    tab.reload()
    section = tab.get_by_role("region", name="Link host")
    tab.get_by_role("link", name="0 links").wait_for()
    section.get_by_role("button", name="Change", exact=True).click()
    dialog = tab.get_by_role("dialog", name=f"Replace go.{zone}?")
    expect(dialog.get_by_role("textbox")).to_have_count(0)
    tab.keyboard.press("Escape")
    world.call("POST", "/v1/links", {"account_id": account_id, "url": f"https://{zone}/"})
    tab.reload()
    tab.get_by_role("link", name="1 link", exact=True).wait_for()
    section.get_by_role("button", name="Change", exact=True).click()
    dialog.get_by_role("combobox", name="Host").fill(f"to.{zone}")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text(f"Type go.{zone} exactly as shown.")
    dialog.get_by_label(f"To confirm, type go.{zone}").fill(f"go.{zone}")
    tab.keyboard.press("Enter")
    expect(section).to_contain_text(f"to.{zone}")
    world.call("DELETE", f"/v1/accounts/{account_id}", {})


def test_breakdown_retention_is_changed_and_suggested_until_minimum(tab, world, customer):
    """Use only the keyboard. If a number is out of range, its field shows an error."""
    account_id = world.connected(customer)
    world.platform(lambda emulator: emulator.set_usage(customer.account_id, size=450_000_000))
    tab.goto(f"{world.place.url}/accounts/{account_id}")
    for plan, meters in (("Paid", 1), ("Free", 4)):  # each change of the plan recomputes the advice
        tab.get_by_label("Cloudflare plan").select_option(plan)
        expect(tab.get_by_role("meter")).to_have_count(meters)
    open_details(tab)
    section = tab.get_by_role("region", name="Breakdown retention")
    fewer = tab.get_by_role("region", name="Plan usage").get_by_role("button", name="Keep fewer days")
    expect(section).to_contain_text("35 days")

    fewer.focus()
    tab.keyboard.press("Enter")
    dialog = tab.get_by_role("dialog", name="Change breakdown retention")
    field = dialog.get_by_label("Days", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_value("35")
    for wrong, said in (("13", "Enter 14 or more."), ("36", "Enter 35 or less."), ("", "Enter 14 or more.")):
        field.fill(wrong)
        tab.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text(said)
        expect(field).to_be_focused()
    field.fill("20")
    tab.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    expect(section).to_contain_text("20 days")
    expect(fewer).to_be_focused()

    section.get_by_role("button", name="Change retention").click()
    field.fill("14")
    tab.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    expect(section).to_contain_text("20 days")
    section.get_by_role("button", name="Change retention").click()
    expect(field).to_have_value("20")
    field.fill("14")
    dialog.get_by_role("button", name="Save").click()
    expect(section).to_contain_text("14 days; monthly sums permanently")
    expect(fewer).to_have_count(0)
    found = world.account(customer)
    assert found is not None
    assert (found["days_kept"], found["advice"]["suggest"], found["advice"]["level"]) == (14, None, "over")


def test_number_of_kept_months_is_changed_and_removed(tab, world, customer):
    account_id = world.connected(customer)
    tab.goto(f"{world.place.url}/accounts/{account_id}#retention")
    section = tab.get_by_role("region", name="Breakdown retention")
    expect(section).to_contain_text("35 days; monthly sums permanently")
    change = section.get_by_role("button", name="Change retention")
    change.click()
    dialog = tab.get_by_role("dialog", name="Change breakdown retention")
    field = dialog.get_by_label("Months before the current month")
    expect(field).to_have_value("")
    for wrong, said in (("5", "Enter 6 or more."), ("1201", "Enter 1200 or less.")):
        field.fill(wrong)
        tab.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text(said)
        expect(field).to_be_focused()
    field.fill("24")
    tab.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    expect(section).to_contain_text("35 days; monthly sums for 24 months")
    found = world.account(customer)
    assert found is not None
    assert (found["days_kept"], found["months_kept"]) == (35, 24)
    change.click()
    expect(field).to_have_value("24")
    field.fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(section).to_contain_text("35 days; monthly sums permanently")
    found = world.account(customer)
    assert found is not None
    assert found["months_kept"] == "forever"


def _clicks(world: World, account_id: str, customer: Customer, zone: str) -> None:
    """Create a link and click it: twice as a person, once as a bot."""
    body = {"account_id": account_id, "code": "hello", "url": f"https://{zone}/landing"}
    link = world.call("POST", "/v1/links", body)["link"]["id"]

    async def click(emulator: Emulator) -> None:
        await world.synced(f"/v1/links/{link}")
        await emulator.cron(customer.account_id, SCRIPT_NAME)
        for ip in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            agent = "curl/8.14.1" if ip.endswith("3") else DESKTOP_CHROME.user_agent
            await emulator.visit(f"go.{zone}", "/hello", headers={"user-agent": agent}, ip=ip)
        await emulator.settled()

    world.platform(click)
