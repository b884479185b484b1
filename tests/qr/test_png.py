"""QR codes as PNG images: the pixels are exact, and a scanner reads every combination of size, margin and style."""

from __future__ import annotations

import io
import random
from itertools import product

import numpy as np
import pytest
from PIL import Image

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.qr.png import TooSmall, draw_png
from svc.qr.style import MIN_CONTRAST, Style
from svc.qr.symbol import symbol_of
from tests.qr.images import dark_logo, flat, logo_of, on_desk, photographed, scan
from tests.qr.test_svg import LONGEST, URL

SQUARE, WIDE, HIGH = dark_logo(256, 256), dark_logo(512, 96), dark_logo(64, 256)
LOGOS = {"none": None, "square": SQUARE, "wide": WIDE, "high": HIGH}
# The last pairs have the lowest accepted contrast.
COLORS = [
    ("#000000", "#ffffff"),
    ("#000000", None),
    ("#0b3d2e", "#fdf6e3"),
    ("#0000ff", "#ffff00"),
    ("#d60000", "#ffffff"),
    ("#7f7f7f", "#ffffff"),
    ("#000000", "#808080"),
]
MARGINS = [0, 1, 4, 20]
SIZES = {URL: [146, 300, 1024], LONGEST: [258, 1024]}
CASES = [case for url, sizes in SIZES.items() for case in product([url], sizes, MARGINS, COLORS, LOGOS)]
LARGEST = list(product([URL, LONGEST], [4096], MARGINS, COLORS, LOGOS))  # these images take 5 s each
SAMPLE = [*random.Random(SEED).sample(CASES, 30), *random.Random(SEED).sample(LARGEST, 2)]


def test_colors_include_the_lowest_contrast():
    contrasts = [Style(dark, light).contrast for dark, light in COLORS]
    assert all(contrast >= MIN_CONTRAST for contrast in contrasts)
    assert contrasts[-2:] == [pytest.approx(128 / 255)] * 2


@pytest.mark.parametrize(("url", "size", "margin", "colors", "logo"), [*CASES, *LARGEST] if EVERYTHING else SAMPLE)
def test_scanner_reads_every_combination(url, size, margin, colors, logo):
    style = Style(colors[0], colors[1], margin, LOGOS[logo])
    image = flat(draw_png(url, style, size))
    assert image.size == (size, size)
    modules = symbol_of(url, style.logo_aspect).width + 2 * margin
    pixels = size // modules
    # Scanners need a light area around the code. A small margin is sufficient only if the paper is light.
    paper = colors[1] or "white"
    wide = on_desk(image, max(0, 4 - margin) * pixels, paper)
    found = scan(wide)
    assert [(each.text, each.ec_level) for each in found] == [(url, "M" if logo == "none" else "H")]
    small = photographed(wide, round(wide.width / pixels))
    assert [each.text for each in scan(small)] == [url]


@pytest.mark.parametrize("light", ["#ffffff", None])
@pytest.mark.parametrize("logo", ["none", "wide"])
@pytest.mark.parametrize(("size", "margin"), [(146, 4), (147, 4), (359, 4), (999, 0), (1000, 7)])
def test_each_module_has_the_same_whole_number_of_pixels(size, margin, logo, light):
    style = Style("#123456", light, margin, LOGOS[logo])
    symbol = symbol_of(URL, style.logo_aspect)
    pixels = size // (symbol.width + 2 * margin)
    first = (size - symbol.width * pixels) // 2
    assert first >= margin * pixels
    assert size - first - symbol.width * pixels >= margin * pixels
    expected = np.zeros((size, size), dtype=bool)
    modules = np.array([list(row) for row in symbol.rows], dtype=bool)
    end = first + symbol.width * pixels
    expected[first:end, first:end] = np.kron(modules, np.ones((pixels, pixels), dtype=bool))
    image = np.asarray(Image.open(io.BytesIO(draw_png(URL, style, size))).convert("RGBA"))
    is_dark = (image == (0x12, 0x34, 0x56, 255)).all(axis=2)
    is_light = (image[..., 3] == 0) if light is None else (image == 255).all(axis=2)
    inside = np.zeros_like(expected)
    if symbol.logo_area is not None:
        left, top, width, height = symbol.logo_area
        half = -(-pixels // 2)
        inside[
            first + top * pixels + half : first + (top + height) * pixels - half,
            first + left * pixels + half : first + (left + width) * pixels - half,
        ] = True
        assert not is_light[inside].all()  # the logo's area is not completely light, so there is a logo
    assert (is_dark == expected)[~inside].all()
    assert (is_light == ~expected)[~inside].all()


def test_image_with_less_than_two_pixels_per_module_is_refused():
    with pytest.raises(TooSmall) as refused:
        draw_png(URL, Style(), 64)
    least = refused.value.min_size
    assert least == 2 * (symbol_of(URL).width + 8)
    assert len(scan(flat(draw_png(URL, Style(), least)))) == 1
    with pytest.raises(TooSmall):
        draw_png(URL, Style(), least - 1)


def test_logo_has_its_colors_and_shape():
    pixels = np.zeros((64, 128, 4), dtype=np.uint8)
    pixels[:, :64] = (200, 30, 60, 255)  # the right half is transparent
    style = Style("#000000", "#ffeecc", 4, logo_of(pixels))
    image = np.asarray(flat(draw_png(URL, style, 1000)))
    is_logo = (image == (200, 30, 60)).all(axis=2)
    rows, columns = np.where(is_logo)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert is_logo.sum() == width * height
    assert abs(width - height) <= 2  # the logo's visible half is 64 by 64 pixels
    symbol = symbol_of(URL, 2)
    assert symbol.logo_area is not None
    module = 1000 // (symbol.width + 8)
    behind = image[rows.min() : rows.max() + 1, columns.max() + 1 : columns.max() + 1 + width]
    assert (behind == (0xFF, 0xEE, 0xCC)).all()
    assert width >= 0.8 * (symbol.logo_area.width - 1) * module / 2


def test_largest_image_is_small():
    """The compression of the file is effective, so a response never needs much memory."""
    assert len(draw_png(LONGEST, Style(), 4096)) < 30_000
    assert len(draw_png(LONGEST, Style(light=None, logo=SQUARE), 4096)) < 600_000
