"""Compare screenshots of pages with the reference screenshots in tests/web/pictures/.

`make pictures` and `make test-all` run this file. `make test` does not, because fonts differ between machines. The
compared pages show no times of the service and no random ids. Components of other pages are compared on the page with
all components.

For each difference, var/pictures/ has the reference, the screenshot, and the screenshot with the changed pixels in red.
`make pictures UPDATE=1` replaces the references that differ.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageChops, ImageOps

from tests.web.browser import HEIGHT, THEMES, close, new_context, sign_in
from tests.web.places import ROOT, open_demonstration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

REFERENCES = Path(__file__).parent / "pictures"
DIFFERENCES = ROOT / "var/pictures"
WIDTHS = (1180, 390)
# The time in the browser. The service's data on these pages does not depend on the time.
NOW = "2026-11-24T15:20:00Z"
# The largest difference of a color channel (0 to 255) that counts as equal. Antialiasing varies slightly.
TOLERANCE = 24
# Screenshots of the same page may differ in up to this many pixels of the logo. A changed letter differs in more
# pixels.
FEW_PIXELS = 10
PUBLIC = {
    "components": "/components",
    "sign-in": "/sign-in",
    "sign-up": "/sign-up",
    "forgot": "/forgot",
    "reset": "/reset",
    "confirm": "/confirm",
    "not-found": "/nothing/here",
}
SIGNED_IN = {
    "overview": "/",
    "connect": "/accounts/connect",
    "accounts": "/accounts",
    "sites": "/sites",
    "links": "/links",
    "import": "/links/import",
    "keys": "/keys",
}


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A demonstration whose user has no data."""
    with open_demonstration(tmp_path_factory.mktemp("pictures") / "svc") as place:
        yield place


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*PUBLIC, *SIGNED_IN])
def test_page_matches_its_reference_picture(
    browser: Browser, demonstration: Place, name: str, theme: str, width: int
) -> None:
    context = new_context(browser, color_scheme=theme, viewport={"width": width, "height": HEIGHT})
    page = context.new_page()
    page.clock.set_fixed_time(NOW)
    if name in SIGNED_IN:
        sign_in(context, demonstration)
    page.goto(demonstration.url + {**PUBLIC, **SIGNED_IN}[name], wait_until="networkidle")
    if name == "components":
        show_states(page)
    else:
        page.locator(".skeleton").first.wait_for(state="detached")
    page.locator("h1").wait_for()
    shown = Image.open(io.BytesIO(page.screenshot(full_page=True, animations="disabled"))).convert("RGB")
    close(context)
    compare(f"{name}-{width}-{theme}.png", shown)


def show_states(page: Page) -> None:
    """Show the errors of the form on the components page."""
    page.get_by_role("button", name="Save", exact=True).last.click()
    page.locator(".issue").first.wait_for()


def compare(name: str, shown: Image.Image) -> None:
    """Compare a screenshot with its reference, or replace the reference. A difference fails the test and is saved.

    References have a palette of 256 colors, which makes their files three times smaller. For the comparison, the
    screenshot is converted to the same palette.
    """
    reference = REFERENCES / name
    expected = Image.open(reference) if reference.exists() else None
    marked = None if expected is None else difference(expected.convert("RGB"), mapped(shown, expected).convert("RGB"))
    if os.environ.get("SVC_TEST_UPDATE_PICTURES"):
        if expected is None or marked is not None:
            reference.parent.mkdir(exist_ok=True)
            mapped(shown, shown.quantize(256)).save(reference, optimize=True)
        return
    assert expected is not None, f"{name} has no reference: make pictures UPDATE=1 creates it"
    if marked is None:
        return
    DIFFERENCES.mkdir(parents=True, exist_ok=True)
    stem = reference.stem
    for kind, picture in (("reference", expected), ("now", shown), ("difference", marked)):
        picture.save(DIFFERENCES / f"{stem}-{kind}.png")
    pytest.fail(f"{name} differs from its reference: see {DIFFERENCES.relative_to(ROOT)}/{stem}-difference.png")


def mapped(shown: Image.Image, palette: Image.Image) -> Image.Image:
    """Return the screenshot in the colors of another picture's palette."""
    return shown.quantize(palette=palette, dither=Image.Dither.NONE)


def difference(expected: Image.Image, shown: Image.Image) -> Image.Image | None:
    """Return the screenshot with differing pixels marked in red, or None if the pictures are equal."""
    size = (max(expected.width, shown.width), max(expected.height, shown.height))
    both = []
    for picture in (expected, shown):
        canvas = Image.new("RGB", size, "magenta")
        canvas.paste(picture, (0, 0))
        both.append(canvas)
    # A page is also different if the only change is more background at its end.
    mask = ImageChops.difference(*both).convert("L").point(lambda value: 255 if value > TOLERANCE else 0)
    different = sum(mask.histogram()[1:])
    if different < FEW_PIXELS and expected.size == shown.size:
        return None
    marked = ImageOps.grayscale(both[1]).convert("RGB")
    marked.paste("red", mask=mask)
    return marked
