"""Creates the plain text and HTML parts of an email from the same text.

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

# The maximum length of a line. RFC 5322, 2.1.1, recommends at most 78 characters.
_WIDTH = 76
_LINK = re.compile(r"https?://[^\s<>\"]+")
# The style of a button. Images and other external content are not used. The mail client determines all other colors, so
# that dark mode works. The contrast of the button is sufficient on light and on dark backgrounds.
_BUTTON = (
    "display: inline-block; padding: 12px 20px; border-radius: 4px; background-color: #0b6e5b; color: #ffffff;"
    " font-weight: bold; text-decoration: none"
)
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


def as_html(title: str, text: str, language: Language, button: str = "", foot: str = "") -> str:
    """Return the text as an HTML page. Special characters are escaped.

    `button`: the label of a button above the link in `text`. The link remains, so that recipients can see and copy it.
    `foot`: the last paragraph. Each of its lines may end with a URL, which becomes a link.
    """
    paragraphs = [part for part in re.split(r"\n{2,}", text.strip()) if part]
    return as_page(title, "\n".join(_paragraph(part, button) for part in paragraphs), language, foot)


def as_page(title: str, markup: str, language: Language, foot: str = "") -> str:
    """Return an HTML page. `markup`: the HTML of its body. `foot`: see `as_html`."""
    if foot:
        lines = (_LINK.sub(r'<a href="\g<0>">\g<0></a>', html.escape(line)) for line in foot.split("\n"))
        markup += '\n<p style="font-size: small">' + "<br>\n".join(lines) + "</p>"
    return _PAGE.format(language=language, title=html.escape(title), paragraphs=markup)


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _paragraph(part: str, button: str) -> str:
    if _LINK.fullmatch(part):
        markup = html.escape(part)
        linked = f'<p style="overflow-wrap: anywhere"><a href="{markup}">{markup}</a></p>'
        if not button:
            return linked
        return f'<p><a href="{markup}" style="{_BUTTON}">{html.escape(button)}</a></p>\n{linked}'
    # Wrap the lines of the HTML as well, because mail servers may reject long lines.
    return "<p>" + "<br>\n".join(_wrap(html.escape(line)) for line in part.split("\n")) + "</p>"
