"""`python -m tests.backup.mortal FOLDER [URL [SEED]]`: a restore that is killed at each of its steps, in a process of
one thread.

FOLDER holds the backup `backup.tar`, and the folder `old` of an SQLite store and its key. Each life restores the backup
over a copy of `old`, with URL over one in a schema of the PostgreSQL server there. It is killed, by SIGKILL, right
before its n-th call that changes something on disk, and right before or after its n-th message to the server; with a
SEED not at all of these moments, but around the commit and at some that it draws.

Prints as JSON what was there then, life by life: the moment; the store that a command or a start found at once, or null
where a second restore came at once; the store after a second restore; all stores aside; and what was left in the
folder. A store is "old" or "new" if every row of it is, and its tokens are opened by the keys that are there.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from svc.backup import run
from svc.security.vault import open_vault
from svc.store import open_store
from svc.store.engines import copies
from svc.store.working_tokens import sealed_tokens
from tests.backup.places import config_of, without
from tests.databases import postgres_config, sqlite_config, stores_aside
from tests.store.whole_store import all_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc.config import Config, StoreConfig

NOW = 1_763_790_000_000
_DISK = ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
# Of the moments of a restore into PostgreSQL, some six hundred.
_DRAWN = 1


def main(folder: Path, server_url: str | None = None, seed: str | None = None) -> None:
    """Every life in turn, or some."""
    mortals = Mortals(folder, server_url)
    moments = mortals.moments()
    steps = list(range(1, len(moments) + 1))
    if seed is not None:
        commit = [step for step in steps if "COMMIT" in moments[step - 1]]
        steps = commit + random.Random(seed).sample([step for step in steps if step not in commit], _DRAWN)
    lives = [
        {"step": step, "moment": moments[step - 1], **mortals.life(step, number)} for number, step in enumerate(steps)
    ]
    print(json.dumps(sorted(lives, key=lambda life: life["step"])))


class Mortals:
    """The lives of a restore."""

    def __init__(self, folder: Path, server_url: str | None) -> None:
        self._backup = folder / "backup.tar"
        self._old = folder / "old"
        self._place = folder / "place"
        self._server_url = server_url
        self._names: dict[str, str] = {}
        tempfile.tempdir = str(self._place)

    def moments(self) -> list[str]:
        """The moments of a life that is not killed; which stores are the old one and the new one is known then."""
        with self._prepared() as config:
            self._names[_told(config, partial(_rows, config))] = "old"
            moments: list[str] = _told(config, lambda: _restore_until(0, partial(self._restore, config, NOW)))
            self._names[_told(config, partial(_rows, config))] = "new"
        return moments

    def life(self, step: int, number: int) -> dict[str, Any]:
        """A restore that is killed at this moment, and what was there then."""
        with self._prepared() as config:
            killed = _in_child(lambda: _restore_until(step, partial(self._restore, config, NOW)))
            look_first = number % 3  # by a start, by a command, or nobody
            found = self._name_of(config, serving=look_first == 0) if look_first < 2 else None
            _in_child(partial(self._restore, config, NOW + 1))
            after = self._name_of(config)
            left = [path.name for path in self._place.iterdir() if ".restor" in path.name]
            aside = [self._name_of(config_of(self._place, store)) for store in self._aside(config)]
        return {"killed": killed, "found": found, "after": after, "aside": aside, "left": left}

    @contextmanager
    def _prepared(self) -> Iterator[Config]:
        """A place where the old store is."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._old, self._place)
        if self._server_url is None:
            yield config_of(self._place)
            return
        with postgres_config(self._server_url) as store:
            _in_child(lambda: copies.transfer(sqlite_config(self._place), store))
            yield config_of(self._place, store)

    def _restore(self, config: Config, now: int) -> None:
        run.restore(config, self._backup, now, replace=True)

    def _name_of(self, config: Config, *, serving: bool = False) -> str:
        return self._names.get(_told(config, partial(_rows, config, serving=serving)), "neither")

    def _aside(self, config: Config) -> list[StoreConfig]:
        if self._server_url is not None:
            return stores_aside(self._server_url, config.store)
        paths = sorted(self._place.glob("svc.db.before-restore-*"))
        return [sqlite_config(path.parent, path.name) for path in paths if not path.name.endswith(("-wal", "-shm"))]


def _rows(config: Config, *, serving: bool = False) -> str:
    """All rows of a store, apart from those that each start and each restore changes. Its tokens can be opened."""

    async def read() -> Any:
        async with open_store(config.store, serving=serving) as store:
            open_vault(config.vault, await store.read(sealed_tokens()), make=False)
            return await store.read(all_rows())

    rows = without(without(trio.run(read), "serving", "epoch", "looks"), "accounts", "suspected_at")
    return repr([(table, sorted(map(repr, rows[table].elements()))) for table in sorted(rows)])


def _restore_until(kill_at: int, restore: Callable[[], None]) -> list[str]:
    """Restore, and be killed at the moment of this number, counted from 1 (0: never). Returns the moments."""
    moments: list[str] = []

    def moment(name: str) -> None:
        moments.append(name)
        if len(moments) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def mortal(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            moment(name)
            return call(*arguments, **more)

        return counted

    for name in _DISK:
        setattr(os, name, mortal(name, getattr(os, name)))
    to_server = socket.socket.send

    def send(self: socket.socket, data: Any, *flags: int) -> int:
        name = "".join(chr(byte) for byte in bytes(data[:60]) if 32 <= byte < 127)
        moment(f"before {name}")
        sent = to_server(self, data, *flags)
        moment(f"after {name}")
        return sent

    socket.socket.send = send  # type: ignore[method-assign, assignment]
    restore()
    return moments


def _in_child(work: Callable[[], Any]) -> bool:
    """Work in a process of its own; whether that was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:  # a child that fails does not go on as its parent would
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise RuntimeError("a life failed")
    return os.WIFSIGNALED(status)


def _told(config: Config, look: Callable[[], Any]) -> Any:
    """What a process of its own finds."""
    told = config.vault.key_file.with_name("told")
    _in_child(lambda: told.write_text(json.dumps(look())))
    return json.loads(told.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
