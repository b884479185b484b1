"""Tests of the session that all tabs of a browser share, and of its refresh."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.web.browser import Held, fetched, sign_in
from tests.web.places import EMAIL, PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, BrowserContext, Page, Request, Route

    from tests.web.places import Place

REFRESH = "**/auth/refresh"
# The Content-Security-Policy blocks Playwright's own wait_for_function.
ALL_WAIT = """async () => {
  for (let polls = 0; polls < 1000; polls += 1) {
    const { held, pending } = await navigator.locks.query();
    if (held.length + pending.length === 4) return true;
    await new Promise((later) => setTimeout(later, 20));
  }
  return false;
}"""


def heading(page: Page, name: str) -> None:
    """Wait until the page has this heading."""
    page.get_by_role("heading", level=1, name=name, exact=True).wait_for()


def four_tabs(context: BrowserContext, url: str) -> list[Page]:
    tabs = [context.new_page() for _ in range(4)]
    for tab in tabs:
        tab.goto(f"{url}/keys", wait_until="commit")
    return tabs


def test_tabs_refresh_once_and_sign_out_together(context, place):
    """The refresh gets its response only when all four tabs are waiting for it."""
    held: list[Route] = []
    context.route(REFRESH, lambda route: held.append(route))
    tabs = four_tabs(context, place.url)
    assert tabs[0].evaluate(ALL_WAIT)
    while not held:  # wait until the tab with the lock sends its refresh, because it pauses before that
        tabs[0].wait_for_timeout(10)
    assert len(held) == 1
    held[0].continue_()
    for tab in tabs:
        heading(tab, "API keys")
    assert len(held) == 1

    context.unroute(REFRESH)
    tabs[0].goto(f"{place.url}/profile")
    tabs[0].get_by_role("main").get_by_role("button", name="Sign out", exact=True).click()
    for tab in tabs:
        heading(tab, "Sign in")
    assert [cookie["name"] for cookie in context.cookies() if "refresh" in cookie["name"]] == []
    tabs[0].go_back()
    heading(tabs[0], "Sign in")


def test_sign_in_returns_to_requested_page(stranger, place):
    page = stranger.new_page()
    page.goto(f"{place.url}/links?q=a")
    heading(page, "Sign in")
    sign_in(stranger, place)
    page.reload()
    page.goto(f"{place.url}/links?q=a")
    heading(page, "Links")


def test_failed_refresh_does_not_sign_out(page, place):
    for status, code in ((429, "rate_limited"), (500, "internal"), (503, "busy"), (None, "connectionreset")):
        failed: list[Route] = []
        page.route(REFRESH, partial(fail_once, failed, status, code))
        page.goto(f"{place.url}/keys")
        heading(page, "API keys")
        assert len(failed) == 2, code
        page.unroute(REFRESH)


def fail_once(failed: list[Route], status: int | None, code: str, route: Route) -> None:
    """Respond to the first request with this status or, if `status` is None, abort it. Let later requests pass."""
    failed.append(route)
    if len(failed) > 1:
        route.continue_()
    elif status is None:
        route.abort(code)
    else:
        refusal = {"error": {"code": code, "message": "Not now.", "details": {}}}
        route.fulfill(status=status, json=refusal, headers={"Retry-After": "1"})


class Asked:
    """Records the access tokens in a tab's requests."""

    def __init__(self, page: Page) -> None:
        self.tokens: set[str] = set()
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        if "/v1/" in request.url:
            self.tokens.add(request.headers["authorization"].removeprefix("Bearer "))


@pytest.mark.parametrize("refused", [True, False])
def test_late_refresh_does_not_replace_new_session(context, place, refused):
    """While one tab waits for its refresh, the user signs in again in another tab. The first tab must ignore a late 401
    or a late token.
    """
    late: list[tuple[Route, APIResponse]] = []
    first, second = context.new_page(), context.new_page()
    asked = Asked(first)
    first.route(REFRESH, lambda route: late.append((route, fetched(route))))
    with first.expect_request(REFRESH):
        first.goto(f"{place.url}/keys", wait_until="commit")
    while not late:  # wait until the service has responded to the refresh
        first.wait_for_timeout(10)
    second.goto(f"{place.url}/sign-in")
    second.get_by_label("Email").fill(EMAIL)
    second.get_by_label("Password", exact=True).fill(PASSWORD)
    with second.expect_response("**/auth/sign-in") as signed_in:
        second.get_by_role("button", name="Sign in").click()
    heading(first, "API keys")
    [(route, older)] = late
    new_token = signed_in.value.json()["access_token"]
    assert older.json()["access_token"] != new_token
    refusal = {"error": {"code": "unauthorized", "message": "The session has ended.", "details": {}}}
    with first.expect_response(REFRESH):
        if refused:
            route.fulfill(status=401, json=refusal)
        else:
            route.fulfill(response=older)
    first.keyboard.press("g")
    first.keyboard.press("l")
    heading(first, "Links")
    assert asked.tokens == {new_token}


def test_browser_storage_has_no_secrets(page, place):
    page.goto(f"{place.url}/keys")
    heading(page, "API keys")
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}]) + document.cookie")
    assert "sv" not in kept.replace("svc", ""), kept


@pytest.mark.parametrize("asked", ["/auth/refresh", "/v1/links?*"])
def test_request_without_response_times_out_and_is_retried(
    stranger: BrowserContext, furnished: Place, asked: str
) -> None:
    sign_in(stranger, furnished)
    page = stranger.new_page()
    page.clock.install()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**{asked}", hold)
    # Hold the page's automatic checks. If one succeeded before the click, the button would disappear.
    checks = Held(page, "**/healthz")
    # Hold other requests as well, because a response after the timeout would show that the service is reachable.
    other = "**/v1/accounts" if asked.startswith("/v1") else "**/links?q=hello"
    with page.expect_request(f"**{asked}"), page.expect_response(other):
        page.goto(f"{furnished.url}/links?q=hello")
    page.clock.fast_forward(61_000)
    page.get_by_text("Cannot reach the service").wait_for()
    for route in held:
        route.abort()
    page.unroute(f"**{asked}")
    page.get_by_role("button", name="Try again").click()
    checks.release()
    page.get_by_role("link", name="hello").wait_for()
