"""Tests of titles, tags and notes of links: in the form, on the page and in the list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.visit import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.web.world import LinkHost, World


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_title_tags_and_note_are_entered_by_keyboard(visit: Visit, link_host: LinkHost) -> None:
    page = visit.page
    page.goto(f"{link_host.place.url}/links/new?url=shop.example/texts")
    page.get_by_label("Code").fill("texts")
    page.get_by_label("Title").fill("Spring <b>sale</b>")
    tags = page.get_by_label("Tags (optional)")
    tags.focus()
    page.keyboard.type("Texts One,print")
    press(page, "Enter")
    page.keyboard.type("wrong")
    press(page, "Enter", "Backspace")
    page.keyboard.type("half typed")
    expect(page.get_by_role("list", name="Tags").get_by_role("listitem")).to_have_text(["print✕", "texts-one✕"])
    press(page, "Tab")  # leaving the field adds its tag
    page.get_by_role("button", name="Remove tag half-typed").press("Enter")
    expect(page.get_by_role("button", name="Remove tag half-typed")).to_have_count(0)
    expect(tags).to_be_focused()
    page.get_by_label("Note").fill("For the flyer\nand the poster")
    visit.axe("with texts")
    press(page, "Control+Enter")
    page.get_by_role("heading", level=1, name=f"{link_host.host}/texts").wait_for()
    link = link_host.find("texts")
    assert (link["title"], link["tags"], link["note"]) == (
        "Spring <b>sale</b>",
        ["print", "texts-one"],
        "For the flyer\nand the poster",
    )
    facts = page.locator(".link-facts")
    expect(facts).to_contain_text("Spring <b>sale</b>")
    expect(facts.get_by_role("link", name="texts-one")).to_have_attribute("href", "/links?tag=texts-one")
    expect(facts).to_contain_text("and the poster")
    visit.axe("the page of a link with texts")

    page.evaluate("document.activeElement.blur()")
    press(page, "e")
    expect(page.get_by_label("Title")).to_have_value("Spring <b>sale</b>")
    page.get_by_label("Title").fill("")
    page.get_by_label("Note").fill(" ")
    page.get_by_role("button", name="Remove tag print").click()
    page.get_by_role("button", name="Remove tag texts-one").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/texts").wait_for()
    link = link_host.find("texts")
    assert (link["title"], link["tags"], link["note"]) == (None, [], None)
    assert visit.found == []


def test_rejected_texts_are_shown_at_their_fields(visit: Visit, link_host: LinkHost) -> None:
    page = visit.page
    page.goto(f"{link_host.place.url}/links/new?url=shop.example/texts")
    page.get_by_label("Title").fill("x" * 201)
    tags = page.get_by_label("Tags (optional)")
    tags.fill(",".join(f"tag-{number}" for number in range(11)))
    page.get_by_label("Note").fill("x" * 2_001)
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_label("Title")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Title")).to_be_focused()
    expect(tags).to_have_attribute("aria-invalid", "true")
    expect(tags).to_have_accessible_description(re.compile("Enter at most 10 items"))
    expect(page.get_by_label("Note")).to_have_accessible_description(re.compile("Use at most 2,?000 characters"))
    page.get_by_role("button", name="Remove tag tag-3").click()
    expect(tags).not_to_have_attribute("aria-invalid", "true")  # a corrected field loses its error immediately


def test_list_shows_titles_first(visit: Visit, link_host: LinkHost) -> None:
    """A row shows the title with the code below it. The search finds both, and a click on the row opens the link."""
    link = link_host.create("listed-code", title="Listed title", tags=["listed"])
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=listed%20tit")
    row = page.get_by_role("row").filter(has_text="Listed title")
    title, code = row.get_by_role("link", name="Listed title"), row.get_by_text("listed-code", exact=True)
    for width in (1440, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        boxes = [each.bounding_box() for each in (title, code)]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"] + 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.axe("with a title")
    page.goto(f"{link_host.place.url}/links?q=listed-code")
    title.click()
    page.wait_for_url(f"**/links/{link['id']}")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Page, site or link").fill("Listed tit")
    expect(page.get_by_role("option").filter(has_text="Listed title")).to_have_count(1)
    assert visit.found == []


def test_tags_filter_the_list(visit: Visit, link_host: LinkHost) -> None:
    """The URL of the page contains the chosen tag. The test chooses and removes filters with the keyboard."""
    for code, tags in (("filter-a", ["filter-x", "filter-y"]), ("filter-b", ["filter-x"]), ("filter-c", [])):
        link_host.create(code, tags=tags)
    page = visit.page
    page.goto(f"{link_host.place.url}/links?q=filter-")
    rows = page.get_by_role("table", name="Links").locator("tbody tr")
    expect(rows).to_have_count(3)
    filters = page.get_by_role("navigation", name="Filter by tag")
    more = filters.get_by_role("button", name=re.compile("Show all .* tags"))
    if more.count():
        more.click()
    filters.get_by_role("link", name="filter-x 2").focus()
    press(page, "Enter")
    expect(rows).to_have_count(2)
    page.wait_for_url("**/links?q=filter-&tag=filter-x")
    visit.axe("with a tag")
    page.reload()
    expect(rows).to_have_count(2)
    chosen = filters.get_by_role("link", name="filter-x (remove filter)")
    expect(chosen).to_have_attribute("aria-current", "true")
    page.set_viewport_size({"width": 320, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rows.first.get_by_role("link", name="filter-y").or_(rows.last.get_by_role("link", name="filter-y")).click()
    page.wait_for_url("**/links?tag=filter-y")
    expect(rows).to_have_count(1)
    filters.get_by_role("link", name="filter-y (remove filter)").click()
    page.wait_for_url(re.compile("/links$"))
    page.goto(f"{link_host.place.url}/tags/filter-x")
    page.get_by_role("heading", level=1, name="Tag: filter-x").wait_for()
    expect(page.get_by_role("link", name="Links", exact=True)).to_have_attribute("aria-current", "true")
    page.goto(f"{link_host.place.url}/links?tag=unknown")
    page.get_by_text("No links have the tag “unknown”.").wait_for()
    page.get_by_role("button", name="Show all links").click()
    page.wait_for_url(re.compile("/links$"))
    assert visit.found == []


def test_title_is_suggested_only_on_request(visit: Visit, link_host: LinkHost, world: World) -> None:
    titled, untitled = "<!doctype html><title>Autumn &amp; winter</title>", "<!doctype html><p>No title</p>"
    world.platform(lambda platform: platform.add_page("shop.example", "/titled", titled))
    world.platform(lambda platform: platform.add_page("shop.example", "/untitled", untitled))
    page = visit.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/links/title") else None)
    page.goto(f"{link_host.place.url}/links/new")
    suggest = page.get_by_role("button", name="Suggest a title")
    suggest.click()
    page.get_by_role("status").filter(has_text="Enter the destination first.").wait_for()
    page.get_by_label("Destination", exact=True).fill("shop.example/titled")
    assert asked == []
    suggest.press("Enter")
    expect(page.get_by_label("Title")).to_have_value("Autumn & winter")
    page.get_by_role("status").filter(has_text="The title of the destination was filled in.").wait_for()
    page.get_by_label("Destination", exact=True).fill("shop.example/untitled")
    suggest.click()
    page.get_by_role("status").filter(has_text="The destination has no title, or cannot be read.").wait_for()
    expect(page.get_by_label("Title")).to_have_value("Autumn & winter")
    assert len(asked) == 2
    assert visit.found == []
    page.get_by_label("Destination", exact=True).fill("https://")
    suggest.click()
    page.get_by_role("alert").filter(has_text="Enter a URL that starts with https://").wait_for()
    visit.axe("with a refused suggestion")
