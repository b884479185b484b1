"""Alerts: every two minutes, checks the hours that Workers have pushed, and queues emails about unusual hours.

`unusual_hours.py` decides what is unusual. Missing counts do not prove that there were no views. A site
is therefore not checked while it or its account has a problem, and hours without views are examined only if the Worker
pushed each of them in time. Hours that the Worker did not count completely are ignored.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from svc.actors.service.unusual_hours import PAST_MS, Checked, Series, check_hour, compared_hours, is_suspect
from svc.clock import DAY_MS, HOUR_MS
from svc.edge.page_check import find_snippet
from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.store import alerts, sites, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.service.unusual_hours import Alert
    from svc.model import JsonObject, SnippetOnPage
    from svc.store.alerts import WatchedSite

log = logging.getLogger(__name__)

_POLL_EVERY_S = 120.0
_BATCH = 200
# Maximum number of concurrent checks, each of which may request a page.
_CONCURRENCY = 8
# The maximum time between the end of the hour that an alert is about and the end of the last pushed hour. An alert
# about an earlier hour would be too late to be useful.
_LATE_MS = DAY_MS


class Alerts:
    """Checks the sites for which alerts are turned on."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self) -> None:
        """Check sites until cancelled."""
        while True:
            # The store has logged its failure, so only wait for the next poll.
            with contained(log, "alerts failed"), suppress(StoreUnavailable):
                await self.check_due()
            await trio.sleep(_POLL_EVERY_S)

    async def check_due(self) -> None:
        """Check all hours that have been pushed but not checked yet. Raises StoreUnavailable."""
        after = ""
        slots = trio.CapacityLimiter(_CONCURRENCY)
        while found := await self._context.store.read(alerts.due(after, _BATCH)):
            after = found[-1].id
            complete = [site for site in found if site.is_complete]
            suspects = await self._suspects([site for site in complete if site.state and not site.has_problem])
            examined = {site.id for site in suspects}
            await self._context.store.run(alerts.advance([site for site in complete if site.id not in examined]))
            async with trio.open_nursery() as nursery:
                for site in suspects:
                    nursery.start_soon(self._examine, site, slots)

    async def _suspects(self, found: Sequence[WatchedSite]) -> list[WatchedSite]:
        """Return the sites whose new hours may raise an alert, or end the condition that raised the last alert."""
        suspects = []
        by_hour: dict[int, list[WatchedSite]] = {}
        for site in found:
            if site.state is None:
                continue
            if site.state.lasting is not None or site.as_of - site.state.checked_until != HOUR_MS:
                suspects.append(site)
            else:
                by_hour.setdefault(site.as_of - HOUR_MS, []).append(site)
        for hour, same in by_hour.items():
            read = alerts.views_in_hours([site.id for site in same], compared_hours(hour))
            views = await self._context.store.read(read)
            suspects += [site for site in same if is_suspect(Series(views[site.id], _first(site), site.as_of), hour)]
        return suspects

    async def _examine(self, site: WatchedSite, slots: trio.CapacityLimiter) -> None:
        async with slots:
            with contained(log, "alert failed", site=site.id), suppress(StoreUnavailable):
                await self._check(site)

    async def _check(self, site: WatchedSite) -> None:
        """Check the new hours of a site, and queue the alerts. Raises StoreUnavailable."""
        store, state = self._context.store, site.state
        if state is None:
            return
        series = await self._series(site)
        begin = max(state.checked_until, site.as_of - _LATE_MS, site.alerts_from)
        checked = Checked(state.lasting, state.day, state.alerts)
        found: list[Alert] = []
        for hour in range(begin, site.as_of, HOUR_MS):
            checked, alert = check_hour(replace(series, end=hour + HOUR_MS), hour, checked)
            found += [] if alert is None else [alert]
            await trio.lowlevel.checkpoint()
        if found and not await store.read(alerts.recipients(site.id, site.account_id)):
            found = []
        facts = [await self._facts(site, alert) for alert in found]
        after = replace(
            state,
            checked_until=site.as_of,
            punctual_from=state.punctual_from if site.was_punctual else site.as_of,
            lasting=checked.lasting,
            day=checked.day,
            alerts=checked.alerts,
        )
        emails = await store.run(alerts.send(site, after, facts, self._context.clock()))
        if emails:
            kinds = ", ".join(alert.kind for alert in found)
            log.info("alert queued", extra={"site": site.id, "alert": kinds, "emails": emails})

    async def _series(self, site: WatchedSite) -> Series:
        """Return the site's stored views.

        Hours before the first stored hour are not compared, because they may have been deleted.
        """
        store, from_ms = self._context.store, site.as_of - PAST_MS - _LATE_MS
        views = await store.read(alerts.views_between(site.id, from_ms, site.as_of))
        refused = await store.read(totals.refused_hours(site.account_id, from_ms, site.as_of))
        first = max(_first(site), min(views, default=site.as_of))
        low_from = site.as_of if site.state is None or not site.was_punctual else site.state.punctual_from
        return Series(views, first, site.as_of, frozenset(refused), low_from)

    async def _facts(self, site: WatchedSite, alert: Alert) -> JsonObject:
        """Return the content of an alert as it is stored in the outbox; see `mail/alert.py`."""
        facts: JsonObject = {
            "kind": alert.kind,
            "site": site.id,
            "host": site.host,
            "first": alert.first,
            "hours": alert.hours,
            "views": alert.views,
            "usual": round(alert.usual),
        }
        return {**facts, "snippet": await self._find_snippet(site)} if alert.kind == "silence" else facts

    async def _find_snippet(self, site: WatchedSite) -> SnippetOnPage:
        stored = await self._context.store.read(sites.get_site(site.user_id, site.id))
        if stored is None:
            return "unread"
        paths = [stored.path, *(old.path for old in stored.retiring)]
        return await find_snippet(self._context.visitor, stored.host, paths)


def _first(site: WatchedSite) -> int:
    """Return the start of the first whole hour that can be compared (epoch ms)."""
    return -(-site.comparable_from // HOUR_MS) * HOUR_MS
