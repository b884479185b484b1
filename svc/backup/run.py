"""Backup, verify, restore. Blocks; for commands, outside of Trio."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from svc.atomic_file import holding, sync
from svc.backup import archive
from svc.backup.archive import BadBackup, Manifest
from svc.clock import iso
from svc.config import ConfigError
from svc.security.vault import Vault, changing, keys_of, read_keys, text_of, write_keys
from svc.store import syncs
from svc.store.engines import copies, sqlite_file, sqlite_place
from svc.store.engines.sqlite_file import Contents, NotAStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.config import Config

_COPY = "backup.tar"
# A copy that was made before an update of the schema is a store alone, without a manifest.
_SQLITE = b"SQLite format 3\0"
# What programs that pack or encrypt a backup write first, and how to undo it.
_PACKED = {
    b"\x1f\x8b": ("compressed with gzip", "gzip -dc"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstd -dc"),
    b"\xfd7zXZ\0": ("compressed with xz", "xz -dc"),
    b"BZh": ("compressed with bzip2", "bzip2 -dc"),
    b"PK\x03\x04": ("a ZIP file", "unzip -p"),
    b"age-encryption.org/": ("encrypted with age", "age -d -i KEY"),
}


@dataclass(frozen=True)
class Looked:
    """A backup that was looked through. `manifest` None: a copy of a store alone. `keys` None: it is without.

    `opened`: how many of its sealed tokens the keys open.
    """

    manifest: Manifest | None
    contents: Contents
    keys: list[bytes] | None
    opened: int


def backup(config: Config, file: Path, now: int, *, with_key: bool, replace: bool) -> Manifest:
    """Back up the store, beside a running service or without one, into `file`: whole, or not there at all.

    Raises ConfigError: there is no store or no key, it is damaged, `file` is there and not `replace`, it is something
    else than a backup, or it cannot be written.
    """
    if os.path.lexists(file) and not replace:
        raise ConfigError(f"There is a file {file} already.")
    try:
        if file.exists() and not archive.may_be_replaced(file):
            # The store itself, say: FILE is easily taken for what is to be backed up.
            raise ConfigError(f"{file} is there, and is no backup: it is left alone. Name another file.")
        with _work_beside(file) as work:
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
    """Write a backup to a stream. The copy that it is made of lies beside an SQLite store meanwhile.

    Raises ConfigError as `backup`.
    """
    try:
        if config.store.engine == "sqlite":
            with _work_beside(sqlite_place.beside(config.store.path, ".streamed")) as work:
                return _write(config, work, out, now, with_key=with_key)
        with TemporaryDirectory(prefix="svc-backup-") as name:
            return _write(config, Path(name), out, now, with_key=with_key)
    except OSError as error:
        raise ConfigError(f"The backup cannot be written: {error}") from error


def verify(source: Path | IO[bytes], folder: Path | None = None) -> Looked:
    """Look a backup through: every digest, every page, every row that another refers to, every token.

    `source`: a file, beside which it is unpacked; or a stream, which is copied to `folder`. Where neither folder can be
    written, the system's one for temporary files is used. Raises BadBackup; ConfigError: it is of a newer program, or
    cannot be read.
    """
    try:
        beside = source.absolute().parent if isinstance(source, Path) and source.is_file() else folder
        beside = beside if beside is not None and os.access(beside, os.W_OK) else None
        with TemporaryDirectory(prefix="svc-verify-", dir=beside) as name:
            return _look(_regular(source, Path(name)), Path(name) / archive.STORE)
    except OSError as error:
        raise ConfigError(f"The backup {_named(source)} cannot be read: {error}") from error


def restore(config: Config, source: Path | IO[bytes], now: int, *, replace: bool) -> tuple[Looked, str | None]:
    """Put a backup in the place of the store, and its key beside the keys that are there. No service may run.

    `source`: a file, or a stream, which is first copied beside the store.

    Everything that is wrong with it is found before anything is changed. Every account's worker is then asked for what
    it has more, when the service starts. Killed at any moment, there is the old store or the new one.
    Returns what was restored, and where the old store is now. Raises BadBackup, ConfigError.
    """
    stamp = iso(now).translate(str.maketrans("", "", "-:."))
    try:
        with copies.taking_place(config.store) as work:
            if not replace and copies.is_there(config.store):
                raise ConfigError("There is a store already. With --replace it is moved aside, and kept.")
            new = work / archive.STORE
            looked = _look(_regular(source, work), new)
            _put_keys(config, looked)
            sqlite_file.change_file(new, syncs.mark_restored(now))
            return looked, copies.put(config.store, new, stamp, replace=replace)
    except OSError as error:
        raise ConfigError(f"The backup {_named(source)} cannot be restored: {error}") from error


def _regular(source: Path | IO[bytes], work: Path) -> Path:
    """The backup as a regular file, in which a reader can go back: a stream or a pipe is copied into `work`."""
    if isinstance(source, Path) and (source.is_file() or not source.exists()):
        return source
    copy = work / _COPY
    with ExitStack() as opened:
        out = opened.enter_context(os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"))
        shutil.copyfileobj(opened.enter_context(source.open("rb")) if isinstance(source, Path) else source, out)
    return copy


def _named(source: Path | IO[bytes]) -> str:
    return str(source) if isinstance(source, Path) else "from standard input"


@contextmanager
def _work_beside(file: Path) -> Iterator[Path]:
    """A private folder beside `file`, one at a time; what a backup that was killed left in it is removed."""
    folder = file.with_name(f"{file.name}.part")
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(holding(folder, wait=False))
        except BlockingIOError:
            raise ConfigError(f"Another backup into {file} is under way.") from None
        try:
            for left in folder.iterdir():
                left.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _write(config: Config, work: Path, out: IO[bytes], now: int, *, with_key: bool) -> Manifest:
    store = work / archive.STORE
    # Read on both sides of the copy: a key that is changed meanwhile may be needed before, and after.
    before = _keys_there(config)
    copies.copy(config.store, store)
    after = _keys_there(config)
    keys = after + [key for key in before if key not in after]
    try:
        contents = sqlite_file.contents(store)
    except NotAStore as error:
        raise ConfigError(f"The store cannot be backed up: {error}.") from error
    if contents.sealed and not keys and with_key:
        raise ConfigError(
            f"The key file {config.vault.key_file} is not there, and a backup without it opens no token."
            " Where it is kept elsewhere, say --without-key."
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
            "opened": _opened(contents, keys),
            "parts": {name: archive.part_of(source) for name, source in sources.items()},
        }
    )
    archive.write(out, manifest, sources, now // 1000)
    return manifest


def _look(file: Path, store: Path) -> Looked:
    """Unpack a backup's store into the new file `store`, and look it through."""
    with file.open("rb") as begin:
        start = begin.read(max(map(len, (_SQLITE, *_PACKED))))
    for mark, (what, program) in _PACKED.items():
        if start.startswith(mark):
            raise BadBackup(f"it is {what}; unpack it first, for example with `{program} FILE | svc verify -`")
    if start.startswith(_SQLITE):
        shutil.copyfile(file, store)
        store.chmod(0o600)
        manifest, key = None, None
    else:
        manifest, key = archive.unpack(file, store)
    try:
        contents = sqlite_file.contents(store)
        keys = None if key is None else keys_of(key)
    except NotAStore as error:
        raise BadBackup(str(error)) from error
    except ValueError as error:
        raise BadBackup("its key file is damaged") from error
    opened = _opened(contents, keys or [])
    if manifest is not None:
        if (contents.schema, contents.rows) != (manifest.schema_number, manifest.rows):
            raise BadBackup("it has other rows than its manifest says")
        if keys is not None and opened < manifest.opened:
            raise BadBackup(f"its key opens {opened} tokens instead of {manifest.opened}")
    return Looked(manifest, contents, keys, opened)


def _keys_there(config: Config) -> list[bytes]:
    path = config.vault.key_file
    return read_keys(path) if path.exists() else []


def _opened(contents: Contents, keys: list[bytes]) -> int:
    vault = Vault(keys)
    return sum(vault.opens(box, owner_id) for owner_id, box in contents.sealed.items())


def _put_keys(config: Config, looked: Looked) -> None:
    """Let the key file open what the backup's own key opens; the keys that are in it stay, and seal."""
    with changing(config.vault.key_file):
        there = _keys_there(config)
        missing = [key for key in looked.keys or [] if key not in there]
        expected = looked.manifest.opened if looked.manifest is not None else len(looked.contents.sealed)
        lost = expected - _opened(looked.contents, there + missing)
        if lost > 0 and config.vault.lost_tokens != "accept":
            raise BadBackup(
                f"it has no key, and the key file {config.vault.key_file} does not open {lost} of its tokens;"
                " put the key file of its time there first"
            )
        if missing:
            write_keys(config.vault.key_file, there + missing)
