"""Inserts the operator's identity into pages that the build wrote with the default name and logo."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from svc.identity.links import footer_html
from svc.identity.marks import BRAND, DEFAULT_NAME, HELP_TITLE, ICON, TALLY

if TYPE_CHECKING:
    from svc.identity.operator import Identity

# Strings in svc/web/index.html that are replaced.
_TITLE = f"<title>{DEFAULT_NAME}</title>"
_HEAD = "<head>"
_HEADING = f"<h1>{DEFAULT_NAME}</h1>"
_END = "</body>"


def application_page(page: str, identity: Identity) -> str:
    """Return the web application's page with the operator's identity.

    The page's script reads the name from the title and the logo's path from `data-logo`.
    """
    name = escape(identity.name, quote=False)
    page = page.replace(_TITLE, f"<title>{name}</title>", 1).replace(_HEADING, f"<h1>{name}</h1>", 1)
    if identity.logo is not None:
        page = page.replace(_HEAD, f'<head data-logo="{identity.logo.path}">', 1)
    return _with_logo(page, identity).replace(_END, f"{footer_html(identity, 'en', 'de')}{_END}", 1)


def help_page(page: str, identity: Identity) -> str:
    """Return a documentation page with the operator's identity. The documentation is in English."""
    name = escape(identity.name, quote=False)
    logo = TALLY if identity.logo is None else f'<img class="logo" src="{identity.logo.path}" alt="">'
    page = page.replace(HELP_TITLE, f" · {name} help</title>", 1).replace(BRAND, f"{logo}{name}</a>", 1)
    return _with_logo(page, identity).replace(_END, f"{footer_html(identity, 'en')}{_END}", 1)


def _with_logo(page: str, identity: Identity) -> str:
    """Return the page with the operator's logo as its favicon."""
    if identity.logo is None:
        return page
    return page.replace(ICON, f'<link rel="icon" href="{identity.logo.path}" type="{identity.logo.content_type}"', 1)
