"""`svc health`: check that the service responds, or waits as a standby.

Container supervisors run this command every 30 seconds, so it imports as little as possible.
"""

from __future__ import annotations

import socket
import sys
import tomllib
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from svc import addresses
from svc.commands.arguments import add_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from svc.commands.arguments import Commands

# Timeout for connecting, and for each read of the response.
_STEP_S = 5.0


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    health = add_command(
        commands,
        shared,
        "health",
        "check that the service responds or waits as a standby (exit status 0 if it does, otherwise 1)",
        "The command requests /healthz, which checks the process but not its store (/readyz does). Without --url, a"
        " standby that is waiting on this machine also counts as healthy; the command then prints `standby`.",
    )
    health.add_argument(
        "--url", help="URL of the service, such as https://svc.example (default: the setting `bind` of [http])"
    )
    health.set_defaults(command=_health, needs_config=False)


def _health(_: object, arguments: argparse.Namespace) -> int:
    url, standby = arguments.url, ""
    try:
        if url is None:
            here = _bind(arguments.config, arguments.environ)
            url = addresses.local_url(here)
            standby = addresses.standby_name(here)
        _ask(url)
    except (OSError, HTTPException, ValueError) as error:
        state = _standby_state(standby)
        if state:
            print(state)
            return 0
        hint = "; set the address with --url" if isinstance(error, ValueError) else ""
        print(f"svc: {url or '[http] bind'}: {error or type(error).__name__}{hint}", file=sys.stderr)
        return 1
    print(f"{url} is healthy")
    return 0


def _standby_state(standby: str) -> str:
    """Return the state that a standby reports on its socket, or "" if there is no standby or it does not respond."""
    if not standby:
        return ""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_STEP_S)
        try:
            client.connect(standby)
            return client.recv(200).decode(errors="replace")
        except OSError:
            return ""


def _bind(path: Path | None, environ: Mapping[str, str]) -> str:
    """Return `[http] bind` as `config.load` does, but without validation.

    Raises OSError; ValueError if the file is not valid TOML.
    """
    http = {} if path is None else tomllib.loads(path.read_text("utf-8-sig")).get("http", {})
    configured = http.get("bind") if isinstance(http, dict) else None
    return str(environ.get("SVC_HTTP_BIND") or configured or addresses.DEFAULT_BIND)


def _ask(url: str) -> None:
    """Request /healthz.

    Raises OSError or HTTPException if the request fails or the response is not 200; ValueError if `url` is not an http
    or https URL.
    """
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
        raise HTTPException(f"/healthz returned status {status}")
