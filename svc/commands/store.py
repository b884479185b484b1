"""`svc store`: copy the store to another database, and read totals back from the Workers after a recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.commands.arguments import add_command, add_group
from svc.commands.output import plural

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    store = add_group(commands, "store", "copy the store, or recover lost totals")
    copy = add_command(
        store,
        shared,
        "copy",
        "copy the store to another SQLite or PostgreSQL database, while the service is stopped",
        "The original store is not changed. Set the password in PGPASSWORD rather than in the URL.",
    )
    copy.add_argument(
        "--to", metavar="URL", required=True, help="new database: sqlite:///PATH or postgresql://USER@HOST/NAME"
    )
    copy.set_defaults(command=_copy)
    recovered = add_command(
        store,
        shared,
        "recovered",
        "read totals from all Workers again; use this after you recover the store without svc restore",
    )
    recovered.set_defaults(command=_recovered)


def _copy(config: Config, arguments: argparse.Namespace) -> int:
    from svc.config import made
    from svc.store.engines.copies import transfer

    rows = transfer(config.store, made({"store": {"url": arguments.to}}).store)
    print(f"Copied and verified {plural(sum(rows.values()), 'row')} in {plural(len(rows), 'table')}.")
    print("Now set [store] url to the new database. Until then, the service uses the old one.")
    return 0


def _recovered(config: Config, _arguments: argparse.Namespace) -> int:
    import trio

    from svc.clock import system_clock
    from svc.store import open_store, syncs

    async def mark() -> int:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(syncs.mark_restored(system_clock()))

    number = trio.run(mark)
    workers = f"the Workers of {plural(number, 'account')}"
    print(f"The service will read totals from {workers} within a minute, or when it starts.")
    return 0
