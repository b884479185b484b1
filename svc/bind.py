"""Addresses to listen on, as settings write them. Nothing heavy is imported here: `svc health` is asked all day."""

from __future__ import annotations

import re

DEFAULT = "127.0.0.1:8080"
# Where one that listens on every address is reached from the same machine.
_EVERY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  # they are recognised, not listened on
_LAST_PORT = 65_535
# Of a Unix socket's name.
_NAME_BYTES = 107


def parse(bind: str) -> tuple[str, int]:
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
    host, port = parse(bind)
    if not port:
        raise ValueError("port 0 is a free one, and which it became is not known here")
    return f"http://{_EVERY.get(host, host)}:{port}"
