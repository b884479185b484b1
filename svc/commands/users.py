"""`svc user`: add users, and change their access and their plan."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import TYPE_CHECKING, cast, get_args

import trio

from svc.addresses import LONGEST_EMAIL
from svc.commands import invitations, user_deletion, user_list
from svc.commands.arguments import add_command, add_email, add_group
from svc.commands.output import printable
from svc.model import LIMITED_KINDS, LimitedKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import Action, User
    from svc.store.tx import Tx

# The largest number that a limit can be set to. A larger number is almost certainly a typo.
_LARGEST_LIMIT = 1_000_000_000


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    user = add_group(commands, "user", "manage users")
    add = add_command(user, shared, "add", "add a user")
    add_email(add)
    add.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    add.add_argument("--confirmed", action="store_true", help="mark the email address as confirmed")
    add.set_defaults(command=_user_add)
    plan = add_command(
        user,
        shared,
        "plan",
        "change a user's plan",
        "The plan sets how many API keys the user can have.",
    )
    add_email(plan)
    plan.add_argument("plan", choices=["free", "api"], help="the new plan")
    plan.set_defaults(command=_user_plan)
    limits = add_command(user, shared, "limits", "show or change a user's limits")
    add_email(limits)
    limits.add_argument(
        "changes",
        nargs="*",
        type=_limit,
        metavar="NAME=NUMBER",
        help=f"a new limit, such as sites=500, or sites=default; names: {', '.join(LIMITED_KINDS)}",
    )
    limits.set_defaults(command=_limits)
    user_list.add_to(user, shared)
    invitations.add_to(user, shared)
    user_deletion.add_to(user, shared)
    for name, command, what in (
        ("confirm", _confirm, "mark a user's email address as confirmed"),
        ("disable", _disable, "block a user's access; the user's Workers keep counting views and clicks"),
        ("enable", _enable, "let a disabled user sign in again"),
    ):
        action = add_command(user, shared, name, what)
        add_email(action)
        action.set_defaults(command=command)
    reset = add_command(
        user, shared, "reset-password", "let a user set a new password", "The user gets an email with a link."
    )
    add_email(reset)
    reset.add_argument("--print", action="store_true", dest="prints", help="print the link instead of sending an email")
    reset.set_defaults(command=_reset_password)
    for parser in (add, plan, limits, reset, *(user.choices[name] for name in ("confirm", "disable", "enable"))):
        parser.add_argument("--json", action="store_true", help="print the result as a JSON object")


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
    if not password:
        print("svc: no password was entered", file=sys.stderr)
        return 1
    try:
        sign_up = parsed(SignUp, email=arguments.email.strip(), password=password)
    except Invalid as error:
        for issue in error.issues:
            print(f"svc: {issue.path} {issue.message}", file=sys.stderr)
        return 1

    async def add() -> int | None:
        password_hash = hash_password(sign_up.password.get_secret_value())
        async with open_store(config.store) as store:
            return await store.run(add_user(password_hash, system_clock()))

    def add_user(password_hash: str, now: int) -> Tx[int | None]:
        user = yield from users.add_user(sign_up.email, password_hash, now, confirmed=arguments.confirmed)
        if user is None:
            return None
        yield by_operator(user.id, "user.sign_up", now)
        return user.id

    user_id = trio.run(add)
    if user_id is None:
        print(f"svc: user {sign_up.email} already exists", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps({"id": user_id, "email": sign_up.email, "email_confirmed": arguments.confirmed}))
    else:
        print(f"user {sign_up.email} added to {config.store.location}")
    return 0


def _limit(text: str) -> tuple[LimitedKind, int | None]:
    """Parse an argument such as `sites=500`. Return the kind and the limit; None means the default limit."""
    name, _, value = text.partition("=")
    if name not in get_args(LimitedKind):
        raise argparse.ArgumentTypeError(f"must begin with one of {', '.join(f'{kind}=' for kind in LIMITED_KINDS)}")
    if value == "default":
        return cast("LimitedKind", name), None
    if not (value.isascii() and value.isdecimal() and len(value) <= 10 and int(value) <= _LARGEST_LIMIT):
        raise argparse.ArgumentTypeError(f"{name} must be a whole number from 0 to {_LARGEST_LIMIT}, or default")
    return cast("LimitedKind", name), int(value)


def _user_plan(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import users

    def change(user: User, _now: int) -> Tx[bool]:
        return (yield from users.set_plan(user.id, arguments.plan))

    unchanged = f"already has the plan {arguments.plan}"
    return _change(config, arguments, "plan.change", change, unchanged, sign_ups=True)


def _limits(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_limits

    changes = dict(arguments.changes)
    if len(changes) < len(arguments.changes):
        print("svc: each limit can be given only once", file=sys.stderr)
        return 1
    limits: dict[LimitedKind, int] = {}

    def change(user: User, _now: int) -> Tx[bool]:
        changed = yield from user_limits.set_limits(user.id, changes)
        limits.update((yield from user_limits.limits_of(user.id, user.plan, config.limits)))
        return changed

    status = _change(config, arguments, "limits.change", change, sign_ups=True, facts=lambda: {"limits": limits})
    if status == 0 and not arguments.json:
        print("\n".join(f"{kind + ':':10}{limits[kind]}" for kind in LIMITED_KINDS))
    return status


def _confirm(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def confirm(user: User, _now: int) -> Tx[bool]:
        return (yield from user_directory.confirm(user.id))

    return _change(config, arguments, "user.confirm", confirm, "is already confirmed")


def _disable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def disable(user: User, now: int) -> Tx[bool]:
        return (yield from user_directory.disable(user.id, now))

    return _change(config, arguments, "user.disable", disable, "is already disabled", sign_ups=True)


def _enable(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def enable(user: User, _now: int) -> Tx[bool]:
        return (yield from user_directory.enable(user.id))

    return _change(config, arguments, "user.enable", enable, "is not disabled", sign_ups=True)


def _reset_password(config: Config, arguments: argparse.Namespace) -> int:
    from svc.ids import digest, new_secret
    from svc.mail.compose import Terms
    from svc.store import outbox, users

    token, lifetime_s = new_secret("svm_"), config.timing.mail_token_s
    link = Terms(config.http.link_url, lifetime_s).link("reset", token) if arguments.prints else None

    def prepare(user: User, now: int) -> Tx[bool]:
        ends_at = int(now + lifetime_s * 1000)
        if link is not None:
            yield from users.put_mail_token(user.id, "reset", digest(token), ends_at)
        else:
            yield from outbox.post_newest("reset", user.email, now, ends_at, instead_of=("reset",))
        return True

    shown = {} if link is None else {"url": link.url, "hours": link.hours}
    status = _change(config, arguments, "password.link", prepare, facts=lambda: shown)
    if status == 0 and not arguments.json:
        print(
            "The running service will send the email."
            if link is None
            else f"{link.url}\nThe link works once, within {link.hours:g} hours."
        )
    return status


def _change(
    config: Config,
    arguments: argparse.Namespace,
    action: Action,
    change: Callable[[User, int], Tx[bool]],
    unchanged: str = "",
    *,
    sign_ups: bool = False,
    facts: Callable[[], dict[str, object]] = dict,
) -> int:
    """Change the user with the address in the arguments, and record the change in the user's audit log.

    If the address is not confirmed, change the newest sign-up, or all sign-ups if `sign_ups` is True. `change`: returns
    False if there was nothing to change. `unchanged`: the text to print after the address in this case. `facts`:
    returns additional fields for the JSON output.
    """
    from svc.clock import system_clock
    from svc.store import open_store, user_directory
    from svc.store.events import by_operator

    def run(now: int) -> Tx[tuple[list[int], bool]]:
        entries = yield from user_directory.with_address(arguments.email)
        chosen = [entry.user for entry in (entries if sign_ups else entries[:1])]
        changed = False
        for user in chosen:
            if (yield from change(user, now)):
                changed = True
                yield by_operator(user.id, action, now)
        return [user.id for user in chosen], changed

    async def apply() -> tuple[list[int], bool]:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(run(system_clock()))

    ids, changed = trio.run(apply)
    email = printable(arguments.email, LONGEST_EMAIL)
    if not ids:
        print(f"svc: user {email} does not exist", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps({"email": arguments.email, "ids": ids, "changed": changed, **facts()}))
    elif not changed and unchanged:
        print(f"user {email} {unchanged}")
    return 0
