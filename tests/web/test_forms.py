"""Forms keep their input when the session expires or the service is unreachable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from playwright.sync_api import expect

from tests.web.browser import Held
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
    """Fill in the form for a new password. Return the button that sends the form."""
    page.goto(f"{place.url}/profile")
    page.get_by_label("Current password").fill(old)
    page.get_by_label("New password").fill(new)
    return page.get_by_role("button", name="Change password")


def test_form_continues_after_signing_in_again(page, place):
    """The page repeats the request with the same Idempotency-Key, so that the request takes effect only once."""
    send = fill_in(page, place, PASSWORD, CHOSEN)
    end_all_sessions(place)
    keys: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/me/password"):
            keys.append(request.headers["idempotency-key"])

    page.on("request", note)
    send.click()
    dialog = page.get_by_role("dialog", name="Sign in to continue")
    assert dialog.get_by_label("Email").input_value() == EMAIL
    assert page.get_by_label("New password").input_value() == CHOSEN
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in and continue").click()
    page.get_by_text("All your other sessions were ended").wait_for()
    assert len(keys) > 1
    assert len(set(keys)) == 1
    fill_in(page, place, CHOSEN, PASSWORD).click()
    page.get_by_text("All your other sessions were ended").wait_for()


def test_declining_to_sign_in_again_leads_to_sign_in_page(page, place):
    send = fill_in(page, place, PASSWORD, CHOSEN)
    end_all_sessions(place)
    send.click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    page.get_by_role("heading", level=1, name="Sign in", exact=True).wait_for()


def test_invalid_field_shows_error_and_has_focus(page, place):
    fill_in(page, place, PASSWORD, "short").click()
    wrong = page.locator("[aria-invalid=true]")
    wrong.wait_for()
    expect(page.get_by_label("New password")).to_be_focused()
    issue_id = str(wrong.get_attribute("aria-describedby")).split()[-1]
    assert "8 characters" in page.locator(f"[id='{issue_id}']").inner_text()


def test_unreachable_service_is_shown_once_until_reachable(page, place):
    page.goto(f"{place.url}/profile")
    page.get_by_text(EMAIL).first.wait_for()
    send = fill_in(page, place, PASSWORD, "short")
    page.route("**/v1/**", lambda route: route.abort())
    # Hold the page's automatic checks. If one succeeded before the click, the button would disappear.
    checks = Held(page, "**/healthz")
    send.click()
    line = page.get_by_text("Cannot reach the service.")
    line.wait_for()
    assert page.get_by_label("New password").input_value() == "short"
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").first.click()
    checks.release()
    line.wait_for(state="detached")


def test_rate_limit_counts_down(stranger, place):
    page = stranger.new_page()
    refusal = {"error": {"code": "rate_limited", "message": "Too many requests."}}
    page.route("**/auth/sign-in", lambda route: route.fulfill(status=429, json=refusal, headers={"Retry-After": "41"}))
    page.goto(f"{place.url}/sign-in")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("Too many attempts.").wait_for()
    waiting = page.get_by_role("button", name="Try again in")
    assert waiting.get_attribute("aria-disabled") == "true"
