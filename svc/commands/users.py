"""`svc user`: add users, and change their access and their plan."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, cast

import trio

from svc.addresses import LONGEST_EMAIL
from svc.commands import invitations, user_list
from svc.commands.output import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import Action, User
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
    user_list.add_to(user, shared)
    invitations.add_to(user, shared)
    for name, command, what in (
        ("confirm", _confirm, "mark a user's email address as confirmed"),
        ("disable", _disable, "end a user's sessions and refuse sign-ins and API keys; workers continue to count"),
        ("enable", _enable, "let a disabled user sign in again"),
    ):
        action = user.add_parser(name, parents=[shared], help=what)
        action.add_argument("email")
        action.set_defaults(command=command)
    reset = user.add_parser("reset-password", parents=[shared], help="let a user set a new password")
    reset.add_argument("email")
    reset.add_argument("--print", action="store_true", dest="prints", help="print the link instead of sending an email")
    reset.set_defaults(command=_reset_password)


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


def _confirm(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def confirm(user: User, _now: int) -> Tx[bool]:
        return (yield from user_directory.confirm(user.id))

    return _change(config, arguments.email, "user.confirm", confirm, "is already confirmed")


def _disable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def disable(user: User, now: int) -> Tx[bool]:
        return (yield from user_directory.disable(user.id, now))

    return _change(config, arguments.email, "user.disable", disable, "is already disabled", sign_ups=True)


def _enable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def enable(user: User, _now: int) -> Tx[bool]:
        return (yield from user_directory.enable(user.id))

    return _change(config, arguments.email, "user.enable", enable, "is not disabled", sign_ups=True)


def _reset_password(config: Config, arguments: argparse.Namespace) -> int:
    from svc.ids import digest, new_secret
    from svc.mail.compose import Terms
    from svc.store import outbox, users

    token, lifetime_s = new_secret("svm_"), config.timing.mail_token_s

    def prepare(user: User, now: int) -> Tx[bool]:
        ends_at = int(now + lifetime_s * 1000)
        if arguments.prints:
            yield from users.put_mail_token(user.id, "reset", digest(token), ends_at)
        else:
            yield from outbox.post_newest("reset", user.email, now, ends_at, instead_of=("reset",))
        return True

    status = _change(config, arguments.email, "password.link", prepare)
    if status == 0 and arguments.prints:
        link = Terms(config.http.base_url or f"http://{config.http.bind}", lifetime_s).link("reset", token)
        print(f"{link.url}\nThe link works once, within {link.hours:g} hours.")
    elif status == 0:
        print("the running service sends the email")
    return status


def _change(
    config: Config,
    email: str,
    action: Action,
    change: Callable[[User, int], Tx[bool]],
    unchanged: str = "",
    *,
    sign_ups: bool = False,
) -> int:
    """Change the user with this address, and record the change in the user's history.

    If the address is not confirmed, change the newest sign-up, or all sign-ups if `sign_ups` is set. `change`
    returns False if there was nothing to change. `unchanged`: what to print after the address in this case.
    """
    from svc.clock import system_clock
    from svc.store import open_store, user_directory
    from svc.store.events import by_operator

    def run(now: int) -> Tx[tuple[bool, bool]]:
        entries = yield from user_directory.with_address(email)
        changed = False
        for entry in entries if sign_ups else entries[:1]:
            if (yield from change(entry.user, now)):
                changed = True
                yield by_operator(entry.user.id, action, now)
        return bool(entries), changed

    async def apply() -> tuple[bool, bool]:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(run(system_clock()))

    exists, changed = trio.run(apply)
    if not exists:
        print(f"svc: user {printable(email, LONGEST_EMAIL)} does not exist", file=sys.stderr)
        return 1
    if not changed:
        print(f"user {printable(email, LONGEST_EMAIL)} {unchanged}")
    return 0
