"""`svc backup`, `svc verify`, `svc restore`: back up and restore the store and its key file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from svc.commands.arguments import add_command
from svc.commands.output import plural

if TYPE_CHECKING:
    import argparse

    from svc.backup.archive import Manifest
    from svc.backup.run import VerifiedBackup
    from svc.commands.arguments import Commands
    from svc.config import Config


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    backup = add_command(
        commands,
        shared,
        "backup",
        "back up the store and its key to one file; the service can keep running (docs/operate/backup.md)",
    )
    backup.add_argument("file", metavar="FILE", help="backup file to write; - for standard output")
    backup.add_argument(
        "--without-key", action="store_true", help="exclude the key file, which you then have to back up separately"
    )
    backup.add_argument("--replace", action="store_true", help="overwrite an existing backup")
    backup.set_defaults(command=_backup)

    verify = add_command(commands, shared, "verify", "check that a backup can be restored")
    verify.add_argument("file", metavar="FILE", help="backup file; - for standard input")
    verify.set_defaults(command=_verify)

    restore = add_command(
        commands,
        shared,
        "restore",
        "replace the store with a backup; stop the service first",
        "When the service starts, it syncs all Workers with the restored store.",
    )
    restore.add_argument("file", metavar="FILE", help="backup file; - for standard input")
    restore.add_argument("--replace", action="store_true", help="if a store already exists, rename it and keep it")
    restore.set_defaults(command=_restore)


def _backup(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.clock import system_clock

    now = system_clock()
    with_key = not arguments.without_key
    if arguments.file == "-":
        if sys.stdout.isatty():
            sys.exit("svc: a backup is binary data; redirect standard output to a file, or pipe it to a program")
        manifest = run.stream(config, sys.stdout.buffer, now, with_key=with_key)
        sys.stdout.buffer.flush()
    else:
        manifest = run.backup(config, Path(arguments.file), now, with_key=with_key, replace=arguments.replace)
    _record(config, manifest, now)
    print(f"{_summary(manifest)}{_about_key(manifest)}", file=sys.stderr)
    return 0


def _record(config: Config, manifest: Manifest, now: int) -> None:
    """Record the time of the backup in the store, unless the store has an older schema than the program."""
    import trio

    from svc.config import ConfigError
    from svc.errors import StoreUnavailable
    from svc.store import open_store, service_state
    from svc.store.engines.migrate import migrations

    async def record() -> None:
        async with open_store(config.store) as store:
            await store.run(service_state.record_backup(now))

    if manifest.schema_number == migrations("sqlite")[-1].number:
        try:
            trio.run(record)
        except (ConfigError, StoreUnavailable) as error:  # for example, the store is read-only
            print(
                f"svc: the backup is complete, but the store could not record its time: {error}",
                file=sys.stderr,
            )


def _source(file: str) -> Path | IO[bytes]:
    """Return the backup to read: a path, or standard input if `file` is "-"."""
    if file != "-":
        return Path(file)
    if sys.stdin.isatty():
        sys.exit("svc: standard input is a terminal; redirect a backup to it, or pass a file name")
    return sys.stdin.buffer


def _verify(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.backup.archive import BadBackup

    folder = config.store.path.parent if config.store.engine == "sqlite" else None
    try:
        result = run.verify(_source(arguments.file), folder)
    except BadBackup as error:
        sys.exit(f"svc: {_describe_source(arguments.file)} cannot be restored: {error}")
    print(_verification_summary(result))
    return 0


def _restore(config: Config, arguments: argparse.Namespace) -> int:
    from svc.backup import run
    from svc.backup.archive import BadBackup
    from svc.clock import system_clock

    try:
        result, aside = run.restore(config, _source(arguments.file), system_clock(), replace=arguments.replace)
    except BadBackup as error:
        sys.exit(f"svc: {_describe_source(arguments.file)} cannot be restored: {error}")
    print(_verification_summary(result))
    if aside is not None:
        print(f"The previous store is now {os.path.relpath(aside) if Path(aside).is_absolute() else aside}")
    print("Restored. The service will sync all Workers with this store when it starts.")
    return 0


def _describe_source(file: str) -> str:
    return "the backup on standard input" if file == "-" else file


def _verification_summary(result: VerifiedBackup) -> str:
    if result.manifest is None:
        rows = result.contents.rows
        users, accounts = plural(rows["users"], "user"), plural(rows["accounts"], "account")
        return f"Copy of a store, without its key: {users}, {accounts}. It is complete."
    return f"{_summary(result.manifest)}{_about_key(result.manifest)} It is complete."


def _summary(manifest: Manifest) -> str:
    rows = manifest.rows
    counts = [plural(rows[f"{noun}s"], noun) for noun in ("user", "account", "site", "link")]
    return f"Backup of {manifest.created_at}: {', '.join(counts)}, {plural(sum(rows.values()), 'row')} in total;"


def _about_key(manifest: Manifest) -> str:
    if "vault.key" in manifest.parts:
        return f" its key decrypts {manifest.opened} of {manifest.sealed} tokens."
    if not manifest.sealed:
        return " it has no tokens and needs no key."
    return f" it does not contain the key of {plural(manifest.sealed, 'token')}, so keep the key file as well."
