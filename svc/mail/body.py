"""Create the plain text and HTML parts of an email from the same text. No I/O.

Empty lines in the text separate paragraphs. Other line breaks are kept. In HTML, a paragraph that consists only of a
URL becomes a link, and all other text is escaped.
"""

from __future__ import annotations

import html
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.model import Language

# RFC 5322, 2.1.1: lines should have at most 78 characters.
_WIDTH = 76
_LINK = re.compile(r"https?://[^\s<>\"]+")
# Images and other external content are not used. The mail client determines the colours, so that dark mode works.
_PAGE = (
    '<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width">\n<meta name="color-scheme" content="light dark">\n'
    '<title>{title}</title>\n</head>\n<body style="font-family: sans-serif; line-height: 1.5; max-width: 40em">\n'
    "{paragraphs}\n</body>\n</html>\n"
)


def as_plain(text: str) -> str:
    """Return the text wrapped to short lines. URLs are not split."""
    lines = [_wrap(line) for line in text.strip().split("\n")]
    return "\n".join(lines) + "\n"


def as_html(title: str, text: str, language: Language) -> str:
    """Return the text as an HTML page. Special characters are escaped."""
    paragraphs = [part for part in re.split(r"\n{2,}", text.strip()) if part]
    shown = "\n".join(_paragraph(part) for part in paragraphs)
    return _PAGE.format(language=language, title=html.escape(title), paragraphs=shown)


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _paragraph(part: str) -> str:
    if _LINK.fullmatch(part):
        shown = html.escape(part)
        return f'<p style="overflow-wrap: anywhere"><a href="{shown}">{shown}</a></p>'
    # Wrap the lines of the HTML as well, because mail servers may reject long lines.
    return "<p>" + "<br>\n".join(_wrap(html.escape(line)) for line in part.split("\n")) + "</p>"
