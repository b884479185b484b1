"""Tests of the operator's name, logo and legal links on pages of the application and of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.browser import close, new_context, sign_in
from tests.web.places import open_place
from tests.web.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

# A name of the maximum length, with markup and with characters that are special in HTML.
NAME = '<img src=x onerror=alert(1)>&amp; "Sö"'
LOGO = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 32">
<style>rect { fill: #b3261e } @media (prefers-color-scheme: dark) { rect { fill: #f2b8b5 } }</style>
<rect width="64" height="32" rx="6"/></svg>
"""
LINKS = {
    "Imprint": "https://acme.example/imprint?a=1&b=2",
    "Privacy": "https://acme.example/privacy",
    "Terms": "https://acme.example/terms",
    "Contact": "mailto:help@acme.example",
}


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service whose operator has set a name, a logo, a contact address and all legal links."""
    folder = tmp_path_factory.mktemp("acme")
    (folder / "logo.svg").write_text(LOGO)
    settings = {
        "SVC_WEB_NAME": NAME,
        "SVC_WEB_LOGO": str(folder / "logo.svg"),
        "SVC_WEB_CONTACT": "help@acme.example",
        "SVC_WEB_IMPRINT_URL": LINKS["Imprint"],
        "SVC_WEB_PRIVACY_URL": LINKS["Privacy"],
        "SVC_WEB_TERMS_URL": LINKS["Terms"],
    }
    with open_place(folder / "svc", settings) as place:
        yield place


def shows_identity(page: Page) -> None:
    """Check that the page in English shows the operator's name, logo and links."""
    expect(page.locator("header .brand")).to_have_text(NAME)
    assert page.title().endswith(NAME) or page.title().endswith(f"{NAME} help")
    logo = page.locator("header .brand img")
    expect(logo).to_be_visible()
    assert logo.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert page.locator("link[rel=icon]").get_attribute("href") == logo.get_attribute("src")
    links = page.get_by_role("contentinfo").last.get_by_role("link")
    assert {each.inner_text(): each.get_attribute("href") for each in links.all()} == LINKS


@pytest.mark.parametrize(
    "path", ["/sign-in", "/sign-up", "/forgot", "/reference", "/help", "/help/use/links", "/help/x"]
)
def test_pages_for_everybody_show_the_operator(browser: Browser, acme: Place, path: str) -> None:
    context = new_context(browser)
    visit = Visit(context.new_page(), acme.url)
    visit.page.goto(acme.url + path)
    visit.page.get_by_role("heading", level=1).wait_for()
    shows_identity(visit.page)
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    close(context)


@pytest.mark.parametrize("width", [1180, 320])
def test_pages_of_a_user_show_the_operator(browser: Browser, acme: Place, width: int) -> None:
    context = new_context(browser, viewport={"width": width, "height": 844})
    sign_in(context, acme)
    visit = Visit(context.new_page(), acme.url)
    for path in ("/", "/profile"):
        visit.page.goto(acme.url + path)
        visit.page.get_by_role("heading", level=1).wait_for()
        shows_identity(visit.page)
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        visit.axe(f"{path} with the operator's identity")
    close(context)


def test_links_are_in_the_language_of_the_page(browser: Browser, acme: Place) -> None:
    context = new_context(browser, locale="de-DE")
    page = context.new_page()
    page.goto(f"{acme.url}/sign-in")
    page.get_by_role("heading", level=1, name="Anmelden").wait_for()
    links = page.get_by_role("contentinfo").get_by_role("link")
    assert [each.inner_text() for each in links.all()] == ["Impressum", "Datenschutz", "Nutzungsbedingungen", "Kontakt"]
    close(context)


def test_links_work_without_javascript(browser: Browser, acme: Place) -> None:
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{acme.url}/sign-in")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    expect(page.get_by_role("link", name="Imprint")).to_have_attribute("href", LINKS["Imprint"])
    close(context)


def test_pages_without_settings_have_no_empty_footer(browser: Browser, place: Place) -> None:
    context = new_context(browser)
    page = context.new_page()
    page.goto(f"{place.url}/sign-in")
    page.get_by_role("heading", level=1).wait_for()
    expect(page.locator("header .brand")).to_have_text("svc")
    expect(page.get_by_role("contentinfo")).to_have_count(0)
    close(context)


@pytest.mark.rule("Y13")
def test_page_of_a_share_names_the_operator(browser: Browser, acme: Place) -> None:
    context = new_context(browser)
    page = context.new_page()
    page.goto(f"{acme.url}/s/shs_{'a' * 20}")
    expect(page.locator(".powered")).to_have_text(f"Powered by {NAME}")
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("broken") == []
    close(context)
