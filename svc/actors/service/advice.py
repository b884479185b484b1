"""The daily advice about how close an account is to the limits of its plan, based on the usage that Cloudflare reports.

Each account has a scheduled time of day for its advice, at 01:00 UTC or later, because Cloudflare's figures for the
previous day are complete by then. A failed read is retried after an hour. The next due time is stored, so it survives a
restart. Overdue advice is spread over the first hour after the start.
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

# The first hour of the day (UTC) at which advice is due, and the number of hours over which the accounts are spread.
# No advice is due in the first hour after midnight because, according to user reports, Cloudflare's figures lag by
# minutes.
_FIRST_HOUR = 1
_HOURS = 22
_RETRY_MS = HOUR_MS


def time_of_day_after(edge_account_id: str, now: int) -> int:
    """Return the time at which the account's advice is due on the day after the day of `now` (both epoch ms)."""
    return (day_of(now) + 1) * DAY_MS + round((_FIRST_HOUR + spread(edge_account_id) * _HOURS) * HOUR_MS)


async def advise_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Compute the account's advice if it is due: once a day, and immediately after the account's plan is changed."""
    del timers
    if account.state not in SERVING or account.database_id is None:
        return math.inf
    now = context.clock()
    due_at = account.advice_due_at
    if due_at is None:
        due_at = time_of_day_after(account.edge_account_id, account.created_at)  # the day after the account was added
    # A due time this far ahead was stored while the host's clock was wrong. It could be years away, so it is ignored.
    if now >= due_at or due_at - now > 2 * DAY_MS:
        advice = await _UsageReader(context, account, now).advice()
        due_at = now + _RETRY_MS if advice.unavailable else time_of_day_after(account.edge_account_id, now)
        await context.store.run(keep_advice(account.id, advice, account.settings.plan, due_at))
    return trio.current_time() + (due_at - now) / 1000


class _UsageReader:
    """Reads one account's usage from Cloudflare, and computes advice from it."""

    def __init__(self, context: Context, account: Account, now: int) -> None:
        self._context = context
        self._account = account
        self._database_id = account.database_id or ""
        self._now = now
        self._last_day = day_of(now) - 1
        self._first_day = day_of(now) - analytics.DAYS_AVAILABLE
        self._figures: dict[Metric, Sequence[Figure] | None] = {}
        self._size_bytes: int | None = None

    async def advice(self) -> Advice:
        """Read the usage and return the advice. Parts that cannot be read are omitted."""
        await self._read()
        account = self._account
        return advise(self._figures, self._size_bytes, account.settings.plan, day_of(account.created_at), self._now)

    async def _read(self) -> None:
        parts: list[Callable[[Access], Awaitable[None]]] = [self._read_size, self._read_databases]
        if "requests" in LIMITS[self._account.settings.plan]:
            parts.append(self._read_requests)
        try:
            access = self._context.access(self._account)
            for part in parts:
                try:
                    await part(access)
                except EdgeRefused as error:
                    self._log_failure(error)  # continue, because the other parts may succeed
        except ServiceError as error:  # affects all parts: Cloudflare is down, or the token cannot be decrypted
            self._log_failure(error)

    def _log_failure(self, error: ServiceError) -> None:
        log.info("usage unavailable", extra={"account": self._account.id, "code": error.code, "why": error.message})

    async def _read_requests(self, access: Access) -> None:
        self._figures["requests"] = await analytics.request_days(access, self._first_day, self._last_day)

    async def _read_databases(self, access: Access) -> None:
        usage = await analytics.database_days(access, self._database_id, self._first_day, self._last_day)
        self._figures |= {"reads": usage.reads, "writes": usage.writes, "size": usage.sizes}

    async def _read_size(self, access: Access) -> None:
        database = await d1.get(access, self._database_id)
        self._size_bytes = None if database is None else database.size_bytes
