"""Duties, which are an account's recurring tasks, and the timers that an actor keeps between two runs."""

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
    """An account's due times (monotonic seconds) and failure counts. The actor keeps them in memory between two runs.

    If they are lost, some duties run earlier than necessary.
    """

    health_at: float
    last_check_at: float = -math.inf  # start of the last health check
    thorough_at: float = 0  # when a health check should include the parts that rarely change
    count_at: float = 0  # when to count the rows of the Worker's configuration
    operation_at: float = 0
    expiry_at: float = 0  # when to ask Cloudflare again whether the working token has expired
    repeat_at: float = 0  # when to check whether Cloudflare now accepts the token whose refusal stopped an install
    routes_at: float = 0
    sync_at: float = 0
    sync_failures: int = 0
    syncs_paid_until: float = 0  # limits the rate of syncs: each sync adds `configuration._EVERY_S` seconds


# A duty is a function that does an account's due work. It returns the time of its next call (monotonic seconds), or
# math.inf if no call is needed until something changes. If it returns `SKIP_OTHERS`, the account's remaining duties do
# not run this time.
SKIP_OTHERS = -math.inf
Duty = Callable[["Context", "Account", Timers], Awaitable[float]]


@lru_cache(maxsize=100)
def duty_label(duty: Duty) -> str:
    """Return the duty's label in the metrics, such as `configuration.sync_when_due`."""
    return f"{duty.__module__.rpartition('.')[2]}.{getattr(duty, '__name__', 'unnamed')}"


def spread(edge_account_id: str) -> float:
    """Return a number from 0 to 1 that depends only on the account.

    It spreads the due times of accounts evenly.
    """
    return zlib.crc32(edge_account_id.encode()) / 2**32
