"""Tests of the pages for signed-out users: from the sign-up to the first sign-in."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import trio
from playwright.sync_api import expect

from edge_worker.harness.service import Service, environment
from edge_worker.local_http import local_client
from tests.web.browser import close, new_context
from tests.web.places import PASSWORD, ROOT, open_without_users
from tests.web.visit import Visit

if TYPE_CHECKING:
    from pathlib import Path

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
    """The confirmation link opens in another tab of the same browser, which has stored the address. Another browser
    does not know the address.
    """
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
    visit.axe("with the confirmed address")
    tab.get_by_role("link", name="Continue").click()
    expect(tab.get_by_label("Email")).to_have_value(EVE)
    expect(tab.get_by_label("Password", exact=True)).to_be_focused()
    visit.axe("with the address filled in")

    other = new_context(browser)
    shows_empty_form(other.new_page(), place)
    close(other)

    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", level=1, name="Overview").wait_for()
    assert tab.evaluate("localStorage.getItem('sign-up')") is None
    assert visit.found == []
    close(context)


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
    visit.axe("with the example report")
    assert visit.found == []
    close(context)


CONTACT = "help@acme.example"


def invitation(place: Place, address: str) -> str:
    """Return the path of the link that the operator's command prints."""
    settings = {"SVC_AUTH_SIGN_UP": "invite", "SVC_HTTP_BASE_URL": place.url, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        [sys.executable, "-m", "svc", "user", "invite", address, "--print"],
        cwd=place.folder, env=environment(place.folder, settings), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert printed.startswith(f"{place.url}/sign-up?invitation=")
    return printed.split()[0].removeprefix(place.url)


@pytest.mark.parametrize(
    ("mode", "why"), [("invite", "Sign-up requires an invitation."), ("closed", "Sign-up is closed.")]
)
def test_restricted_sign_up_shows_the_contact_instead_of_a_form(
    browser: Browser, tmp_path: Path, mode: str, why: str
) -> None:
    with open_without_users(tmp_path / "svc", {"SVC_AUTH_SIGN_UP": mode, "SVC_WEB_CONTACT": CONTACT}) as place:
        context = new_context(browser)
        visit = Visit(context.new_page(), place.url)
        visit.open("/sign-up", f"{place.url}/sign-up")
        main = visit.page.get_by_role("main")
        expect(main.get_by_text(why)).to_be_visible()
        expect(main.get_by_role("link", name=CONTACT)).to_have_attribute("href", "mailto:help%40acme.example")
        expect(visit.page.get_by_role("textbox")).to_have_count(0)
        assert visit.found == []
        close(context)


def test_invited_person_signs_up_and_is_signed_in(browser: Browser, tmp_path: Path) -> None:
    with open_without_users(tmp_path / "svc", {"SVC_AUTH_SIGN_UP": "invite", "SVC_WEB_CONTACT": CONTACT}) as place:
        link = invitation(place, EVE)
        context = new_context(browser)
        visit = Visit(context.new_page(), place.url)
        visit.open("/sign-up", place.url + link)
        page = visit.page
        assert page.url == f"{place.url}/sign-up"  # the page has removed the token from the URL
        expect(page.get_by_text("The operator has invited you.")).to_be_visible()
        expect(page.get_by_label("Email")).to_have_value(EVE)
        expect(page.get_by_label("Email")).not_to_be_editable()
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign up").click()
        page.get_by_role("heading", level=1, name="Overview").wait_for()
        assert visit.found == []
        close(context)

        other = new_context(browser)
        tab = other.new_page()
        tab.goto(place.url + link)
        expect(tab.get_by_text("This invitation has expired, was revoked or has already been used.")).to_be_visible()
        expect(tab.get_by_role("main").get_by_role("link", name=CONTACT)).to_be_visible()
        expect(tab.get_by_role("textbox")).to_have_count(0)
        close(other)
