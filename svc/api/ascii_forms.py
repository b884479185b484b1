"""Hosts and addresses as people paste them, in the ASCII form in which they are stored. Pure.

What is ASCII stays as it is. Otherwise a host goes through UTS 46 (what browsers do, without the transitional form) and
the registration rules of IDNA 2008, label by label; of the rest of an address each character beyond ASCII is
percent-encoded in UTF-8. What comes out is still to be looked at: it may be no host name, or on the link host.
"""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote

import idna

# Of the host as it is written. A name has at most 253 characters; the conversion takes longer than the length grows.
_LONGEST_HOST = 253
_LABEL = re.compile(r"[A-Za-z0-9_-]*")
_URL = re.compile(
    r"(?P<scheme>[Hh][Tt][Tt][Pp][Ss]://)(?P<user>[^/?#]*@)?(?P<host>[^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])"
    r"(?P<rest>(:[0-9]*)?([/?#].*)?)"
)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_NOT_IN_PATHS = re.compile(r'[ "<>^`{}]+|[^\x00-\x7f]+')


def ascii_host(text: str) -> str:
    """A host name in its ASCII form. Raises ValueError: no such form."""
    if text.isascii():
        return text
    if len(text) > _LONGEST_HOST:
        raise ValueError("too long")
    labels = idna.uts46_remap(text, std3_rules=False, transitional=False).split(".")
    # A sign that is mapped to a slash or an at-sign would make another address of what is behind it.
    if not all(_LABEL.fullmatch(label) for label in labels if label.isascii()):
        raise ValueError("other characters than those of host names")
    return ".".join(label if label.isascii() else idna.alabel(label).decode() for label in labels)


def ascii_url(text: str) -> str:
    """An https address in its ASCII form. Raises ValueError: its host has none, or it is no https address."""
    if text.isascii():
        return text
    parts = _URL.fullmatch(text)
    if parts is None:
        raise ValueError("no https address")
    user, rest = (_BEYOND_ASCII.sub(_percent_encoded, part or "") for part in (parts["user"], parts["rest"]))
    return f"{parts['scheme']}{user}{ascii_host(parts['host'])}{rest}"


def ascii_path(text: str) -> str:
    """A path as a browser sends it: percent-encoded where the URL standard does so, without blanks at its end.

    What is percent-encoded already stays as it is. https://url.spec.whatwg.org/#path-percent-encode-set
    """
    return _NOT_IN_PATHS.sub(_percent_encoded, text.rstrip(" "))


def search_forms(text: str) -> tuple[str, ...]:
    """What to look for where ASCII forms are stored: the text as a part of a path, and as a host or an address."""
    if text.isascii():
        return (text,) if text else ()
    forms = [_BEYOND_ASCII.sub(_percent_encoded, text)]
    for form in (ascii_host, ascii_url):
        with contextlib.suppress(ValueError):
            forms.append(form(text))
    return tuple(dict.fromkeys(forms))


def _percent_encoded(found: re.Match[str]) -> str:
    return quote(found[0])
