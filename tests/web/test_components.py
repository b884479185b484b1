"""Tests of the page with all components, which demonstrations serve at /components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.browser import close, new_context
from tests.web.places import open_demonstration
from tests.web.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

SIDES = "(all) => all.map((one) => one.getBoundingClientRect()).map(({left, top, bottom}) => [left, top, bottom])"


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with open_demonstration(tmp_path_factory.mktemp("components") / "svc") as place:
        yield place


@pytest.fixture
def components(browser: Browser, demonstration: Place) -> Iterator[Page]:
    context = new_context(browser)
    page = context.new_page()
    page.goto(f"{demonstration.url}/components")
    yield page
    close(context)


class ComponentsVisit(Visit):
    """A visit to the page with all components. This page shows a skeleton permanently, so the visit does not wait until
    skeletons disappear.
    """

    def loaded(self) -> None:
        """Wait until the components are shown."""
        self.page.get_by_role("heading", level=1).wait_for()


def test_components_have_no_problems(components: Page, demonstration: Place) -> None:
    visit = ComponentsVisit(components, demonstration.url)
    visit.open("/components", f"{demonstration.url}/components")
    # Ignore landmarks with the same name: unlike other pages, this page has two charts.
    assert [each for each in visit.found if "landmark-unique" not in each] == []


def test_parts_of_reports_are_included(components: Page) -> None:
    """In the application, the period selector, the notes and the statement badge load after the chart. The page with
    all components must include them.
    """
    expect(components.get_by_role("group", name="Period, interval and comparison")).to_have_count(1)
    components.get_by_role("button", name="Other period").click()
    choices = components.get_by_role("dialog", name="Other period").get_by_role("link")
    expect(choices.filter(has_text="Last month")).to_be_visible()
    notes = components.locator(".notes li")
    expect(notes).to_have_count(3)
    expect(components.locator(".marks button")).to_have_count(3)
    expect(notes.last).to_contain_text("Snippet replaced.")
    badges = [
        "all numbers agree, bots included",
        "the numbers agree so far",
        "12 could not be counted",
        "the numbers do not agree",
        "Nothing arrived on this day",
        "Statement of counts available within an hour",
        "No statement of counts for this day",
        "No statement of counts available",
    ]
    expect(components.locator(".statement")).to_contain_text(badges)


def test_notes_are_aligned_and_below_their_days_on_phones(components: Page) -> None:
    texts, days = components.locator(".notes bdi"), components.locator(".notes time")
    expect(texts).to_have_count(3)
    assert len({left for left, _, _ in texts.evaluate_all(SIDES)}) == 1
    components.set_viewport_size({"width": 390, "height": 844})
    tops = [top for _, top, _ in texts.evaluate_all(SIDES)]
    assert all(bottom <= top for (_, _, bottom), top in zip(days.evaluate_all(SIDES), tops, strict=True))


def test_controls_of_a_report_have_the_same_height(components: Page) -> None:
    controls = components.locator(".range :is(button, select)")
    expect(controls).to_have_count(5)
    assert len({bottom - top for _, top, bottom in controls.evaluate_all(SIDES)}) == 1


def test_file_field_does_not_look_disabled(components: Page) -> None:
    background = "(field) => getComputedStyle(field).backgroundColor"
    host, file, off = (components.get_by_label(name, exact=True) for name in ("Host", "File", "Unavailable"))
    assert file.evaluate(background) == host.evaluate(background) != off.evaluate(background)
