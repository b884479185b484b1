"""`svc account disconnect`: disconnect one account or all accounts, and list the resources that remain at Cloudflare.

The command only records the requests. The running service carries them out, because only its actors may call
Cloudflare. A disconnect that has begun continues without the command, and a repeated command waits for its result.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import trio

from svc import remaining_resource
from svc.addresses import LONGEST_EMAIL
from svc.commands.arguments import add_command
from svc.commands.confirmation import confirms
from svc.commands.output import plural, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store import Look
    from svc.store.account_directory import Entry
    from svc.store.disconnect_requests import WaitReason
    from svc.store.tx import Store

# How often the command checks which disconnects have ended, and the maximum number of accounts per check.
_POLL_S = 0.5
_CHECKED = 1_000

_WAITS: Mapping[WaitReason, str] = {
    "unreachable": "Cloudflare does not respond",
    "daily_limit": remaining_resource.ENGLISH.whys["daily_limit"],
    "operation_in_progress": "another operation is running",
    "internal": "the service failed; its log has the details",
}
_NOT_RUNNING = "the service is not running; start it with svc serve, because only the service can call Cloudflare"


def add_to(account: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the command of this module to the command `account`."""
    disconnect = add_command(
        account,
        shared,
        "disconnect",
        "remove the service from a user's Cloudflare account",
        "The running service removes Workers, databases and routes from Cloudflare, which cannot be undone."
        " The command waits for the result, and lists the resources that remain at Cloudflare.",
    )
    which = disconnect.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "account", metavar="ACCOUNT", nargs="?", help="the account's ID in this service, or its Cloudflare account ID"
    )
    which.add_argument("--all", action="store_true", help="disconnect the accounts of all users")
    disconnect.add_argument(
        "--force",
        action="store_true",
        help="do not wait if Cloudflare does not respond; list the resources that remain there",
    )
    disconnect.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    disconnect.add_argument("--json", action="store_true", help="print one JSON object per account")
    disconnect.set_defaults(command=_disconnect)


def _disconnect(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import open_poll, open_store

    async def run() -> int:
        async with open_store(config.store, as_is=True) as store, open_poll(config.store) as is_free:
            if arguments.all:
                return await _all(store, is_free, arguments)
            return await _one(store, is_free, arguments)

    try:
        return trio.run(run)
    except KeyboardInterrupt:
        print("\nsvc: disconnects that have been requested continue in the running service", file=sys.stderr)
        return 130


async def _one(store: Store, is_free: Look, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import account_directory, disconnect_requests

    entry = await store.read(account_directory.find(arguments.account))
    if entry is None:
        return _refuse(f"account {printable(arguments.account)} does not exist")
    if entry.former is not None:
        _print(entry, arguments)
        return 0
    if await is_free():
        return _refuse(_NOT_RUNNING)
    if not arguments.yes and not _agrees_to_one(entry):
        return _refuse("nothing was disconnected")
    await store.run(disconnect_requests.request([entry.id], system_clock(), forced=arguments.force))
    return await _wait(store, is_free, [entry.id], arguments)


async def _all(store: Store, is_free: Look, arguments: argparse.Namespace) -> int:
    from svc.store import account_directory

    number, users = await store.read(account_directory.count_connected())
    if not number:
        print("no account is connected", file=sys.stderr if arguments.json else sys.stdout)
        return 0
    if await is_free():
        return _refuse(_NOT_RUNNING)
    if not arguments.yes and not _agrees_to_all(number, users):
        return _refuse("nothing was disconnected")
    status = await _wait(store, is_free, await _request_all(store, forced=arguments.force), arguments)
    number, _ = await store.read(account_directory.count_connected())
    if status == 0 and number:
        return _refuse(f"users connected {plural(number, 'account')} while this command was running; run it again")
    return status


async def _request_all(store: Store, *, forced: bool) -> list[str]:
    """Request the disconnect of all accounts, except those whose users are being deleted. Return the accounts' ids."""
    from svc.clock import system_clock
    from svc.store import account_directory, disconnect_requests

    ids: list[str] = []
    last: Entry | None = None
    while True:
        found = await store.read(
            account_directory.page("oldest", last, disconnect_requests.BATCH, account_directory.Filter())
        )
        wanted = [entry.id for entry in found if entry.email is not None]
        await store.run(disconnect_requests.request(wanted, system_clock(), forced=forced))
        ids += wanted
        if len(found) < disconnect_requests.BATCH:
            return ids
        last = found[-1]


async def _wait(store: Store, is_free: Look, ids: list[str], arguments: argparse.Namespace) -> int:
    """Wait until the accounts are disconnected, and print each result. Returns the exit status."""
    from svc.store import account_directory

    total, remaining, ended = len(ids), 0, 0
    waiting: Counter[WaitReason] = Counter()
    while ids:
        # Check this before reading the results, so that results from a service that stops now are still printed.
        stopped = await is_free()
        checked, ids = ids[:_CHECKED], ids[_CHECKED:]
        found = {entry.id: entry for entry in await store.read(account_directory.with_ids(checked))}
        for account_id in checked:
            entry = found.get(account_id)
            if entry is not None and entry.former is None:
                ids.append(account_id)
                continue
            ended += 1
            if entry is not None and entry.former is not None:  # None if its user has been deleted
                remaining += len(entry.former.left)
                _print(entry, arguments, f"[{ended}/{total}] ")
        reasons = Counter(entry.waits_for for entry in found.values() if entry.waits_for is not None)
        if reasons != waiting:
            waiting = reasons
            for reason, number in waiting.items():
                print(f"svc: {plural(number, 'account')} waiting: {_WAITS[reason]}", file=sys.stderr)
        if ids and stopped:
            return _refuse(
                "the service has stopped; when it starts, it will disconnect the remaining"
                f" {plural(len(ids), 'account')}. Run this command again to see the result"
            )
        if ids:
            await trio.sleep(_POLL_S)
    if total > 1 and not arguments.json:
        print(f"{plural(total, 'account')} disconnected; {plural(remaining, 'resource')} could not be removed")
    return 0


def _agrees_to_one(entry: Entry) -> bool:
    owned = f"{plural(entry.sites, 'site')} and {plural(entry.links, 'link')}"
    owner = printable(entry.email or "-", LONGEST_EMAIL)
    print(
        f"This removes the service from the Cloudflare account {entry.edge_account_id} ({printable(entry.name)}) of"
        f" {owner}, with {owned}. It cannot be undone."
    )
    return confirms(entry.id, "the account ID")


def _agrees_to_all(number: int, users: int) -> bool:
    print(
        f"This removes the service from {plural(number, 'Cloudflare account')} of {plural(users, 'user')}. Sites are no"
        " longer counted, and short links and QR codes stop working. It cannot be undone."
    )
    phrase = f"disconnect {plural(number, 'account')}"
    return confirms(phrase, f'"{phrase}"')


def _print(entry: Entry, arguments: argparse.Namespace, progress: str = "") -> None:
    """Print the result of a disconnect that has ended."""
    if arguments.json:
        print(json.dumps(facts_of(entry)), flush=True)
        return
    if entry.former is None:
        raise AssertionError("only a disconnected account has a result")
    lines = [one.words for one in entry.former.left]
    if entry.former.revoke_token is not None:
        lines.append(f"API token {entry.former.revoke_token}: the user has to delete it in the Cloudflare dashboard.")
    print(f"{progress}{entry.id} {entry.edge_account_id} ({printable(entry.name)}): disconnected")
    for line in lines:
        print(f"  - {printable(line, 1_000)}")
    sys.stdout.flush()


def facts_of(entry: Entry) -> dict[str, Any]:
    """Return the fields of an account in the JSON output of the commands."""
    from svc.clock import iso

    facts = {
        "id": entry.id,
        "edge_account_id": entry.edge_account_id,
        "name": entry.name,
        "user": entry.email,
        "state": entry.state,
    }
    if entry.former is None:
        return facts | {
            "connected_at": iso(entry.at),
            "sites": entry.sites,
            "links": entry.links,
            "disconnecting": entry.is_requested,
            "waits_for": entry.waits_for,
        }
    return facts | {
        "disconnected_at": iso(entry.at),
        "by_operator": entry.former.by_operator,
        "revoke_token": entry.former.revoke_token,
        "left": [one.words for one in entry.former.left],
    }


def _refuse(reason: str) -> int:
    print(f"svc: {reason}", file=sys.stderr)
    return 1
