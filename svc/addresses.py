"""Addresses to listen on, as settings write them, and e-mail addresses. Pure.

Nothing large is imported here, because `svc health` runs all day.
"""

from __future__ import annotations

import re

DEFAULT_BIND = "127.0.0.1:8080"
# Where one that listens on every address is reached from the same machine.
_EVERY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  # they are recognised, not listened on
_LAST_PORT = 65_535
# Of a Unix socket's name.
_NAME_BYTES = 107

LONGEST_EMAIL = 254  # RFC 5321, 4.5.3.1.3, without the angle brackets
_LONGEST_LOCAL_PART = 64

# RFC 5321: a dot-string before the @ (no quotes, no comments), a host name of letters, digits and hyphens behind it.
# No library decides this: email-validator takes `=?utf-8?q?…?=@host`, which Python's own e-mail package decodes.
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"(?P<local>{_ATOM}(\.{_ATOM})*)@(?P<host>{_LABEL}(\.{_LABEL})*)")
_ENCODED_WORD = "=?"


def parse_bind(bind: str) -> tuple[str, int]:
    """The host, an IPv6 address in its brackets, and the port. Raises ValueError: no address and port."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})", bind)
    if match is None or int(match[2]) > _LAST_PORT:
        raise ValueError("must be an address and a port, e.g. 127.0.0.1:8080 or [::]:8080")
    return match[1], int(match[2])


def standby_name(bind: str) -> str:
    """The name of the socket, in no folder, at which a standby that is to listen there tells what it does."""
    return f"\0svc-standby-{bind}"[:_NAME_BYTES]


def url_to_ask(bind: str) -> str:
    """The URL of what listens there, from this machine. Raises ValueError: also for port 0, which names none."""
    host, port = parse_bind(bind)
    if not port:
        raise ValueError("port 0 is a free one, and which it became is not known here")
    return f"http://{_EVERY.get(host, host)}:{port}"


def parse_email(text: str) -> str:
    """Return an e-mail address that any mail server takes, in lower case. Raises ValueError."""
    address = parse_sender(text)
    host = address.rpartition("@")[2]
    if "." not in host or host.rpartition(".")[2].isdigit():
        raise ValueError("must be an e-mail address")
    return address


def parse_sender(text: str) -> str:
    """Return an e-mail address whose host may also be a bare name, as in svc@localhost. Raises ValueError."""
    address = text.lower()
    match = _ADDRESS.fullmatch(address) if len(text) <= LONGEST_EMAIL and text.isascii() else None
    if match is None or len(match["local"]) > _LONGEST_LOCAL_PART or _ENCODED_WORD in match["local"]:
        raise ValueError("must be an e-mail address")
    return address
