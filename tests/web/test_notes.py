"""Tests of the notes below a report's chart: they are added, changed and deleted, and marked at their days."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from edge_worker.harness.service import eventually
from svc.clock import day_of, day_text
from tests.web.browser import signed_in_tab, wait_until_loaded
from tests.web.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from tests.web.places import Place

HOSTILE = "<img src=x onerror=\"broken.push('ran')\"> \N{RIGHT-TO-LEFT OVERRIDE}שלום &lt;b&gt;"


@pytest.fixture(autouse=True)
def no_notes(furnished: Place) -> Iterator[World]:
    """Delete the notes that a test wrote, because other tests use the same site and link."""
    world = World(furnished)
    yield world
    for query in (f"site_id={furnished.ids['sites']}", f"link_id={furnished.ids['links']}"):
        for note in world.call("GET", f"/v1/notes?{query}")["notes"]:
            world.call("DELETE", f"/v1/notes/{note['id']}")


def today() -> int:
    return day_of(time.time_ns() // 1_000_000)


def days_ago(days: int) -> str:
    return day_text(today() - days)


def opened(tab: Page, place: Place, period: str = "30d", section: str = "sites") -> Locator:
    """Open the report, and return the section with the notes."""
    tab.goto(f"{place.at(f'/{section}/:id')}?period={period}")
    wait_until_loaded(tab)
    return tab.get_by_role("region", name="Notes")


def rows(notes: Locator) -> Locator:
    return notes.get_by_role("listitem")


def save(tab: Page, text: str, day: str | None = None) -> None:
    """Fill in the dialog and save the note."""
    dialog = tab.get_by_role("dialog")
    if day is not None:
        dialog.get_by_label("Day (UTC)").fill(day)
    dialog.get_by_label("Note", exact=True).fill(text)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)


def test_note_is_added_changed_and_deleted(furnished: Place, tab: Page) -> None:
    notes = opened(tab, furnished)
    expect(notes).to_contain_text("Explain what happened on a day")
    notes.get_by_role("button", name="Add note").click()
    expect(tab.get_by_role("dialog").get_by_label("Day (UTC)")).to_have_value(days_ago(0))
    save(tab, "Newsletter sent", days_ago(3))
    expect(notes.get_by_role("status")).to_have_text("Note saved.")
    expect(rows(notes)).to_have_count(1)
    expect(rows(notes)).to_contain_text("Newsletter sent")
    expect(notes.get_by_role("time")).to_have_attribute("datetime", days_ago(3))
    expect(tab.locator(".marks button")).to_have_count(1)

    notes.get_by_role("button", name="Edit: Newsletter sent").click()
    save(tab, "Relaunch", days_ago(5))
    expect(rows(notes)).to_contain_text("Relaunch")
    expect(notes.get_by_role("time")).to_have_attribute("datetime", days_ago(5))
    tab.reload()
    expect(rows(notes)).to_contain_text("Relaunch")

    notes.get_by_role("button", name="Delete: Relaunch").click()
    dialog = tab.get_by_role("dialog", name="Delete this note?")
    expect(dialog).to_contain_text("Relaunch")
    tab.keyboard.press("Escape")
    expect(rows(notes)).to_have_count(1)
    notes.get_by_role("button", name="Delete: Relaunch").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(notes.get_by_role("status")).to_have_text("Note deleted.")
    expect(rows(notes)).to_have_count(0)
    expect(tab.locator(".marks button")).to_have_count(0)


def test_click_on_a_day_of_the_chart_adds_a_note_on_this_day(furnished: Place, tab: Page) -> None:
    notes = opened(tab, furnished)
    plot = tab.locator(".chart .plot")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] * 20.5 / 30, "y": 100})
    expect(tab.get_by_role("dialog").get_by_label("Day (UTC)")).to_have_value(days_ago(9))
    save(tab, "Launch")
    expect(notes.get_by_role("time")).to_have_attribute("datetime", days_ago(9))
    mark = tab.locator(".marks button").bounding_box()
    assert mark is not None
    assert abs(mark["x"] + mark["width"] / 2 - (box["x"] + box["width"] * 20.5 / 30)) < 2


def test_day_is_chosen_with_the_keyboard(furnished: Place, tab: Page) -> None:
    opened(tab, furnished)
    tab.locator(".chart").focus()
    for key in ("End", "ArrowLeft", "ArrowLeft", "Enter"):
        tab.keyboard.press(key)
    expect(tab.get_by_role("dialog").get_by_label("Day (UTC)")).to_have_value(days_ago(2))
    expect(tab.get_by_role("dialog").get_by_label("Note", exact=True)).to_be_focused()
    tab.keyboard.type("By keyboard")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("dialog")).to_have_count(0)
    expect(rows(tab.get_by_role("region", name="Notes"))).to_contain_text("By keyboard")


def test_tap_on_the_chart_opens_no_dialog(browser: Browser, furnished: Place) -> None:
    """A tap on a point of the chart shows the numbers of the day. A dialog would cover these numbers."""
    with signed_in_tab(browser, furnished, has_touch=True) as tab:
        notes = opened(tab, furnished)
        tab.locator(".chart .plot").tap(position={"x": 5, "y": 100})
        notes.get_by_role("button", name="Add note").tap()
        expect(tab.get_by_role("dialog").get_by_label("Day (UTC)")).to_have_value(days_ago(0))


def test_note_on_the_account_is_shown_with_its_links(furnished: Place, tab: Page) -> None:
    notes = opened(tab, furnished)
    notes.get_by_role("button", name="Add note").click()
    tab.get_by_label("Show for").select_option("account")
    save(tab, "Holiday")
    expect(rows(notes)).to_contain_text("Whole account")
    notes = opened(tab, furnished, section="links")
    expect(rows(notes)).to_contain_text("Holiday")
    notes.get_by_role("button", name="Delete: Holiday").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(rows(notes)).to_have_count(0)


def test_note_outside_the_period_is_announced_with_its_day(furnished: Place, tab: Page) -> None:
    notes = opened(tab, furnished, "7d")
    notes.get_by_role("button", name="Add note").click()
    save(tab, "Long ago", "2001-02-03")
    expect(notes.get_by_role("status")).to_contain_text("Feb 3, 2001")
    expect(rows(notes)).to_have_count(0)


@pytest.mark.parametrize(
    ("day", "text", "field"),
    [("1999-12-31", "Newsletter", "Day (UTC)"), ("", "Newsletter", "Day (UTC)"), ("2026-01-01", "  ", "Note")],
)
def test_invalid_input_is_marked_at_its_field(furnished: Place, tab: Page, day: str, text: str, field: str) -> None:
    notes = opened(tab, furnished)
    notes.get_by_role("button", name="Add note").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("Day (UTC)").fill(day)
    dialog.get_by_label("Note", exact=True).fill(text)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label(field, exact=True)).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Day (UTC)").fill(days_ago(1))
    dialog.get_by_label("Note", exact=True).fill("Newsletter")
    dialog.get_by_role("button", name="Save").click()
    expect(rows(notes)).to_contain_text("Newsletter")


def test_hostile_texts_stay_text_and_do_not_change_the_direction_of_the_page(furnished: Place, tab: Page) -> None:
    notes = opened(tab, furnished)
    notes.get_by_role("button", name="Add note").click()
    save(tab, HOSTILE)
    expect(rows(notes).locator("bdi")).to_have_text(HOSTILE)
    assert tab.locator("img[src=x]").count() == 0
    assert tab.evaluate("broken") == []
    notes.get_by_role("button", name="Delete", exact=False).click()
    expect(tab.get_by_role("dialog").locator("bdi")).to_have_text(HOSTILE)
    assert tab.locator("img[src=x]").count() == 0


def test_many_notes_are_folded_and_marked_once_per_day(furnished: Place, tab: Page, no_notes: World) -> None:
    site = furnished.ids["sites"]
    for n in range(12):
        body: Any = {"site_id": site, "day": days_ago(n % 4 + 1), "text": f"note {n}"}
        no_notes.call("POST", "/v1/notes", body)
    notes = opened(tab, furnished)
    expect(rows(notes)).to_have_count(5)
    expect(tab.locator(".marks button")).to_have_count(4)
    # The last mark belongs to a note that the list does not show yet.
    tab.locator(".marks button").last.click()
    expect(rows(notes)).to_have_count(12)
    expect(rows(notes).nth(9)).to_be_focused()
    notes.get_by_role("button", name="Show fewer").click()
    expect(rows(notes)).to_have_count(5)
    notes.get_by_role("button", name="Show all 12 notes").click()
    expect(rows(notes)).to_have_count(12)


def test_automatic_note_is_shown_in_the_readers_language(
    browser: Browser, world: World, customer: Any, zone: str, furnished: Place
) -> None:
    account_id = world.connected(customer)

    async def ready() -> bool | None:
        return world.call("GET", f"/v1/accounts/{account_id}")["account"]["state"] == "ready" or None

    world.platform(lambda _: eventually(ready))
    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    world.seen(customer, site, "/\n")
    world.call("POST", f"/v1/sites/{site['id']}/rotate", {})
    for language, text in (("en-US", "Snippet replaced."), ("de-DE", "Snippet ersetzt.")):
        with signed_in_tab(browser, furnished, locale=language) as tab:
            tab.goto(f"{furnished.url}/sites/{site['id']}?period=7d")
            row = rows(tab.locator(".notes"))
            expect(row).to_contain_text(text)
            expect(row.get_by_role("button")).to_have_count(1)
            row.get_by_role("button", name=re.compile("Delete|Löschen")).click()
            tab.get_by_role("dialog").get_by_role("button", name=re.compile("Cancel|Abbrechen")).click()
