"""The store itself: from one engine to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    store = commands.add_parser("store", help="the store itself").add_subparsers(required=True, metavar="ACTION")
    copy = store.add_parser(
        "copy",
        parents=[shared],
        help="copy the whole store to another place, of either engine, while no service runs",
        description="The store that was copied stays as it is. A password is better in PGPASSWORD than in the address.",
    )
    copy.add_argument("--to", metavar="URL", required=True, help="sqlite:///path or postgresql://user@host/name")
    copy.set_defaults(command=_copy)
    recovered = store.add_parser(
        "recovered",
        parents=[shared],
        help="after a recovery by other tools than svc restore: let every worker be asked for what the store lost",
    )
    recovered.set_defaults(command=_recovered)


def _copy(config: Config, arguments: argparse.Namespace) -> int:
    from svc.config import made
    from svc.store.engines.copies import transfer

    rows = transfer(config.store, made({"store": {"url": arguments.to}}).store)
    print(f"{sum(rows.values())} rows of {len(rows)} tables were copied, and counted again: none is missing.")
    print("Now set [store] url to the new address; the service works with the old one until then.")
    return 0


def _recovered(config: Config, _arguments: argparse.Namespace) -> int:
    import trio

    from svc.clock import system_clock
    from svc.store import open_store, syncs

    async def mark() -> int:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(syncs.mark_restored(system_clock()))

    number = trio.run(mark)
    print(f"The workers of {number} accounts will be asked: by a running service within a minute, else when it starts.")
    return 0
