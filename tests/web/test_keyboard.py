"""Tests of keyboard operation: everything works without a pointer, and the focus is always visible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.browser import HEIGHT, Held, close, new_context, sign_in
from tests.web.places import PASSWORD
from tests.web.world import LINK_OWNER, World, sign_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place
    from tests.web.world import LinkHost

EVE = "eve@example.com"
# The maximum number of Tab presses needed to get from the top of a page to its end.
MAX_TABS = 60
# The number of polls is high, because the machine may be busy with other tests.
MAX_POLLS, POLL_EVERY_MS = 200, 50
# Returns a problem with the focus, or "". A heading that a script has focused needs no outline.
FOCUS = """() => {
  const has = document.activeElement, box = has.getBoundingClientRect(), { outlineStyle } = getComputedStyle(has);
  if (has === document.body) return "nothing has the focus";
  if (has.tabIndex >= 0 && outlineStyle === "none") return `${has.outerHTML.slice(0, 80)} does not show its focus`;
  if (box.bottom <= 0 || box.top >= innerHeight) return `${has.outerHTML.slice(0, 80)} is out of sight`;
  const over = document.elementFromPoint(box.left + box.width / 2, Math.min(innerHeight - 1, box.top + box.height / 2));
  if (!over || !(has.contains(over) || over.contains(has))) return `${has.outerHTML.slice(0, 80)} is covered`;
  return "";
}"""


class Keyboard:
    """A page that is operated only with the keyboard."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        """Press these keys, and check the focus after the last one."""
        for key in keys:
            self.page.keyboard.press(key)
        self.focused(f"after {' '.join(keys)}")

    def focused(self, when: str) -> None:
        """Wait until an element has the focus and shows it. Raises AssertionError if this does not happen."""
        wrong = ""
        for _ in range(MAX_POLLS):
            wrong = self.page.evaluate(FOCUS)
            if wrong == "":
                return
            self.page.wait_for_timeout(POLL_EVERY_MS)
        raise AssertionError(f"{when}: {wrong}")

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def to(self, target: Locator, key: str = "Tab") -> None:
        """Move the focus to `target` by pressing `key`, and check the focus after each step."""
        wanted = target.element_handle()
        for _ in range(MAX_TABS):
            if self.page.evaluate("(wanted) => document.activeElement === wanted", wanted):
                return
            self.press(key)
        raise AssertionError(f"{target} cannot be reached")

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", level=1, name=name, exact=True)

    def arrived(self, heading: str) -> None:
        """Wait until this heading is on the page and has the focus."""
        expect(self.heading(heading)).to_be_focused()

    def opened(self, heading: str) -> None:
        """Wait until the browser itself has loaded a page with this heading. In this case, the heading does not get the
        focus.
        """
        self.heading(heading).wait_for()
        assert self.page.evaluate("document.activeElement === document.body")

    def field(self, label: str) -> Locator:
        return self.page.get_by_label(label, exact=True)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)


@pytest.fixture(scope="session")
def eve(furnished: Place) -> World:
    """Access to the service as a user without data."""
    sign_up(furnished, EVE)
    return World(furnished, EVE)


@pytest.fixture
def keys(browser: Browser) -> Iterator[Keyboard]:
    context = new_context(browser)
    yield Keyboard(context.new_page())
    close(context)


def test_sign_in_to_report_and_sign_out_by_keyboard(keys: Keyboard, eve: World, customer: Customer, zone: str) -> None:
    page = keys.page
    page.goto(f"{eve.place.url}/sign-in")
    keys.opened("Sign in")
    keys.to(keys.field("Email"))
    keys.type(EVE)
    keys.to(keys.field("Password"))
    keys.type(PASSWORD)
    keys.press("Enter")
    keys.arrived("Overview")

    keys.press("g", "a", "n")
    keys.arrived("Connect an account")
    keys.to(keys.field("Account ID"))
    keys.type(customer.account_id)
    keys.to(page.get_by_label("Database location"))
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.to(keys.field("Bootstrap token"))
    keys.type("cfat_not_a_token")
    keys.press("Enter")
    page.get_by_role("alert").get_by_text("rejected the bootstrap token").wait_for()
    keys.press("ControlOrMeta+a")
    keys.type(customer.bootstrap_token)
    keys.press("Enter")
    keys.arrived("Customer")
    page.get_by_role("main").get_by_text(re.compile("Ready$")).first.wait_for()
    [account] = eve.call("GET", "/v1/accounts")["accounts"]
    assert account["location"] == "enam"
    keys.to(page.get_by_role("combobox", name="Host"))
    keys.type(f"go.{zone}")
    keys.to(keys.button("Set link host"))
    keys.press("Enter")
    page.get_by_role("region", name="Link host").get_by_text(re.compile("Live$")).wait_for()
    keys.focused("when the link host is set")
    keys.press("g", "s")
    keys.arrived("Sites")
    keys.press("n")
    keys.arrived("Add site")
    keys.to(keys.field("Host"))
    keys.type(zone)
    keys.press("Enter")
    keys.arrived(zone)
    [site] = eve.call("GET", "/v1/sites")["sites"]
    eve.seen(customer, site, "/shoes\n")
    keys.press("g", "s")
    keys.arrived("Sites")
    page.get_by_role("link", name=zone).wait_for()
    keys.press("j")
    expect(page.get_by_role("link", name=zone, exact=True)).to_be_focused()
    keys.press("Enter")
    keys.arrived(zone)
    read_the_report(keys)
    make_a_link(keys, zone)

    keys.to(keys.button(EVE), "Shift+Tab")
    keys.press("Enter")
    keys.to(keys.button("Sign out"))
    keys.press("Enter")
    keys.arrived("Sign in")


def read_the_report(keys: Keyboard) -> None:
    """Change the period by link and by shortcut. Read the chart point by point, and read the table."""
    page = keys.page
    page.get_by_role("navigation", name="Period").wait_for()
    # reload the report, because it does not reload automatically if it was loaded just before the Worker's push
    keys.press("r")
    chart = page.get_by_role("slider", name="Views")
    chart.wait_for()
    keys.to(page.get_by_role("link", name="30 days"))
    keys.press("Enter")
    page.wait_for_url("**period=30d")
    keys.to(page.get_by_role("button", name="Previous period"))
    keys.press("Space")
    expect(page.get_by_role("button", name="Previous period")).to_have_attribute("aria-pressed", "false")
    keys.press("w")
    page.wait_for_url("**period=7d**")
    expect(page.get_by_role("button", name="Previous period")).to_be_focused()
    keys.to(chart)
    keys.press("End")
    last = chart.get_attribute("aria-valuetext")
    keys.press("ArrowLeft")
    expect(chart).not_to_have_attribute("aria-valuetext", last)
    yesterday = chart.get_attribute("aria-valuetext")
    keys.press("t")
    expect(chart).to_have_attribute("aria-valuemax", "29")
    expect(chart).to_have_attribute("aria-valuenow", "28")
    expect(chart).to_have_attribute("aria-valuetext", yesterday)
    keys.press("w")
    expect(chart).to_have_attribute("aria-valuemax", "6")
    expect(chart).to_have_attribute("aria-valuenow", "5")
    expect(chart).to_have_attribute("aria-valuetext", yesterday)
    keys.to(page.locator("summary", has_text="Show as table"))
    keys.press("Enter")
    expect(page.get_by_role("columnheader", name="Views")).to_be_visible()
    assert page.get_by_role("row").count() == 8


def make_a_link(keys: Keyboard, zone: str) -> None:
    page = keys.page
    keys.press("g", "l")
    keys.arrived("Links")
    keys.press("n")
    keys.arrived("New link")
    keys.to(keys.field("Destination"))
    keys.type(f"https://{zone}/shoes")
    keys.to(page.get_by_label("Code"))
    keys.type("shoes")
    keys.press("Enter")
    keys.arrived(f"go.{zone}/shoes")
    keys.press("q")
    page.get_by_role("dialog").wait_for()
    keys.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_first_tab_after_loading_a_page_reaches_the_skip_link(keys: Keyboard, furnished: Place) -> None:
    """When the browser loads a page, the focus is at its start. Only a navigation inside the application moves it to
    the heading.
    """
    page = keys.page
    page.goto(f"{furnished.url}/reference")
    keys.opened("API reference")
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    # Without a session, this page redirects to the sign-in form, whose first field gets the focus.
    page.goto(f"{furnished.url}/links")
    expect(keys.field("Email")).to_be_focused()
    sign_in(page.context, furnished)
    page.goto(f"{furnished.url}/links")
    keys.opened("Links")
    keys.press("g", "s")
    keys.arrived("Sites")


def test_shortcuts_are_listed_and_inactive_in_fields_or_when_off(keys: Keyboard, furnished: Place) -> None:
    page = keys.page
    sign_in(page.context, furnished)
    page.goto(f"{furnished.url}/links/new")
    keys.opened("New link")
    keys.press("?")
    listed = page.get_by_role("dialog", name="Keyboard shortcuts")
    listed.wait_for()
    shown = listed.get_by_role("term").all_inner_texts()
    assert {"?", "g then o", "g then a", "g then s", "g then l", "g then k", "g then p", "g then r"} <= set(shown)
    assert listed.get_by_role("heading", level=3).all_inner_texts() == ["Everywhere"]
    keys.press("g", "o")  # shortcuts have no effect in a dialog
    expect(listed).to_be_visible()
    keys.press("Escape")
    listed.wait_for(state="detached")
    keys.arrived("New link")

    keys.to(keys.field("Destination"))
    keys.type("g o?n/dwtx")
    expect(keys.field("Destination")).to_have_value("g o?n/dwtx")
    assert page.get_by_role("dialog").count() == 0
    assert page.url.endswith("/links/new")

    page.goto(f"{furnished.url}/profile")
    keys.opened("Profile")
    choice = keys.field("Keyboard shortcuts")
    keys.to(choice)
    keys.press("ArrowDown")
    expect(choice).to_have_value("off")
    keys.to(page.get_by_role("switch"), "Shift+Tab")
    keys.press("?")
    keys.press("g", "k")
    keys.to(choice)
    assert page.get_by_role("dialog").count() == 0
    assert page.url.endswith("/profile")
    keys.press("ArrowUp")
    expect(choice).to_have_value("on")
    keys.to(page.get_by_role("switch"), "Shift+Tab")
    keys.press("g", "k")
    keys.arrived("API keys")


def test_schedule_and_variants_by_keyboard_alone(keys: Keyboard, link_host: LinkHost) -> None:
    """The browser's time zone is Asia/Tehran (UTC+3:30)."""
    page = keys.page
    sign_in(page.context, link_host.place, LINK_OWNER)
    page.goto(f"{link_host.place.url}/links/new")
    keys.opened("New link")
    keys.to(keys.field("Destination"))
    keys.type("shop.example/by-keyboard")
    keys.to(page.get_by_label("Code"))
    keys.type("by-keyboard")
    keys.to(page.locator("summary", has_text="A/B test"))
    keys.press("Space")
    keys.to(keys.button("Add A/B test"))
    keys.press("Enter")
    variants = [page.get_by_role("group", name=f"Variant {letter}", exact=True) for letter in "ABC"]
    expect(variants[1].get_by_label("goes to")).to_be_focused()
    keys.type("shop.example/b")
    keys.to(keys.button("Add variant"))
    keys.press("Enter")
    expect(variants[2].get_by_label("goes to")).to_be_focused()
    keys.type("shop.example/c")
    keys.to(variants[2].get_by_role("slider"))
    keys.press("ArrowLeft")
    keys.to(keys.button("Add variant"))
    keys.press("Space")
    keys.to(keys.button("Remove variant D"))
    keys.press("Enter")
    expect(page.get_by_role("group", name=re.compile("^Variant"))).to_have_count(3)
    keys.focused("after the variant is removed")
    keys.to(page.locator("summary", has_text="Schedule"))
    keys.press("Enter")
    keys.to(keys.field("Start (optional)"))
    keys.type("120120991230PM")
    expect(keys.field("Start (optional)")).to_have_value("2099-12-01T12:30")
    keys.to(keys.field("End (optional)"))
    keys.type("122420990930PM")
    expect(keys.field("End (optional)")).to_have_value("2099-12-24T21:30")
    keys.to(page.get_by_label("Destination before the start and after the end"))
    keys.type("shop.example/soon")
    keys.to(keys.button("Create link"))
    keys.press("Enter")
    keys.arrived(f"{link_host.host}/by-keyboard")
    link = link_host.find("by-keyboard")
    assert [link[name] for name in ("starts_at", "ends_at", "after_url")] == [
        "2099-12-01T09:00:00.000Z",
        "2099-12-24T18:00:00.000Z",
        "https://shop.example/soon",
    ]
    assert [each["url"] for each in link["split"]] == [
        f"https://shop.example/{name}" for name in ("by-keyboard", "b", "c")
    ]
    assert sum(each["share"] for each in link["split"]) == 100


def test_key_pressed_while_page_code_loads_is_handled_later(keys: Keyboard, furnished: Place) -> None:
    page = keys.page
    sign_in(page.context, furnished)
    code = Held(page, "**/rest-*.js")
    with page.expect_request("**/rest-*.js"):
        page.goto(furnished.url)
        keys.opened("Overview")
        page.keyboard.press("g")
        page.keyboard.press("l")
    page.wait_for_url("**/links")
    page.keyboard.press("n")
    code.release()
    keys.arrived("New link")


def test_key_pressed_while_page_data_loads_is_handled_later(keys: Keyboard, furnished: Place) -> None:
    link = open_while_loading(keys, furnished)
    keys.page.keyboard.press("q")
    link.release()
    keys.page.get_by_role("dialog").wait_for()


@pytest.mark.parametrize("other", ["key", "click"])
def test_key_pressed_while_page_loads_is_dropped_by_next_input(keys: Keyboard, furnished: Place, other: str) -> None:
    link, page = open_while_loading(keys, furnished), keys.page
    page.keyboard.press("q")
    if other == "key":
        page.keyboard.press("Shift")
    else:
        page.mouse.click(1, HEIGHT - 1)
    link.release()
    page.get_by_role("button", name="QR code").wait_for()
    assert page.get_by_role("dialog").count() == 0


def open_while_loading(keys: Keyboard, furnished: Place) -> Held:
    """Open the link's page, and hold the request for its data. Return the object that releases the request."""
    sign_in(keys.page.context, furnished)
    response = f"**/v1/links/{furnished.ids['links']}"
    held = Held(keys.page, response)
    with keys.page.expect_request(response):
        keys.page.goto(f"{furnished.url}/links/{furnished.ids['links']}")
    keys.opened("Link")
    return held
