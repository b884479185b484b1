"""Duties, which are an account's recurring tasks, and the timers that are kept between two runs of its actor."""

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
    """An account's due times (monotonic seconds) and failure counts, kept between two runs of the account's actor.

    If these values are lost, some duties run earlier; there is no other effect.
    """

    health_at: float
    last_check_at: float = -math.inf  # start of the last health check
    thorough_at: float = 0  # when a health check should include parts that rarely change
    count_at: float = 0  # when to count the rows of the Worker's configuration
    operation_at: float = 0
    repeat_at: float = 0  # when to check whether Cloudflare now accepts a token that stopped an install
    routes_at: float = 0
    sync_at: float = 0
    sync_failures: int = 0
    syncs_paid_until: float = 0  # for the rate limit: each sync moves it forward by `_EVERY_S`


# A function that does the work that is due and returns the time of its next call (monotonic seconds). If it returns
# math.inf, it is called again only after a change. If it returns `SKIP_OTHERS`, the account's other duties do not run
# in this pass.
SKIP_OTHERS = -math.inf
Duty = Callable[["Context", "Account", Timers], Awaitable[float]]


@lru_cache(maxsize=100)
def duty_label(duty: Duty) -> str:
    """Return the duty's label in the metrics, such as `configuration.sync_when_due`."""
    return f"{duty.__module__.rpartition('.')[2]}.{getattr(duty, '__name__', 'unnamed')}"


def spread(edge_account_id: str) -> float:
    """Return a number from 0 to 1 that is constant for an account.

    It is used to spread the accounts' due times evenly.
    """
    return zlib.crc32(edge_account_id.encode()) / 2**32
