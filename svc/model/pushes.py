"""Pushes: the totals that a Worker sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# The failed action in a Worker's error report: an earlier push, or a cron run.
WorkerErrorKind = Literal["push", "cron"]
DROP_REASONS = ("budget", "invalid", "unknown_target", "too_old", "busy", "expired")


@dataclass(frozen=True)
class WorkerPush:
    """The Worker's status at its last push. Stored as JSON by field name, so new fields need a default."""

    at: int
    bundle: str
    schema: int | None = None
    queue: int = 0
    error: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    install: str = ""
    error_kind: WorkerErrorKind | None = None  # None: no error
