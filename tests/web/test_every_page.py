"""Checks that run on every page listed in svc/web/pages.json."""

from __future__ import annotations

import random
import re
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest
from playwright.sync_api import expect

from edge_worker.harness.sampling import EVERYTHING, SEED
from tests.web.places import (
    CALLED,
    HEIGHT,
    ROOT,
    THEMES,
    WIDTHS,
    close,
    new_context,
    pages,
    sign_in,
    states,
    wait_until_loaded,
)

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page

AXE = (ROOT / "svc/web/node_modules/axe-core/axe.min.js").read_text()
LOCALES = ("en-US", "de-DE")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Variant(NamedTuple):
    """The theme and the width to use for a page."""

    theme: str
    width: int


def variants_of(path: str) -> list[Variant]:
    """Return the variants to check with axe: in `make test-all` all of them, otherwise one that is chosen at random."""
    variants = [Variant(theme, width) for theme, width in product(THEMES, WIDTHS)]
    return variants if EVERYTHING else [random.Random(f"{SEED} {path}").choice(variants)]


class Visit:
    """A tab that visits pages and collects the problems that it finds on them."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.found: list[str] = []
        self._at = ""
        page.on("console", self._read)
        page.on("pageerror", lambda error: self._note(str(error), True))
        page.on(
            "request", lambda request: self._note(f"asks {request.url}", not request.url.startswith((url, "blob:")))
        )

    def _read(self, message: ConsoleMessage) -> None:
        # Without a session, the refresh fails with 401. The browser logs this as an error, which is expected.
        asked = message.location["url"].endswith("/auth/refresh")
        self._note(message.text, message.type in ("error", "warning") and not asked)

    def _note(self, what: str, wrong: bool) -> None:
        if wrong:
            self.found.append(f"{self._at}: {what}")

    def open(self, path: str, address: str) -> None:
        """Open a page. Check each variant with axe, and each width for overflow."""
        self._at = path
        variants = variants_of(path)
        self._show(variants[0])
        self.page.goto(address)
        self.loaded()
        headings = self.page.locator("h1").all_inner_texts()
        named = len(headings) == 1 and self._title_begins_with(headings[0])
        self._note(f"headings {headings}, title {self.page.title()}", not named)
        for variant in variants:
            self._show(variant)
            self._axe(f"{variant.theme}, {variant.width} px")
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            wide = self.page.evaluate("document.documentElement.scrollWidth")
            self._note(f"{wide} px wide at {width} px", wide > width)
        broken = self.page.evaluate("broken")
        self._note(f"breaks the policy: {broken}", bool(broken))

    def _show(self, variant: Variant) -> None:
        self.page.set_viewport_size({"width": variant.width, "height": HEIGHT})
        self.page.emulate_media(color_scheme="dark" if variant.theme == "dark" else "light")

    def _title_begins_with(self, heading: str) -> bool:
        """Wait until the title begins with the heading. Return False if this does not happen.

        The page sets its title only after the heading has appeared.
        """
        try:
            expect(self.page).to_have_title(re.compile(f"^{re.escape(heading)}"))
        except AssertionError:
            return False
        return True

    def loaded(self) -> None:
        """Wait until the page shows its data."""
        wait_until_loaded(self.page)

    def _axe(self, shown: str) -> None:
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(AXE)
        options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
        result = self.page.evaluate("(options) => axe.run(document, options)", options)
        for violation in result["violations"]:
            places = [node["target"] for node in violation["nodes"]]
            self._note(f"axe, {shown}: {violation['id']} {places}", True)


@pytest.mark.rule("D3")
@pytest.mark.parametrize("locale", LOCALES if EVERYTHING else [random.Random(SEED).choice(LOCALES)])
@pytest.mark.parametrize("public", [True, False])
def test_every_page_has_no_problems(browser, furnished, public, locale, stray_calls):
    """Check for errors, requests to other hosts, unknown operations, axe violations and horizontal scrolling.

    Each page must have a title and a heading.
    """
    context = new_context(browser, locale=locale)
    if not public:
        sign_in(context, furnished)
    visit = Visit(context.new_page(), furnished.url)
    for page in pages():
        if page["public"] is public:
            visit.open(page["path"], furnished.at(page["path"]))
    for path in () if public else states():
        visit.open(path, furnished.at(path))
    close(context)
    assert visit.found == []
    assert stray_calls() == set()


@pytest.mark.rule("D3")
def test_unknown_operation_is_detected(page, place, stray_calls):
    with page.expect_response(f"{place.url}/v1/keys"):
        page.goto(f"{place.url}/keys")
        page.get_by_role("heading", level=1, name="API keys", exact=True).wait_for()
    assert {("POST", "/auth/refresh"), ("GET", "/v1/keys")} <= CALLED
    assert stray_calls() == set()
    page.evaluate("Promise.all([fetch('/pages/keys'), fetch('/v1/keys', {method: 'PUT'})])")
    assert stray_calls() == {"GET /pages/keys", "PUT /v1/keys"}
    CALLED.clear()


def test_unknown_page_is_reported_as_not_found(browser, furnished):
    context = new_context(browser)
    page = context.new_page()
    response = page.goto(f"{furnished.url}/nothing/at/all")
    assert response is not None
    assert response.status == 404
    page.get_by_role("heading", level=1, name="Page not found").wait_for()
    close(context)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_check_detects_low_contrast(stranger, place, theme):
    """The check must detect this problem, which only axe can find, in both themes."""
    page = stranger.new_page()
    visit = Visit(page, place.url)
    page.goto(f"{place.url}/sign-in")
    visit.loaded()
    page.emulate_media(color_scheme=theme)
    page.evaluate("document.querySelector('h1').style.color = 'light-dark(#eee8dd, #222)'")
    visit._axe(theme)
    assert [found.partition(": axe, ")[2].split()[1] for found in visit.found] == ["color-contrast"]
