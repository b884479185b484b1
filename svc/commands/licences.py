"""`svc licences`: show the license texts of the service and of all bundled software."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from svc.commands.arguments import add_command
from svc.commands.output import ignoring_closed_pipe

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands

_SVC = Path(__file__).parents[1]
_NAME = "licences.txt"


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    licences = add_command(
        commands, shared, "licences", "show the licenses of the service and everything bundled with it"
    )
    licences.set_defaults(command=_licences, needs_config=False)


def _licences(_: object, _arguments: argparse.Namespace) -> int:
    combined = _SVC / _NAME  # this file exists only in the binary, the package and the image
    parts = [combined] if combined.exists() else [_SVC / "bundle" / _NAME, _SVC / "web/dist" / _NAME]
    try:
        text = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    except FileNotFoundError as error:
        sys.exit(f"svc: {error.filename} does not exist; in a checkout, run: make build")
    with ignoring_closed_pipe():  # a pager may close the pipe early
        sys.stdout.write(text)
        sys.stdout.flush()
    if parts != [combined]:
        print(
            "svc: Python and its libraries are installed separately and have their own license files.", file=sys.stderr
        )
    return 0
