"""`svc user delete`: delete a user and all of the user's data, and list the resources that remain at Cloudflare.

The command only begins the deletion. The running service carries it out, because only its actors may call Cloudflare.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import trio

from svc.addresses import LONGEST_EMAIL
from svc.commands.arguments import add_command, add_email
from svc.commands.confirmation import confirms
from svc.commands.output import plural, printable

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.model import JsonObject
    from svc.store.tx import Store
    from svc.store.user_directory import Entry

# How often the command checks whether the deletion has ended.
_POLL_S = 0.5


def add_to(user: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the command of this module to the command `user`."""
    delete = add_command(
        user,
        shared,
        "delete",
        "delete a user and all of the user's data",
        "The running service disconnects the user's accounts and deletes the user's data. This cannot be undone."
        " The command waits for the result, and lists the resources that remain at Cloudflare.",
    )
    add_email(delete)
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    delete.add_argument("--json", action="store_true", help="print the result as a JSON object")
    delete.set_defaults(command=_delete)


def _delete(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import open_poll, open_store, user_directory

    async def run() -> int:
        async with open_store(config.store, as_is=True) as store:
            entries = await store.read(user_directory.with_address(arguments.email))
            if not entries:
                print(f"svc: user {printable(arguments.email, LONGEST_EMAIL)} does not exist", file=sys.stderr)
                return 1
            if not arguments.yes and not _agrees(entries):
                print("svc: nothing was deleted", file=sys.stderr)
                return 1
            begun = await _begin(store, entries)
            if not begun:
                print("svc: the user is already being deleted", file=sys.stderr)
                return 1
            async with open_poll(config.store) as is_free:
                results: list[JsonObject] = []
                while len(results) < len(begun):
                    if await is_free():
                        _print(
                            arguments,
                            "begun",
                            results,
                            "the service is not running; it will delete the user when it starts",
                        )
                        return 0
                    results += await _take_results(store, begun)
                    if len(results) < len(begun):
                        await trio.sleep(_POLL_S)
        _print(arguments, "deleted", results, "deleted")
        return 0

    try:
        return trio.run(run)
    except KeyboardInterrupt:
        print("\nsvc: the deletion continues in the running service", file=sys.stderr)
        return 130


def _agrees(entries: list[Entry]) -> bool:
    email = printable(entries[0].user.email, LONGEST_EMAIL)
    accounts, sites, links = (
        sum(counts) for counts in zip(*((e.accounts, e.sites, e.links) for e in entries), strict=True)
    )
    owned = f"{plural(accounts, 'connected account')}, {plural(sites, 'site')} and {plural(links, 'link')}"
    print(f"This permanently deletes {email} with {owned}, and disconnects the accounts. It cannot be undone.")
    return confirms(entries[0].user.email, "the email address")


async def _begin(store: Store, entries: list[Entry]) -> list[str]:
    """Begin the deletions. Return the digests that identify their results."""
    from svc.clock import system_clock
    from svc.ids import digest, new_secret
    from svc.store import user_deletions

    begun = []
    for entry in entries:
        # The result is stored under the digest of an access token. This token belongs to no session, so only this
        # command can read the result.
        identifier = digest(new_secret("svs_"))
        if await store.run(user_deletions.begin_by_operator(entry.user.id, identifier, system_clock())):
            begun.append(identifier)
    return begun


async def _take_results(store: Store, begun: list[str]) -> list[JsonObject]:
    from svc.store import user_deletions

    results = [await store.run(user_deletions.take_result(identifier)) for identifier in begun]
    return [facts for facts in results if facts is not None]


def _print(arguments: argparse.Namespace, state: str, results: list[JsonObject], text: str) -> None:
    """Print the state, the remaining resources, and the tokens to delete."""
    from svc.remaining_resource import RemainingResource

    left: list[Any] = [RemainingResource(**item) for result in results for item in _listed(result, "leftovers")]
    tokens = [name for result in results for name in _listed(result, "revoke_tokens")]
    if arguments.json:
        words = [resource.words for resource in left]
        facts = {"email": arguments.email, "state": state, "left": words, "revoke_tokens": tokens}
        print(json.dumps(facts))
        return
    print(text)
    for heading, lines in (
        ("These resources could not be removed from Cloudflare:", [one.words for one in left]),
        ("The user has to delete these tokens in the Cloudflare dashboard:", tokens),
    ):
        if lines:
            print("\n".join([heading, *(f"- {printable(line, 1_000)}" for line in lines)]))


def _listed(result: JsonObject, name: str) -> list[Any]:
    found: Any = result[name]
    return list(found)
