"""Functions that back up, verify and restore a store. They block, so call them from commands, outside Trio."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from svc.atomic_file import locked_file, sync
from svc.backup import archive
from svc.backup.archive import BadBackup, Manifest
from svc.clock import iso
from svc.config import ConfigError
from svc.security.vault import Vault, changing, keys_of, read_keys, text_of, write_keys
from svc.store import syncs
from svc.store.engines import copies
from svc.store.engines.sqlite import file as sqlite_file
from svc.store.engines.sqlite import place as sqlite_place
from svc.store.engines.sqlite.file import Contents, NotAStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.config import Config

_COPY = "backup.tar"
# The first bytes of a plain copy of a store, such as the copy that is made before a schema migration. Plain copies have
# no manifest.
_SQLITE = b"SQLite format 3\0"
# The first bytes of compressed or encrypted backups, each with a description and the command that unpacks the backup.
_PACKED_FORMATS = {
    b"\x1f\x8b": ("compressed with gzip", "gzip -dc"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstd -dc"),
    b"\xfd7zXZ\0": ("compressed with xz", "xz -dc"),
    b"BZh": ("compressed with bzip2", "bzip2 -dc"),
    b"PK\x03\x04": ("a ZIP file", "unzip -p"),
    b"age-encryption.org/": ("encrypted with age", "age -d -i KEY"),
}


@dataclass(frozen=True)
class VerifiedBackup:
    """The result of verifying a backup.

    `manifest` is None for a plain copy of a store. `keys` is None for a backup without a key file. `opened`: the number
    of encrypted tokens in the backup that the keys can decrypt.
    """

    manifest: Manifest | None
    contents: Contents
    keys: list[bytes] | None
    opened: int


def backup(config: Config, file: Path, now: int, *, with_key: bool, replace: bool) -> Manifest:
    """Back up the store to `file`, which appears only when the backup is complete. The service may be running.

    Raises ConfigError if there is no store or no key, if the store is damaged, or if `file` cannot be written. It also
    raises ConfigError if `file` exists, unless `replace` is True and the existing file is a backup.
    """
    if os.path.lexists(file) and not replace:
        raise ConfigError(f"The file {file} already exists.")
    try:
        if file.exists() and not archive.can_be_replaced(file):
            # An operator may mistake FILE for the file to back up, and enter the path of the store.
            raise ConfigError(f"{file} exists and is not a backup, so it is not overwritten. Choose another file.")
        with _work_folder(file) as work:
            whole = work / "backup.tar"
            with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                manifest = _write(config, work, out, now, with_key=with_key)
                out.flush()
                os.fsync(out.fileno())
            whole.replace(file)
            sync(file.absolute().parent)
    except OSError as error:
        raise ConfigError(f"The backup {file} cannot be written: {error}") from error
    return manifest


def stream(config: Config, out: IO[bytes], now: int, *, with_key: bool) -> Manifest:
    """Write a backup to a stream.

    The function needs disk space for a temporary copy, next to the store (SQLite) or in the temporary folder
    (PostgreSQL).

    Raises ConfigError if there is no store or no key, if the store is damaged, or if the backup cannot be written.
    """
    try:
        if config.store.engine == "sqlite":
            with _work_folder(sqlite_place.beside(config.store.path, ".streamed")) as work:
                return _write(config, work, out, now, with_key=with_key)
        with TemporaryDirectory(prefix="svc-backup-") as name:
            return _write(config, Path(name), out, now, with_key=with_key)
    except OSError as error:
        raise ConfigError(f"The backup cannot be written: {error}") from error


def verify(source: Path | IO[bytes], folder: Path | None = None) -> VerifiedBackup:
    """Verify a backup: its digests, its database pages, references between rows, and its encrypted tokens.

    A file is unpacked into a temporary folder next to it, and a stream into a temporary folder in `folder`. If that is
    not possible, the system's temporary folder is used. Raises BadBackup if the backup is damaged. Raises ConfigError
    if the backup cannot be read, or if a newer version made it.
    """
    try:
        beside = source.absolute().parent if isinstance(source, Path) and source.is_file() else folder
        beside = beside if beside is not None and os.access(beside, os.W_OK) else None
        with TemporaryDirectory(prefix="svc-verify-", dir=beside) as name:
            return _unpack_and_verify(_regular_file(source, Path(name)), Path(name) / archive.STORE)
    except OSError as error:
        raise ConfigError(f"The backup {_display_name(source)} cannot be read: {error}") from error


def restore(config: Config, source: Path | IO[bytes], now: int, *, replace: bool) -> tuple[VerifiedBackup, str | None]:
    """Replace the store with a backup and add the backup's key to the key file. The service must be stopped.

    `source`: a file, or a stream, which is first copied next to the store. The backup is verified before anything is
    changed. If the process is killed, either the old or the new store is still complete. When the service starts, it
    reads missing data from the Workers of the accounts. Returns the verified backup and the new location of the old
    store, or None if there was no old store. Raises BadBackup or ConfigError.
    """
    stamp = iso(now).translate(str.maketrans("", "", "-:."))
    try:
        with copies.replacement_folder(config.store) as work:
            if not replace and copies.store_exists(config.store):
                raise ConfigError("A store already exists. Use --replace to rename it and keep it.")
            new = work / archive.STORE
            verified = _unpack_and_verify(_regular_file(source, work), new)
            _add_keys(config, verified)
            sqlite_file.change_file(new, syncs.mark_restored(now))
            return verified, copies.put(config.store, new, stamp, replace=replace)
    except OSError as error:
        raise ConfigError(f"The backup {_display_name(source)} cannot be restored: {error}") from error


def _regular_file(source: Path | IO[bytes], work: Path) -> Path:
    """Return the backup as a regular, seekable file. A stream or a pipe is first copied into `work`."""
    if isinstance(source, Path) and (source.is_file() or not source.exists()):
        return source
    copy = work / _COPY
    with ExitStack() as opened:
        out = opened.enter_context(os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"))
        shutil.copyfileobj(opened.enter_context(source.open("rb")) if isinstance(source, Path) else source, out)
    return copy


def _display_name(source: Path | IO[bytes]) -> str:
    return str(source) if isinstance(source, Path) else "from standard input"


@contextmanager
def _work_folder(file: Path) -> Iterator[Path]:
    """Return a context manager for a private folder next to `file`, which only one process can use at a time.

    The function first deletes files that an interrupted backup left behind.
    """
    folder = file.with_name(f"{file.name}.part")
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(folder, wait=False))
        except BlockingIOError:
            raise ConfigError(f"Another backup to {file} is in progress.") from None
        try:
            for left in folder.iterdir():
                left.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _write(config: Config, work: Path, out: IO[bytes], now: int, *, with_key: bool) -> Manifest:
    store = work / archive.STORE
    # Read the key file before and after the copy. If the file changes in between, the copy may need the keys of both
    # versions.
    before = _existing_keys(config)
    copies.copy(config.store, store)
    after = _existing_keys(config)
    keys = after + [key for key in before if key not in after]
    try:
        contents = sqlite_file.contents(store)
    except NotAStore as error:
        raise ConfigError(f"The store cannot be backed up: {error}.") from error
    if contents.sealed and not keys and with_key:
        raise ConfigError(
            f"The key file {config.vault.key_file} does not exist, and without it the tokens in the backup cannot be"
            " opened. If the key file is kept elsewhere, use --without-key."
        )
    sources: dict[str, Path | bytes] = {archive.STORE: store}
    if with_key and keys:
        sources[archive.KEY] = text_of(keys)
    manifest = Manifest.model_validate(
        {
            "format": archive.FORMAT,
            "program": version("svc"),
            "schema": contents.schema,
            "engine": config.store.engine,
            "created_at": iso(now),
            "rows": contents.rows,
            "sealed": len(contents.sealed),
            "opened": _count_opened(contents, keys),
            "parts": {name: archive.describe_part(source) for name, source in sources.items()},
        }
    )
    archive.write(out, manifest, sources, now // 1000)
    return manifest


def _unpack_and_verify(file: Path, store: Path) -> VerifiedBackup:
    """Unpack a backup's store into the new file `store`, and verify the store."""
    with file.open("rb") as begin:
        start = begin.read(max(map(len, (_SQLITE, *_PACKED_FORMATS))))
    for mark, (what, program) in _PACKED_FORMATS.items():
        if start.startswith(mark):
            raise BadBackup(f"it is {what}; unpack it first, for example with `{program} FILE | svc verify -`")
    manifest, key = None, None
    try:
        if start.startswith(_SQLITE):
            sqlite_file.copy_unused(file, store)
        else:
            manifest, key = archive.unpack(file, store)
        contents = sqlite_file.contents(store)
        keys = None if key is None else keys_of(key)
    except NotAStore as error:
        raise BadBackup(str(error)) from error
    except ValueError as error:
        raise BadBackup("its key file is damaged") from error
    opened = _count_opened(contents, keys or [])
    if manifest is not None:
        if (contents.schema, contents.rows) != (manifest.schema_number, manifest.rows):
            raise BadBackup("its rows do not match its manifest")
        if keys is not None and opened < manifest.opened:
            raise BadBackup(f"its key opens {opened} tokens, but its manifest lists {manifest.opened}")
    return VerifiedBackup(manifest, contents, keys, opened)


def _existing_keys(config: Config) -> list[bytes]:
    path = config.vault.key_file
    return read_keys(path) if path.exists() else []


def _count_opened(contents: Contents, keys: list[bytes]) -> int:
    vault = Vault(keys)
    return sum(vault.opens(box, owner_id) for owner_id, box in contents.sealed.items())


def _add_keys(config: Config, verified: VerifiedBackup) -> None:
    """Append the backup's keys to the key file. The service continues to encrypt new tokens with the first key."""
    with changing(config.vault.key_file):
        existing = _existing_keys(config)
        missing = [key for key in verified.keys or [] if key not in existing]
        expected = verified.manifest.opened if verified.manifest is not None else len(verified.contents.sealed)
        lost = expected - _count_opened(verified.contents, existing + missing)
        if lost > 0 and config.vault.lost_tokens != "accept":
            raise BadBackup(
                f"it has no key, and the key file {config.vault.key_file} does not open {lost} of its tokens;"
                " put the key file from the time of the backup in place first"
            )
        if missing:
            write_keys(config.vault.key_file, existing + missing)
