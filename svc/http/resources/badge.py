"""Badges: small SVG images with a label and a number."""

from __future__ import annotations

import re
from html import escape

# Characters that XML 1.0 does not allow, and characters that change the direction of the text around them.
_NOT_ALLOWED = re.compile(
    r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_HEIGHT = 20
_PADDING = 8
# The widths of characters in Verdana at 11 px. `_USUAL`: other Latin characters. `_OTHER`: all other characters, such
# as Chinese characters and emojis.
_WIDTHS = {"il.,:;|!'jI": 4, "ftr-()[] /1": 6, "mwMW%@": 11}
_USUAL, _OTHER = 7.5, 13


def svg(label: str, value: str, *, muted: bool = False) -> str:
    """Return the badge with `label` on the left and `value` on the right. `muted`: True if there is no number."""
    label, value = (_NOT_ALLOWED.sub("", text) for text in (label, value))
    left, right = (round(_width(text)) + 2 * _PADDING for text in (label, value))
    right_fill = "#595959" if muted else "#1a5fb4"
    title = escape(f"{label}: {value}")
    texts = "".join(
        f'<text x="{middle:g}" y="14" textLength="{width - 2 * _PADDING}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
        for text, middle, width in ((label, left / 2, left), (value, left + right / 2, right))
        if text
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{_HEIGHT}" fill="#333"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{right_fill}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>"
    )


def _width(text: str) -> float:
    """Return the approximate width of a text in pixels."""
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> float:
    if not char.isascii():
        return _USUAL if char.isalpha() and ord(char) < 0x2E80 else _OTHER  # Chinese, Japanese and Korean begin here
    return next((width for chars, width in _WIDTHS.items() if char in chars), _USUAL)
