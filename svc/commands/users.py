"""`svc user`: add users and change their plan."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, cast

import trio

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.tx import Tx


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    user = commands.add_parser("user", help="manage users").add_subparsers(required=True, metavar="ACTION")
    add = user.add_parser("add", parents=[shared], help="add a user")
    add.add_argument("email")
    add.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    add.add_argument("--confirmed", action="store_true", help="mark the email address as confirmed")
    add.set_defaults(command=_user_add)
    plan = user.add_parser("plan", parents=[shared], help="change a user's plan")
    plan.add_argument("email")
    plan.add_argument("plan", choices=["free", "api"])
    plan.set_defaults(command=_user_plan)


def _user_add(config: Config, arguments: argparse.Namespace) -> int:
    from svc.api.auth import SignUp
    from svc.api.shape import parsed
    from svc.clock import system_clock
    from svc.errors import Invalid
    from svc.security.passwords import hash_password
    from svc.store import open_store, users
    from svc.store.events import by_operator

    prompts = not arguments.password_stdin and sys.stdin.isatty()
    password = getpass.getpass("Password: ") if prompts else sys.stdin.readline().rstrip("\n")
    try:
        sign_up = parsed(SignUp, email=arguments.email.strip(), password=password)
    except Invalid as error:
        for issue in cast("list[dict[str, str]]", (error.details or {})["issues"]):
            print(f"svc: {issue['path']} {issue['message']}", file=sys.stderr)
        return 1

    async def add() -> bool:
        password_hash = hash_password(sign_up.password.get_secret_value())
        async with open_store(config.store) as store:
            return await store.run(add_user(password_hash, system_clock()))

    def add_user(password_hash: str, now: int) -> Tx[bool]:
        user = yield from users.add_user(sign_up.email, password_hash, now, confirmed=arguments.confirmed)
        if user is not None:
            yield by_operator(user.id, "user.sign_up", now)
        return user is not None

    if not trio.run(add):
        print(f"svc: user {sign_up.email} already exists", file=sys.stderr)
        return 1
    return 0


def _user_plan(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import open_store, users
    from svc.store.events import by_operator

    async def switch() -> bool:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(set_plan(system_clock()))

    def set_plan(now: int) -> Tx[bool]:
        user_ids = yield from users.set_plan(arguments.email, arguments.plan)
        for user_id in user_ids:
            yield by_operator(user_id, "plan.change", now)
        return bool(user_ids)

    if not trio.run(switch):
        print(f"svc: user {arguments.email} does not exist", file=sys.stderr)
        return 1
    return 0
