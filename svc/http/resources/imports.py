"""POST …/totals: import daily totals into a site or a link."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.requests import imported_months, web_analytics
from svc.api import imports as api
from svc.clock import day_of, first_day_of, month_of
from svc.errors import Invalid, Issue, NotFound, StoreUnavailable
from svc.http.serving.visible import visible_link, visible_site
from svc.imports.reader import NotReadable
from svc.imports.temporary import CannotWrite
from svc.imports.totals.reading import Reading
from svc.imports.totals.run import import_target
from svc.imports.totals.tally import Name, Refused
from svc.imports.totals.upload import Uploaded, read_upload
from svc.model import Counts
from svc.store.imported_days import Target
from svc.store.tx import UNCHANGED
from svc.worker.imported_months import encode_month

if TYPE_CHECKING:
    from collections.abc import Set

    from svc.actors.requests.web_analytics import WebViews
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Write
    from svc.imports.totals.run import Done
    from svc.model import Account, Link, Site
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx

T = TypeVar("T", api.TotalsFile, api.SiteTotals)


class Imports:
    """The handlers for imports of daily totals into sites and links."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._supervisor = deps.supervisor
        # One file at a time, because several threads would not run Python code faster.
        self._reading = trio.CapacityLimiter(1)
        endpoints.write(api.SITE, self.site)
        endpoints.write(api.LINK, self.link)

    async def site(self, write: Write[api.SiteTotals]) -> StoredResponse:
        """Import daily totals into a site. In a dry run, only return what the import would do."""
        body = write.body
        if body.file is not None and body.source is not None:
            raise Invalid([Issue("source", "cannot be combined with file", "not_combinable")])
        if body.file is None and body.source is None:
            raise Invalid([Issue("file", "is required", "required")])
        site, account = await visible_site(self._context.store, write.caller, write.id)
        target = _target_of(site, account, "site", site.host)
        if body.file is not None:
            uploaded = await self._read(body.file, body.website, target)
            rows: dict[int, str] = {}
            if body.breakdowns and uploaded.months:
                kept: set[int] = set()
                if not body.replace:
                    stored = await self._context.store.read(
                        import_target(
                            target,
                            uploaded.days_of,
                            estimates=uploaded.estimates,
                            replace=False,
                            apply=False,
                            now=self._context.clock(),
                        )
                    )
                    kept = {month_of(day) for day in stored.compared.other}
                make_rows = partial(self._month_rows, uploaded, site, account, kept)
                # Use a thread, because each month takes up to 3 ms of CPU time.
                rows = await trio.to_thread.run_sync(make_rows, limiter=self._reading)
            if rows and not body.dry_run:
                # These rows are written first, because they can be written again if the import is repeated.
                store_months = partial(imported_months.write, self._context, account.id, site.id, rows)
                await self._supervisor.account(account.edge_account_id).ask(store_months)
            return await self._import(write, target, account, uploaded, len(rows))
        # The service counts the day on which the site was added, so the import ends before that day.
        today, last_day = day_of(self._context.clock()), day_of(site.created_at) - 1
        views = await web_analytics.read(
            self._supervisor.live_reads, write.caller.user.id, account, site.host, today, last_day
        )
        return await self._import(write, target, account, _web_days(views))

    async def link(self, write: Write[api.TotalsFile]) -> StoredResponse:
        """Import daily totals into a link. In a dry run, only return what the import would do."""
        link, account = await visible_link(self._context.store, write.caller, write.id)
        target = _target_of(link, account, "link", link.code)
        return await self._import(write, target, account, await self._read(write.body.file, write.body.website, target))

    async def _read(self, file: bytes, website: str | None, target: Target) -> Uploaded:
        """Return the totals in an uploaded file.

        Raises Invalid if the file cannot be read, or StoreUnavailable if the service cannot write temporary files.
        """
        name, today = Name(target.kind, target.name, target.edge_account_id), day_of(self._context.clock())
        try:
            return await trio.to_thread.run_sync(read_upload, file, name, today, website, limiter=self._reading)
        except NotReadable as error:
            raise Invalid([Issue("file", str(error), "not_readable")]) from None
        except CannotWrite as error:
            raise StoreUnavailable("The service cannot write temporary files.") from error

    def _month_rows(self, uploaded: Uploaded, site: Site, account: Account, kept: Set[int]) -> dict[int, str]:
        """Return the rows of the months whose breakdowns are imported, by month.

        The month in which the site was added is left out, because the Worker adds up this month itself. `kept`: the
        months that keep the numbers of an earlier import for some of their days, and therefore also its breakdowns.
        """
        end = month_of(day_of(site.created_at))
        first = imported_months.first_kept(account, day_of(self._context.clock())) or 0
        days = {day: counts for of_target in uploaded.days_of.values() for day, counts in of_target.items()}
        rows: dict[int, str] = {}
        for month, lists in uploaded.months.items():
            in_month = [day for day in range(first_day_of(month), first_day_of(month + 1)) if day in days]
            if in_month and first <= month < end and month not in kept:
                total = sum((days[day] for day in in_month), Counts())
                rows[month] = encode_month(in_month[0], total, lists, self._context.bundle.site_month)
        return rows

    async def _import(
        self, write: Write[T], target: Target, account: Account, uploaded: Uploaded, breakdown_months: int = 0
    ) -> StoredResponse:
        body = write.body
        result = partial(_result, uploaded, breakdown_months, dry_run=body.dry_run)
        commit = write.commit(result, about=account, count=lambda done: done.written)
        return await self._context.store.run(commit(_import(target, uploaded, body, self._context.clock())))


def _web_days(views: WebViews) -> Uploaded:
    """Return the days from Cloudflare Web Analytics in the form of an uploaded file."""
    notes = (
        f"{len(views.estimates)} of {len(views.days)} days are estimates, because Cloudflare counted only a sample",
        "Web Analytics has no visitors, so visits are imported as visitors: views that did not come from the same host",
        "Web Analytics does not report hits of bots",
    )
    reading = Reading("Cloudflare Web Analytics", ("count", "visits"), notes)
    return Uploaded(reading, Refused(), {"": views.days} if views.days else {}, views.estimates)


def _target_of(target: Site | Link, account: Account, kind: str, name: str) -> Target:
    if target.state == "deleted":
        raise NotFound
    return Target(target.id, account.id, target.user_id, kind, account.edge_account_id, name, target.created_at)


def _import(target: Target, uploaded: Uploaded, body: api.TotalsFile | api.SiteTotals, now: int) -> Tx[Done]:
    apply = not body.dry_run
    done = yield from import_target(
        target, uploaded.days_of, estimates=uploaded.estimates, replace=body.replace, apply=apply, now=now
    )
    if body.dry_run or not done.written:
        yield UNCHANGED
    return done


def _result(uploaded: Uploaded, breakdown_months: int, done: Done, *, dry_run: bool) -> api.TotalsImport:
    reading, refused, compared = uploaded.reading, uploaded.refused, done.compared
    return api.TotalsImport(
        result=api.ImportedTotals(
            dry_run=dry_run,
            product=reading.product,
            columns=reading.columns,
            notes=reading.notes,
            added=len(compared.added),
            first_day=compared.added[0] if compared.added else None,
            last_day=compared.added[-1] if compared.added else None,
            views=done.views,
            breakdown_months=breakdown_months,
            unchanged=len(compared.same),
            different=len(compared.other),
            counted_here=len(compared.own) + done.elsewhere,
            rejected=refused.count,
            rejected_lines=tuple(api.RejectedLine(line=line, reason=reason) for line, reason in refused.first),
        )
    )
