"""`python -m tests.backup.mortal FOLDER`: a restore that is killed at each of its steps, in a process of one thread.

FOLDER holds the backup `backup.tar` and the folder `old` of a store and its key. Each life restores in a copy of `old`,
and is killed, by SIGKILL, right before its n-th call that changes something on disk. Prints as JSON what was there
then, life by life: the users that a command found; the users after a second restore; and those of all stores aside.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc.backup import run
from tests.backup.places import config_of, emails_of

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_763_790_000_000
_STEPS = ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir")


def main(folder: Path) -> None:
    """Every life in turn, until one is not killed."""
    lives: list[Any] = []
    killed = True
    while killed:
        killed, life = _life(folder, len(lives) + 1)
        lives.append(life)
    print(json.dumps(lives))


def _life(folder: Path, step: int) -> tuple[bool, dict[str, Any]]:
    """A restore that is killed before this step, and what was there then; whether it was."""
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "old", place)
    config = config_of(place)
    backup = folder / "backup.tar"
    killed = _in_child(lambda: _restore_until(step, lambda: run.restore(config, backup, NOW, replace=True)))
    found = _told(place, lambda: sorted(emails_of(config)))
    _in_child(lambda: run.restore(config, backup, NOW + 1, replace=True))
    after = _told(place, lambda: sorted(emails_of(config)))
    aside = [path for path in place.glob("svc.db.before-restore-*") if not path.name.endswith(("-wal", "-shm"))]
    left = [path.name for path in place.iterdir() if ".restor" in path.name]
    return killed, {"found": found, "after": after, "aside": [_users(path) for path in sorted(aside)], "left": left}


def _restore_until(step: int, work: Callable[[], Any]) -> None:
    """Do the work, and be killed before its step of this number."""
    left = step

    def mortal(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **more)

        return counted

    for name in _STEPS:
        setattr(os, name, mortal(getattr(os, name)))
    work()


def _in_child(work: Callable[[], Any]) -> bool:
    """Work in a process of its own; whether that was killed."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise RuntimeError("a life failed")
    return os.WIFSIGNALED(status)


def _told(place: Path, look: Callable[[], list[str]]) -> Any:
    """What a process of its own finds."""
    told = place / "told"
    _in_child(lambda: told.write_text(json.dumps(look())))
    return json.loads(told.read_text())


def _users(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as store:
        return sorted(row[0] for row in store.execute("select email from users"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
