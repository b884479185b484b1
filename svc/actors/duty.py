"""What an account does by itself: the form of a duty, and what is kept between two runs of the account's task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
    operation_at: float = 0
    records_at: float = 0
    routes_at: float = 0
    sync_at: float = 0
    sync_failures: int = 0
    syncs_paid_until: float = 0  # each sync is paid for with some seconds, which may be in advance


# Does what is due and returns when to look again (monotonic seconds; math.inf: only when something changes).
Duty = Callable[["Context", "Account", Timers], Awaitable[float]]
