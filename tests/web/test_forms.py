"""What somebody types is not lost: neither when the session ends meanwhile, nor when the service cannot be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from playwright.sync_api import expect

from tests.web.places import EMAIL, PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Request

    from tests.web.places import Place

CHOSEN = "another long one"


def end_all_sessions(place: Place, password: str = PASSWORD) -> None:
    with httpx.Client(base_url=place.url, trust_env=False) as client:
        session = client.post("/auth/sign-in", json={"email": EMAIL, "password": password}).raise_for_status().json()
        bearer = {"Authorization": f"Bearer {session['access_token']}", "Content-Type": "application/json"}
        client.request("DELETE", "/v1/me/sessions", headers=bearer, content="{}").raise_for_status()


def fill_in(page: Page, place: Place, old: str, new: str) -> Locator:
    """The form for a new password, filled in and not sent."""
    page.goto(f"{place.url}/profile")
    page.get_by_label("Password now").fill(old)
    page.get_by_label("New password").fill(new)
    return page.get_by_role("button", name="Change the password")


def test_a_form_goes_on_after_signing_in_again(page, place):
    """The request is sent once more with the same key, so nothing is done twice."""
    send = fill_in(page, place, PASSWORD, CHOSEN)
    end_all_sessions(place)
    keys: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/me/password"):
            keys.append(request.headers["idempotency-key"])

    page.on("request", note)
    send.click()
    dialog = page.get_by_role("dialog", name="Sign in to go on")
    assert dialog.get_by_label("E-mail").input_value() == EMAIL
    assert page.get_by_label("New password").input_value() == CHOSEN
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in and go on").click()
    page.get_by_text("Every other session has ended").wait_for()
    assert len(keys) > 1
    assert len(set(keys)) == 1
    fill_in(page, place, CHOSEN, PASSWORD).click()
    page.get_by_text("Every other session has ended").wait_for()


def test_who_does_not_sign_in_again_is_led_to_the_door(page, place):
    send = fill_in(page, place, PASSWORD, CHOSEN)
    end_all_sessions(place)
    send.click()
    page.get_by_role("dialog").get_by_role("button", name="Leave it").click()
    page.get_by_role("heading", level=1, name="Sign in", exact=True).wait_for()


def test_a_wrong_field_is_told_at_the_field_and_has_the_focus(page, place):
    fill_in(page, place, PASSWORD, "short").click()
    wrong = page.locator("[aria-invalid=true]")
    wrong.wait_for()
    expect(page.get_by_label("New password")).to_be_focused()
    told = str(wrong.get_attribute("aria-describedby")).split()[-1]
    assert "8 characters" in page.locator(f"[id='{told}']").inner_text()


def test_a_service_that_is_away_is_told_once_and_found_again(page, place):
    page.goto(f"{place.url}/profile")
    page.get_by_text(EMAIL).first.wait_for()
    send = fill_in(page, place, PASSWORD, "short")
    page.route("**/v1/**", lambda route: route.abort())
    page.route("**/healthz", lambda route: route.abort())
    send.click()
    line = page.get_by_text("The service cannot be reached.")
    line.wait_for()
    assert page.get_by_label("New password").input_value() == "short"
    page.unroute("**/healthz")
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").first.click()
    line.wait_for(state="detached")


def test_too_many_tries_are_counted_down(stranger, place):
    page = stranger.new_page()
    refusal = {"error": {"code": "rate_limited", "message": "Too many requests."}}
    page.route("**/auth/sign-in", lambda route: route.fulfill(status=429, json=refusal, headers={"Retry-After": "41"}))
    page.goto(f"{place.url}/sign-in")
    page.get_by_label("E-mail").fill(EMAIL)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("Too many tries.").wait_for()
    waiting = page.get_by_role("button", name="Again in")
    assert waiting.get_attribute("aria-disabled") == "true"
