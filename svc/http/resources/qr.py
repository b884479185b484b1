"""QR codes as SVG images, which consist of one rect and one path with integer coordinates. No I/O."""

from __future__ import annotations

from functools import lru_cache

import segno

# The width of the white border in modules (ISO/IEC 18004).
QUIET_ZONE = 4


@lru_cache(maxsize=1024)  # drawing a code blocks the event loop for 2 to 10 ms
def svg(text: str, size: int | None = None) -> str:
    """Return `text` as a QR code with error-correction level M.

    `size`: width and height in pixels; None if the image scales to its container.
    """
    # By default, segno would raise the error-correction level if the symbol's size allows it, and would create Micro QR
    # codes.
    code = segno.make(text, error="m", boost_error=False, micro=False)
    modules = len(code.matrix) + 2 * QUIET_ZONE
    runs = "".join(
        f"M{x + QUIET_ZONE} {y + QUIET_ZONE}h{width}v1h-{width}z"
        for y, row in enumerate(code.matrix)
        for x, width in _dark_runs(row)
    )
    pixels = f' width="{size}" height="{size}"' if size is not None else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{pixels} viewBox="0 0 {modules} {modules}">'
        f'<rect width="{modules}" height="{modules}" fill="#fff"/><path d="{runs}"/></svg>'
    )


def _dark_runs(row: bytearray) -> list[tuple[int, int]]:
    """Return the start and width of each run of dark modules."""
    runs: list[tuple[int, int]] = []
    for x, dark in enumerate(row):
        if not dark:
            continue
        if runs and sum(runs[-1]) == x:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((x, 1))
    return runs
