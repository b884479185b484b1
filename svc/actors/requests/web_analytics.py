"""Reads a host's past page views from Cloudflare Web Analytics, for an import."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from svc.actors.requests.live_reads import Unavailable
from svc.edge import web_analytics
from svc.errors import EdgeUnavailable, ServiceError
from svc.model import Counts
from svc.store import accounts

if TYPE_CHECKING:
    from collections.abc import Set

    from svc.actors.requests.live_reads import LiveReads
    from svc.edge.access import Access
    from svc.model import Account

_RETRY_AFTER_S = 60


@dataclass(frozen=True)
class WebViews:
    """A host's counts on the days with page views. `estimates`: the days whose counts are estimates.

    Web Analytics does not count visitors. Instead of visitors, the counts therefore contain visits: views that came
    from another host.
    """

    days: dict[int, Counts]
    estimates: Set[int]


async def read(live: LiveReads, user_id: int, account: Account, host: str, today: int, last_day: int) -> WebViews:
    """Return the host's page views up to `last_day` (epoch day), as far back as Cloudflare keeps them.

    The result is cached like a live read, so that an import directly after its dry run needs no second read. Raises
    EdgeUnavailable, ServiceError (code rate_limited) or Conflict (code account_not_ready).
    """
    first_day = today - web_analytics.DAYS_AVAILABLE
    key = ("web analytics", host, first_day, last_day)
    found = await live.ask(user_id, account, key, partial(_read, host, first_day, last_day))
    if not isinstance(found, Unavailable):
        return found
    if found.reason == "rate_limited":
        raise ServiceError("rate_limited", retry_after_s=_RETRY_AFTER_S)
    if found.reason == "not_installed":
        raise accounts.not_ready(account, "The account is not connected.")
    raise EdgeUnavailable("Cloudflare did not return the page views of Web Analytics.")


async def _read(host: str, first_day: int, last_day: int, access: Access, _: str) -> WebViews:
    found = await web_analytics.view_days(access, host, first_day, last_day)
    days = {day.day: Counts(day.views, 0, day.visits) for day in found}
    return WebViews(days, frozenset(day.day for day in found if day.is_estimate))
