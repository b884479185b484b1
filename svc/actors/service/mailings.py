"""Email reports: every minute, queues the reports that are due. The outbox sends the emails.

The totals in a report are from the store. The lists of a site's pages, sources and bots are only in the account's
database. They are read once for each report, whatever the number of recipients. If the read fails, the report is sent
without the lists. The read counts toward the user's limit on reads. If the user has reached the limit by opening
reports, the email report waits for up to an hour.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import trio

from svc.actors.requests.live_reads import Unavailable
from svc.clock import HOUR_MS, day_of
from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.model import MAILING_KINDS
from svc.store import mailing_schedule
from svc.store.mailing_reports import MAX_NOTES, read_report
from svc.store.report_periods import due_day, period_due
from svc.worker.breakdowns import INTERNAL
from svc.worker.counts import TargetDays, top
from svc.worker.known_sources import known_source
from svc.worker.months import SCHEMA

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.model import Account, Dimension, JsonObject, Note
    from svc.store.mailing_reports import Entry, StoredReport
    from svc.store.report_periods import ReportPeriod
    from svc.worker.counts import Live

log = logging.getLogger(__name__)

_POLL_EVERY_S = 60.0
_BATCH = 100
# Maximum number of concurrent reads. The calls to Cloudflare are also limited per user.
_CONCURRENCY = 8
_MAX_LISTED = 5
# If the user has reached the limit on reads, a report waits for up to this time. It is then sent without its lists.
_PATIENCE_MS = HOUR_MS


class Reads(Protocol):
    """The part of `LiveReads` that email reports use."""

    async def read(self, user_id: int, account: Account, days: TargetDays) -> Live | Unavailable:
        """See `LiveReads.read`."""
        ...


class Mailings:
    """Queues the email reports that are due."""

    def __init__(self, context: Context, reads: Reads) -> None:
        self._context = context
        self._reads = reads
        self._limited_since: dict[str, int] = {}  # epoch ms, by site

    async def run(self) -> None:
        """Queue reports until cancelled."""
        while True:
            # The store has logged its failure, so only wait for the next poll.
            with contained(log, "email reports failed"), suppress(StoreUnavailable):
                await self.queue_due()
            await trio.sleep(_POLL_EVERY_S)

    async def queue_due(self) -> None:
        """Queue all reports that are due now. Raises StoreUnavailable."""
        store, today = self._context.store, day_of(self._context.clock())
        for kind in MAILING_KINDS:
            if await store.read(mailing_schedule.has_wrong_days(kind, today)):
                await store.run(mailing_schedule.correct_days(kind, today))
            period = period_due(kind, due_day(kind, today))
            skipped: set[str] = set()
            while found := await store.read(
                mailing_schedule.due(period, self._context.clock(), _BATCH, sorted(skipped))
            ):
                slots = trio.CapacityLimiter(_CONCURRENCY)
                async with trio.open_nursery() as nursery:
                    for target in found:
                        nursery.start_soon(self._queue, target, period, slots, skipped)

    async def _queue(self, target: str, period: ReportPeriod, slots: trio.CapacityLimiter, skipped: set[str]) -> None:
        """Queue one report. If this fails or the report has to wait, add the report to `skipped`."""
        async with slots:
            with contained(log, "email report failed", target=target), suppress(StoreUnavailable):
                if await self._try(target, period):
                    return
            skipped.add(target)

    async def _try(self, target: str, period: ReportPeriod) -> bool:
        """Queue a report. Return False if it has to wait because of the limit on reads. Raises StoreUnavailable."""
        store, now = self._context.store, self._context.clock()
        stored = await store.read(read_report(target, period, now))
        report: JsonObject | None = None
        if stored is not None:
            live = await self._read_lists(stored, period)
            if live == Unavailable("rate_limited") and now - self._limited_since.setdefault(target, now) < _PATIENCE_MS:
                return False
            report = _facts(stored, period, live)
        self._limited_since.pop(target, None)
        emails = await store.run(mailing_schedule.enqueue(target, period, report, now))
        if emails:
            log.info("email report queued", extra={"target": target, "report": period.kind, "emails": emails})
        return True

    async def _read_lists(self, stored: StoredReport, period: ReportPeriod) -> Live | Unavailable | None:
        """Read the counts for a site's lists from the account's database. Return None for a report about an account."""
        mailing, account = stored.mailing, stored.account
        if mailing.target_kind == "account":
            return None
        has_months = (account.edge_schema or 0) >= SCHEMA
        days = TargetDays(mailing.target, period.first, period.last, has_months=has_months)
        return await self._reads.read(mailing.user_id, account, days)


def _facts(stored: StoredReport, period: ReportPeriod, live: Live | Unavailable | None) -> JsonObject:
    """Return the content of a report as it is stored in the outbox; see `mail/report.py`."""
    facts: JsonObject = {
        "kind": period.kind,
        "first": period.first,
        "last": period.last,
        "target_kind": stored.mailing.target_kind,
        "target": stored.mailing.target,
        "name": stored.name,
        "total": _entry(stored.total),
        "days": list(stored.days),
        "sites": [_entry(one) for one in stored.sites],
        "more_sites": stored.number_of_sites - len(stored.sites),
        "links": [_entry(one) for one in stored.links],
        "notes": [_note(one) for one in stored.notes[:MAX_NOTES]],
        "more_notes": len(stored.notes) > MAX_NOTES,
        "missing_days": stored.missing_days,
    }
    if isinstance(live, Unavailable):
        facts["unavailable"] = live.reason
    elif live is not None:
        facts["lists"] = {
            "pages": _top(live, "pages"),
            "sources": _top_sources(live),
            "bots": _top(live, "bots"),
        }
        if live.listed_from > period.first:
            facts["listed_from"] = live.listed_from
        if live.statement is not None and live.statement.closed:
            facts["agrees"] = live.statement.counts.agrees
    return facts


def _entry(one: Entry) -> JsonObject:
    counts, before = one.counts, one.before
    return {
        "name": one.name,
        "views": counts.views,
        "visitors": counts.visitors,
        "bots": counts.bots,
        "before": None if before is None else {"views": before.views, "visitors": before.visitors, "bots": before.bots},
    }


def _note(one: Note) -> JsonObject:
    return {"day": one.day, "text": one.text, "kind": one.kind, "facts": dict(one.facts)}


def _top(live: Live, dimension: Dimension) -> list[tuple[str, int]]:
    return list(top(live.breakdowns.get(dimension, {}), _MAX_LISTED).items())


def _top_sources(live: Live) -> list[tuple[str, int]]:
    """Return the names of the sources with the most visits. Views from the same site are not included."""
    visits: dict[str, int] = {}
    for source, n in live.breakdowns.get("sources", {}).items():
        if source != INTERNAL:
            known = known_source(source)
            name = source if known is None else known.name
            visits[name] = visits.get(name, 0) + n
    return list(top(visits, _MAX_LISTED).items())
