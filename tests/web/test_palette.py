"""Tests of the search dialog for pages, sites and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.browser import Held
from tests.web.places import EMAIL
from tests.web.visit import AXE, TAGS

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.web.places import Place


def test_search_dialog_opens_page_site_and_link(furnished: Place, tab: Page) -> None:
    tab.goto(furnished.url)
    tab.get_by_role("heading", level=1).wait_for()
    field = tab.get_by_role("combobox", name="Page, site or link")
    chosen = tab.locator("[role=option][aria-selected=true]")

    def type_in(text: str) -> None:
        tab.keyboard.press("Control+k")
        expect(field).to_be_focused()
        tab.keyboard.type(text)

    def type_and_go(text: str, found: str) -> None:
        type_in(text)
        expect(chosen).to_contain_text(found)
        assert field.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
        tab.keyboard.press("Enter")
        expect(field).to_have_count(0)

    type_and_go("activity", "Activity")
    expect(tab.get_by_role("heading", level=1)).to_have_text("Activity")
    expect(tab.get_by_role("heading", level=1)).to_be_focused()
    # If the user presses Enter before the results for the text arrive, the dialog waits for them.
    type_in("shop")
    tab.get_by_role("option", name="go.shop.example/hello").wait_for()
    held = Held(tab, "**/v1/links?q=*")
    tab.keyboard.type(".example/")
    tab.keyboard.press("Enter")
    held.release()
    tab.wait_for_url(furnished.at("/links/:id"))
    # The shortcut also works in a text field.
    tab.goto(furnished.at("/links"))
    tab.get_by_label("Search").focus()
    type_and_go("op.exam", "shop.example")
    tab.wait_for_url(furnished.at("/sites/:id"))
    # Search by destination. At the end of the results, the arrow keys continue with the first one.
    type_in("shop.example")
    link = tab.get_by_role("option", name="go.shop.example/hello")
    link.wait_for()
    expect(tab.get_by_role("dialog").get_by_role("group")).to_have_count(2)
    names = tab.get_by_role("option").all_inner_texts()
    [number] = [number for number, name in enumerate(names) if "go.shop.example/hello" in name]
    for _ in names[number:]:
        tab.keyboard.press("ArrowUp")
    expect(link).to_have_attribute("aria-selected", "true")
    tab.evaluate(AXE)
    options = {"runOnly": {"type": "tag", "values": TAGS}}
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        found = tab.evaluate("(options) => axe.run(document, options)", options)["violations"]
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found] == []
    tab.keyboard.press("Enter")
    tab.wait_for_url(furnished.at("/links/:id"))
    expect(tab.get_by_role("heading", level=1, name="go.shop.example/hello")).to_be_focused()

    # The dialog says that there are no results. Esc restores the focus.
    menu = tab.get_by_role("button", name=EMAIL)
    menu.focus()
    type_in("nowhere at all")
    tab.get_by_text("No results for “nowhere at all”.").wait_for()
    tab.keyboard.press("Enter")
    expect(field).to_be_focused()
    tab.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(menu).to_be_focused()


def test_search_dialog_opens_from_menu_when_shortcuts_are_off(furnished: Place, tab: Page) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(furnished.at("/profile"))
    tab.get_by_label("Shortcuts").select_option("off")
    tab.keyboard.press("Control+k")
    expect(tab.get_by_role("combobox", name="Page, site or link")).to_have_count(0)
    tab.get_by_role("button", name="More").click()
    tab.get_by_role("button", name="Go to…").click()
    tab.get_by_role("option", name="New link").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("New link")
    # No page shows the shortcut of a button.
    tab.goto(furnished.at("/sites/:id"))
    tab.get_by_role("button", name="Other period").click()
    tab.get_by_role("dialog", name="Other period").wait_for()
    tab.locator(".chart").wait_for()
    assert tab.locator("kbd").count() == 0
