"""Leaving a page requires confirmation while a form has unsent input, but not after the input was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.browser import Held, fetched
from tests.web.places import EMAIL, PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page, Route

    from tests.web.places import Place
    from tests.web.world import World

CHOSEN = "another long password"


@pytest.fixture
def typed(page: Page, place) -> Locator:
    """A filled-in field of a form. The browser's history contains another page before the form's page."""
    page.goto(f"{place.url}/keys")
    page.get_by_role("button", name=EMAIL).click()
    page.get_by_role("link", name="Profile").click()
    field = page.get_by_label("Current password")
    field.fill(PASSWORD)
    return field


def leave(page: Page, way: str) -> None:
    if way == "a link":
        page.get_by_role("link", name="Links", exact=True).click()
    elif way == "back":
        page.evaluate("history.back()")
    else:
        page.get_by_role("heading", level=1).press("g")
        page.keyboard.press("l")


@pytest.mark.parametrize("way", ["a link", "back", "a shortcut"])
def test_leaving_unsent_input_requires_confirmation(page: Page, place, typed: Locator, way: str) -> None:
    leave(page, way)
    dialog = page.get_by_role("dialog", name="Leave this page?")
    expect(dialog.get_by_role("button", name="Stay")).to_be_focused()
    page.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    page.wait_for_url(f"{place.url}/profile")  # after a step back, the browser restores the URL asynchronously
    assert typed.input_value() == PASSWORD
    leave(page, way)
    dialog.get_by_role("button", name="Leave").click()
    page.wait_for_url("**/keys" if way == "back" else "**/links")
    expect(page.get_by_role("heading", level=1)).to_have_text("API keys" if way == "back" else "Links")
    # The input was discarded, and the history of the browser is unchanged.
    if way == "back":
        page.go_forward()
    else:
        page.go_back()
    page.wait_for_url("**/profile")
    expect(typed).to_have_value("")
    assert dialog.count() == 0


def test_leaving_after_sending_requires_no_confirmation(page: Page, place, typed: Locator) -> None:
    page.get_by_label("New password").fill(CHOSEN)
    page.get_by_role("button", name="Change password").click()
    page.get_by_text("All your other sessions were ended").wait_for()
    typed.fill(CHOSEN)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(typed).to_have_value("")
    page.get_by_text("All your other sessions were ended").wait_for()
    page.get_by_role("link", name="Links", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")


@pytest.fixture
def excluded(world: World) -> Iterator[Callable[[list[str]], None]]:
    """Exclude countries from the counts of the site. At the end, no visitors are excluded."""
    site = f"/v1/sites/{world.place.ids['sites']}"

    def exclude(countries: list[str]) -> None:
        world.call("PATCH", site, {"excluded_countries": countries})

    yield exclude
    world.call("PATCH", site, {"excluded_countries": [], "excluded_paths": []})


def test_edits_during_a_request_are_not_saved_yet(
    tab: Page, furnished: Place, excluded: Callable[[list[str]], None]
) -> None:
    site = f"**/v1/sites/{furnished.ids['sites']}"

    def pending(route: Route) -> None:
        """Respond as if the site were never synced, so that the page polls the site."""
        response = fetched(route)
        body = response.json()
        body["site"]["config"] = "pending"
        route.fulfill(response=response, json=body)

    tab.route(site, pending)
    tab.goto(furnished.at("/sites/:id/settings"))
    countries = tab.get_by_role("button", name="Excluded countries: ")
    countries.click()
    tab.get_by_role("button", name="Benelux").click()
    dialog = tab.get_by_role("dialog", name="Leave this page?")
    tab.get_by_role("link", name="Links", exact=True).click()
    dialog.get_by_role("button", name="Stay").click()
    held = Held(tab, site, "PATCH")
    tab.get_by_role("button", name="Save", exact=True).click()
    paths = tab.get_by_label("Excluded paths")
    paths.fill("/later")
    held.release()
    expect(tab.get_by_role("status").get_by_text("Saved")).to_be_visible()
    # The saved countries follow a change in another tab, and the edited paths do not.
    excluded(["AD"])
    expect(countries).to_have_text("Andorra")
    expect(paths).to_have_value("/later")
    tab.get_by_role("link", name="Links", exact=True).click()
    dialog.get_by_role("button", name="Leave").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("Links")


@pytest.mark.parametrize("way", ["Sign out", "Sign out everywhere"])
def test_signing_out_with_unsent_input_requires_confirmation(page: Page, place, typed: Locator, way: str) -> None:
    ended = page.get_by_role("main").get_by_role("button", name=way, exact=True)
    ended.click()
    dialog = page.get_by_role("dialog", name="Leave this page?")
    dialog.get_by_text("Your changes have not been saved").wait_for()
    page.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    assert typed.input_value() == PASSWORD
    ended.click()
    dialog.get_by_role("button", name="Leave").click()
    page.get_by_role("heading", level=1, name="Sign in").wait_for()


def test_going_back_does_not_lose_new_api_key(page: Page, place) -> None:
    page.goto(f"{place.url}/links")
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("button", name="New API key").click()
    page.get_by_role("checkbox", name="Links").check()
    page.get_by_role("button", name="Create key").click()
    shown = page.get_by_role("dialog", name="Your new API key")
    key = shown.locator("#key-value").inner_text()
    page.evaluate("history.back()")
    dialog = page.get_by_role("dialog", name="Leave this page?")
    dialog.get_by_text("shown only once").wait_for()
    page.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    assert shown.locator("#key-value").inner_text() == key
    page.wait_for_url("**/keys")  # the browser restores the URL asynchronously
    page.once("dialog", lambda alert: alert.dismiss())
    with page.expect_event("dialog") as asked:
        page.evaluate("location.reload()")
    assert asked.value.type == "beforeunload"
    shown.get_by_role("button", name="I have saved the key").click()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_role("link", name="Links", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Links")
