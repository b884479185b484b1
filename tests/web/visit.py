"""A tab that visits pages, and the checks that it makes on each of them."""

from __future__ import annotations

import random
import re
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from playwright.sync_api import expect

from edge_worker.harness.sampling import EVERYTHING, SEED
from tests.web.browser import HEIGHT, THEMES, WIDTHS, wait_until_loaded
from tests.web.places import ROOT

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
    """Return the variants to check with axe: all variants in `make test-all`, otherwise a random one."""
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
            self.axe(f"{variant.theme}, {variant.width} px")
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

    def axe(self, shown: str) -> None:
        """Check the page with axe. `shown` describes the variant."""
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(AXE)
        options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
        result = self.page.evaluate("(options) => axe.run(document, options)", options)
        for violation in result["violations"]:
            places = [node["target"] for node in violation["nodes"]]
            self._note(f"axe, {shown}: {violation['id']} {places}", True)
