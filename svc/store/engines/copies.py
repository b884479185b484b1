"""A whole store, of either engine, as one SQLite file: taken beside a running service, and put in a store's place.

Blocks: for commands, outside of Trio.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.store.engines import sqlite_file, sqlite_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.config import StoreConfig

_WORK = ".restoring"


def copy(config: StoreConfig, target: Path) -> None:
    """Copy the store, as it is at one moment, into the new file `target`, also while a service writes to it.

    Raises ConfigError: there is none, it is of a newer program, or it cannot be copied.
    """
    if config.engine == "sqlite":
        sqlite_file.copy(config.path, target)
    else:
        from svc.store.engines import postgres_place

        postgres_place.copy(config.url.get_secret_value(), target)


def copy_alone(config: StoreConfig, target: Path) -> None:
    """As `copy`, of a store that no service runs on. Raises ConfigError also when one does."""
    if config.engine == "sqlite":
        path = config.path
        with sqlite_place.lock(path):
            sqlite_place.finish(path)
            sqlite_file.copy(path, target)
    else:
        from svc.store.engines import postgres_place

        postgres_place.copy_alone(config.url.get_secret_value(), target)


@contextmanager
def taking_place(config: StoreConfig) -> Iterator[Path]:
    """An empty folder in which a file for `put` is made; an SQLite store is locked meanwhile.

    Raises ConfigError: a service runs on it, or the folder cannot be made.
    """
    if config.engine == "postgres":
        with TemporaryDirectory(prefix="svc-") as name:
            yield Path(name)
        return
    path = config.path
    with sqlite_place.lock(path):
        folder = sqlite_place.beside(path, _WORK)  # on the same disk
        try:
            sqlite_place.finish(path)
            shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise ConfigError(f"The store {path} cannot be replaced: {error}") from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def is_there(config: StoreConfig) -> bool:
    """Whether there is a store, or what is left of one. Raises ConfigError: that cannot be found out."""
    if config.engine == "sqlite":
        return sqlite_place.is_there(config.path)
    from svc.store.engines import postgres_place

    return postgres_place.is_there(config.url.get_secret_value())


def put(config: StoreConfig, source: Path, stamp: str, *, replace: bool) -> str | None:
    """Put the whole store in the file `source`, which lies where `taking_place` says, in the store's place.

    Killed at any moment, it leaves the old store or the new one. Returns where the old one is now, as people may be
    told, named with `stamp`; None: there was none. Raises ConfigError: there is one and not `replace`, or it cannot be
    done.
    """
    if config.engine == "postgres":
        from svc.store.engines import postgres_place

        aside = postgres_place.put(config.url.get_secret_value(), source, stamp, replace=replace)
        return None if aside is None else f"the schema {aside}"
    path = config.path
    if not replace and sqlite_place.is_there(path):
        raise ConfigError(f"There is a store {path} already.")
    try:
        moved = sqlite_place.put(path, source, stamp)
    except OSError as error:
        raise ConfigError(f"The store {path} cannot be replaced: {error}") from error
    return None if moved is None else str(moved)


def transfer(source: StoreConfig, target: StoreConfig) -> dict[str, int]:
    """Copy a store that no service runs on to where there is none. Returns how many rows each table has.

    Raises ConfigError: a service runs on either, there is a store already, or a place cannot be used.
    """
    with taking_place(target) as folder:
        if is_there(target):
            raise ConfigError("There is a store at that address already; nothing was copied.")
        file = folder / "store.db"
        copy_alone(source, file)
        try:
            rows = sqlite_file.contents(file).rows
        except sqlite_file.NotAStore as error:
            raise ConfigError(f"The store cannot be copied: {error}.") from error
        put(target, file, "", replace=False)
    return rows
