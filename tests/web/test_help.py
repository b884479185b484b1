"""Tests of /help in a browser: search with the keyboard, themes, widths, printing, and use without JavaScript."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.http.serving.web import POLICY
from tests.web.browser import HEIGHT, THEMES, WIDTHS, close, new_context, signed_in_tab
from tests.web.places import ROOT
from tests.web.visit import LOCALES, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from tests.web.places import Place

KB = 1_024
# Additional widths. 896 px is the narrowest window with the navigation next to the text; 640 px is a small tablet.
BETWEEN = (1280, 896, 640)


def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    return loaded


def html_pages() -> list[str]:
    pages = manifest()["help"]["pages"]
    return [path for path, page in pages.items() if page["type"].startswith("text/html")]


def widths_of(path: str) -> list[int]:
    """Return the widths to test: all widths in `make test-all`, otherwise the narrowest width and a random one."""
    *others, narrowest = sorted((*WIDTHS, *BETWEEN), reverse=True)
    return [*(others if EVERYTHING else [random.Random(f"{SEED} {path}").choice(others)]), narrowest]


@pytest.fixture
def reader(stranger: BrowserContext) -> Page:
    """A tab without a session."""
    return stranger.new_page()


def field(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search the documentation")


def said(page: Page) -> Locator:
    return page.locator("search [role=status]")


def test_every_page_fits_every_width_and_keeps_the_policy(stranger, place):
    page = stranger.new_page()
    visit = Visit(page, place.url)
    for path in html_pages():
        visit._at = path
        response = page.goto(place.url + path)
        assert response is not None
        assert response.headers["content-security-policy"] == POLICY
        for each in widths_of(path):
            page.set_viewport_size({"width": each, "height": HEIGHT})
            wide = page.evaluate("document.documentElement.scrollWidth")
            visit._note(f"{wide} px wide at {each} px", wide > each)
        visit._note(f"breaks the policy: {page.evaluate('broken')}", page.evaluate("broken") != [])
    assert visit.found == []
    assert stranger.cookies() == []


@pytest.mark.parametrize("theme", THEMES if EVERYTHING else [random.Random(f"{SEED} theme").choice(THEMES)])
@pytest.mark.parametrize("width", WIDTHS if EVERYTHING else [random.Random(SEED).choice(WIDTHS)])
def test_pages_pass_axe(reader, place, theme, width):
    visit = Visit(reader, place.url)
    reader.emulate_media(color_scheme=theme)
    reader.set_viewport_size({"width": width, "height": HEIGHT})
    paths = html_pages() if EVERYTHING else random.Random(f"{SEED} {theme}").sample(html_pages(), 5)
    for path in [*paths, "/help/nothing"]:
        visit._at = path
        reader.goto(place.url + path)
        visit.axe(theme)
    # The page has the status 404, which the browser logs as an error.
    assert [found for found in visit.found if "404" not in found] == []


@pytest.mark.parametrize("theme", THEMES)
def test_search_with_the_keyboard(stranger, place, theme):
    page = stranger.new_page()
    visit = Visit(page, place.url)
    page.emulate_media(color_scheme=theme)
    page.goto(f"{place.url}/help")
    page.keyboard.press("/")
    expect(field(page)).to_be_focused()
    page.keyboard.type("bootstrap token")
    expect(said(page)).to_have_text(re.compile(r"^\d+ results$"))
    results = page.locator("search ol a")
    shown = int(said(page).inner_text().split()[0])
    expect(results).to_have_count(shown)
    expect(results.first).to_contain_text("Create a bootstrap token · Cloudflare")
    expect(results.first.locator("mark").first).to_have_text("token")
    visit.axe(theme)
    assert visit.found == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(results.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field(page)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{place.url}/help/use/cloudflare#create-a-bootstrap-token")
    page.go_back()
    expect(field(page)).to_have_value("bootstrap token")
    expect(results).to_have_count(shown)
    results.first.focus()
    page.keyboard.press("Escape")
    expect(field(page)).to_be_focused()
    expect(field(page)).to_have_value("")
    expect(results).to_have_count(0)
    expect(said(page)).to_have_text("")


def test_search_says_that_nothing_was_found(reader, place):
    reader.goto(f"{place.url}/help/use/keys")
    for typed in ("zebra crossing", "<img src=x onerror=alert(1)>", "((("):
        field(reader).fill(typed)
        expect(said(reader)).to_have_text(f"No results for “{typed}”. The documentation is in English.")
    field(reader).press("Enter")
    assert reader.url == f"{place.url}/help/use/keys"
    field(reader).fill("first_view_at")
    expect(said(reader)).to_have_text("1 result")
    field(reader).fill("the")
    expect(said(reader)).to_have_text(re.compile(r"^\d+ results, showing the best 20$"))
    expect(reader.locator("search ol a")).to_have_count(20)
    assert reader.evaluate("broken") == []


def test_search_says_that_its_index_could_not_be_loaded(reader, place):
    reader.route("**/assets/help-index-*", lambda route: route.fulfill(status=404))
    reader.goto(f"{place.url}/help")
    field(reader).fill("token")
    expect(said(reader)).to_have_text(re.compile("^The search could not be loaded"))
    reader.unroute("**/assets/help-index-*")
    field(reader).fill("tokens")
    expect(said(reader)).to_have_text(re.compile(r"^\d+ results"))


def test_shortcut_can_be_turned_off_and_theme_follows_the_application(reader, place):
    reader.goto(f"{place.url}/help")
    reader.evaluate("localStorage.setItem('shortcuts', 'off'); localStorage.setItem('theme', 'dark')")
    reader.emulate_media(color_scheme="light")
    reader.reload()
    assert reader.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    reader.keyboard.press("/")
    expect(field(reader)).not_to_be_focused()


def test_page_is_complete_without_javascript(browser, place):
    context = new_context(browser, java_script_enabled=False, viewport={"width": WIDTHS[-1], "height": HEIGHT})
    page = context.new_page()
    page.goto(f"{place.url}/help/use/accounts")
    expect(page.locator("search")).to_be_hidden()
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="States").click()
    expect(page.get_by_role("heading", name="States")).to_be_in_viewport()
    page.get_by_role("link", name="All pages").click()
    page.get_by_role("navigation", name="Documentation").get_by_role("link", name="Back up and restore").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Back up and restore")
    close(context)


def test_print_has_the_text_alone_in_light_colors(reader, place):
    reader.goto(f"{place.url}/help/use/cloudflare")
    reader.emulate_media(media="print", color_scheme="dark")
    assert reader.evaluate("getComputedStyle(document.body).color") == "rgb(29, 27, 23)"
    expect(reader.get_by_role("heading", level=1)).to_be_visible()
    for hidden in ("search", ".top", ".contents", ".pages", "footer a"):
        expect(reader.locator(hidden).first).to_be_hidden()
    link = reader.locator(".text a[href^='https://dash']").first
    assert "https://dash" in link.evaluate("(a) => getComputedStyle(a, '::after').content")


def test_files_of_the_help_are_small():
    loaded = manifest()
    files = {path: loaded["files"][path] for path in loaded["help"]["files"]}
    sizes = {path: int(file.get("gz", file["bytes"])) for path, file in files.items()}
    assert sum(size for path, size in sizes.items() if not path.endswith(".json")) <= 7 * KB
    assert sum(size for path, size in sizes.items() if path.endswith(".json")) <= 96 * KB


@pytest.fixture(params=LOCALES)
def tab(request: pytest.FixtureRequest, browser: Browser, furnished: Place) -> Iterator[Page]:
    """A tab with a session. Each test runs once for each language."""
    with signed_in_tab(browser, furnished, locale=request.param) as opened:
        yield opened


def test_application_links_to_the_help(tab, furnished):
    german = tab.evaluate("navigator.language") == "de-DE"
    seen = {}
    for path in ("/accounts/connect", "/accounts/:id", "/sites/:id/settings", "/keys", "/links/import"):
        tab.goto(furnished.at(path))
        links = tab.locator("main a[href^='/help/']")
        expect(links.first).to_be_visible()
        for link in links.all():
            # A part of the page may be collapsed.
            assert ("(englisch)" in (link.text_content() or "")) == german
            assert (link.get_attribute("target"), link.get_attribute("hreflang")) == ("_blank", "en")
        seen[path] = [link.get_attribute("href") for link in links.all()]
    assert seen["/accounts/connect"] == ["/help/use/cloudflare#create-a-bootstrap-token"]
    assert {path.partition("#")[0] for path in seen["/accounts/:id"]} == {
        "/help/use/account-health",
        "/help/use/email-reports",
        "/help/use/ledger",
        "/help/use/links",
    }
    tab.get_by_role("link", name="Dateiformate" if german else "file formats").focus()
    with tab.expect_popup() as opened:
        tab.keyboard.press("Enter")
    expect(opened.value.get_by_role("heading", level=1)).to_have_text("Import links")
    tab.locator(".places .menu").click()
    tab.get_by_role("link", name="Hilfe (englisch)" if german else "Help", exact=True).click()
    tab.wait_for_url(f"{furnished.url}/help")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Documentation")
    tab.go_back()
    expect(tab.locator(".places .menu")).to_be_visible()


def test_sign_in_page_links_to_the_help(reader, place):
    reader.goto(f"{place.url}/sign-in")
    reader.get_by_role("link", name="Help", exact=True).click()
    reader.wait_for_url(f"{place.url}/help")
