"""Reading an account's own database for a report: one call, the newest there is, kept for a few minutes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors import health
from svc.edge import d1
from svc.errors import EdgeError, ServiceError
from svc.limits import SlidingLimit
from svc.model import SERVING
from svc.worker.counts import Live, Rows, TargetDays, add_up, read_statements

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.model import Account

Reason = Literal["not_installed", "cloudflare", "rate_limited"]

# 1,000 reports of some kB each: a few MB at the most.
_KEPT = 1_000


@dataclass(frozen=True)
class Unavailable:
    """The account's database cannot be read now; `reason` is the report's `unavailable`."""

    reason: Reason


class LiveReads:
    """Reads of all accounts, each answer kept for report_cache_s."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._limit = SlidingLimit(context.config.limits.report_reads_per_minute)  # by user
        self._kept: OrderedDict[TargetDays, Live] = OrderedDict()

    async def read(self, user_id: int, account: Account, asked: TargetDays) -> Live | Unavailable:
        """What the database holds of the target in those days. A kept answer spends nothing of the user's limit."""
        now = self._context.clock()
        kept = self._kept.get(asked)
        if kept is not None and now - kept.at < self._context.config.timing.report_cache_s * 1000:
            return kept
        if account.state not in SERVING or account.database_id is None or account.sealed_token is None:
            return Unavailable("not_installed")
        if not self._limit.count(str(user_id), now).allowed:
            return Unavailable("rate_limited")
        try:
            with trio.fail_after(self._context.config.edge.report_read_s):
                async with health.refusals_noted(self._context, account):
                    access = self._context.access(account).awaited()
                    results = await d1.query(access, account.database_id, read_statements(asked))
        except (EdgeError, trio.TooSlowError):
            return Unavailable("cloudflare")
        except ServiceError:  # the stored token cannot be opened
            return Unavailable("not_installed")
        try:
            rows = Rows(*(result.rows for result in results))
            # In a thread: events that wait to be folded can be many, and the other requests go on meanwhile.
            live = await trio.to_thread.run_sync(add_up, rows, asked, self._context.bundle.caps, now)
        except (ValueError, KeyError, TypeError):  # somebody else wrote into that database
            return Unavailable("cloudflare")
        self._keep(asked, live)
        return live

    def _keep(self, asked: TargetDays, live: Live) -> None:
        self._kept[asked] = live
        self._kept.move_to_end(asked)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
