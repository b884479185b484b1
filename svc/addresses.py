"""Parsing of bind addresses and email addresses. No I/O.

`svc health` imports this module and runs frequently, so the module imports nothing large.
"""

from __future__ import annotations

import re

DEFAULT_BIND = "127.0.0.1:8080"
# Wildcard address → loopback address.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  # only compared, never bound
_LAST_PORT = 65_535
# Maximum length of the name of a Unix socket, in bytes.
_NAME_BYTES = 107

LONGEST_EMAIL = 254  # RFC 5321, 4.5.3.1.3, without the angle brackets
_LONGEST_LOCAL_PART = 64

# The pattern of email addresses (RFC 5321): a dot-string without quotes or comments, then @, then a host name of
# letters, digits and hyphens. The email-validator package is not used: it accepts `=?utf-8?q?…?=@host`, which Python's
# own email package decodes.
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"(?P<local>{_ATOM}(\.{_ATOM})*)@(?P<host>{_LABEL}(\.{_LABEL})*)")
_ENCODED_WORD = "=?"
# Names that do not exist in public DNS (RFC 6761, RFC 8375, and conventions of private networks).
_PRIVATE_NAME = re.compile(
    r"^[^.]+$|\.(localhost|local|internal|intranet|private|lan|home|corp|home\.arpa|invalid|test)$"
)
# Names that are reserved for documentation (RFC 2606).
_EXAMPLE_NAME = re.compile(r"(^|\.)example(\.(com|net|org))?$")


def is_private_name(host: str) -> bool:
    """Return True if the host name has a form that does not exist in public DNS."""
    return _PRIVATE_NAME.search(host) is not None


def is_example_name(host: str) -> bool:
    """Return True if the host name is reserved for examples, such as `svc.example.com`."""
    return _EXAMPLE_NAME.search(host) is not None


def parse_bind(bind: str) -> tuple[str, int]:
    """Return the host and the port. An IPv6 address keeps its brackets. Raises ValueError."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})", bind)
    if match is None or int(match[2]) > _LAST_PORT:
        raise ValueError("must be an address and a port, e.g. 127.0.0.1:8080 or [::]:8080")
    return match[1], int(match[2])


def standby_name(bind: str) -> str:
    """Return the name of the abstract Unix socket on which the standby for this bind address reports its status."""
    return f"\0svc-standby-{bind}"[:_NAME_BYTES]


def local_url(bind: str) -> str:
    """Return the local URL of a service with this bind address. Raises ValueError, for example if the port is 0."""
    host, port = parse_bind(bind)
    if not port:
        raise ValueError("port 0 selects a free port, whose number is not known here")
    return f"http://{_LOOPBACK.get(host, host)}:{port}"


def parse_email(text: str) -> str:
    """Return the email address in lower case.

    Raises ValueError unless every mail server would consider the address valid.
    """
    address = parse_sender(text)
    host = address.rpartition("@")[2]
    if "." not in host or host.rpartition(".")[2].isdigit():
        raise ValueError("must be an email address")
    return address


def parse_sender(text: str) -> str:
    """Return the email address in lower case. Its host may be a single label (svc@localhost). Raises ValueError."""
    address = text.lower()
    match = _ADDRESS.fullmatch(address) if len(text) <= LONGEST_EMAIL and text.isascii() else None
    if match is None or len(match["local"]) > _LONGEST_LOCAL_PART or _ENCODED_WORD in match["local"]:
        raise ValueError("must be an email address")
    return address
