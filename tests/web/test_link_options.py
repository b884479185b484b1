"""Tests of the form of a link: conditions of rules, the A/B test, the schedule and the forwarded query."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.web.browser import signed_in_tab
from tests.web.visit import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from edge_worker.emulator.client import Customer
    from tests.web.world import LinkHost, World


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
    rule.get_by_role("button", name="Add to rule 1: Operating system").press("Enter")
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
    visit.axe("with all conditions")
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
        "Visitors with iOS or Linux who prefer Brazilian Portuguese or Dutch who open the link with ?src=flyer & poster"
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
    visit.axe("with the tested rule")
    edit(page)
    rule.get_by_role("button", name="Remove from rule 1: Operating system").click()
    expect(rule.get_by_role("button", name="Add to rule 1: Operating system")).to_be_focused()
    rule.get_by_role("button", name="Remove from rule 1: Query parameter").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/conditions").wait_for()
    assert link_host.find("conditions")["rules"] == [
        {"url": "https://shop.example/print", "languages": ["pt-br", "nl"]}
    ]
    assert visit.found == []


def test_shares_of_variants_always_add_up(visit: Visit, link_host: LinkHost) -> None:
    """The user changes shares with sliders, number fields and the keyboard. The first variant is the link's
    destination.
    """
    page = open_form(visit, link_host, "variants")
    section = page.locator("summary", has_text="A/B test")
    section.press("Enter")
    page.get_by_role("button", name="Add A/B test").press("Enter")
    first = page.get_by_role("group", name="Variant A", exact=True)
    second = page.get_by_role("group", name="Variant B", exact=True)
    expect(first.get_by_label("goes to")).to_have_value("https://shop.example/variants")
    expect(second.get_by_label("goes to")).to_be_focused()
    page.keyboard.type("shop.example/b")
    expect(page.locator(".preview")).to_contain_text("→ https://shop.example/variants, https://shop.example/b")
    page.get_by_role("button", name="Add rule").click()
    page.get_by_text("All other visitors are divided between the variants of the A/B test below.").wait_for()
    page.get_by_role("button", name="Remove rule 1").click()

    def shares() -> list[str]:
        sliders = page.get_by_role("slider").evaluate_all("(all) => all.map(({ value }) => value)")
        fields = page.get_by_role("spinbutton").evaluate_all("(all) => all.map(({ value }) => value)")
        assert sliders == fields
        assert sum(map(int, sliders)) == 100
        return list(sliders)

    slider = first.get_by_role("slider", name="Share of variant A")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "53%")
    expect(second.get_by_role("spinbutton")).to_have_value("47")
    assert shares() == ["53", "47"]
    page.keyboard.press("End")
    expect(second.get_by_role("spinbutton")).to_have_value("1")
    number = second.get_by_role("spinbutton", name="Share of variant B in percent")
    number.fill("30")
    expect(slider).to_have_value("70")
    number.fill("0")
    number.blur()
    expect(number).to_have_value("30")  # the field does not accept an impossible share, and shows the previous one
    number.press("End")
    page.keyboard.press("Backspace")
    expect(slider).to_have_value("97")
    page.keyboard.type("0")  # the value is the same as before, so the browser sends no change event
    expect(slider).to_have_value("70")
    page.get_by_role("button", name="Add variant").click()
    third = page.get_by_role("group", name="Variant C", exact=True)
    third.get_by_label("goes to").fill("ftp://shop.example/c")
    assert shares() == ["47", "20", "33"]
    slider.press("ArrowRight")
    expect(slider).to_have_value("48")
    assert shares() == ["48", "20", "32"]
    page.get_by_role("button", name="Equal shares").click()
    expect(third.get_by_role("spinbutton")).to_have_value("33")
    assert shares() == ["34", "33", "33"]
    visit.axe("with variants")
    for width in (1440, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    section.click()
    page.get_by_role("button", name="Create link").click()
    wrong = third.get_by_label("goes to")
    expect(wrong).to_be_focused()  # the section with the error opens automatically
    expect(wrong).to_have_attribute("aria-invalid", "true")
    visit.found.clear()  # the browser logs an error response
    page.get_by_role("button", name="Remove variant C").click()
    assert shares() == ["51", "49"]
    link = create(page, link_host, "variants")
    assert link["split"] == [
        {"url": "https://shop.example/variants", "share": 51},
        {"url": "https://shop.example/b", "share": 49},
    ]
    destinations = page.get_by_role("region", name="Destinations")
    expect(destinations).to_contain_text("Visitors are divided between these destinations:")
    expect(destinations.get_by_role("listitem").filter(has_text="49%: https://shop.example/b").last).to_be_visible()
    page.locator("summary", has_text="Test link").click()
    for group, letter in (("50", "A"), ("51", "B")):
        page.get_by_label("Visitor group").fill(group)
        page.get_by_role("button", name="Test", exact=True).click()
        page.get_by_text(f"No rule matches. Destination of variant {letter}:").wait_for()
    page.goto(f"{link_host.place.url}/links?q=variants")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="variants", exact=True))
    expect(row).to_contain_text("shop.example/variants, shop.example/b")
    expect(row).to_contain_text("A/B test: 2 variants")
    row.get_by_role("link", name="variants", exact=True).click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/variants").wait_for()
    edit(page)
    page.get_by_role("button", name="Remove A/B test").click()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/variants").wait_for()
    assert link_host.find("variants")["split"] is None
    assert visit.found == []


def test_schedule_says_what_visitors_get(visit: Visit, link_host: LinkHost) -> None:
    """The time zone of the browser is Asia/Tehran (UTC+3:30). The page shows each time in this zone and in UTC."""
    page = open_form(visit, link_host, "scheduled")
    page.locator("summary", has_text="Schedule").click()
    page.get_by_label("Start (optional)", exact=True).fill("2099-12-01T12:30")
    expect(page.get_by_label("Start (optional)", exact=True)).to_have_accessible_description(
        re.compile(r"Time zone: Asia/Tehran\. Dec 1, 2099, 9:00\sAM UTC")
    )
    phases = page.get_by_role("region", name="What visitors get").get_by_role("listitem")
    both = r"Dec 1, 2099, 9:00\sAM UTC \(Dec 1, 2099, 12:30\sPM GMT\+3:30\)"
    expect(phases).to_have_text(
        [
            re.compile(rf"^Until {both}, visitors see a page that says that the link does not exist\. \(now\)$"),
            re.compile(rf"^From {both}, visitors go to https://shop\.example/scheduled$"),
        ]
    )
    page.get_by_label("End (optional)", exact=True).fill("2099-12-24T21:30")
    page.get_by_label("Destination before the start and after the end").fill("shop.example/soon")
    expect(phases).to_have_count(3)
    last = r"^From Dec 24, 2099, 6:00\sPM UTC .*, visitors go to https://shop\.example/soon"
    expect(phases.last).to_have_text(re.compile(last))
    visit.axe("with a schedule")
    for width in (1440, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    link = create(page, link_host, "scheduled")
    assert [link[name] for name in ("starts_at", "ends_at", "after_url")] == [
        "2099-12-01T09:00:00.000Z",
        "2099-12-24T18:00:00.000Z",
        "https://shop.example/soon",
    ]
    expect(page.get_by_role("region", name="Destinations")).to_contain_text(
        re.compile(rf"Until {both}, visitors go to https://shop\.example/soon \(now\)")
    )
    expect(page.locator("p.lead")).to_contain_text("Not started")
    expect(page.locator("p.lead")).not_to_contain_text("Live")
    page.locator("summary", has_text="Test link").click()
    result = page.get_by_role("region", name="Destinations").locator(".note")
    for at, text in (
        ("", "The click is before the link's start or after its end. Result: https://shop.example/soon"),
        ("2099-12-01T12:30", "No rule matches. Destination: https://shop.example/scheduled"),
        (
            "2099-12-24T21:30",
            "The click is before the link's start or after its end. Result: https://shop.example/soon",
        ),
    ):
        page.get_by_label("Time (optional)").fill(at)
        page.get_by_role("button", name="Test", exact=True).click()
        expect(result).to_contain_text(text)
    visit.axe("with the tested time")
    page.goto(f"{link_host.place.url}/links?q=scheduled")
    expect(page.get_by_role("row").filter(has_text="scheduled").locator(".mark")).to_contain_text("Not started")
    page.get_by_role("link", name="scheduled", exact=True).click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/scheduled").wait_for()
    edit(page)
    page.get_by_label("Start (optional)", exact=True).fill("")
    page.get_by_label("Destination before the start and after the end").fill("")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/scheduled").wait_for()
    link = link_host.find("scheduled")
    assert [link[name] for name in ("starts_at", "ends_at", "after_url")] == [None, "2099-12-24T18:00:00.000Z", None]
    assert visit.found == []


def test_conflicting_edit_shows_the_schedule_and_forwarded_query(visit: Visit, link_host: LinkHost) -> None:
    link = link_host.create("options-conflict")
    page = visit.page
    page.goto(f"{link_host.place.url}/links/{link['id']}/edit")
    page.get_by_label("Destination", exact=True).fill("https://shop.example/mine")
    options = {"ends_at": "2099-12-24T18:00:00Z", "after_url": "https://shop.example/over", "forward_query": True}
    link_host.call("PATCH", f"/v1/links/{link['id']}", options)
    page.get_by_role("button", name="Save changes").click()
    note = page.locator(".note", has_text="changed by someone else")
    expect(note).to_contain_text("Query parameters of the short link are passed on to the destination.")
    phases = note.get_by_role("listitem").filter(has_text="2099")
    expect(phases).to_have_text(
        [re.compile("^Until Dec 24"), re.compile(r"visitors go to https://shop\.example/over$")]
    )
    visit.axe("with a changed schedule")
    assert link_host.find("options-conflict")["url"] == link["url"]
    assert visit.found == []


def test_incomplete_time_is_not_dropped(visit: Visit, link_host: LinkHost) -> None:
    page = open_form(visit, link_host, "half-a-time")
    page.locator("summary", has_text="Schedule").click()
    page.get_by_label("End (optional)", exact=True).focus()
    page.keyboard.type("12")  # type only the month, so that the date is incomplete
    page.locator("summary", has_text="Schedule").click()
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_label("End (optional)", exact=True)).to_be_focused()
    page.get_by_text("Enter a date from 2000 to 2099, and a time.").wait_for()


def test_query_is_forwarded_only_on_request(visit: Visit, link_host: LinkHost) -> None:
    page = open_form(visit, link_host, "forwarded")
    page.locator("summary", has_text="Query parameters").press("Enter")
    page.get_by_label("Pass the query parameters of the short link on to the destination").check()
    visit.axe("with the forwarded query")
    assert create(page, link_host, "forwarded")["forward_query"] is True
    page.get_by_text("Query parameters of the short link are passed on to the destination.").wait_for()
    edit(page)
    page.get_by_label("Pass the query parameters of the short link on to the destination").uncheck()
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("heading", level=1, name=f"{link_host.host}/forwarded").wait_for()
    assert link_host.find("forwarded")["forward_query"] is False
    assert visit.found == []


def test_report_names_variants_and_lists_clicks_after_the_end(
    browser: Browser, world: World, customer: Customer, zone: str
) -> None:
    host = f"go.{zone}"
    account_id = world.with_link_host(customer, host)
    urls = [f"https://shop.example/{name}" for name in ("red", "blue")]
    split = [{"url": url, "share": 50} for url in urls]
    body = {"account_id": account_id, "code": "test", "url": "https://shop.example/", "split": split}
    divided = world.call("POST", "/v1/links", body)["link"]
    body = {"account_id": account_id, "code": "over", "url": "https://shop.example/", "ends_at": "2026-01-01T00:00:00Z"}
    over = world.call("POST", "/v1/links", body)["link"]
    targets = Counter(world.clicked(customer, divided, 20))
    assert set(targets) <= set(urls)
    assert set(world.clicked(customer, over, 3)) == {""}  # the response is the page for unknown codes
    with signed_in_tab(browser, world.place) as page:
        page.goto(f"{world.place.url}/links/{divided['id']}")
        lists = page.get_by_role("region", name="Clicks by destination")
        for url, letter in zip(urls, "AB", strict=True):
            row = lists.get_by_role("listitem").filter(has_text=url)
            expect(row).to_have_count(1 if targets[url] else 0)
            if targets[url]:
                expect(row).to_contain_text(f"Variant {letter}")
                expect(row.locator(".number")).to_have_text(str(targets[url]))
        page.goto(f"{world.place.url}/links/{over['id']}")
        outside = page.get_by_role("region", name="Clicks before the link's start or after its end")
        expect(outside).to_contain_text("Not included in the totals above.")
        expect(outside.get_by_role("listitem")).to_contain_text("After the end")
        expect(outside.locator(".number")).to_have_text("3")
    world.call("DELETE", f"/v1/accounts/{account_id}")
