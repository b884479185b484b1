"""On narrow screens and with 400% zoom, nothing is clipped, overlapping or out of reach."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.web.browser import WIDTHS, close, fetched, new_context, signed_in_tab, wait_until_loaded
from tests.web.places import open_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page, Route

    from tests.web.places import Place

LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrik Aktiengesellschaft"
ARABIC = "حساب عربي"


@pytest.fixture
def narrow(browser: Browser, furnished: Place) -> Iterator[Page]:
    with signed_in_tab(browser, furnished, locale="de-DE", viewport={"width": WIDTHS[-1], "height": 844}) as tab:
        yield tab


def changed(change: Callable[[Any], None]) -> Callable[[Route], None]:
    """Return a route handler that changes the service's response."""

    def changed_response(route: Route) -> None:
        response = fetched(route)
        body = response.json()
        change(body)
        route.fulfill(response=response, json=body)

    return changed_response


def box(shown: Locator) -> dict[str, float]:
    found = shown.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "height": found["height"]}


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_short_link_breaks_after_slash(narrow: Page, furnished: Place) -> None:
    narrow.goto(furnished.at("/links/:id"))
    heading = narrow.get_by_role("heading", level=1, name="go.shop.example/hello")
    expect(heading).to_be_visible()
    tops = """(h1) => [...h1.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((text) => {
        const range = document.createRange();
        range.selectNode(text);
        return [...range.getClientRects()].map(({top}) => top);
    })"""
    [[first], [second]] = heading.evaluate(tops)
    assert first < second


def test_large_numbers_are_not_broken(narrow: Page, furnished: Place) -> None:
    def many(body: Any) -> None:
        body["report"]["totals"] = {"views": 123_456_789, "visitors": 98_765_432, "bots": 4_567_890}
        for point in body["report"]["series"]:
            point.update(views=12_345_678, visitors=9_999_999, bots=555_555)

    narrow.route("**/report?*", changed(many))
    narrow.goto(furnished.at("/sites/:id") + "?period=30d")
    figures = narrow.locator(".totals .figure")
    expect(figures.first).to_have_text("123.456.789")
    once = (
        "(all) => all.map((one) => one.getBoundingClientRect().height < 2 * parseFloat(getComputedStyle(one).fontSize))"
    )
    assert figures.evaluate_all(once) == [True] * 3
    narrow.get_by_text("Als Tabelle anzeigen").click()
    expect(narrow.get_by_role("table")).to_be_visible()
    assert fits(narrow)
    days = narrow.locator(".chart .names text:visible")
    edges = days.evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).map(({left, right}) => [left, right])"
    )
    assert all(right < left for (_, right), (left, _) in pairwise(edges))


def test_long_and_right_to_left_account_names_fit(narrow: Page, furnished: Place) -> None:
    def named(body: Any) -> None:
        [one] = body["accounts"][:1]
        body["accounts"] = [{**one, "name": LONG}, {**one, "id": "acc_other", "name": ARABIC}]

    narrow.route("**/v1/accounts", changed(named))
    narrow.goto(f"{furnished.url}/sites")
    expect(narrow.get_by_text(LONG)).to_be_visible()
    assert fits(narrow)
    narrow.goto(f"{furnished.url}/accounts")
    name = narrow.get_by_role("link", name=ARABIC)
    # The name is written from right to left. It is isolated, so that the id after it is still on its right.
    assert box(name)["x"] < box(narrow.get_by_role("rowheader").filter(has=name).locator("code, .small"))["x"]
    assert fits(narrow)


def test_narrow_table_has_name_and_main_value_on_first_line(narrow: Page, furnished: Place) -> None:
    """The other values are below the first line. They have a label only if they need one."""
    narrow.goto(f"{furnished.url}/links")
    row = narrow.get_by_role("row").filter(has_text="hello")
    name, clicks, actions = row.locator("th"), row.locator(".primary"), row.locator(".bare")
    middle = {key: box(each)["y"] + box(each)["height"] / 2 for key, each in (("name", name), ("clicks", clicks))}
    assert abs(middle["name"] - middle["clicks"]) < 2
    assert box(name)["x"] < box(clicks)["x"]
    assert box(actions)["y"] > box(name)["y"] + box(name)["height"]
    label = "(cell) => getComputedStyle(cell, '::before').position"
    assert [clicks.evaluate(label), actions.evaluate(label)] == ["absolute", "absolute"]
    assert row.locator("td:has(.target)").evaluate(label) == "static"
    assert fits(narrow)


def test_texts_below_totals_do_not_overlap(narrow: Page, furnished: Place) -> None:
    """A text below a total can need two or three lines. The longest text says that there is nothing to compare with."""
    for path in ("/", "/sites/:id"):
        narrow.goto(furnished.at(path))
        wait_until_loaded(narrow)
        texts = narrow.locator(".totals .before")
        expect(texts).to_have_count(3)
        clipped = "(all) => all.map((one) => one.scrollHeight - one.offsetHeight)"
        assert texts.evaluate_all(clipped) == [0, 0, 0]
    narrow.set_viewport_size({"width": 390, "height": 844})
    tops = "(all) => all.map((one) => Math.round(one.getBoundingClientRect().top))"
    assert len(set(narrow.locator(".totals .figure").evaluate_all(tops))) == 1


def test_destinations_of_imported_links_have_space(narrow: Page, furnished: Place) -> None:
    narrow.goto(f"{furnished.url}/links/import")
    narrow.get_by_role("textbox", name="Links").fill("shop.example/menu,menu")
    narrow.get_by_role("button", name="Vorschau").click()
    target = narrow.get_by_text("https://shop.example/menu")
    expect(target).to_be_visible()
    assert target.evaluate("(one) => one.getBoundingClientRect().width") > 150


def test_progress_of_steps_is_next_to_their_titles(browser: Browser, place: Place) -> None:
    """Titles that need two lines do not move the progress to another line."""
    with signed_in_tab(browser, place, locale="de-DE", viewport={"width": WIDTHS[-1], "height": 844}) as tab:
        tab.goto(place.url)
        marks = tab.locator(".first-steps .mark")
        expect(marks).to_have_count(4)
        ends = "(all) => all.map((one) => Math.round(one.getBoundingClientRect().right))"
        assert len(set(marks.evaluate_all(ends))) == 1


def test_arrow_of_source_is_not_alone_on_a_line(narrow: Page, furnished: Place) -> None:
    narrow.goto(furnished.at("/sites/:id") + "?period=30d")
    wait_until_loaded(narrow)
    arrows = narrow.locator(".outside")
    expect(arrows.first).to_be_visible()
    distances = """(all) => all.map((arrow) => {
        const last = [...arrow.previousElementSibling.getClientRects()].at(-1);
        return Math.abs(arrow.getBoundingClientRect().top - last.top);
    })"""
    assert max(arrows.evaluate_all(distances)) < 10


def test_buttons_of_link_fill_their_lines(narrow: Page, furnished: Place) -> None:
    narrow.goto(furnished.at("/links/:id"))
    edit, follow = (narrow.locator("main").get_by_role("link", name=name) for name in ("Bearbeiten", "Öffnen"))
    assert box(edit)["y"] == box(follow)["y"]


def test_gauge_has_distance_from_its_texts(narrow: Page, furnished: Place) -> None:
    narrow.goto(furnished.at("/accounts/:id"))
    row = narrow.locator(".gauges li").first
    name, gauge, number = (box(row.locator(part)) for part in (".name", ".gauge", ".number"))
    assert name["y"] + name["height"] + 2 < gauge["y"]
    assert gauge["y"] + gauge["height"] + 2 < number["y"]


@pytest.mark.parametrize("path", ["/confirm", "/email", "/email/revert"])
def test_german_heading_does_not_break_within_email(browser: Browser, place: Place, path: str) -> None:
    context = new_context(browser, locale="de-DE", viewport={"width": WIDTHS[-1], "height": 844})
    page = context.new_page()
    page.goto(place.url + path)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Mail")
    lines = """(heading) => {
        const text = heading.firstChild, range = document.createRange(), at = text.data.indexOf("Mail") - 2;
        range.setStart(text, at);
        range.setEnd(text, at + "E-Mail-Adresse".length);
        return range.getClientRects().length;
    }"""
    assert heading.evaluate(lines) == 1
    close(context)


@pytest.mark.parametrize("width", [390, 320])
def test_header_with_long_name_has_even_lines(browser: Browser, tmp_path: Path, width: int) -> None:
    """The first line has the operator's name. The second line has the links for signed-out users."""
    with open_place(tmp_path / "svc", {"SVC_WEB_NAME": "Example Publishing Group Web Statistics"}) as place:
        context = new_context(browser, viewport={"width": width, "height": 844})
        page = context.new_page()
        page.goto(f"{place.url}/sign-in")
        brand, bar = box(page.locator(".brand")), box(page.locator(".bar"))
        tabs = [box(tab) for tab in page.locator(".places .tab").all()]
        assert len(tabs) == 3
        assert len({tab["y"] for tab in tabs}) == 1
        assert tabs[0]["y"] >= brand["y"] + brand["height"]
        assert tabs[0]["x"] == brand["x"]
        # The line that marks the current page is at the lower edge of the navigation bar.
        assert tabs[0]["y"] + tabs[0]["height"] == bar["y"] + bar["height"]
        close(context)


def test_german_rows_use_their_width_on_tablets(browser: Browser, furnished: Place) -> None:
    """A status must not overlap its explanation, and the destination of a link must use the space next to the
    buttons.
    """
    with signed_in_tab(browser, furnished, locale="de-DE", viewport={"width": 768, "height": 844}) as tab:
        tab.goto(furnished.url)
        status = tab.locator(".needs .mark").first
        expect(status).to_have_text(re.compile("Upgrade bald nötig$"))
        assert status.evaluate("(one) => one.scrollWidth <= one.clientWidth")
        tab.goto(f"{furnished.url}/links?q=hello")
        row = tab.get_by_role("row").filter(has_text="hello")
        assert row.locator("td:has(.target)").evaluate("(one) => one.clientWidth") > 768 / 2


def test_german_navigation_fits_into_one_line_on_tablets(browser: Browser, furnished: Place) -> None:
    with signed_in_tab(browser, furnished, locale="de-DE", viewport={"width": 768, "height": 844}) as tab:
        tab.goto(f"{furnished.url}/keys")
        places = tab.get_by_role("navigation").first.get_by_role("link")
        expect(places).to_have_text(["Übersicht", "Konten", "Websites", "Links", "API-Schlüssel", "API"])
        account = box(tab.get_by_role("button", name="you@example.com"))
        assert {box(each)["y"] for each in places.all()} == {box(places.first)["y"]}
        assert account["y"] < box(places.first)["y"] + box(places.first)["height"]


@pytest.mark.parametrize("height", [256, 420])
def test_navigation_is_reachable_on_low_screens(narrow: Page, furnished: Place, height: int) -> None:
    narrow.set_viewport_size({"width": WIDTHS[-1], "height": height})
    narrow.goto(f"{furnished.url}/links")
    tabs = narrow.get_by_role("navigation").first.locator(".tab:visible")
    expect(tabs).to_have_count(5)
    texts = "(all) => all.map((one) => { const r = document.createRange(); r.selectNodeContents(one); return r; })"
    edges = tabs.evaluate_all(
        f"(all) => ({texts})(all).map((r) => r.getBoundingClientRect()).map((r) => [r.left, r.right])"
    )
    assert all(right < left for (_, right), (left, _) in pairwise(edges))
    narrow.get_by_role("button", name="Mehr").click()
    menu = box(narrow.locator("#more"))
    assert menu["y"] >= 0
    assert menu["y"] + menu["height"] <= height
    narrow.get_by_role("link", name="API-Schlüssel").click()
    expect(narrow.get_by_role("heading", level=1)).to_have_text("API-Schlüssel")


def test_print_is_light(narrow: Page, furnished: Place) -> None:
    narrow.emulate_media(media="print", color_scheme="dark")
    narrow.goto(f"{furnished.url}/links")
    narrow.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert narrow.evaluate("getComputedStyle(document.body).color") == "rgb(29, 27, 23)"
