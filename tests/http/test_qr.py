"""QR codes are read back by another library, from a picture made of the SVG's own path."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zxingcpp
from hypothesis import given
from hypothesis import strategies as st

from svc.http.qr import QUIET_ZONE, svg

SVG = "{http://www.w3.org/2000/svg}"
URL = "https://go.example.com/ab3X9k?q"


def picture(code: str, pixels_a_module: int = 4) -> np.ndarray:
    """The SVG drawn: white where its rect is, black where its path is."""
    root = ET.fromstring(code)
    left, top, width, height = (int(part) for part in root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    rect, path = root
    assert {**rect.attrib} == {"width": str(width), "height": str(height), "fill": "#fff"}
    modules = np.full((height, width), 255, dtype=np.uint8)
    drawn = re.sub(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", "", path.attrib["d"])
    assert drawn == ""  # nothing but runs of one module's height, in integers
    for x, y, run, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.attrib["d"]):
        assert run == back
        modules[int(y), int(x) : int(x) + int(run)] = 0
    return np.kron(modules, np.ones((pixels_a_module, pixels_a_module), dtype=np.uint8))


def read(code: str) -> zxingcpp.Barcode:
    (found,) = zxingcpp.read_barcodes(picture(code))
    return found


@pytest.mark.rule("L6")
def test_a_scanner_reads_the_address_at_level_m():
    found = read(svg(URL))
    assert found.text == URL
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    assert found.ec_level == "M"


@pytest.mark.rule("L6")
def test_a_code_is_one_rect_and_one_path_with_four_white_modules_around():
    root = ET.fromstring(svg(URL))
    assert [child.tag for child in root] == [f"{SVG}rect", f"{SVG}path"]
    modules = picture(svg(URL), 1)
    dark_rows, dark_columns = np.where(modules == 0)
    assert QUIET_ZONE == 4
    for dark in (dark_rows, dark_columns):
        assert dark.min() == 4
        assert dark.max() == modules.shape[0] - 5


@pytest.mark.rule("L6")
def test_a_code_without_a_size_scales_to_its_container():
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
def test_every_short_address_can_be_scanned(host, code):
    url = f"https://{host}/{code}?q"
    found = read(svg(url))
    assert found.text == url
    assert found.ec_level == "M"
