"""…/report: what was counted of a site or a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.actors.live import Unavailable
from svc.clock import DAY_MS
from svc.http.bodies import ReportQuery
from svc.http.gate import reply, route
from svc.http.links import visible_link
from svc.http.periods import Stored, link_report, site_report, span_of
from svc.http.sites import visible_site
from svc.store import totals
from svc.worker.counts import TargetDays

if TYPE_CHECKING:
    from quart import Response
    from quart_trio import QuartTrio

    from svc.http.deps import Deps
    from svc.http.gate import Gate
    from svc.http.periods import Span
    from svc.model import Account
    from svc.store.tx import Tx
    from svc.worker.counts import Live


class Reports:
    """The handlers of the two reports."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._supervisor = deps.supervisor
        self._clock = deps.clock
        self._gate = gate

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "GET", "/v1/sites/<site_id>/report", self.site)
        route(app, "GET", "/v1/links/<link_id>/report", self.link)

    async def site(self, site_id: str) -> Response:
        """A site's report; the account's own database is read only for breakdowns."""
        caller, query = await self._gate.read_query(ReportQuery, "reports")
        site, account = await visible_site(self._store, caller, site_id)
        span = span_of(query.period, self._clock())
        stored = await self._store.read(_stored(site.id, account.id, span))
        live, unavailable = None, None
        if query.breakdowns is not None:
            live, unavailable = await self._live(caller.user.id, account, site.id, span)
        return reply({"report": site_report(span, stored, live, unavailable)})

    async def link(self, link_id: str) -> Response:
        """A link's report; today is read from the account's own database."""
        caller, query = await self._gate.read_query(ReportQuery, "reports")
        link, account = await visible_link(self._store, caller, link_id)
        span = span_of(query.period, self._clock())
        stored = await self._store.read(_stored(link.id, account.id, span))
        live, unavailable = await self._live(caller.user.id, account, link.id, span)
        breakdowns = query.breakdowns is not None
        return reply({"report": link_report(span, stored, live, breakdowns=breakdowns, unavailable=unavailable)})

    async def _live(
        self, user_id: int, account: Account, target_id: str, span: Span
    ) -> tuple[Live, None] | tuple[None, str]:
        """What the account's database holds, or why it cannot be read."""
        actor = self._supervisor.account(account.edge_account_id)
        live = await actor.live(user_id, account, TargetDays(target_id, span.first_day, span.today))
        return (None, live.reason) if isinstance(live, Unavailable) else (live, None)


def _stored(target_id: str, account_id: str, span: Span) -> Tx[Stored]:
    """What the service has of a target, read in one transaction: the numbers belong together."""
    start = span.today * DAY_MS
    days = yield from totals.day_counts(target_id, span.first_day, span.today)
    hours = yield from totals.hour_counts(target_id, start, start + DAY_MS)
    sent_until = yield from totals.pushed_as_of(account_id)
    sent_days = yield from totals.final_days(account_id, span.first_day, span.today)
    refused = yield from totals.refused_hours(account_id, start, start + DAY_MS)
    return Stored(
        days={day: counts for day, (counts, _, _) in days.items()},
        hours=dict(hours),
        sent_until=sent_until,
        sent_days=sent_days,
        hours_refused=bool(refused),
    )
