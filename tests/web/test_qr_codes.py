"""Tests in a real browser: the dialog for QR codes with the operator's logo, and the printable page of QR codes."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.qr.images import flat, scan
from tests.web.browser import close, new_context, sign_in
from tests.web.places import open_furnished
from tests.web.visit import Visit
from tests.web.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.web.places import Place

HOST = "go.shop.example"
ADDRESS = f"https://{HOST}/hello?q"
# The logo is red on light backgrounds. If its style also applied to the rest of the image, the QR code would be
# invisible.
LOGO = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 32">
<style>path { fill: #fff } rect { fill: #b3261e } @media (prefers-color-scheme: dark) { rect { fill: #fff } }</style>
<rect width="64" height="32"/></svg>
"""
RED = (0xB3, 0x26, 0x1E)


@pytest.fixture(scope="module")
def branded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with a logo, whose user has a link."""
    folder = tmp_path_factory.mktemp("branded")
    (folder / "logo.svg").write_text(LOGO)
    with open_furnished(folder / "svc", {"SVC_WEB_LOGO": str(folder / "logo.svg"), "SVC_WEB_NAME": "ACME"}) as place:
        yield place


def opened(browser: Browser, place: Place, **more: Any) -> Visit:
    """Open the page of the link, and the dialog with its QR code."""
    context = new_context(browser, accept_downloads=True, **more)
    sign_in(context, place)
    visit = Visit(context.new_page(), place.url)
    visit.page.goto(f"{place.url}/links/{place.ids['links']}")
    visit.page.get_by_role("button", name=re.compile("^QR.[cC]ode$")).click()
    visit.page.get_by_role("dialog").get_by_role("img").wait_for()
    return visit


def downloaded(page: Page, button: str, folder: Path) -> tuple[str, bytes]:
    """Press a button of the dialog. Return the name and the content of the file."""
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name=button).click()
    download.value.save_as(folder / "file")
    return download.value.suggested_filename, (folder / "file").read_bytes()


def preview(page: Page) -> Image.Image:
    """Return a screenshot of the picture in the dialog."""
    picture = page.get_by_role("dialog").get_by_role("img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    return Image.open(io.BytesIO(picture.screenshot())).convert("RGB")


def choose_color(page: Page, label: str, color: str) -> None:
    """Choose a color, and wait until the service has responded."""
    with page.expect_response(lambda response: "/qr.svg" in response.url):
        page.get_by_label(label, exact=True).fill(color)


def share_of(image: Image.Image, color: tuple[int, int, int]) -> float:
    """Return the share of pixels that have about this color."""
    distance = np.abs(np.asarray(image.convert("RGB")).astype(int) - color).max(axis=2)
    return float((distance < 16).mean())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_is_downloaded_with_colors_logo_and_margin(
    browser: Browser, branded: Place, tmp_path: Path, scheme: Any
) -> None:
    visit = opened(browser, branded, color_scheme=scheme)
    page = visit.page
    dialog = page.get_by_role("dialog")
    dialog.locator("summary").click()
    visit.axe("with the style of the QR code")
    choose_color(page, "Color of the code", "#0b3d2e")
    choose_color(page, "Background", "#fdf6e3")
    with page.expect_response(lambda response: "logo=1" in response.url):
        dialog.get_by_label("Logo of ACME").check()
    with page.expect_response(lambda response: "margin=2" in response.url):
        dialog.get_by_label("Margin").select_option("2 modules")
    expect(dialog.get_by_label("Margin")).to_have_accessible_description(re.compile("margin of 4 modules"))
    dialog.get_by_label("Size").select_option("512")
    name, png = downloaded(page, "Download PNG", tmp_path)
    image = flat(png)
    assert (name, image.size) == ("hello-512.png", (512, 512))
    for shown in (image, preview(page)):
        assert [(each.text, each.ec_level) for each in scan(shown)] == [(ADDRESS, "H")]
        assert share_of(shown, RED) > 0.01
        assert share_of(shown, (0x0B, 0x3D, 0x2E)) > 0.2
        assert share_of(shown, (0xFD, 0xF6, 0xE3)) > 0.3
    name, svg = downloaded(page, "Download SVG", tmp_path)
    assert name == "hello-512.svg"
    assert b'width="512"' in svg
    assert b'fill="#0b3d2e"' in svg
    assert b"data:image/svg+xml;base64," in svg
    assert visit.found == []
    close(page.context)


def test_png_has_whole_pixels_per_module(browser: Browser, branded: Place, tmp_path: Path) -> None:
    visit = opened(browser, branded)
    _, png = downloaded(visit.page, "Download PNG", tmp_path)
    pixels = np.asarray(flat(png).convert("L"))
    assert pixels.shape == (1024, 1024)
    assert set(np.unique(pixels)) == {0, 255}
    rows, columns = np.where(pixels == 0)
    runs = np.diff(np.flatnonzero(np.diff(pixels[rows.min()].astype(int))))
    module = np.gcd.reduce(runs)
    assert module >= 20
    assert (np.ptp(rows) + 1) % module == (np.ptp(columns) + 1) % module == 0
    assert visit.found == []
    close(visit.page.context)


def test_transparent_background(browser: Browser, branded: Place, tmp_path: Path) -> None:
    visit = opened(browser, branded)
    dialog = visit.page.get_by_role("dialog")
    dialog.locator("summary").click()
    dialog.get_by_label("Transparent background").check()
    expect(dialog.get_by_text("Place the code only on a light background.")).to_be_visible()
    expect(dialog.get_by_label("Background", exact=True)).to_have_count(0)
    _, png = downloaded(visit.page, "Download PNG", tmp_path)
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    assert image.getpixel((0, 0))[3] == 0  # type: ignore[index]  # a pixel with alpha
    assert [each.text for each in scan(flat(png))] == [ADDRESS]
    assert visit.found == []
    close(visit.page.context)


def test_colors_that_scanners_cannot_read_are_explained(browser: Browser, branded: Place) -> None:
    visit = opened(browser, branded, locale="de-DE")
    page = visit.page
    dialog = page.get_by_role("dialog", name=f"QR-Code für {HOST}/hello")
    dialog.get_by_text("Farben, Logo und Rand").click()
    choose_color(page, "Farbe des Codes", "#dddddd")
    alert = dialog.get_by_role("alert")
    expect(alert).to_have_text(
        "Wählen Sie Farben mit mehr Helligkeitsunterschied. Der Code muss dunkler sein als sein Hintergrund."
    )
    assert [each.text for each in scan(preview(page))] == [ADDRESS]  # the preview still shows the last readable code
    visit.found.clear()  # the browser logs an error response
    visit.axe("with colors that cannot be scanned")
    choose_color(page, "Farbe des Codes", "#333333")
    expect(alert).to_have_count(0)
    expect(dialog.get_by_label("Logo von ACME")).to_be_visible()
    assert visit.found == []
    close(page.context)


def test_new_link_offers_its_qr_code(browser: Browser, branded: Place) -> None:
    context = new_context(browser)
    sign_in(context, branded)
    visit = Visit(context.new_page(), branded.url)
    page = visit.page
    page.goto(f"{branded.url}/links/new?url=shop.example")
    page.get_by_label("Code").fill("new-code")
    page.get_by_role("button", name="Create link").click()
    page.get_by_role("button", name="Download QR code").click()
    dialog = page.get_by_role("dialog", name=f"QR code for {HOST}/new-code")
    expect(dialog.get_by_role("img", name=f"QR code for https://{HOST}/new-code?q")).to_be_visible()
    expect(dialog.get_by_role("button", name="Download PNG")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Download QR code")).to_be_focused()
    close(context)


def test_service_without_logo_does_not_offer_it(browser: Browser, furnished: Place) -> None:
    visit = opened(browser, furnished)
    dialog = visit.page.get_by_role("dialog")
    dialog.locator("summary").click()
    expect(dialog.get_by_label("Margin")).to_be_visible()
    expect(dialog.get_by_role("checkbox")).to_have_count(1)  # the only checkbox is the one for a transparent background
    close(visit.page.context)


@pytest.mark.parametrize(("paper", "size_mm"), [("a4", (210, 297)), ("letter", (215.9, 279.4))])
def test_page_prints_twelve_codes_per_sheet(
    browser: Browser, branded: Place, paper: str, size_mm: tuple[float, float]
) -> None:
    world = World(branded)
    account = branded.ids["accounts"]
    codes = [f"print-{paper}-{i:02}" for i in range(13)]
    made = [{"url": "https://shop.example/", "code": code, "title": f"Sale {code} für alle"} for code in codes]
    world.call("POST", "/v1/links/bulk", {"account_id": account, "links": made})
    asked = f"{branded.url}/v1/links/qr.html?q=print-{paper}&paper={paper}&logo=1&order=code"
    response = httpx.get(asked, headers=world.headers, trust_env=False, timeout=30)
    context = new_context(browser)
    page = context.new_page()
    visit = Visit(page, branded.url)
    # Respond to the browser with the page and the headers that the service sends for a request with a credential.
    page.route(
        "**/qr.html*",
        lambda route: route.fulfill(status=200, headers=dict(response.headers), body=response.content),
    )
    page.goto(asked)
    assert page.evaluate("broken") == []
    images = [Image.open(io.BytesIO(each.screenshot())) for each in page.get_by_role("img").all()]
    assert [[each.text for each in scan(image)] for image in images] == [[f"https://{HOST}/{code}?q"] for code in codes]
    assert all(share_of(image, RED) > 0.01 for image in images)
    visit.axe("to print")
    pdf = page.pdf(prefer_css_page_size=True)
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(boxes) == 2  # two sheets for the thirteen codes
    for box in boxes:
        points = [float(length) for length in box]
        assert points == pytest.approx([mm / 25.4 * 72 for mm in size_mm], abs=1)
    page.emulate_media(media="print")
    widths = page.get_by_role("img").evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert widths == pytest.approx([46 / 25.4 * 96] * 13, abs=1)
    assert visit.found == []
    close(context)
