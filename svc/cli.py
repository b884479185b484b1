"""The way into the program: its arguments, its configuration, and how a command ends."""

from __future__ import annotations

import argparse
import io
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from svc.commands import imports, platform, serving, users
from svc.config import ConfigError, load
from svc.errors import StoreUnavailable
from svc.faults import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what a terminal cannot show must not end a command in the middle
        sys.stdout.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    try:
        config = load(_config_path(arguments.config), os.environ)
        sys.exit(arguments.command(config, arguments))
    except _TOLD as error:
        sys.exit(f"svc: {_told(error)}")
    except BaseExceptionGroup as group:  # what is raised while the store is watched
        told, others = group.split(_TOLD)
        if told is None or others is not None:
            raise
        sys.exit(f"svc: {_told(first_of(told))}")


# What ends a command with a line instead of a traceback.
_TOLD = (ConfigError, StoreUnavailable, KeyboardInterrupt)


def _told(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.message if isinstance(error, StoreUnavailable) else str(error)


def _config_path(given: str | None) -> Path | None:
    """The file named; else config.toml here, when there is one; else None (the defaults)."""
    if given is not None:
        return Path(given)
    return Path("config.toml") if Path("config.toml").exists() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="svc", description="Page counters and short links on edge accounts.")
    parser.add_argument("--version", action="version", version=f"svc {version('svc')}")
    parser.set_defaults(config=None)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config", metavar="PATH", help="the configuration; default: config.toml, if it is there")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for group in (serving, platform, imports, users):
        group.add_to(commands, shared)
    return parser
