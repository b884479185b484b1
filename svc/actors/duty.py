"""Duties, the recurring tasks of an account, and the timers that survive between two runs of the account's task."""

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
    """Per-account state between two runs of its task: due times (monotonic seconds) and failure counts.

    Losing it only causes an early health check.
    """

    health_at: float
    last_check_at: float = -math.inf  # start of the last health check
    thorough_at: float = 0  # when the next health check also covers what rarely changes
    count_at: float = 0  # when to count the rows of the worker's configuration
    operation_at: float = 0
    repeat_at: float = 0  # when to check whether Cloudflare now accepts a token that stopped an install
    routes_at: float = 0
    sync_at: float = 0
    sync_failures: int = 0
    syncs_paid_until: float = 0  # rate limit of syncs: each sync adds seconds, so this may be ahead of the clock


# Runs what is due and returns when to call the duty again (monotonic seconds; math.inf means only after a change).
Duty = Callable[["Context", "Account", Timers], Awaitable[float]]


@lru_cache(maxsize=100)
def duty_label(duty: Duty) -> str:
    """The duty's label in the metrics, such as `configuration.sync_when_due`."""
    return f"{duty.__module__.rpartition('.')[2]}.{getattr(duty, '__name__', 'unnamed')}"


def spread(edge_account_id: str) -> float:
    """A number from 0 to 1, constant per account, that spreads due times over all accounts."""
    return zlib.crc32(edge_account_id.encode()) / 2**32
