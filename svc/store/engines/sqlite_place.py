"""Where an SQLite store lies: the lock of its service beside it, and another store put in its place.

A restore is decided by one rename: from then on the new store lies ready beside the old one, and whoever opens the
store next ends what is left to do. So a kill at any moment leaves either the old store or the new one.
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

# The database and what SQLite keeps beside it. A log that stayed would be played into the new database.
_FILES = ("", "-wal", "-shm", "-journal")
_READY = ".restored-"
_ASIDE = ".before-restore-"


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Held while the service runs: two would both act for every account. The kernel lets go of it, whatever happens.

    A file of its own: closing the database's file once would undo SQLite's own locks. Raises Served: held; Away: the
    place cannot be used; ConfigError: nor will it be.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_nlink > 1:
            # The lock and SQLite's log lie beside each name: two programs would not see one another.
            raise ConfigError(f"The store {path} has a second name (a hard link); remove one of them.")
        beside_it = path.with_name(f"{path.name}.lock")
        # Who may open it could hold it.
        file = os.fdopen(os.open(beside_it, os.O_WRONLY | os.O_CREAT, 0o600), "w")
        _give(beside_it, path.parent)
    except OSError as error:
        raise Away(f"The store {path} cannot be opened: {error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Served(f"Another svc serve uses the store {path}, or restores it; one at a time.") from None
        yield


def is_free(path: Path) -> bool:
    """Whether nobody holds the store's lock at this moment. Raises Away, ConfigError, as `lock` does."""
    try:
        with lock(path):
            return True
    except Served:
        return False


def is_there(path: Path) -> bool:
    """Whether there is a store, or what is left of one."""
    return any(beside(path, each).exists() for each in _FILES)


def beside(path: Path, ending: str) -> Path:
    """The file beside `path` whose name goes on with `ending`."""
    return path.with_name(path.name + ending)


def put(path: Path, new: Path, stamp: str) -> Path | None:
    """Put the store `new`, a whole database on the same disk, in the place of the one at `path`, whose lock is held.

    Returns where the old one is now: beside, named with `stamp`; None: there was none. Raises OSError.
    """
    _give(new, path if path.exists() else path.parent)
    sync(new)
    new.replace(beside(path, _READY + stamp))
    sync(path.parent)
    finish(path)
    aside = beside(path, _ASIDE + stamp)
    return aside if is_there(aside) else None


def is_unfinished(path: Path) -> bool:
    """Whether a restore of this store was cut short after it was decided."""
    return bool(_ready(path))


def finish(path: Path) -> None:
    """End a restore that was decided, if there is one; the store's lock is held. May be cut short, and repeated."""
    for ready in _ready(path):
        aside = beside(path, _ASIDE + ready.name.removeprefix(path.name + _READY))
        for ending in _FILES:
            old = beside(path, ending)
            if old.exists():
                old.replace(beside(aside, ending))
        sync(path.parent)  # no log of the old one may come back beside the new one
        ready.replace(path)
        sync(path.parent)


def _ready(path: Path) -> list[Path]:
    if not path.parent.is_dir():
        return []
    return sorted(each for each in path.parent.iterdir() if each.name.startswith(path.name + _READY))


def _give(path: Path, like: Path) -> None:
    """Let what root makes on the command line belong to whom the service's own files belong."""
    if os.geteuid() == 0:
        found = like.stat()
        os.chown(path, found.st_uid, found.st_gid)
