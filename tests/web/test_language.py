"""The pages use the language chosen in this browser, otherwise the profile's, otherwise the browser's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.web.browser import close, new_context, signed_in_tab
from tests.web.places import PASSWORD
from tests.web.world import World, sign_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

    from tests.web.places import Place

CYD = "cyd@example.com"
ME = "**/v1/me"


@pytest.fixture(scope="session")
def cyd(place: Place) -> Place:
    """The service of `place` with another user, who has no data."""
    sign_up(place, CYD)
    return place


@pytest.fixture
def profile(cyd: Place) -> World:
    """Access to the service as the user of `cyd`, whose profile has no language."""
    world = World(cyd, CYD)
    world.call("PATCH", "/v1/me", {"language": None})
    return world


def language_of(profile: World) -> str | None:
    found: dict[str, Any] = profile.call("GET", "/v1/me")
    language: str | None = found["user"]["language"]
    return language


def shown_in(tab: Page, language: str) -> None:
    """Wait until the page is in this language."""
    expect(tab.get_by_role("heading", level=1)).to_have_text({"en": "Profile", "de": "Profil"}[language])
    expect(tab.locator("html")).to_have_attribute("lang", language)


def choice(tab: Page) -> Any:
    return tab.locator("select").filter(has=tab.locator("option[value=de]"))


@pytest.mark.parametrize(
    ("stored", "locale", "shown"), [("de", "en-US", "de"), ("en", "de-DE", "en"), (None, "de-DE", "de")]
)
def test_new_browser_shows_the_language_of_the_profile(
    browser: Browser, cyd: Place, profile: World, stored, locale, shown
):
    profile.call("PATCH", "/v1/me", {"language": stored})
    with signed_in_tab(browser, cyd, CYD, locale=locale) as tab:
        tab.goto(f"{cyd.url}/profile")
        shown_in(tab, shown)
        expect(choice(tab)).to_have_value(stored or "browser")
    assert language_of(profile) == stored  # opening the page does not change the profile


def test_chosen_language_becomes_that_of_the_profile(browser: Browser, cyd: Place, profile: World):
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        shown_in(tab, "en")
        expect(tab.get_by_text("You receive emails in")).to_have_count(0)
        choice(tab).select_option("de")
        shown_in(tab, "de")
        tab.get_by_text("Sie erhalten E-Mails auf Deutsch.").wait_for()
        assert language_of(profile) == "de"
        choice(tab).select_option("browser")
        shown_in(tab, "en")
        tab.get_by_text("You receive emails in English.").wait_for()
        assert language_of(profile) == "en"
        tab.goto(f"{cyd.url}/events")
        expect(tab.get_by_role("rowheader", name="Email settings changed").first).to_be_visible()


def test_choice_of_a_browser_comes_before_the_profile(browser: Browser, cyd: Place, profile: World):
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        choice(tab).select_option("en")
        tab.get_by_text("You receive emails in English.").wait_for()
        profile.call("PATCH", "/v1/me", {"language": "de"})
        tab.reload()
        tab.get_by_text("You receive emails in German.").wait_for()
        shown_in(tab, "en")
        expect(choice(tab)).to_have_value("en")


def test_profile_of_another_tab_follows(browser: Browser, cyd: Place, profile: World):
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        other = tab.context.new_page()
        other.goto(f"{cyd.url}/profile")
        shown_in(other, "en")
        choice(tab).select_option("de")
        shown_in(other, "de")
        other.get_by_text("Sie erhalten E-Mails auf Deutsch.").wait_for()
    assert language_of(profile) == "de"


def test_signed_out_pages_have_the_language_of_the_browser(browser: Browser, cyd: Place, profile: World):
    profile.call("PATCH", "/v1/me", {"language": "de"})
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        shown_in(tab, "de")
        tab.get_by_role("main").get_by_role("button", name="Abmelden", exact=True).click()
        tab.get_by_role("heading", level=1, name="Sign in").wait_for()
        expect(tab.locator("html")).to_have_attribute("lang", "en")


def test_language_that_cannot_be_stored_shows_an_error(browser: Browser, cyd: Place, profile: World):
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        shown_in(tab, "en")
        tab.route(ME, lambda route: route.fulfill(status=500, json={"error": {"code": "internal", "message": "x"}}))
        choice(tab).select_option("de")
        tab.get_by_role("alert").get_by_text("Im Dienst ist ein Fehler aufgetreten.").wait_for()
        shown_in(tab, "de")
        tab.unroute(ME)
        choice(tab).select_option("en")
        tab.get_by_text("You receive emails in English.").wait_for()
        expect(tab.get_by_role("alert")).to_have_count(0)
    assert language_of(profile) == "en"


def test_last_of_several_quick_choices_is_stored(browser: Browser, cyd: Place, profile: World):
    with signed_in_tab(browser, cyd, CYD) as tab:
        tab.goto(f"{cyd.url}/profile")
        shown_in(tab, "en")
        held: list[Route] = []
        tab.route(ME, lambda route: route.continue_() if held else held.append(route))
        with tab.expect_request(ME):
            choice(tab).select_option("de")
        shown_in(tab, "de")
        choice(tab).select_option("en")
        shown_in(tab, "en")
        held[0].continue_()
        tab.get_by_text("You receive emails in English.").wait_for()
    assert language_of(profile) == "en"


def test_sign_up_is_confirmed_in_the_language_of_the_page(browser: Browser, cyd: Place):
    context = new_context(browser, locale="de-AT")
    tab = context.new_page()
    tab.goto(f"{cyd.url}/sign-up")
    tab.get_by_label("E-Mail").fill("dora@example.com")
    tab.get_by_label("Passwort", exact=True).fill(PASSWORD)
    tab.get_by_role("button", name="Registrieren").click()
    tab.get_by_role("heading", name="Prüfen Sie Ihr Postfach").wait_for()
    assert language_of(World(cyd, "dora@example.com")) == "de"
    close(context)


def test_sign_up_in_another_language_than_the_pages_have_is_english(browser: Browser, cyd: Place):
    """The browser prefers French, which is not available. The page is in English, so the emails must be in English."""
    context = new_context(browser, locale="fr-FR")
    tab = context.new_page()
    tab.goto(f"{cyd.url}/sign-up")
    tab.get_by_label("Email").fill("fred@example.com")
    tab.get_by_label("Password", exact=True).fill(PASSWORD)
    tab.get_by_role("button", name="Sign up").click()
    tab.get_by_role("heading", name="Check your inbox").wait_for()
    assert language_of(World(cyd, "fred@example.com")) == "en"
    close(context)
