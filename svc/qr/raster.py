"""The operator's logo as pixels: reads a PNG file, and scales the picture for a QR code.

Only the PNG formats that are common for logos are supported, so that no imaging library is needed. The file has already
been checked (svc/identity/logo.py). Reading a picture of 1,024 by 1,024 pixels takes 1.5 s on a slow core, so the
result is cached.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import add, floordiv, mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc.identity.logo import Logo

# The maximum width and height of a logo in pixels. Larger pictures take too long to read, and a logo is at most 28% as
# wide as a QR code.
MAX_SIDE = 1_024
_KEPT_SIDE = 512
_START_BYTES = 8
# Color type → samples per pixel (PNG, 11.2.1): gray, color, palette, gray with alpha, color with alpha.
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class NotDrawable(Exception):
    """The logo cannot be drawn in a PNG image. The message completes a sentence that begins with "The logo"."""


@dataclass(frozen=True)
class Raster:
    """A picture. `rows`: red, green, blue and alpha of each pixel, one byte each."""

    width: int
    rows: tuple[bytes, ...]

    @property
    def height(self) -> int:
        """The height in pixels."""
        return len(self.rows)


@lru_cache(maxsize=1)  # the service has one logo
def logo_raster(logo: Logo) -> Raster:
    """Return the logo, with at most 512 pixels per side. Raises NotDrawable."""
    if logo.suffix != "png":
        raise NotDrawable("is an SVG file, which only SVG images can contain")
    picture = read_png(logo.content)
    factor = min(1, _KEPT_SIDE / max(picture.width, picture.height))
    return scaled(picture, max(1, round(picture.width * factor)), max(1, round(picture.height * factor)))


# The scaled logo of a large QR code needs up to 4 MB of memory.
@lru_cache(maxsize=4)
def scaled(picture: Raster, width: int, height: int) -> Raster:
    """Return the picture in another size. Each new pixel is the average of the pixels that it covers.

    If the new size is larger, pixels are repeated instead.
    """
    columns, lines = min(width, picture.width), min(height, picture.height)
    lefts = [column * picture.width // columns for column in range(columns + 1)]
    tops = [line * picture.height // lines for line in range(lines + 1)]
    rows = [_averaged(picture.rows[top:bottom], lefts) for top, bottom in pairwise(tops)]
    if columns < width:
        starts = [4 * (column * columns // width) for column in range(width)]
        rows = [b"".join([row[start : start + 4] for start in starts]) for row in rows]
    return Raster(width, tuple(rows[line * lines // height] for line in range(height)))


def _averaged(rows: Sequence[bytes], lefts: Sequence[int]) -> bytes:
    """Average `rows` into one row of pixels. Each pixel covers the columns from one value of `lefts` to the next.

    Transparent pixels do not affect the color.
    """
    totals: list[list[int]] = []  # the sums of red, green and blue, each multiplied by alpha, and of alpha
    for row in rows:
        alpha = row[3::4]
        parts = [list(map(mul, row[part::4], alpha)) for part in range(3)]
        sums = [[0, *accumulate(part)] for part in (*parts, alpha)]
        spans = [[each[right] - each[left] for left, right in pairwise(lefts)] for each in sums]
        totals = [list(map(add, *each)) for each in zip(totals, spans, strict=True)] if totals else spans
    *colors, alpha_sums = totals
    counts = [(right - left) * len(rows) for left, right in pairwise(lefts)]
    averaged = bytearray(4 * len(counts))
    averaged[3::4] = bytes(map(floordiv, alpha_sums, counts))
    visible = [each or 1 for each in alpha_sums]
    for part, color in enumerate(colors):
        averaged[part::4] = bytes(map(floordiv, color, visible))
    return bytes(averaged)


def read_png(content: bytes) -> Raster:
    """Return the picture in a PNG file whose chunks were checked. Raises NotDrawable."""
    chunks = list(_chunks(content))
    header = chunks[0][1]
    width, height = int.from_bytes(header[:4]), int.from_bytes(header[4:8])
    depth, color, _, _, interlaced = header[8:13]
    if color not in _SAMPLES or depth not in (1, 2, 4, 8, 16):
        raise NotDrawable("is a damaged PNG file")
    if interlaced:
        raise NotDrawable("is an interlaced PNG file; export it without interlacing")
    if max(width, height) > MAX_SIDE:
        raise NotDrawable(f"is wider or higher than {MAX_SIDE:_} pixels")
    line_bytes = -(-width * depth * _SAMPLES[color] // 8)
    data = _inflated(b"".join(data for kind, data in chunks if kind == b"IDAT"), height * (line_bytes + 1))
    distance = max(1, depth * _SAMPLES[color] // 8)
    to_pixels = _Pixels(width, depth, color, dict(chunks))
    rows = [to_pixels(line) for line in _unfiltered(data, line_bytes, distance)]
    return Raster(width, tuple(rows))


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = _START_BYTES
    while at < len(content):
        length = int.from_bytes(content[at : at + 4])
        yield content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += 12 + length


def _inflated(packed: bytes, size: int) -> bytes:
    """Return the first `size` bytes of the uncompressed data. Raises NotDrawable."""
    try:
        data = zlib.decompressobj().decompress(packed, size)
    except zlib.error:
        data = b""
    if len(data) < size:
        raise NotDrawable("is a damaged PNG file")
    return data


def _unfiltered(data: bytes, line_bytes: int, distance: int) -> Iterator[bytes]:
    """Yield each line without its filter (PNG specification, 9.2). `distance`: bytes per pixel. Raises NotDrawable."""
    above = bytes(line_bytes)
    for begin in range(0, len(data), line_bytes + 1):
        kind, line = data[begin], bytearray(data[begin + 1 : begin + 1 + line_bytes])
        match kind:
            case 0:
                pass
            case 1:
                for part in range(distance):
                    line[part::distance] = bytes(total & 255 for total in accumulate(line[part::distance]))
            case 2:
                line = bytearray((here + up) & 255 for here, up in zip(line, above, strict=True))
            case 3:
                for at, up in enumerate(above):
                    left = line[at - distance] if at >= distance else 0
                    line[at] = (line[at] + (left + up) // 2) & 255
            case 4:
                _undo_paeth(line, above, distance)
            case _:
                raise NotDrawable("is a damaged PNG file")
        above = bytes(line)
        yield above


def _undo_paeth(line: bytearray, above: bytes, distance: int) -> None:
    """Undo the Paeth filter: add to each byte the neighbor that is closest to left + up - upper left (PNG, 9.4)."""
    for part in range(distance):
        left = corner = 0
        for at in range(part, len(line), distance):
            up = above[at]
            by_left, by_up = abs(up - corner), abs(left - corner)
            by_corner = abs(left + up - 2 * corner)
            other = up if by_up <= by_corner else corner
            closest = left if by_left <= by_up and by_left <= by_corner else other
            left = line[at] = (line[at] + closest) & 255
            corner = up


class _Pixels:
    """Converts lines of samples to rows of red, green, blue and alpha.

    Raises NotDrawable if a color is not in the palette.
    """

    def __init__(self, width: int, depth: int, color: int, chunks: dict[bytes, bytes]) -> None:
        self._width, self._depth, self._color = width, depth, color
        transparency = chunks.get(b"tRNS")
        # The samples of the only transparent color, with 8 bits each. Samples of 16 bits are cut to their first 8 bits,
        # so very similar colors also become transparent.
        self._transparent: bytes | None = None
        if color == 3:
            alphas = (transparency or b"") + b"\xff" * 256
            colors = chunks.get(b"PLTE", b"")
            self._palette = [colors[3 * n : 3 * n + 3] + alphas[n : n + 1] for n in range(len(colors) // 3)]
        elif transparency is not None:
            self._transparent = transparency[::2] if depth == 16 else transparency[1::2]
        if depth < 8:
            # For each possible byte, the samples that it contains. Gray samples are scaled to 8 bits.
            shifts, largest = range(8 - depth, -1, -depth), 2**depth - 1
            factor = 1 if color == 3 else 255 // largest
            self._samples = [bytes((byte >> shift & largest) * factor for shift in shifts) for byte in range(256)]
            if self._transparent is not None:
                self._transparent = bytes(part * factor & 255 for part in self._transparent)

    def __call__(self, line: bytes) -> bytes:
        """Return the row of pixels for a line of samples."""
        if self._depth == 16:
            line = line[::2]
        elif self._depth < 8:
            line = b"".join(map(self._samples.__getitem__, line))[: self._width]
        if self._color == 3:
            try:
                return b"".join(map(self._palette.__getitem__, line))
            except IndexError:
                raise NotDrawable("is a damaged PNG file") from None
        if self._color == 6:
            return line
        row = bytearray(b"\xff" * (4 * self._width))
        samples = _SAMPLES[self._color]
        for part in range(3):
            row[part::4] = line[part::samples] if samples == 3 else line[::samples]
        if samples == 2:
            row[3::4] = line[1::2]
        elif self._transparent is not None:
            size = len(self._transparent)
            row[3::4] = bytes(
                255 * (line[at : at + size] != self._transparent) for at in range(0, size * self._width, size)
            )
        return bytes(row)
