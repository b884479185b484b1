"""Backups of the store and its key, and another place for both."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from svc.backup.archive import Manifest
    from svc.backup.run import Looked
    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    backup = commands.add_parser(
        "backup",
        parents=[shared],
        help="back up the store and its key into one file, also beside a running service (docs/operate/backup.md)",
    )
    backup.add_argument("file", metavar="FILE", help="the file to make; -: standard output")
    backup.add_argument("--without-key", action="store_true", help="leave the key file out: it is kept elsewhere")
    backup.add_argument("--replace", action="store_true", help="take the place of a backup that is there")
    backup.set_defaults(command=_backup)

    verify = commands.add_parser("verify", parents=[shared], help="look a backup through: could it be restored?")
    verify.add_argument("file", metavar="FILE", help="the backup; -: standard input")
    verify.set_defaults(command=_verify)

    restore = commands.add_parser(
        "restore",
        parents=[shared],
        help="put a backup in the place of the store, while no service runs",
        description="The workers are brought in line with it when the service starts.",
    )
    restore.add_argument("file", metavar="FILE", help="the backup; -: standard input")
    restore.add_argument("--replace", action="store_true", help="move a store that is there aside")
    restore.set_defaults(command=_restore)


def _backup(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.clock import system_clock

    now = system_clock()
    with_key = not arguments.without_key
    if arguments.file == "-":
        if sys.stdout.isatty():
            sys.exit("svc: a backup is no text for a terminal; send it into a file or a program")
        manifest = run.stream(config, sys.stdout.buffer, now, with_key=with_key)
        sys.stdout.buffer.flush()
    else:
        manifest = run.backup(config, Path(arguments.file), now, with_key=with_key, replace=arguments.replace)
    _note(config, manifest, now)
    print(f"{_told(manifest)}{_about_key(manifest)}", file=sys.stderr)
    return 0


def _note(config: Config, manifest: Manifest, now: int) -> None:
    """Let the store know that it was backed up. One of an earlier schema is left as it is until its update."""
    import trio

    from svc.config import ConfigError
    from svc.errors import StoreUnavailable
    from svc.store import open_store, service_state
    from svc.store.engines.migrate import migrations

    async def note() -> None:
        async with open_store(config.store) as store:
            await store.run(service_state.note_backup(now))

    if manifest.schema_number == migrations("sqlite")[-1].number:
        try:
            trio.run(note)
        except (ConfigError, StoreUnavailable) as error:  # read-only, say: the backup is as good
            print(f"svc: the backup is good, but its time could not be noted: {error}", file=sys.stderr)


def _source(file: str) -> Path | IO[bytes]:
    """The backup that a command reads: a file, or standard input."""
    if file != "-":
        return Path(file)
    if sys.stdin.isatty():
        sys.exit("svc: standard input is a terminal; send a backup into it, or name a file")
    return sys.stdin.buffer


def _verify(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.backup.archive import BadBackup

    folder = config.store.path.parent if config.store.engine == "sqlite" else None
    try:
        looked = run.verify(_source(arguments.file), folder)
    except BadBackup as error:
        sys.exit(f"svc: {_named(arguments.file)} cannot be restored: {error}")
    print(_looked(looked))
    return 0


def _restore(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.backup.archive import BadBackup
    from svc.clock import system_clock

    try:
        looked, aside = run.restore(config, _source(arguments.file), system_clock(), replace=arguments.replace)
    except BadBackup as error:
        sys.exit(f"svc: {_named(arguments.file)} cannot be restored: {error}")
    print(_looked(looked))
    if aside is not None:
        print(f"The store that was there is now {os.path.relpath(aside) if Path(aside).is_absolute() else aside}")
    print("Restored. The service brings every worker in line with it when it starts.")
    return 0


def _named(file: str) -> str:
    return "the backup on standard input" if file == "-" else file


def _looked(looked: Looked) -> str:
    if looked.manifest is None:
        rows = looked.contents.rows
        return f"A copy of a store alone: {rows['users']} users, {rows['accounts']} accounts. It is whole."
    return f"{_told(looked.manifest)}{_about_key(looked.manifest)} It is whole."


def _told(manifest: Manifest) -> str:
    rows = manifest.rows
    return (
        f"Backup of {manifest.created_at}: {rows['users']} users, {rows['accounts']} accounts, {rows['sites']} sites,"
        f" {rows['links']} links, {sum(rows.values())} rows in all;"
    )


def _about_key(manifest: Manifest) -> str:
    if "vault.key" in manifest.parts:
        return f" its key opens {manifest.opened} of {manifest.sealed} tokens."
    if not manifest.sealed:
        return " it has no tokens, and so no key."
    return f" without its key, which {manifest.sealed} tokens need: keep the key file as well."
