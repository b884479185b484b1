"""Tests of reading and scaling PNG logos. An imaging library reads and scales the same files."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image

from svc.identity.logo import Logo
from svc.qr.raster import MAX_SIDE, NotDrawable, Raster, logo_raster, read_png, scaled
from tests.identity.test_logo import chunk
from tests.qr.images import logo_of

RNG = np.random.default_rng(7)
SIZE = (13, 29)  # neither the width nor the height is a multiple of 8 pixels
COLORS = RNG.integers(0, 256, (*SIZE, 4), dtype=np.uint8)
# Color type → bits per sample, and samples per pixel.
DEPTHS = {0: [1, 2, 4, 8], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def file_of(width: int, height: int, depth: int, color: int, lines: bytes, *more: bytes, interlace: int = 0) -> bytes:
    """Return a PNG file with these lines of pixels. Each line begins with the number of its filter."""
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([depth, color, 0, 0, interlace])
    parts = [chunk(b"IHDR", header), *more, chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def expected(content: bytes) -> bytes:
    return Image.open(io.BytesIO(content)).convert("RGBA").tobytes()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "P"])
@pytest.mark.parametrize("optimize", [False, True])
def test_files_of_an_imaging_library_are_read(mode, optimize):
    image = Image.fromarray(COLORS).convert(mode)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=optimize)
    assert b"".join(read_png(file.getvalue()).rows) == expected(file.getvalue())


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize(("color", "depth"), [(color, depth) for color, depths in DEPTHS.items() for depth in depths])
def test_every_filter_and_format_is_read(kind, color, depth):
    line_bytes = -(-SIZE[1] * depth * SAMPLES[color] // 8)
    random = RNG.integers(0, 256, (SIZE[0], line_bytes), dtype=np.uint8)
    lines = b"".join(bytes([kind]) + bytes(line) for line in random)
    more = [chunk(b"PLTE", bytes(RNG.integers(0, 256, 3 * 2**depth, dtype=np.uint8)))] if color == 3 else []
    content = file_of(SIZE[1], SIZE[0], depth, color, lines, *more)
    found = read_png(content)
    assert (found.width, found.height) == (SIZE[1], SIZE[0])
    assert b"".join(found.rows) == expected(content)


@pytest.mark.parametrize(
    ("color", "depth", "transparent", "line", "alphas"),
    [
        (0, 8, b"\0\x07", b"\x07\x08\x07", b"\0\xff\0"),
        (0, 2, b"\0\x01", b"\x6c", b"\0\xff\xff"),  # 01 10 11
        (2, 8, b"\0\x01\0\x02\0\x03", b"\1\2\3\1\2\4\1\2\3", b"\0\xff\0"),
        (3, 8, b"\0\x80", b"\0\1\2", b"\0\x80\xff"),
    ],
)
def test_transparent_color_is_transparent(color, depth, transparent, line, alphas):
    palette = [chunk(b"PLTE", bytes(range(9)))] if color == 3 else []
    content = file_of(3, 1, depth, color, b"\0" + line, *palette, chunk(b"tRNS", transparent))
    (row,) = read_png(content).rows
    assert row[3::4] == alphas


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (file_of(1, 1, 8, 0, b"\0\0", interlace=1), "is an interlaced PNG file; export it without interlacing"),
        (file_of(MAX_SIDE + 1, 1, 8, 0, b"\0" * (MAX_SIDE + 2)), "is wider or higher than 1_024 pixels"),
        (file_of(1, MAX_SIDE + 1, 1, 0, b"\0\0" * (MAX_SIDE + 1)), "is wider or higher than 1_024 pixels"),
        (file_of(9, 9, 8, 0, b"\0\0"), "is a damaged PNG file"),  # too short
        (file_of(1, 1, 8, 0, b"\5\0"), "is a damaged PNG file"),  # unknown filter
        (file_of(1, 1, 8, 5, b"\0\0"), "is a damaged PNG file"),  # unknown color type
        (file_of(1, 1, 3, 0, b"\0\0"), "is a damaged PNG file"),  # unknown depth
        # the pixel's color is not in the palette
        (file_of(1, 1, 8, 3, b"\0\1", chunk(b"PLTE", b"\0\0\0")), "is a damaged PNG file"),
        (file_of(1, 1, 8, 3, b"\0\1"), "is a damaged PNG file"),  # no palette
    ],
)
def test_other_files_are_refused(content, problem):
    with pytest.raises(NotDrawable, match=f"^{problem}$"):
        read_png(content)


def test_data_that_is_not_compressed_is_refused():
    content = file_of(1, 1, 8, 0, b"\0\0").replace(zlib.compress(b"\0\0"), b"\0" * len(zlib.compress(b"\0\0")))
    with pytest.raises(NotDrawable, match="damaged"):
        read_png(content)


def test_only_the_data_of_the_picture_is_uncompressed():
    """A file of 64 KiB could otherwise be decompressed to 64 MB."""
    content = file_of(2, 2, 8, 0, b"\0\1\2" * 2 + b"\0" * 60_000_000)
    assert len(content) < 65_536
    assert b"".join(read_png(content).rows)[::4] == b"\1\2\1\2"


def test_drawing_is_refused():
    with pytest.raises(NotDrawable, match="is an SVG file"):
        logo_raster(Logo(b"<svg/>", "svg"))


@pytest.mark.parametrize(("width", "height"), [(13, 29), (5, 7), (1, 1), (12, 28), (29, 58)])
def test_smaller_picture_is_the_average(width, height):
    opaque = RNG.integers(0, 256, (58, 29, 4), dtype=np.uint8)
    opaque[..., 3] = 255
    found = scaled(Raster(29, tuple(map(bytes, opaque.reshape(58, -1)))), width, height)
    lefts = [x * 29 // width for x in range(width + 1)]
    tops = [y * 58 // height for y in range(height + 1)]
    for y in range(height):
        for x in range(width):
            cell = opaque[tops[y] : tops[y + 1], lefts[x] : lefts[x + 1]].reshape(-1, 4)
            assert tuple(found.rows[y][4 * x : 4 * x + 4]) == tuple(cell.sum(axis=0) // len(cell))


def test_transparent_pixels_have_no_influence_on_the_color():
    picture = Raster(2, (bytes([200, 100, 50, 255, 9, 9, 9, 0]),))
    assert scaled(picture, 1, 1).rows == (bytes([200, 100, 50, 127]),)
    assert scaled(Raster(1, (bytes(4),)), 1, 1).rows == (bytes(4),)


def test_larger_picture_repeats_pixels():
    picture = Raster(2, (bytes([1, 1, 1, 255, 2, 2, 2, 255]), bytes([3, 3, 3, 255, 4, 4, 4, 255])))
    found = scaled(picture, 5, 4)
    assert [row[::4] for row in found.rows] == [b"\1\1\1\2\2", b"\1\1\1\2\2", b"\3\3\3\4\4", b"\3\3\3\4\4"]


@pytest.mark.parametrize(("width", "height"), [(1024, 4), (4, 1024), (1024, 1024), (512, 512), (3, 3)])
def test_logo_is_kept_with_at_most_512_pixels_per_side(width, height):
    found = logo_raster(logo_of(np.full((height, width, 3), 9, dtype=np.uint8)))
    factor = min(1, 512 / max(width, height))
    assert (found.width, found.height) == (round(width * factor), round(height * factor))
