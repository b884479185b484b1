"""The commands: serve, check, user add, user plan. Rooms are imported when a command needs them."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trio

from svc.config import ConfigError, load
from svc.faults import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.config import Config


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 refused or failed, 2 wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        config = load(_config_path(arguments.config), os.environ)
        sys.exit(arguments.command(config, arguments))
    except ConfigError as error:
        sys.exit(f"svc: {error}")
    except ExceptionGroup as group:  # what is raised while the store is watched
        refused, others = group.split(ConfigError)
        if refused is None or others is not None:
            raise
        sys.exit(f"svc: {first_of(refused)}")


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

    serve = commands.add_parser("serve", parents=[shared], help="run the service")
    serve.set_defaults(command=_serve)
    check = commands.add_parser("check", parents=[shared], help="check configuration, key file, bundle, store")
    check.set_defaults(command=_check)

    user = commands.add_parser("user", help="manage users").add_subparsers(required=True, metavar="ACTION")
    add = user.add_parser("add", parents=[shared], help="add a user")
    add.add_argument("email")
    add.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    add.add_argument("--confirmed", action="store_true", help="the address needs no confirmation")
    add.set_defaults(command=_user_add)
    plan = user.add_parser("plan", parents=[shared], help="switch a user's plan")
    plan.add_argument("email")
    plan.add_argument("plan", choices=["free", "api"])
    plan.set_defaults(command=_user_plan)
    return parser


def _serve(config: Config, _arguments: argparse.Namespace) -> int:
    from svc.logs import set_up_logging
    from svc.main import run

    def announce(url: str) -> None:
        print(json.dumps({"ready": True, "url": url}), flush=True)

    set_up_logging()
    trio.run(run, config, announce)
    return 0


def _check(config: Config, _arguments: argparse.Namespace) -> int:
    """Each part in turn, so that all that is wrong is seen at once."""
    from svc.check import check

    findings = trio.run(check, config)
    for finding in findings:
        print(f"{'ok  ' if finding.ok else 'FAIL'} {finding.part}: {finding.text}")
    return 0 if all(finding.ok for finding in findings) else 1


def _user_add(config: Config, arguments: argparse.Namespace) -> int:
    from svc.api.auth import SignUp
    from svc.api.shape import parsed
    from svc.clock import system_clock
    from svc.errors import Invalid
    from svc.passwords import hash_password
    from svc.store import open_store, users

    password = sys.stdin.readline().rstrip("\n") if arguments.password_stdin else getpass.getpass("Password: ")
    try:
        sign_up = parsed(SignUp, email=arguments.email.strip(), password=password)
    except Invalid as error:
        for issue in cast("list[dict[str, str]]", (error.details or {})["issues"]):
            print(f"svc: {issue['path']} {issue['message']}", file=sys.stderr)
        return 1

    async def add() -> bool:
        password_hash = hash_password(sign_up.password.get_secret_value())
        async with open_store(config.store) as store:
            tx = users.add_user(sign_up.email, password_hash, system_clock(), confirmed=arguments.confirmed)
            return await store.run(tx) is not None

    if not trio.run(add):
        print(f"svc: there is a user {sign_up.email} already", file=sys.stderr)
        return 1
    return 0


def _user_plan(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import open_store, users

    async def switch() -> bool:
        async with open_store(config.store) as store:
            return await store.run(users.set_plan(arguments.email, arguments.plan))

    if not trio.run(switch):
        print(f"svc: there is no user {arguments.email}", file=sys.stderr)
        return 1
    return 0
