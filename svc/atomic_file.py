"""Files that are there whole or not at all, also after the power went; and their folder, held by one at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def put(path: Path, content: bytes, *, owner: os.stat_result, mode: int = 0o600) -> None:
    """Put `content` in the place of the file; a kill leaves the one before, or this. Raises OSError.

    `owner`: whose it is, where we are root and may give it away; `mode`: its rights, as far as the file system has any.
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


def check_can_be_made(path: Path) -> None:
    """Check that a file or folder that is not there could be made, and make nothing. Raises OSError."""
    check_writable(next(each for each in path.parents if each.exists()))


def check_writable(folder: Path) -> None:
    """Check that files can be made in the folder, and make none. Raises OSError."""
    # By the effective user: `svc init` tries its answers as the user whose the data is.
    effective = os.access in os.supports_effective_ids
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise OSError(f"{folder} is no folder in which it can be made")


def sync(path: Path) -> None:
    """Let the file, or a folder's list of names, reach the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def holding(folder: Path, *, wait: bool) -> Iterator[None]:
    """Hold the folder against others that do so; the kernel lets go of it, whatever happens.

    Raises OSError; BlockingIOError: another one holds it, and not `wait`.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
