"""Argument types and helpers that several commands share."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The object to which a command adds its parser. argparse has no public name for its type.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    commands: Commands, shared: argparse.ArgumentParser, name: str, summary: str, more: str = ""
) -> argparse.ArgumentParser:
    """Add a command and return its parser.

    `summary` is a phrase such as "list users": the list of commands shows the phrase, and the help of the command
    begins with it. `more` continues that help with whole sentences.
    """
    description = f"{summary[0].upper()}{summary[1:]}. {more}"
    return commands.add_parser(name, parents=[shared], help=summary, description=description)


def add_group(commands: Commands, name: str, summary: str) -> Commands:
    """Add a command that has actions, such as `svc user`. Return the object to which the actions add their parsers."""
    group = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    return group.add_subparsers(required=True, metavar="ACTION")


def add_email(parser: argparse.ArgumentParser, text: str = "the user's email address") -> None:
    """Add the argument EMAIL."""
    parser.add_argument("email", metavar="EMAIL", help=text)


def edge_account_id(text: str) -> str:
    """Return the text if it is a valid Cloudflare account ID. Raises argparse.ArgumentTypeError."""
    from svc.ids import EDGE_ACCOUNT_ID

    if re.fullmatch(EDGE_ACCOUNT_ID, text) is None:
        raise argparse.ArgumentTypeError("must be a Cloudflare account ID (32 hexadecimal digits)")
    return text


def positive_number(most: int) -> Callable[[str], int]:
    """Return an argparse type that accepts whole numbers from 1 to `most`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {most}")
        return int(text)

    return parse


def config_option(config: Path | None) -> str:
    """Return " --config PATH", which makes another command use the same configuration; "" if `config` is None."""
    return "" if config is None else f" --config {shlex.quote(str(config))}"
