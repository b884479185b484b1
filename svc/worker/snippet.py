"""Creates the snippet for a customer's pages: inline counter code, or a script element that loads the code. No I/O."""

from __future__ import annotations

import base64
import hashlib
import zlib

# Placeholder for the site's path in the bundle's template (snippet.js).
PATH_MARK = "__PATH__"


def inline(template: str, path: str) -> str:
    """Return the inline snippet. A test limits its size to 410 bytes."""
    return f"<script>{_code(template, path)}</script>"


def csp_hash(template: str, path: str) -> str:
    """Return the hash that allows the inline snippet in a Content-Security-Policy, as in `script-src 'sha256-…'`."""
    digest = hashlib.sha256(_code(template, path).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _code(template: str, path: str) -> str:
    return template.replace(PATH_MARK, path)


def script_tag(path: str, name: str) -> str:
    """Return the script element that loads the code from `<path>/<name>.js`.

    The order of the attributes depends on the path and the name. It therefore varies by site, so that no single pattern
    of an ad blocker matches all sites. The order stays the same until the path is rotated.
    """
    attributes = [f'src="{path}/{name}.js"', "defer"]
    if zlib.crc32(f"{path}/{name}".encode()) & 1:
        attributes.reverse()
    return f"<script {' '.join(attributes)}></script>"
