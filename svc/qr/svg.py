"""QR codes as SVG images, which consist of a rect, a path with integer coordinates, and a logo if there is one."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from svc.qr.style import BLACK, PLAIN, WHITE
from svc.qr.symbol import symbol_of

if TYPE_CHECKING:
    from svc.identity.logo import Logo
    from svc.qr.style import Style
    from svc.qr.symbol import Symbol


def draw_svg(text: str, style: Style = PLAIN, size: int | None = None) -> str:
    """Return `text` as a QR code.

    `size`: width and height in pixels; None if the image scales to its container.
    """
    symbol = symbol_of(text, style.logo_aspect)
    attributes = "" if size is None else f' width="{size}" height="{size}"'
    if style.logo is None:
        return drawing(symbol, style, "", attributes)
    # A logo that adapts to dark pages must remain visible on the light background of the QR code.
    attributes += ' style="color-scheme:light"'
    return drawing(symbol, style, image_of(style.logo, logo_box(symbol, style.margin)), attributes)


def drawing(symbol: Symbol, style: Style, logo: str, attributes: str = "") -> str:
    """Return a symbol as an `svg` element.

    `logo`: the element that draws the logo, or "". `attributes`: further attributes of the `svg` element.
    """
    modules = symbol.width + 2 * style.margin
    runs = "".join(
        f"M{x + style.margin} {y + style.margin}h{width}v1h-{width}z"
        for y, row in enumerate(symbol.rows)
        for x, width in _dark_runs(row)
    )
    light = {WHITE: "#fff", None: "none"}.get(style.light, style.light)
    dark = "" if style.dark == BLACK else f' fill="{style.dark}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{attributes} viewBox="0 0 {modules} {modules}">'
        f'<rect width="{modules}" height="{modules}" fill="{light}"/><path{dark} d="{runs}"/>{logo}</svg>'
    )


def logo_box(symbol: Symbol, margin: int) -> tuple[float, float, float, float]:
    """Return left, top, width and height of the box for the logo, in modules. Raises ValueError without a logo area."""
    if symbol.logo_area is None:
        raise ValueError("the symbol has no area for a logo")
    left, top, width, height = symbol.logo_area
    return left + margin + 0.5, top + margin + 0.5, width - 1, height - 1


def image_of(logo: Logo, box: tuple[float, float, float, float]) -> str:
    """Return the element that draws a logo in the center of a box.

    The logo is a separate image, so its styles and ids do not affect the QR code. Programs for print design
    support `xlink:href` better than `href`.
    """
    x, y, width, height = box
    data = b64encode(logo.content).decode()
    return (
        f'<image xmlns:xlink="http://www.w3.org/1999/xlink" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        f' xlink:href="data:{logo.content_type};base64,{data}"/>'
    )


def _dark_runs(row: bytes) -> list[tuple[int, int]]:
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
