"""QR codes as PNG images with a whole number of pixels per module."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from svc.qr.raster import logo_raster, scaled
from svc.qr.style import WHITE, channels
from svc.qr.symbol import symbol_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.qr.raster import Raster
    from svc.qr.style import Style
    from svc.qr.symbol import Area, Symbol

# The minimum width of a module in pixels. Scanners cannot read modules of one pixel reliably.
MIN_MODULE_PIXELS = 2
_START = b"\x89PNG\r\n\x1a\n"
_PALETTE, _COLOR, _COLOR_AND_ALPHA = 3, 2, 6  # color types


class TooSmall(Exception):
    """The image is too small for the QR code. `min_size`: the smallest possible size in pixels."""

    def __init__(self, min_size: int) -> None:
        super().__init__(f"at least {min_size} pixels")
        self.min_size = min_size


def draw_png(text: str, style: Style, size: int) -> bytes:
    """Return `text` as a QR code. `size`: width and height in pixels.

    A module is n pixels wide, where n is the largest integer with which the QR code and its margin fit into the image.
    The remaining pixels make the margin wider. Raises TooSmall, or NotDrawable if the logo cannot be drawn.
    """
    symbol = symbol_of(text, style.logo_aspect)
    modules = symbol.width + 2 * style.margin
    pixels = size // modules
    if pixels < MIN_MODULE_PIXELS:
        raise TooSmall(MIN_MODULE_PIXELS * modules)
    offset = (size - symbol.width * pixels) // 2
    if style.logo is None or symbol.logo_area is None:
        return _in_two_colors(symbol, style, size, pixels, offset)
    return _with_logo(symbol, style, size, pixels, offset, logo_raster(style.logo), symbol.logo_area)


def _in_two_colors(symbol: Symbol, style: Style, size: int, pixels: int, offset: int) -> bytes:
    """Return an image with one bit per pixel."""
    line_bytes = -(-size // 8)
    modules = ("0" * pixels, "1" * pixels)

    def lines() -> Iterator[tuple[bytes, int]]:
        yield bytes(line_bytes), offset
        for row in symbol.rows:
            bits = "0" * offset + "".join(map(modules.__getitem__, row))
            yield int(bits.ljust(8 * line_bytes, "0"), 2).to_bytes(line_bytes), pixels
        yield bytes(line_bytes), size - offset - symbol.width * pixels

    chunks = [_chunk(b"PLTE", bytes([*channels(style.light or WHITE), *channels(style.dark)]))]
    if style.light is None:
        chunks.append(_chunk(b"tRNS", b"\0"))
    return _file(size, 1, _PALETTE, chunks, lines(), line_bytes)


def _with_logo(symbol: Symbol, style: Style, size: int, pixels: int, offset: int, picture: Raster, area: Area) -> bytes:
    """Return an image with 8 bits per color, and alpha if the background is transparent."""
    inset = -(-pixels // 2)
    box_width, box_height = area.width * pixels - 2 * inset, area.height * pixels - 2 * inset
    factor = min(box_width / picture.width, box_height / picture.height)
    width, height = max(1, round(picture.width * factor)), max(1, round(picture.height * factor))
    logo = scaled(picture, width, height)
    left = offset + area.left * pixels + inset + (box_width - width) // 2
    top = offset + area.top * pixels + inset + (box_height - height) // 2
    opaque = style.light is not None
    light = bytes(channels(style.light or WHITE)) + (b"" if opaque else b"\0")
    dark = bytes(channels(style.dark)) + (b"" if opaque else b"\xff")
    modules = (light * pixels, dark * pixels)
    begin, end = left * len(light), (left + width) * len(light)

    def lines() -> Iterator[tuple[bytes, int]]:
        yield light * size, offset
        for y, row in enumerate(symbol.rows):
            line = light * offset + b"".join(map(modules.__getitem__, row))
            line += light * (size - len(line) // len(light))
            first = offset + y * pixels
            if first + pixels <= top or first >= top + height:
                yield line, pixels
                continue
            for at in range(first, first + pixels):
                if top <= at < top + height:
                    drawn = logo.rows[at - top]
                    yield line[:begin] + (_over(drawn, light) if opaque else drawn) + line[end:], 1
                else:
                    yield line, 1
        yield light * size, size - offset - symbol.width * pixels

    return _file(size, 8, _COLOR if opaque else _COLOR_AND_ALPHA, [], lines(), size * len(light))


def _over(row: bytes, background: bytes) -> bytes:
    """Blend a row of RGBA pixels with a background color. Return the red, green and blue values."""
    alphas = row[3::4]
    drawn = bytearray(3 * len(alphas))
    for part, behind in enumerate(background):
        drawn[part::3] = bytes(
            (color * alpha + behind * (255 - alpha)) // 255 for color, alpha in zip(row[part::4], alphas, strict=True)
        )
    return bytes(drawn)


def _file(
    size: int, depth: int, color_type: int, chunks: list[bytes], lines: Iterator[tuple[bytes, int]], line_bytes: int
) -> bytes:
    """Return a PNG file. `lines`: each line with the number of its repetitions."""
    packer = zlib.compressobj()
    again = b"\2" + bytes(line_bytes)  # a line that does not differ from the line above
    packed = []
    for line, times in lines:
        if times:
            packed.append(packer.compress(b"\0" + line))
            packed += [packer.compress(again) for _ in range(times - 1)]
    packed.append(packer.flush())
    header = size.to_bytes(4) * 2 + bytes([depth, color_type, 0, 0, 0])
    parts = [_chunk(b"IHDR", header), *chunks, _chunk(b"IDAT", b"".join(packed)), _chunk(b"IEND", b"")]
    return _START + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)
