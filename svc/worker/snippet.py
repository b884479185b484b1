"""What a customer puts into a page: the counter's code inline, or a script element that loads it. Pure."""

from __future__ import annotations

import base64
import hashlib
import zlib

# Where the template of the worker's bundle (snippet.js) wants the site's path.
PATH_MARK = "__PATH__"


def inline(template: str, path: str) -> str:
    """The snippet as a script element: under 600 bytes by the specification, 400 by our own limit."""
    return f"<script>{_code(template, path)}</script>"


def csp_hash(template: str, path: str) -> str:
    """What a page's Content-Security-Policy names to allow the inline snippet: `script-src 'sha256-…'`."""
    digest = hashlib.sha256(_code(template, path).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _code(template: str, path: str) -> str:
    return template.replace(PATH_MARK, path)


def script_tag(path: str, name: str) -> str:
    """A script element that loads the same code from `<path>/<name>.js`.

    The order of its attributes varies by site, so that no one pattern finds all sites; it follows from path and name,
    so it is stable until they are rotated.
    """
    attributes = [f'src="{path}/{name}.js"', "defer"]
    if zlib.crc32(f"{path}/{name}".encode()) & 1:
        attributes.reverse()
    return f"<script {' '.join(attributes)}></script>"
