"""The service's lock file for a SQLite store, and the replacement of one store by another.

A restore takes effect when a single rename puts the complete new store next to the old store, under a special name. If
the process is killed after this rename, the next process that opens the store finishes the restore. Either the old or
the new store is therefore complete, even if the process is killed at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from svc.atomic_file import sync
from svc.config import ConfigError
from svc.store.engines.served import Away, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The suffixes of the files in which SQLite keeps changes that are not in the database file, or not completely.
LOGS = ("-wal", "-journal")
# The suffixes of the database and of SQLite's other files. All of them must be renamed together, because SQLite would
# apply an old write-ahead log to the new database.
_FILES = ("", "-shm", *LOGS)
_READY = ".restored-"
_ASIDE = ".before-restore-"


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Return a context manager that holds the store's lock.

    Only one service can hold the lock. Without the lock, two services could both work on every account.

    The kernel releases the lock when the process ends, even after a crash. The lock is on a separate file, because
    closing the database file would release SQLite's own locks. Raises Served if another process holds the lock, and
    Away if the file cannot be opened. Raises ConfigError for a problem that waiting does not solve.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_nlink > 1:
            # Each name of the file would have its own lock and its own write-ahead log. Two programs that use different
            # names would then not detect each other.
            raise ConfigError(f"The store {path} has a second name (a hard link). Remove one of the two names.")
        lock_file = path.with_name(f"{path.name}.lock")
        # Other users must not be able to open the lock file, because they could then hold the lock.
        file = os.fdopen(os.open(lock_file, os.O_WRONLY | os.O_CREAT, 0o600), "w")
        _match_owner(lock_file, path.parent)
    except OSError as error:
        raise Away(f"The store {path} cannot be opened: {error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Served(f"Another svc serve uses the store {path}, or svc restore is replacing it.") from None
        yield


def is_free(path: Path) -> bool:
    """Return True if no process holds the store's lock now. Raises Away or ConfigError, like `lock`."""
    try:
        with lock(path):
            return True
    except Served:
        return False


def store_exists(path: Path) -> bool:
    """Return True if any of the store's files exists."""
    return any(beside(path, each).exists() for each in _FILES)


def beside(path: Path, ending: str) -> Path:
    """Return the path with `ending` appended to the file name."""
    return path.with_name(path.name + ending)


def put(path: Path, new: Path, stamp: str) -> Path | None:
    """Replace the store at `path` with the complete database `new`, which must be on the same disk.

    The caller must hold the lock.

    The old store stays in its folder, under a name that contains `stamp`. Returns the old store's new path, or None if
    there was no store. Raises OSError if a file cannot be renamed.
    """
    _match_owner(new, path if path.exists() else path.parent)
    sync(new)
    new.replace(beside(path, _READY + stamp))
    sync(path.parent)
    finish(path)
    aside = beside(path, _ASIDE + stamp)
    return aside if store_exists(aside) else None


def is_unfinished(path: Path) -> bool:
    """Return True if a restore of this store was interrupted after the restored database was ready."""
    return bool(_ready(path))


def finish(path: Path) -> None:
    """Finish an interrupted restore, if any. The caller must hold the lock. Repeated calls are safe."""
    for ready in _ready(path):
        aside = beside(path, _ASIDE + ready.name.removeprefix(path.name + _READY))
        for ending in _FILES:
            old = beside(path, ending)
            if old.exists():
                old.replace(beside(aside, ending))
        sync(path.parent)  # the old write-ahead log must not reappear after a power failure
        ready.replace(path)
        sync(path.parent)


def _ready(path: Path) -> list[Path]:
    if not path.parent.is_dir():
        return []
    return sorted(each for each in path.parent.iterdir() if each.name.startswith(path.name + _READY))


def _match_owner(path: Path, like: Path) -> None:
    """Give `path` the same owner as the file `like`.

    The service can then use files that a command creates when root runs it.
    """
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid)
