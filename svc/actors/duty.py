"""What an account does by itself: the form of a duty, and what is kept between two runs of the account's task."""

from __future__ import annotations

import math
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.model import Account


@dataclass(slots=True)
class Timers:
    """What is kept of an account between two runs of its task: when to try again (monotonic seconds), how often it
    failed.

    Losing it costs an early look, nothing else.
    """

    health_at: float
    looked_at: float = -math.inf  # when the account's health was looked at last
    thorough_at: float = 0  # when to look also at what hardly ever changes
    count_at: float = 0  # when to count the rows of the worker's configuration
    operation_at: float = 0
    repeat_at: float = 0  # when to ask whether a token that an install was refused for is accepted
    routes_at: float = 0
    sync_at: float = 0
    sync_failures: int = 0
    syncs_paid_until: float = 0  # each sync is paid for with some seconds, which may be in advance


# Does what is due and returns when to look again (monotonic seconds; math.inf: only when something changes).
Duty = Callable[["Context", "Account", Timers], Awaitable[float]]


@lru_cache(maxsize=100)
def name_of(duty: Duty) -> str:
    """What the metrics call it: `sync.sync_when_due`."""
    return f"{duty.__module__.rpartition('.')[2]}.{getattr(duty, '__name__', 'unnamed')}"


def spread(edge_account_id: str) -> float:
    """A number from 0 to 1, the same for an account at all times, so that not all are due at once."""
    return zlib.crc32(edge_account_id.encode()) / 2**32
