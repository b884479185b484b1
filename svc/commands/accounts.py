"""`svc account list` and `svc account show`: find connected and disconnected accounts of all users."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, get_args

import trio

from svc.addresses import LONGEST_EMAIL
from svc.commands import account_disconnect
from svc.commands.arguments import add_command, add_group
from svc.commands.output import print_facts, printable
from svc.commands.paged_list import print_pages
from svc.model import AccountState

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.account_directory import Entry
    from svc.store.tx import Tx


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    account = add_group(commands, "account", "list, show and disconnect accounts")
    listing = add_command(account, shared, "list", "list the connected accounts of all users")
    listing.add_argument("--sort", choices=("oldest", "newest"), default="oldest", help="order (default: oldest first)")
    listing.add_argument(
        "--contains",
        metavar="TEXT",
        default="",
        help="only accounts whose name, IDs or user's email contain this text",
    )
    listing.add_argument("--user", metavar="EMAIL", help="only accounts of this user")
    which = listing.add_mutually_exclusive_group()
    which.add_argument("--state", choices=get_args(AccountState), help="only accounts in this state")
    which.add_argument(
        "--disconnected",
        action="store_true",
        help="list disconnected accounts instead, with the resources that remain at Cloudflare",
    )
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    listing.set_defaults(command=_list)
    show = add_command(
        account, shared, "show", "show an account and, if it is disconnected, the resources that remain at Cloudflare"
    )
    show.add_argument(
        "account", metavar="ACCOUNT", help="the account's ID in this service, or its Cloudflare account ID"
    )
    show.add_argument("--json", action="store_true", help="print the result as a JSON object")
    show.set_defaults(command=_show)
    account_disconnect.add_to(account, shared)


def _list(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import account_directory

    chosen = account_directory.Filter(arguments.disconnected, arguments.state, arguments.user, arguments.contains)

    def page(last: Entry | None, limit: int) -> Tx[list[Entry]]:
        return account_directory.page(arguments.sort, last, limit, chosen)

    def line(entry: Entry) -> str:
        return json.dumps(account_disconnect.facts_of(entry)) if arguments.json else _line(entry)

    heads = ("disconnected", "remaining") if arguments.disconnected else ("connected", "state")
    header = None if arguments.json else _row("id", "Cloudflare account", *heads, "user", "name")
    print_pages(config, header, page, line)
    return 0


def _show(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import account_directory, open_store

    async def find() -> Entry | None:
        async with open_store(config.store, as_is=True) as store:
            return await store.read(account_directory.find(arguments.account))

    entry = trio.run(find)
    if entry is None:
        print(f"svc: account {printable(arguments.account)} does not exist", file=sys.stderr)
        return 1
    facts = account_disconnect.facts_of(entry)
    if arguments.json:
        print(json.dumps(facts))
        return 0
    print_facts(facts)
    for sentence in facts.get("left", ()):
        print(f"remaining:        {printable(sentence, 1_000)}")
    return 0


def _line(entry: Entry) -> str:
    from svc.clock import iso

    if entry.former is not None:
        state = str(len(entry.former.left))
    else:
        state = "disconnecting" if entry.is_requested else entry.state
    email = printable(entry.email or "-", LONGEST_EMAIL)
    return _row(entry.id, entry.edge_account_id, iso(entry.at)[:10], state, email, printable(entry.name))


def _row(account_id: str, edge_account_id: str, at: str, state: str, email: str, name: str) -> str:
    return f"{account_id:<24} {edge_account_id:<32} {at:<12} {state:<16} {email:<40} {name}"
