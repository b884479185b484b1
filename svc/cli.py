"""The command line: parses arguments, loads the configuration, runs a command and sets the exit status."""

from __future__ import annotations

import argparse
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from svc.process.garbage import postpone_collections

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The module in `svc.commands` that defines each command, in the order of `svc --help`. A run imports only the module of
# its command, which reduces the CPU time of `svc health` to a sixth.
_MODULES = {
    "init": "setup",
    "serve": "serving",
    "check": "serving",
    "health": "health",
    "backup": "backup",
    "verify": "backup",
    "restore": "backup",
    "store": "store",
    "field-check": "platform",
    "rollout": "rollouts",
    "import": "imports",
    "user": "users",
    "account": "accounts",
    "link": "moderation",
    "site": "moderation",
    "vault": "vault",
    "docs": "docs",
    "licences": "licences",
}
_VERSION = "--version"
# Commands for which core dumps stay enabled, because they read no secrets.
_WITHOUT_SECRETS = ("health", _VERSION)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. Exit with status 0 on success, 1 on failure, or 2 if the arguments are not valid."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # printing characters that the terminal cannot show must not raise
        sys.stdout.reconfigure(errors="replace")
    postpone_collections()
    given = sys.argv[1:] if argv is None else argv
    first = given[0] if given else ""
    if first not in _WITHOUT_SECRETS:
        from svc.process.core_dumps import forbid_core_dumps

        forbid_core_dumps()
    arguments = _parser(_modules_for(first)).parse_args(given, argparse.Namespace(environ=os.environ))
    arguments.config = _config_path(arguments.config)
    if arguments.needs_config:
        _run(arguments)
    sys.exit(arguments.command(None, arguments))


def _run(arguments: argparse.Namespace) -> NoReturn:
    """Load the configuration, run a command and exit. Expected errors are printed as one line without a traceback."""
    from svc.config import ConfigError, load
    from svc.errors import StoreUnavailable
    from svc.faults import first_of

    def message_of(error: BaseException) -> str:
        if isinstance(error, KeyboardInterrupt):
            return "interrupted"
        return error.message if isinstance(error, StoreUnavailable) else str(error)

    kinds = (ConfigError, StoreUnavailable, KeyboardInterrupt)
    try:
        config = load(arguments.config, arguments.environ)
        sys.exit(arguments.command(config, arguments))
    except kinds as error:
        sys.exit(f"svc: {message_of(error)}")
    except BaseExceptionGroup as group:  # raised by the nursery that monitors the store
        known, others = group.split(kinds)
        if known is None or others is not None:
            raise
        sys.exit(f"svc: {message_of(first_of(known))}")


def _config_path(given: str | None) -> Path | None:
    """Return the given path, or config.toml if that exists in the current folder, or None to use the defaults."""
    if given is not None:
        return Path(given)
    try:
        return Path("config.toml") if Path("config.toml").exists() else None
    except PermissionError:  # another user's folder, for example if root runs the command with `sudo -u svc`
        return None


def parser_of_all() -> argparse.ArgumentParser:
    """Return the argument parser with all commands."""
    return _parser(_MODULES.values())


def _modules_for(first: str) -> Iterable[str]:
    """Return the names of the modules to import if this is the first command-line argument.

    Usually, this is the module of the command. `--version` needs no module. Help and unknown commands need all modules.
    """
    if first == _VERSION:
        return ()
    return (_MODULES[first],) if first in _MODULES else _MODULES.values()


def _parser(modules: Iterable[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="svc", description="Page counters and short links in Cloudflare accounts.")
    parser.add_argument(_VERSION, action=_Version, nargs=0, help="show the program's version and exit")
    parser.set_defaults(config=None, needs_config=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--config",
        metavar="PATH",
        help="configuration file (default: config.toml in the current directory)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for name in dict.fromkeys(modules):
        import_module(f"svc.commands.{name}").add_to(commands, shared)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:

        from importlib.metadata import version

        print(f"svc {version('svc')}")  # noqa: T201  # the output of --version
        parser.exit()
