"""Tests of the form of a link: conditions of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.web.places import LINK_OWNER, signed_in_tab
from tests.web.test_every_page import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import LinkHost


@pytest.fixture
def visit(browser: Browser, link_host: LinkHost) -> Iterator[Visit]:
    with signed_in_tab(browser, link_host.place, LINK_OWNER) as tab:
        yield Visit(tab, link_host.place.url)


def open_form(visit: Visit, link_host: LinkHost, code: str) -> Page:
    """Open the form for a new link with this code."""
    visit.page.goto(f"{link_host.place.url}/links/new?url=shop.example/{code}")
    visit.page.get_by_label("Code").fill(code)
    return visit.page


def create(page: Page, link_host: LinkHost, code: str) -> dict[str, Any]:
    """Submit the form, and return the new link."""
    page.get_by_role("button", name="Create link").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/{code}").wait_for()
    return link_host.find(code)


def edit(page: Page) -> None:
    """Open the form of the link on the page."""
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("e")
    page.get_by_role("heading", level=1, name="Edit link").wait_for()


def test_conditions_are_added_by_keyboard_and_shown_as_a_sentence(visit: Visit, link_host: LinkHost) -> None:
    page = open_form(visit, link_host, "conditions")
    page.get_by_role("button", name="Add rule").click()
    rule = page.get_by_role("group", name="Rule 1", exact=True)
    rule.get_by_role("button", name="Add to rule 1: Language").press("Enter")
    expect(rule.get_by_label("Find a language")).to_be_focused()
    page.keyboard.type("german")
    expect(rule.get_by_role("checkbox", name="German de")).to_be_visible()
    rule.get_by_label("Find a language").fill("pt-br")
    page.keyboard.press("Enter")
    rule.get_by_label("Find a language").fill("Dutch")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    languages = rule.get_by_role("button", name="Language of rule 1: Brazilian Portuguese or Dutch")
    expect(languages).to_be_focused()
    rule.get_by_role("button", name="Add to rule 1: System").press("Enter")
    expect(rule.get_by_role("checkbox", name="iOS")).to_be_focused()
    page.keyboard.press("Space")
    rule.get_by_role("checkbox", name="Linux").check()
    rule.get_by_role("button", name="Done").click()
    rule.get_by_role("button", name="Add to rule 1: Query parameter").press("Enter")
    expect(rule.get_by_role("textbox", name="Parameter", exact=True)).to_be_focused()
    page.keyboard.type("src")
    page.keyboard.press("Tab")
    page.keyboard.type("flyer & poster")
    rule.get_by_label("go to").fill("shop.example/print")
    visit._axe("with all conditions")
    for width in (1440, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    link = create(page, link_host, "conditions")
    assert link["rules"] == [
        {
            "url": "https://shop.example/print",
            "languages": ["pt-br", "nl"],
            "os": ["iOS", "Linux"],
            "query": {"name": "src", "value": "flyer & poster"},
        }
    ]
    expect(page.get_by_role("region", name="Destinations")).to_contain_text(
        "Visitors with iOS or Linux who prefer Brazilian Portuguese or Dutch whose link contains ?src=flyer & poster"
    )
    page.locator("summary", has_text="Test link").click()
    page.get_by_label("Opened via").select_option("query")
    expect(page.get_by_label("Query", exact=True)).to_have_value("src=flyer+%26+poster")
    expect(page.get_by_label("Language", exact=True)).to_have_value("pt-br")
    page.get_by_role("button", name="Test", exact=True).click()
    page.get_by_text("Rule 1 matches.").wait_for()
    for label, value in (("Language", ""), ("Device", "mac")):
        before = page.get_by_label(label, exact=True).input_value()
        page.get_by_label(label, exact=True).select_option(value)
        page.get_by_role("button", name="Test", exact=True).click()
        page.get_by_text("No rule matches.").wait_for()
        page.get_by_label(label, exact=True).select_option(before)
    visit._axe("with the tested rule")
    edit(page)
    rule.get_by_role("button", name="Remove from rule 1: System").click()
    expect(rule.get_by_role("button", name="Add to rule 1: System")).to_be_focused()
    rule.get_by_role("button", name="Remove from rule 1: Query parameter").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/conditions").wait_for()
    assert link_host.find("conditions")["rules"] == [
        {"url": "https://shop.example/print", "languages": ["pt-br", "nl"]}
    ]
    assert visit.found == []
