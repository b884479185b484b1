"""The daily advice: how near an account is to its limits, from what the platform tells of its use.

Each account has its own time of the day for it, from one o'clock (UTC) on, when the figures of the day before are in.
What could not be read is asked for again in an hour. When it is due is in the store, so a restart forgets nothing; what
became due meanwhile is computed within an hour of the start, spread.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors.duty import spread
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.edge import analytics, d1
from svc.errors import EdgeRefused, ServiceError
from svc.model import SERVING
from svc.store.advice import keep_advice
from svc.worker.advice import LIMITS, advise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.model import Account, Advice, Figure, Metric

log = logging.getLogger(__name__)

# The platform's figures are late by minutes (field reports); the hours in which accounts take their turns.
_FIRST_HOUR = 1
_HOURS = 22
_AGAIN_MS = HOUR_MS


def time_of_day_after(edge_account_id: str, now: int) -> int:
    """The account's time on the day after `now` (epoch ms)."""
    return (day_of(now) + 1) * DAY_MS + round((_FIRST_HOUR + spread(edge_account_id) * _HOURS) * HOUR_MS)


async def advise_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Compute the advice of an account whose worker runs, once a day, and at once when its plan was changed."""
    del timers
    if account.state not in SERVING or account.database_id is None:
        return math.inf
    now = context.clock()
    due_at = account.advice_due_at
    if due_at is None:
        due_at = time_of_day_after(account.edge_account_id, account.created_at)  # before, no day is complete
    # Never so far ahead, unless our clock was: it would be waited for until the clock is there again.
    if now >= due_at or due_at - now > 2 * DAY_MS:
        advice = await _Question(context, account, now).advice()
        due_at = now + _AGAIN_MS if advice.unavailable else time_of_day_after(account.edge_account_id, now)
        await context.store.run(keep_advice(account.id, advice, account.plan, due_at))
    return trio.current_time() + (due_at - now) / 1000


class _Question:
    """What the platform is asked about one account's use, and what it has told so far."""

    def __init__(self, context: Context, account: Account, now: int) -> None:
        self._context = context
        self._account = account
        self._database_id = account.database_id or ""
        self._now = now
        self._last_day = day_of(now) - 1
        self._first_day = day_of(now) - analytics.DAYS_TOLD
        self._figures: dict[Metric, Sequence[Figure] | None] = {}
        self._size_bytes: int | None = None

    async def advice(self) -> Advice:
        """Ask, and compute the advice of what was told."""
        await self._ask()
        account = self._account
        return advise(self._figures, self._size_bytes, account.plan, day_of(account.created_at), self._now)

    async def _ask(self) -> None:
        parts: list[Callable[[Access], Awaitable[None]]] = [self._ask_size, self._ask_databases]
        if "requests" in LIMITS[self._account.plan]:
            parts.append(self._ask_requests)
        try:
            access = self._context.access(self._account)
            for part in parts:
                try:
                    await part(access)
                except EdgeRefused as error:
                    self._log(error)  # the other parts may be told
        except ServiceError as error:  # the platform is away, or the token cannot be opened: so for the next part
            self._log(error)

    def _log(self, error: ServiceError) -> None:
        log.info("use is not known", extra={"account": self._account.id, "code": error.code, "why": error.message})

    async def _ask_requests(self, access: Access) -> None:
        self._figures["requests"] = await analytics.request_days(access, self._first_day, self._last_day)

    async def _ask_databases(self, access: Access) -> None:
        found = await analytics.database_days(access, self._database_id, self._first_day, self._last_day)
        self._figures |= {"reads": found.reads, "writes": found.writes, "size": found.sizes}

    async def _ask_size(self, access: Access) -> None:
        database = await d1.get(access, self._database_id)
        self._size_bytes = None if database is None else database.size_bytes
