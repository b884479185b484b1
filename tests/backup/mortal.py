"""`python -m tests.backup.mortal FOLDER [URL [SEED]]`: kill a restore at each of its steps.

FOLDER contains the backup `backup.tar` and the folder `old` with a SQLite store and its key. Each run restores the
backup over a copy of `old`. If URL is given, the copy is in a schema on that PostgreSQL server. A run is killed with
SIGKILL at one step. A step is the moment right before a system call that changes the disk, or right before or after a
message to the server. If SEED is given, only the steps around the commit and a random sample of the others are tested.
The program uses only one thread, so that the steps are the same in each run.

For each run, the program prints these results as JSON:

- the step
- the store that a service, a backup or a command found directly after the kill, or null if the second restore came
  first
- the store after a second restore
- all stores that were moved aside
- the remaining files

A store is "old" or "new" if all of its rows are old or new, and the existing keys can decrypt its tokens.
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
from svc.store.sealed_secrets import sealed_secrets
from tests.backup.places import config_of, without
from tests.databases import postgres_config, sqlite_config, stores_aside
from tests.store.whole_store import all_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc.config import Config, StoreConfig

NOW = 1_763_790_000_000
_DISK = ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
# The number of steps in the sample. A restore to PostgreSQL has about 600 steps.
_SAMPLED = 1


def main(folder: Path, server_url: str | None = None, seed: str | None = None) -> None:
    """Kill a restore at each step, or at a sample of steps if a seed is given. Print the results as JSON."""
    restores = KilledRestores(folder, server_url)
    names = restores.step_names()
    steps = list(range(1, len(names) + 1))
    if seed is not None:
        commit = [step for step in steps if "COMMIT" in names[step - 1]]
        steps = commit + random.Random(seed).sample([step for step in steps if step not in commit], _SAMPLED)
    runs = [{"step": step, "name": names[step - 1], **restores.kill_at(step, n)} for n, step in enumerate(steps)]
    print(json.dumps(sorted(runs, key=lambda one: one["step"])))


class KilledRestores:
    """Runs the same restore several times, and kills each run at a different step."""

    def __init__(self, folder: Path, server_url: str | None) -> None:
        self._backup = folder / "backup.tar"
        self._old = folder / "old"
        self._place = folder / "place"
        self._server_url = server_url
        self._names: dict[str, str] = {}
        tempfile.tempdir = str(self._place)

    def step_names(self) -> list[str]:
        """Return the step names of a restore that is not killed, and record the rows of the old and the new store."""
        with self._prepared() as config:
            self._names[_result_in_child(config, partial(_rows, config))] = "old"
            names: list[str] = _result_in_child(config, lambda: _restore_until(0, partial(self._restore, config, NOW)))
            self._names[_result_in_child(config, partial(_rows, config))] = "new"
        return names

    def kill_at(self, step: int, number: int) -> dict[str, Any]:
        """Kill a restore at this step and return the result.

        `number`: the number of the run, which determines what happens first after the kill (see `_found`).
        """
        with self._prepared() as config:
            killed = _in_child(lambda: _restore_until(step, partial(self._restore, config, NOW)))
            found = self._found(config, first=number % 4)
            _in_child(partial(self._restore, config, NOW + 1))
            after = self._name_of(config)
            left = [path.name for path in self._place.iterdir() if ".restor" in path.name]
            aside = [self._name_of(config_of(self._place, store)) for store in self._aside(config)]
        return {"killed": killed, "found": found, "after": after, "aside": aside, "left": left}

    def _found(self, config: Config, first: int) -> str | None:
        """Return the store found by the first action: 0 start a service, 1 copy the store, 2 run a command, 3 none."""
        if first == 1:
            copied = self._place / "copied.db"
            _in_child(partial(copies.copy, config.store, copied))
            return self._name_of(config_of(self._place, sqlite_config(self._place, copied.name)))
        return None if first == 3 else self._name_of(config, serving=first == 0)

    @contextmanager
    def _prepared(self) -> Iterator[Config]:
        """Yield the configuration of a service with a copy of the old store."""
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
        return self._names.get(_result_in_child(config, partial(_rows, config, serving=serving)), "neither")

    def _aside(self, config: Config) -> list[StoreConfig]:
        if self._server_url is not None:
            return stores_aside(self._server_url, config.store)
        paths = sorted(self._place.glob("svc.db.before-restore-*"))
        return [sqlite_config(path.parent, path.name) for path in paths if not path.name.endswith(("-wal", "-shm"))]


def _rows(config: Config, *, serving: bool = False) -> str:
    """Return a store's rows without the values that every start or restore changes. Check that its key works."""

    async def read() -> Any:
        async with open_store(config.store, serving=serving) as store:
            open_vault(config.vault, await store.read(sealed_secrets()), make=False)
            return await store.read(all_rows())

    rows = without(without(trio.run(read), "serving", "epoch", "looks"), "accounts", "suspected_at")
    return repr([(table, sorted(map(repr, rows[table].elements()))) for table in sorted(rows)])


def _restore_until(kill_at: int, restore: Callable[[], None]) -> list[str]:
    """Restore, and kill this process at step `kill_at`, counted from 1 (0: never). Return the names of the steps."""
    names: list[str] = []

    def count_step(name: str) -> None:
        names.append(name)
        if len(names) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def call_counted(*arguments: Any, **more: Any) -> Any:
            count_step(name)
            return call(*arguments, **more)

        return call_counted

    for name in _DISK:
        setattr(os, name, counted(name, getattr(os, name)))
    to_server = socket.socket.send

    def send(self: socket.socket, data: Any, *flags: int) -> int:
        name = "".join(chr(byte) for byte in bytes(data[:60]) if 32 <= byte < 127)
        count_step(f"before {name}")
        sent = to_server(self, data, *flags)
        count_step(f"after {name}")
        return sent

    socket.socket.send = send  # type: ignore[method-assign, assignment]
    restore()
    return names


def _in_child(work: Callable[[], Any]) -> bool:
    """Run `work` in a child process. Return True if the process was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:  # the child must end here even after an error, and must not continue with the parent's code
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise RuntimeError("a run failed")
    return os.WIFSIGNALED(status)


def _result_in_child(config: Config, read: Callable[[], Any]) -> Any:
    """Call `read` in a child process and return its result."""
    result = config.vault.key_file.with_name("result")
    _in_child(lambda: result.write_text(json.dumps(read())))
    return json.loads(result.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
