"""QR codes can be scanned: a different library reads pictures that are drawn from the SVG."""

from __future__ import annotations

import hashlib
import random
import re
import xml.etree.ElementTree as ET
from itertools import product

import numpy as np
import pytest
import zxingcpp
from hypothesis import given
from hypothesis import strategies as st

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.identity.logo import Logo
from svc.qr.style import QUIET_ZONE, Style
from svc.qr.svg import draw_svg
from svc.qr.symbol import symbol_of
from tests.qr.images import HREF, dark_logo, drawn, on_desk, scan
from tests.qr.images import photographed as small_print

SVG = "{http://www.w3.org/2000/svg}"
URL = "https://go.example.com/ab3X9k?q"


def picture(code: str, pixels_a_module: int = 4) -> np.ndarray:
    """Return a picture of the SVG, with its rect in white and its path in black."""
    root = ET.fromstring(code)
    left, top, width, height = (int(part) for part in root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    rect, path = root
    assert {**rect.attrib} == {"width": str(width), "height": str(height), "fill": "#fff"}
    modules = np.full((height, width), 255, dtype=np.uint8)
    drawn = re.sub(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", "", path.attrib["d"])
    # nothing else remains: the path consists of rectangles that are one module high and have integer coordinates
    assert drawn == ""
    for x, y, run, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.attrib["d"]):
        assert run == back
        modules[int(y), int(x) : int(x) + int(run)] = 0
    return np.kron(modules, np.ones((pixels_a_module, pixels_a_module), dtype=np.uint8))


def read(code: str) -> zxingcpp.Barcode:
    (found,) = zxingcpp.read_barcodes(picture(code))
    return found


@pytest.mark.rule("L6")
def test_scanner_reads_the_url_at_level_m():
    found = read(draw_svg(URL))
    assert found.text == URL
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    assert found.ec_level == "M"


@pytest.mark.rule("L6")
def test_code_is_one_rect_and_one_path_with_a_quiet_zone_of_four_modules():
    root = ET.fromstring(draw_svg(URL))
    assert [child.tag for child in root] == [f"{SVG}rect", f"{SVG}path"]
    modules = picture(draw_svg(URL), 1)
    dark_rows, dark_columns = np.where(modules == 0)
    assert QUIET_ZONE == 4
    for dark in (dark_rows, dark_columns):
        assert dark.min() == 4
        assert dark.max() == modules.shape[0] - 5


@pytest.mark.rule("L6")
def test_code_without_a_size_scales_to_its_container():
    root = ET.fromstring(draw_svg(URL))
    assert "width" not in root.attrib
    assert "height" not in root.attrib


@pytest.mark.rule("L6")
@pytest.mark.parametrize("size", [64, 500, 9999])
def test_size_is_width_and_height_in_pixels(size):
    root = ET.fromstring(draw_svg(URL, size=size))
    assert root.attrib["width"] == root.attrib["height"] == str(size)
    assert read(draw_svg(URL, size=size)).text == URL


@pytest.mark.rule("L6")
@given(
    host=st.from_regex(r"[a-z]{1,20}(\.[a-z]{1,20}){1,4}", fullmatch=True),
    code=st.from_regex(r"[A-Za-z0-9_-]{3,32}", fullmatch=True),
)
def test_every_short_url_can_be_scanned(host, code):
    url = f"https://{host}/{code}?q"
    found = read(draw_svg(url))
    assert found.text == url
    assert found.ec_level == "M"


LONGEST_HOST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 53, "example"])
LONGEST = f"https://{LONGEST_HOST}/{'aZ09_-bc' * 4}?q"


def modules_of(code: str) -> np.ndarray:
    """Return the modules of the SVG as an array: 0 is dark, 255 is light."""
    return picture(code, 1)


def at_size(code: str, size: int) -> np.ndarray:
    """Draw the SVG at `size` pixels as a browser does: a pixel's gray value is the share of its area that is light."""
    modules = modules_of(code).astype(np.float32)
    count = modules.shape[0]
    edges = np.linspace(0, count, size + 1, dtype=np.float64)
    cells = np.arange(count)
    # For each pixel (row), the share of the pixel that is inside each module (column).
    cover = np.clip(np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells), 0, None)
    cover = (cover * size / count).astype(np.float32)
    rows = [(part @ modules @ cover.T).round().astype(np.uint8) for part in np.array_split(cover, max(1, size // 500))]
    return np.vstack(rows)


def photographed(code: str, degrees: float, noise: float, seed: int) -> np.ndarray:
    """Draw the SVG rotated, on gray, at 7 pixels per module. `noise`: the noise's standard deviation (scale: 255)."""
    modules = modules_of(code)
    count = modules.shape[0]
    turn = np.radians(degrees)
    side = int(count * 7 * 1.6)
    y, x = np.mgrid[0:side, 0:side] - side / 2
    column = np.floor((np.cos(turn) * x + np.sin(turn) * y) / 7 + count / 2).astype(int)
    row = np.floor((-np.sin(turn) * x + np.cos(turn) * y) / 7 + count / 2).astype(int)
    inside = (column >= 0) & (column < count) & (row >= 0) & (row < count)
    seen = np.where(inside, modules[row.clip(0, count - 1), column.clip(0, count - 1)], 190).astype(np.float64)
    seen = 40 + seen * 0.7 + np.random.default_rng(seed).normal(0, noise, seen.shape)
    return seen.clip(0, 255).astype(np.uint8)


def test_longest_url_has_the_maximum_lengths_of_host_and_code():
    assert len(LONGEST_HOST) == 253
    assert len(LONGEST) == 8 + 253 + 1 + 32 + 2


SIZES = [(URL, 64), (URL, 65), (URL, 100), (URL, 1500), (LONGEST, 160), (LONGEST, 1500)]
LARGEST = [(URL, 9999), (LONGEST, 9999)]  # these pictures take 3 s each
PHOTOGRAPHS = list(product([URL, LONGEST], [0, 7, 33, 90, 135, 180, 271.5]))


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("url", "size"), SIZES + LARGEST if EVERYTHING else SIZES)
def test_code_can_be_scanned_at_the_requested_size(url, size):
    code = draw_svg(url, size=size)
    assert ET.fromstring(code).attrib["width"] == str(size)
    (found,) = zxingcpp.read_barcodes(at_size(code, size))
    assert (found.text, found.ec_level) == (url, "M")


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("url", "degrees"), PHOTOGRAPHS if EVERYTHING else random.Random(SEED).sample(PHOTOGRAPHS, 4))
def test_code_can_be_scanned_from_a_noisy_photograph_at_any_angle(url, degrees):
    (found,) = zxingcpp.read_barcodes(photographed(draw_svg(url), degrees, noise=25, seed=int(degrees)))
    assert found.text == url


def digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:16]


@pytest.mark.rule("L6")
def test_plain_code_is_the_same_as_in_version_0_8():
    """The digests are those of the images of version 0.8.0, without a size and with the sizes 64 and 9,999."""
    digests = {
        URL: ["154b17f9ce2c9d11", "cba4ce221c3fe68a", "f52110bd1ebb520d"],
        "https://a.de/abc?q": ["a9ad4e9ceda6f408", "0185f69dbde8c1c9", "edbbe6c85518ed47"],
        LONGEST: ["ccee1602358a973c", "e597f3f2e809a3f0", "758d5dfe6df1257a"],
    }
    for url, expected in digests.items():
        assert [digest(draw_svg(url, size=size)) for size in (None, 64, 9999)] == expected
        assert draw_svg(url, Style("#000000", "#ffffff", 4)) == draw_svg(url)


STYLED = list(
    product(
        [URL, LONGEST],
        [0, 4, 20],
        [("#000000", "#ffffff"), ("#0b3d2e", None), ("#7f7f7f", "#ffffff")],
        [None, dark_logo(256, 256), dark_logo(512, 96), Logo(b'<svg viewBox="0 0 3 4"/>', "svg")],
    )
)


@pytest.mark.parametrize(
    ("url", "margin", "colors", "logo"), STYLED if EVERYTHING else random.Random(SEED).sample(STYLED, 20)
)
def test_scanner_reads_every_style(url, margin, colors, logo):
    image = drawn(draw_svg(url, Style(colors[0], colors[1], margin, logo)))
    wide = on_desk(image, max(0, 4 - margin) * 4)
    assert [(each.text, each.ec_level) for each in scan(wide)] == [(url, "H" if logo else "M")]
    assert [each.text for each in scan(small_print(wide, wide.width // 4))] == [url]


def test_style_is_in_the_drawing():
    root = ET.fromstring(draw_svg(URL, Style("#123456", None, 7, dark_logo(64, 64)), 300))
    rect, path, logo = root
    side = 33 + 2 * 7
    box = f"0 0 {side} {side}"
    assert root.attrib == {"width": "300", "height": "300", "style": "color-scheme:light", "viewBox": box}
    assert rect.attrib == {"width": str(side), "height": str(side), "fill": "none"}
    assert path.attrib["fill"] == "#123456"
    assert logo.tag == f"{SVG}image"
    assert logo.attrib[HREF].startswith("data:image/png;base64,")
    area = symbol_of(URL, 1).logo_area
    assert area is not None
    left, top, width, height = area
    place = [float(logo.attrib[name]) for name in ("x", "y", "width", "height")]
    assert place == [left + 7.5, top + 7.5, width - 1, height - 1]
