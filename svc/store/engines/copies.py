"""Copies a whole store of either engine to one SQLite file, and replaces a store with the contents of such a file.

These functions block, so call them from commands, outside Trio.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.store.engines.sqlite import file as sqlite_file
from svc.store.engines.sqlite import place as sqlite_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.config import StoreConfig

_WORK = ".restoring"


def copy(config: StoreConfig, target: Path) -> None:
    """Copy a consistent snapshot of the store into the new file `target`. A service may be running.

    An interrupted restore is finished first, so that the copy contains the restored store.

    Raises ConfigError if there is no store, if a newer version of the program created it, or if it cannot be copied.
    """
    if config.engine == "sqlite":
        path = config.path
        try:
            if sqlite_place.is_unfinished(path):
                with sqlite_place.lock(path):
                    sqlite_place.finish(path)
        except OSError as error:
            raise ConfigError(f"The store {path} cannot be copied: {error}") from error
        sqlite_file.copy(path, target)
    else:
        from svc.store.engines.postgres import place as postgres_place

        postgres_place.copy(config.url.get_secret_value(), target)


def copy_alone(config: StoreConfig, target: Path) -> None:
    """Copy the store like `copy`, but raise ConfigError if a service is running."""
    if config.engine == "sqlite":
        path = config.path
        with sqlite_place.lock(path):
            sqlite_place.finish(path)
            sqlite_file.copy(path, target)
    else:
        from svc.store.engines.postgres import place as postgres_place

        postgres_place.copy_alone(config.url.get_secret_value(), target)


@contextmanager
def replacement_folder(config: StoreConfig) -> Iterator[Path]:
    """Return a context manager that yields an empty folder for the file that is passed to `put`.

    A SQLite store is locked until the block ends.

    Raises ConfigError if a service is running or the folder cannot be created.
    """
    if config.engine == "postgres":
        with TemporaryDirectory(prefix="svc-") as name:
            yield Path(name)
        return
    path = config.path
    with sqlite_place.lock(path):
        folder = sqlite_place.beside(path, _WORK)  # on the same disk, so that a rename can move the file
        try:
            sqlite_place.finish(path)
            shutil.rmtree(folder, ignore_errors=True)  # delete the files of a killed process
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise ConfigError(f"The store {path} cannot be replaced: {error}") from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def store_exists(config: StoreConfig) -> bool:
    """Return True if there is a store or part of a store. Raises ConfigError if this cannot be determined."""
    if config.engine == "sqlite":
        return sqlite_place.store_exists(config.path)
    from svc.store.engines.postgres import place as postgres_place

    return postgres_place.store_exists(config.url.get_secret_value())


def put(config: StoreConfig, source: Path, stamp: str, *, replace: bool) -> str | None:
    """Replace the store with the file `source`, which must be in the folder that `replacement_folder` returns.

    If the process is killed at any time, either the old or the new store is complete. The old store gets a name that
    contains `stamp`. Returns the old store's new location as text for a message, or None if there was no store. Raises
    ConfigError if there is a store and `replace` is False, or if the store cannot be replaced.
    """
    if config.engine == "postgres":
        from svc.store.engines.postgres import place as postgres_place

        aside = postgres_place.put(config.url.get_secret_value(), source, stamp, replace=replace)
        return None if aside is None else f"the schema {aside}"
    path = config.path
    if not replace and sqlite_place.store_exists(path):
        raise ConfigError(f"The store {path} already exists.")
    try:
        moved = sqlite_place.put(path, source, stamp)
    except OSError as error:
        raise ConfigError(f"The store {path} cannot be replaced: {error}") from error
    return None if moved is None else str(moved)


def transfer(source: StoreConfig, target: StoreConfig) -> dict[str, int]:
    """Copy a store to a location that has no store yet. Return the number of copied rows by table.

    Raises ConfigError if a service is using either store, if the target exists, or if either store cannot be used.
    """
    with replacement_folder(target) as folder:
        if store_exists(target):
            raise ConfigError("A store already exists at that address; nothing was copied.")
        file = folder / "store.db"
        copy_alone(source, file)
        try:
            rows = sqlite_file.contents(file).rows
        except sqlite_file.NotAStore as error:
            raise ConfigError(f"The store cannot be copied: {error}.") from error
        put(target, file, "", replace=False)
    return rows
