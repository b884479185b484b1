"""QR codes can be scanned: a different library reads pictures that are drawn from the SVG."""

from __future__ import annotations

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
from svc.http.resources.qr import QUIET_ZONE, svg

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
    assert drawn == ""  # the path has only rectangles one module high, with integer coordinates
    for x, y, run, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.attrib["d"]):
        assert run == back
        modules[int(y), int(x) : int(x) + int(run)] = 0
    return np.kron(modules, np.ones((pixels_a_module, pixels_a_module), dtype=np.uint8))


def read(code: str) -> zxingcpp.Barcode:
    (found,) = zxingcpp.read_barcodes(picture(code))
    return found


@pytest.mark.rule("L6")
def test_scanner_reads_the_url_at_level_m():
    found = read(svg(URL))
    assert found.text == URL
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    assert found.ec_level == "M"


@pytest.mark.rule("L6")
def test_code_is_one_rect_and_one_path_with_a_quiet_zone_of_four_modules():
    root = ET.fromstring(svg(URL))
    assert [child.tag for child in root] == [f"{SVG}rect", f"{SVG}path"]
    modules = picture(svg(URL), 1)
    dark_rows, dark_columns = np.where(modules == 0)
    assert QUIET_ZONE == 4
    for dark in (dark_rows, dark_columns):
        assert dark.min() == 4
        assert dark.max() == modules.shape[0] - 5


@pytest.mark.rule("L6")
def test_code_without_a_size_scales_to_its_container():
    root = ET.fromstring(svg(URL))
    assert "width" not in root.attrib
    assert "height" not in root.attrib


@pytest.mark.rule("L6")
@pytest.mark.parametrize("size", [64, 500, 9999])
def test_size_is_width_and_height_in_pixels(size):
    root = ET.fromstring(svg(URL, size))
    assert root.attrib["width"] == root.attrib["height"] == str(size)
    assert read(svg(URL, size)).text == URL


@pytest.mark.rule("L6")
@given(
    host=st.from_regex(r"[a-z]{1,20}(\.[a-z]{1,20}){1,4}", fullmatch=True),
    code=st.from_regex(r"[A-Za-z0-9_-]{3,32}", fullmatch=True),
)
def test_every_short_url_can_be_scanned(host, code):
    url = f"https://{host}/{code}?q"
    found = read(svg(url))
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
    # The share of each pixel (row) that is inside each module (column).
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
LARGEST = [(URL, 9999), (LONGEST, 9999)]  # 3 s each
PHOTOGRAPHS = list(product([URL, LONGEST], [0, 7, 33, 90, 135, 180, 271.5]))


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("url", "size"), SIZES + LARGEST if EVERYTHING else SIZES)
def test_code_can_be_scanned_at_the_requested_size(url, size):
    code = svg(url, size)
    assert ET.fromstring(code).attrib["width"] == str(size)
    (found,) = zxingcpp.read_barcodes(at_size(code, size))
    assert (found.text, found.ec_level) == (url, "M")


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("url", "degrees"), PHOTOGRAPHS if EVERYTHING else random.Random(SEED).sample(PHOTOGRAPHS, 4))
def test_code_can_be_scanned_from_a_noisy_photograph_at_any_angle(url, degrees):
    (found,) = zxingcpp.read_barcodes(photographed(svg(url), degrees, noise=25, seed=int(degrees)))
    assert found.text == url
