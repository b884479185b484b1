"""Transactions on what the store knows of its backups."""

from __future__ import annotations

from svc.store.tx import Tx, sql


def note_backup(at: int) -> Tx[None]:
    """A good backup holds the store as it was at `at` (epoch ms)."""
    yield sql("update serving set backed_up_at = $1 where backed_up_at is null or backed_up_at < $1", at)


def backed_up_at() -> Tx[int | None]:
    """When the last good backup was made (epoch ms); None: none ever was."""
    [row] = yield sql("select backed_up_at from serving")
    at: int | None = row["backed_up_at"]
    return at
