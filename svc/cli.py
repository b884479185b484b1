"""The way into the program: its arguments, its configuration, and how a command ends."""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from svc.commands import health

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what a terminal cannot show must not end a command in the middle
        sys.stdout.reconfigure(errors="replace")
    words = sys.argv[1:] if argv is None else argv
    # Asked all day long, it takes a sixth of the CPU without the rest of the program; and it reads no key.
    if words[:1] == ["health"]:
        parser = _parser(health)
    else:
        from svc.process.core_dumps import forbid_core_dumps

        forbid_core_dumps()
        parser = parser_of_all()
    arguments = parser.parse_args(words, argparse.Namespace(environ=os.environ))
    arguments.config = _config_path(arguments.config)
    if arguments.needs_config:
        _run(arguments)
    sys.exit(arguments.command(None, arguments))


def _run(arguments: argparse.Namespace) -> NoReturn:
    """Run a command with its configuration, and exit; what it must be told about is a line, not a traceback."""
    from svc.config import ConfigError, load
    from svc.errors import StoreUnavailable
    from svc.faults import first_of

    def told(error: BaseException) -> str:
        if isinstance(error, KeyboardInterrupt):
            return "interrupted"
        return error.message if isinstance(error, StoreUnavailable) else str(error)

    kinds = (ConfigError, StoreUnavailable, KeyboardInterrupt)
    try:
        config = load(arguments.config, arguments.environ)
        sys.exit(arguments.command(config, arguments))
    except kinds as error:
        sys.exit(f"svc: {told(error)}")
    except BaseExceptionGroup as group:  # what is raised while the store is watched
        known, others = group.split(kinds)
        if known is None or others is not None:
            raise
        sys.exit(f"svc: {told(first_of(known))}")


def _config_path(given: str | None) -> Path | None:
    """The file named; else config.toml here, when there is one; else None (the defaults)."""
    if given is not None:
        return Path(given)
    return Path("config.toml") if Path("config.toml").exists() else None


def parser_of_all() -> argparse.ArgumentParser:
    """What reads the arguments of every command."""
    from svc.commands import backup, imports, licences, platform, rollouts, serving, setup, store, users, vault

    return _parser(setup, serving, health, backup, store, platform, rollouts, imports, users, vault, licences)


def _parser(*groups: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="svc", description="Page counters and short links on edge accounts.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the program's version and exit")
    parser.set_defaults(config=None, needs_config=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config", metavar="PATH", help="the configuration; default: config.toml, if it is there")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for group in groups:
        group.add_to(commands, shared)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:

        from importlib.metadata import version

        print(f"svc {version('svc')}")  # noqa: T201  # what was asked for
        parser.exit()
