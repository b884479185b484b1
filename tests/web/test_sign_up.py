"""Tests of the pages for signed-out users: from the sign-up to the first sign-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from playwright.sync_api import expect

from edge_worker.harness.service import Service
from edge_worker.local_http import local_client
from tests.web.places import PASSWORD, new_context
from tests.web.test_every_page import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

EVE = "eve@example.com"


def mailed_token(place: Place, address: str) -> str:
    """Return the token in the newest confirmation email to the address."""

    async def wait() -> str:
        async with local_client(timeout=60) as client:
            service = Service(place.url, None, place.folder, client)  # type: ignore[arg-type]  # not stopped here
            return await service.mailed_token(address, "confirm")

    return trio.run(wait)


def shows_empty_form(page: Page, place: Place) -> None:
    page.goto(f"{place.url}/sign-in")
    expect(page.get_by_label("Email")).to_have_value("")


def test_address_is_typed_once_between_sign_up_and_sign_in(browser: Browser, place: Place) -> None:
    """The confirmation opens in another tab of the same browser. Another browser does not know the address."""
    context = new_context(browser)
    page = context.new_page()
    shows_empty_form(page, place)
    page.get_by_role("link", name="Create account").click()
    page.get_by_role("heading", level=1, name="Sign up").wait_for()
    expect(page.get_by_label("Email")).to_be_focused()
    page.get_by_label("Email").fill(EVE)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("heading", level=1, name="Check your inbox").wait_for()

    visit = Visit(context.new_page(), place.url)
    tab = visit.page
    tab.goto(f"{place.url}/confirm?token={mailed_token(place, EVE)}")
    tab.get_by_role("button", name="Confirm email address").click()
    tab.get_by_role("heading", level=1, name="Email address confirmed").wait_for()
    visit._axe("with the confirmed address")
    tab.get_by_role("link", name="Continue").click()
    expect(tab.get_by_label("Email")).to_have_value(EVE)
    expect(tab.get_by_label("Password", exact=True)).to_be_focused()
    visit._axe("with the address filled in")

    other = new_context(browser)
    shows_empty_form(other.new_page(), place)
    other.close()

    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", level=1, name="Overview").wait_for()
    assert tab.evaluate("localStorage.getItem('sign-up')") is None
    assert visit.found == []
    context.close()


def test_sign_in_page_says_what_the_product_is(browser: Browser, place: Place) -> None:
    context = new_context(browser)
    visit = Visit(context.new_page(), place.url)
    page = visit.page
    page.goto(f"{place.url}/sign-in")
    about = page.get_by_role("complementary", name="About svc")
    expect(about.get_by_text("svc counts page views and serves short links")).to_be_visible()
    expect(about.get_by_role("listitem")).to_have_count(3)
    example = about.get_by_role("region", name="Example shop.example")
    expect(example.locator(".totals")).to_contain_text("1,395")
    example.get_by_role("button", name="Bots").click()
    expect(example.get_by_role("button", name="Bots")).to_have_attribute("aria-pressed", "true")
    visit._axe("with the example report")
    assert visit.found == []
    context.close()
