"""The printable page with several QR codes, and the name and the short URL of each link below its QR code."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

from svc.qr.svg import drawing, image_of, logo_box
from svc.qr.symbol import symbol_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import Language
    from svc.qr.style import Style

Paper = Literal["a4", "letter"]
# The number of QR codes per row. If names are short, four rows fit on a page of either paper size.
COLUMNS = 3
_STYLE = (
    "@page{size:%s;margin:12mm}"
    ":root{color-scheme:light}"
    "body{margin:0;font:9pt/1.3 system-ui,sans-serif;color:#000;background:#fff}"
    ".row{display:flex;gap:6mm;margin-bottom:6mm;break-inside:avoid}"
    "figure{flex:0 0 calc((100%% - 12mm)/3);margin:0;text-align:center;overflow-wrap:anywhere}"
    "figure svg{display:block;width:46mm;max-width:100%%;height:auto;margin:0 auto}"
    ".logo{position:absolute}"
    "b{display:block;max-height:2.6em;overflow:hidden}"
    "@media print{h1{display:none}}"
    "@media screen{body{max-width:186mm;margin:12mm auto;padding:0 4mm}}"
)
_STYLES: Mapping[Paper, str] = {"a4": _STYLE % "A4", "letter": _STYLE % "letter"}
_TITLES: Mapping[Language, str] = {"en": "QR codes", "de": "QR-Codes"}
END = "</main>\n</body>\n</html>\n"


class Labeled(NamedTuple):
    """The text of a QR code, and the two lines below it."""

    text: str
    name: str
    short_url: str


def policy(paper: Paper) -> str:
    """Return the page's Content-Security-Policy, which allows only its style sheet and the logo."""
    digest = base64.b64encode(hashlib.sha256(_STYLES[paper].encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )


def page_start(paper: Paper, language: Language, style: Style) -> str:
    """Return the page up to the first row. It contains the logo once, and each QR code refers to it."""
    logo = ""
    if style.logo is not None:
        width = 100 * style.logo.aspect_ratio
        logo = (
            f'<svg class="logo" width="0" height="0" aria-hidden="true"><symbol id="logo" viewBox="0 0 {width:g} 100">'
            f"{image_of(style.logo, (0, 0, width, 100))}</symbol></svg>\n"
        )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_TITLES[language]}</title>\n<style>{_STYLES[paper]}</style>\n</head>\n<body>\n{logo}<main>\n<h1>{_TITLES[language]}</h1>\n"
    )


def row_of(codes: Sequence[Labeled], style: Style) -> str:
    """Return a row with up to `COLUMNS` QR codes."""
    return f'<div class="row">{"".join(_figure(code, style) for code in codes)}</div>\n'


def _figure(code: Labeled, style: Style) -> str:
    symbol = symbol_of(code.text, style.logo_aspect)
    logo = ""
    if style.logo is not None:
        x, y, width, height = logo_box(symbol, style.margin)
        logo = f'<use href="#logo" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>'
    name, short_url = escape(code.name), escape(code.short_url.removeprefix("https://"))
    picture = drawing(symbol, style, logo, f' role="img" aria-label="{short_url}"')
    return f"<figure>{picture}<figcaption><b>{name}</b>{short_url}</figcaption></figure>"
