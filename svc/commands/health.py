"""Whether the service answers, or waits as a standby: what a container's supervisor asks every half minute.

So it loads next to nothing.
"""

from __future__ import annotations

import socket
import sys
import tomllib
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from svc import addresses

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from svc.commands.arguments import Commands

# Of each step: to connect, and for each part of the answer.
_STEP_S = 5.0


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    health = commands.add_parser(
        "health",
        parents=[shared],
        help="whether the service answers, or waits as a standby: 0 yes, 1 no",
        description="Asks /healthz: whether the process answers, not whether its store does (/readyz). Without --url a"
        " standby that waits on this machine is well, too; the line says that it does not serve.",
    )
    health.add_argument("--url", help="where it is, e.g. https://svc.example; default: [http] bind on this machine")
    health.set_defaults(command=_health, needs_config=False)


def _health(_: object, arguments: argparse.Namespace) -> int:
    url, standby = arguments.url, ""
    try:
        if url is None:
            here = _bind(arguments.config, arguments.environ)
            url = addresses.url_to_ask(here)
            standby = addresses.standby_name(here)
        _ask(url)
    except (OSError, HTTPException, ValueError) as error:
        told = _told(standby)
        if told:
            print(told)
            return 0
        hint = "; name the address with --url" if isinstance(error, ValueError) else ""
        print(f"svc: {url or '[http] bind'}: {error or type(error).__name__}{hint}", file=sys.stderr)
        return 1
    print(f"{url} answers")
    return 0


def _told(standby: str) -> str:
    """What the standby with a socket of this name says of itself; "": there is none, or it does not answer."""
    if not standby:
        return ""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_STEP_S)
        try:
            asking.connect(standby)
            return asking.recv(200).decode(errors="replace")
        except OSError:
            return ""


def _bind(path: Path | None, environ: Mapping[str, str]) -> str:
    """[http] bind, as `config.load` finds it, without its checks. Raises OSError, ValueError: the file is none."""
    http = {} if path is None else tomllib.loads(path.read_text("utf-8-sig")).get("http", {})
    written = http.get("bind") if isinstance(http, dict) else None
    return str(environ.get("SVC_HTTP_BIND") or written or addresses.DEFAULT_BIND)


def _ask(url: str) -> None:
    """Raises OSError, HTTPException: no answer, or another than that it lives; ValueError: not the address of one."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https address")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=_STEP_S)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/healthz")
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != 200:
        raise HTTPException(f"/healthz answers {status}")
