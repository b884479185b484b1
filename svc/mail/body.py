"""The two forms in which an e-mail says the same: plain text and HTML, both made of one text. Pure.

The text has one line a sentence group: an empty line ends a paragraph, any other break is meant. A paragraph that is an
address and nothing else is a link. Nothing in it is markup, whoever wrote it.
"""

from __future__ import annotations

import html
import re
import textwrap

# RFC 5322, 2.1.1: lines should have no more than 78 characters.
_WIDTH = 76
_LINK = re.compile(r"https?://[^\s<>\"]+")
# No images, nothing that is loaded from anywhere; the colours are the mail program's own, so dark ones stay dark.
_PAGE = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width">\n<meta name="color-scheme" content="light dark">\n'
    '<title>{title}</title>\n</head>\n<body style="font-family: sans-serif; line-height: 1.5; max-width: 40em">\n'
    "{paragraphs}\n</body>\n</html>\n"
)


def as_plain(text: str) -> str:
    """`text` in short lines; an address is never broken over two."""
    lines = [_wrapped(line) for line in text.strip().split("\n")]
    return "\n".join(lines) + "\n"


def as_html(title: str, text: str) -> str:
    """`text` as a page; what is in it stands there as it was written."""
    paragraphs = [part for part in re.split(r"\n{2,}", text.strip()) if part]
    return _PAGE.format(title=html.escape(title), paragraphs="\n".join(_paragraph(part) for part in paragraphs))


def _wrapped(line: str) -> str:
    return "\n".join(textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _paragraph(part: str) -> str:
    if _LINK.fullmatch(part):
        shown = html.escape(part)
        return f'<p style="overflow-wrap: anywhere"><a href="{shown}">{shown}</a></p>'
    # In lines as well: a mail server need not take long ones.
    return "<p>" + "<br>\n".join(_wrapped(html.escape(line)) for line in part.split("\n")) + "</p>"
