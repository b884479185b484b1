"""Exclusive locks on folders, and atomic replacement of files, which is safe even if the power fails."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def put(path: Path, content: bytes, *, owner: os.stat_result, mode: int = 0o600) -> None:
    """Replace the file's content atomically: after a crash, the file has either its old or its new content.

    `owner`: the stat result of an existing file or folder. If this process is root, the file gets the same owner and
    group. `mode`: the file's permissions, if the file system supports them. Raises OSError.
    """
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        if os.geteuid() == 0:
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        with suppress(PermissionError):
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync(path.parent)


def check_creatable(path: Path) -> None:
    """Check that a missing file or folder could be created, without creating it. Raises OSError."""
    check_writable(next(each for each in path.parents if each.exists()))


def check_writable(folder: Path) -> None:
    """Check that files can be created in the folder, without creating any. Raises OSError."""
    # Check the permissions of the effective user, because `svc init` runs this check as the user who will own the data.
    effective = os.access in os.supports_effective_ids
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise OSError(f"{folder} is not a writable folder")


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked_file(folder: Path, *, wait: bool) -> Iterator[None]:
    """Return a context manager that holds an exclusive lock on the folder.

    The kernel releases the lock if the process dies.

    Raises OSError, or BlockingIOError if another process holds the lock and `wait` is false.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
