"""`svc licences`: the texts of the licences of what comes with the service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from svc.commands.output import perhaps_unread

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands

_SVC = Path(__file__).parents[1]
_NAME = "licences.txt"


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    licences = commands.add_parser(
        "licences", parents=[shared], help="show the texts of the licences of everything that comes with it"
    )
    licences.set_defaults(command=_licences, needs_config=False)


def _licences(_: object, _arguments: argparse.Namespace) -> int:
    whole = _SVC / _NAME  # of the binary, the package and the image
    parts = [whole] if whole.exists() else [_SVC / "bundle" / _NAME, _SVC / "web/dist" / _NAME]
    try:
        told = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    except FileNotFoundError as error:
        sys.exit(f"svc: {error.filename} is not there; in a checkout, run: make build")
    with perhaps_unread():  # who pages through it has seen enough
        sys.stdout.write(told)
        sys.stdout.flush()
    if parts != [whole]:
        print("svc: Python and its libraries are installed beside it, each with its own texts.", file=sys.stderr)
    return 0
