"""`make shots`: save screenshots of every page to var/shots for visual review, in all languages, themes and widths."""

from __future__ import annotations

import sys
import tempfile
from itertools import product
from pathlib import Path

from tests.web.browser import HEIGHT, THEMES, new_context, open_browser, sign_in, wait_until_loaded
from tests.web.places import ROOT, open_furnished, pages

SHOTS = ROOT / "var/shots"
LOCALES = ("en-US", "de-DE")
# A large screen, a tablet or a page at 200% zoom, a phone, and the narrowest phone.
WIDTHS = (1440, 768, 390, 320)


def main() -> None:
    """Create all screenshots and replace existing ones."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="svc-shots-") as folder,
        open_browser() as browser,
        open_furnished(Path(folder) / "svc") as place,
    ):
        for locale, theme, width in product(LOCALES, THEMES, WIDTHS):
            context = new_context(
                browser, locale=locale, color_scheme=theme, viewport={"width": width, "height": HEIGHT}
            )
            page = context.new_page()
            for each in sorted(pages(), key=lambda each: not each["public"]):
                if not each["public"] and not context.cookies():
                    sign_in(context, place)
                page.goto(place.at(each["path"]))
                wait_until_loaded(page)
                name = each["path"].strip("/").replace("/", "-").replace(":", "") or "overview"
                page.screenshot(path=SHOTS / f"{name}-{width}-{theme}-{locale[:2]}.png", full_page=True)
            context.close()
    sys.stdout.write(f"{len(list(SHOTS.glob('*.png')))} screenshots in {SHOTS.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
