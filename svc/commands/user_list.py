"""`svc user list` and `svc user show`: find users, and show their limits and accounts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import trio

from svc.addresses import LONGEST_EMAIL
from svc.commands.arguments import add_command, add_email
from svc.commands.output import print_facts, printable
from svc.commands.paged_list import print_pages

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import Account, LimitedKind
    from svc.store.tx import Tx
    from svc.store.user_directory import Entry


def add_to(user: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module to the command `user`."""
    listing = add_command(user, shared, "list", "list users")
    listing.add_argument(
        "--sort", choices=("oldest", "newest", "email"), default="oldest", help="order (default: oldest first)"
    )
    listing.add_argument("--contains", metavar="TEXT", default="", help="only users whose email contains this text")
    for each in ("disabled", "unconfirmed"):
        listing.add_argument(f"--{each}", action="append_const", const=each, dest="filters", help=f"only {each} users")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    listing.set_defaults(command=_list)
    show = add_command(user, shared, "show", "show a user and the user's accounts")
    add_email(show)
    show.add_argument("--json", action="store_true", help="print one JSON object per line")
    show.set_defaults(command=_show)


def _list(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import user_directory

    def page(last: Entry | None, limit: int) -> Tx[list[Entry]]:
        return user_directory.page(
            arguments.sort, last, limit, filters=arguments.filters or (), contains=arguments.contains
        )

    header = None if arguments.json else _row("email", "plan", "state", "accounts", "sites", "links", "created")
    print_pages(config, header, page, lambda entry: json.dumps(_facts(entry)) if arguments.json else _line(entry))
    return 0


def _show(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import accounts, open_store, user_directory, user_limits

    def read() -> Tx[list[tuple[Entry, list[Account], dict[LimitedKind, int], dict[LimitedKind, int]]]]:
        entries = yield from user_directory.with_address(arguments.email)
        found = []
        for entry in entries:
            connected = yield from accounts.list_accounts(entry.user.id)
            limits = yield from user_limits.limits_of(entry.user.id, entry.user.plan, config.limits)
            own = yield from user_limits.own_limits(entry.user.id)
            found.append((entry, connected, limits, own))
        return found

    async def find() -> list[tuple[Entry, list[Account], dict[LimitedKind, int], dict[LimitedKind, int]]]:
        async with open_store(config.store, as_is=True) as store:
            return await store.read(read())

    found = trio.run(find)
    for entry, connected, limits, own in found:
        facts = _facts(entry) | {
            "accounts": [_account(account) for account in connected],
            "limits": limits,
            "own_limits": list(own),
        }
        if arguments.json:
            print(json.dumps(facts))
            continue
        print_facts(facts)
        shown = (f"{kind} {limit}{' (set for this user)' if kind in own else ''}" for kind, limit in limits.items())
        print(f"limits:           {', '.join(shown)}")
        for account in connected:
            print(
                f"account:          {account.id}  {account.edge_account_id}  {account.state}  {printable(account.name)}"
            )
    if not found:
        print(f"svc: user {printable(arguments.email, LONGEST_EMAIL)} does not exist", file=sys.stderr)
        return 1
    return 0


def _facts(entry: Entry) -> dict[str, Any]:
    from svc.clock import iso

    user = entry.user
    return {
        "id": user.id,
        "email": user.email,
        "email_confirmed": user.email_confirmed,
        "plan": user.plan,
        "language": user.language,
        "created_at": iso(user.created_at),
        "disabled_at": None if user.disabled_at is None else iso(user.disabled_at),
        "email_refused_at": None if user.email_refused_at is None else iso(user.email_refused_at),
        "accounts": entry.accounts,
        "sites": entry.sites,
        "links": entry.links,
        "keys": entry.keys,
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "id": account.id,
        "edge_account_id": account.edge_account_id,
        "name": account.name,
        "state": account.state,
    }


def _line(entry: Entry) -> str:
    facts = _facts(entry)
    user = entry.user
    state = "disabled" if user.disabled_at is not None else "active" if user.email_confirmed else "unconfirmed"
    email = printable(user.email, LONGEST_EMAIL)
    return _row(email, user.plan, state, entry.accounts, entry.sites, entry.links, facts["created_at"][:10])


def _row(email: str, plan: str, state: str, accounts: object, sites: object, links: object, created: str) -> str:
    return f"{email:<40} {plan:<4} {state:<11} {accounts:>8} {sites:>6} {links:>7}  {created}"
