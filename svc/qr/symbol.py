"""The modules of a QR code, and the area in its center for a logo."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import segno

# The maximum size of a logo. A logo hides modules, which the error correction restores. With these limits, a logo
# damages at most two thirds of the codewords that level H can restore in any block of any version that short URLs need
# (tests/qr/test_symbol.py). The rest remains for dirt, folds and poor light.
_MAX_SIDE = 0.28  # as a fraction of the symbol's width
_MAX_AREA = 0.05  # as a fraction of the symbol's area


class Area(NamedTuple):
    """A rectangle, in modules from the symbol's upper left corner."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class Symbol:
    """The modules of a QR code without a margin.

    `rows`: one byte for each module, 1 if it is dark. `logo_area`: the area without dark modules in the center, None if
    the QR code has no logo.
    """

    rows: tuple[bytes, ...]
    logo_area: Area | None = None

    @property
    def width(self) -> int:
        """The number of modules per side."""
        return len(self.rows)


@lru_cache(maxsize=1024)
def symbol_of(text: str, logo_aspect: float | None = None) -> Symbol:
    """Return `text` as a QR code with error correction level M, or with level H and an area for a logo.

    `logo_aspect`: the width of the logo divided by its height, None without a logo.
    """
    # By default, segno would raise the error-correction level if the symbol's size allows it, and would create Micro QR
    # codes.
    code = segno.make(text, error="m" if logo_aspect is None else "h", boost_error=False, micro=False)
    rows = [bytes(row) for row in code.matrix]
    if logo_aspect is None:
        return Symbol(tuple(rows))
    area = logo_area(len(rows), logo_aspect)
    for y in range(area.top, area.top + area.height):
        rows[y] = rows[y][: area.left] + bytes(area.width) + rows[y][area.left + area.width :]
    return Symbol(tuple(rows), area)


def logo_area(width: int, aspect: float) -> Area:
    """Return the area for a logo in the center of a symbol, chosen so that the logo is as large as possible.

    Between the logo and the area's edges is a margin of half a module. `width`: the symbol's width in modules.
    """
    sides = range(3, int(width * _MAX_SIDE) + 1, 2)  # odd numbers, because the width of every symbol is odd
    areas = [(w, h) for w in sides for h in sides if w * h <= width * width * _MAX_AREA]
    w, h = max(areas, key=lambda each: (min((each[0] - 1) / aspect, each[1] - 1), -each[0] * each[1]))
    return Area((width - w) // 2, (width - h) // 2, w, h)
