"""Conversion of hosts, URLs and paths with non-ASCII characters to the ASCII form that the service stores. No I/O.

ASCII input is returned unchanged. A host is mapped by UTS 46 (non-transitional, as in browsers) and then encoded label
by label under the registration rules of IDNA 2008. Other non-ASCII characters of a URL are percent-encoded in UTF-8.
Callers must still validate the result, which may be an invalid host name or a URL on the link host.
"""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote

import idna

# Host names have at most 253 characters. Longer input is rejected, because the cost of the conversion grows faster than
# the input's length.
_LONGEST_HOST = 253
_LABEL = re.compile(r"[A-Za-z0-9_-]*")
_URL = re.compile(
    r"(?P<scheme>[Hh][Tt][Tt][Pp][Ss]://)(?P<user>[^/?#]*@)?(?P<host>[^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])"
    r"(?P<rest>(:[0-9]*)?([/?#].*)?)"
)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_NOT_IN_PATHS = re.compile(r'[ "<>^`{}]+|[^\x00-\x7f]+')


def ascii_host(text: str) -> str:
    """Return a host name in ASCII form. Raises ValueError if the name has no ASCII form."""
    if text.isascii():
        return text
    if len(text) > _LONGEST_HOST:
        raise ValueError("too long")
    labels = idna.uts46_remap(text, std3_rules=False, transitional=False).split(".")
    # A character that maps to a slash or an at sign would change the meaning of the rest of the URL.
    if not all(_LABEL.fullmatch(label) for label in labels if label.isascii()):
        raise ValueError("contains characters that are not allowed in host names")
    return ".".join(label if label.isascii() else idna.alabel(label).decode() for label in labels)


def ascii_url(text: str) -> str:
    """Return an https URL in ASCII form.

    Raises ValueError if `text` is not an https URL or its host has no ASCII form.
    """
    if text.isascii():
        return text
    parts = _URL.fullmatch(text)
    if parts is None:
        raise ValueError("not an https URL")
    user, rest = (_BEYOND_ASCII.sub(_percent_encoded, part or "") for part in (parts["user"], parts["rest"]))
    return f"{parts['scheme']}{user}{ascii_host(parts['host'])}{rest}"


def ascii_path(text: str) -> str:
    """Return a path in the form that browsers send: percent-encoded as in the URL standard, without trailing spaces.

    Existing percent-encoding is kept. https://url.spec.whatwg.org/#path-percent-encode-set
    """
    return _NOT_IN_PATHS.sub(_percent_encoded, text.rstrip(" "))


def search_forms(text: str) -> tuple[str, ...]:
    """Return the ASCII forms in which a search text may be stored: as part of a path, and possibly as a host or URL."""
    if text.isascii():
        return (text,) if text else ()
    forms = [_BEYOND_ASCII.sub(_percent_encoded, text)]
    for form in (ascii_host, ascii_url):
        with contextlib.suppress(ValueError):
            forms.append(form(text))
    return tuple(dict.fromkeys(forms))


def _percent_encoded(match: re.Match[str]) -> str:
    return quote(match[0])
