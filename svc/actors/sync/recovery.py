"""Recovers a store that is behind its Workers, because it has lost commits or was restored from a backup.

Before a sync writes a configuration version to the Worker's database, it records this version in the store. A higher
version in the database therefore means that the store has lost commits.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from svc.actors.sync import worker_config
from svc.clock import DAY_MS, day_of
from svc.edge import d1
from svc.errors import EdgeRefused
from svc.store import accounts, links, sites, syncs, totals
from svc.worker import config_rows, stored_totals
from svc.worker.config_rows import ConfigRow
from svc.worker.meta import STATEMENT, UNREADABLE, WorkerMeta
from svc.worker.pushed import PushedHour, PushedPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.model import Account
    from svc.worker.pushed import CountRow
    from svc.worker.stored_totals import TargetCounts

log = logging.getLogger(__name__)


async def read_meta(access: Access, database_id: str) -> WorkerMeta:
    """Read the table `meta` from the Worker's database.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    [result] = await d1.query(access, database_id, [(STATEMENT, [])])
    try:
        return WorkerMeta.from_rows(result.rows)
    except (ValueError, KeyError) as error:
        raise EdgeRefused("resource_drift", UNREADABLE) from error


def is_behind(account: Account, meta: WorkerMeta) -> bool:
    """Return True if the Worker's configuration version is above the recorded one, or if the store was restored.

    A restored store may lack totals that the Worker has already pushed.
    """
    return account.restored_as_of is not None or meta.config_version > account.asked_version


async def catch_up(context: Context, access: Access, account: Account, database_id: str, meta: WorkerMeta) -> Account:
    """Prepare a full sync of an account that is behind its Worker. Return the updated account.

    In the Worker's database, removes the configuration rows that do not exist in the store. Then reads the database's
    totals since the newest stored push, and stores them. An interrupted call can be repeated, because the end of the
    recovery is recorded last. Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails
    temporarily. Raises NotFound if the account no longer exists.
    """
    log.warning(
        "store behind the worker",
        extra={"account": account.id, "asked": account.asked_version, "found": meta.config_version},
    )
    version = await context.store.run(syncs.raise_above_worker(account.id, meta.config_version))
    caught_up = accounts.present(await context.store.read(accounts.account_by_id(account.id)))
    await _remove_unknown(context, access, caught_up, database_id, version)
    try:
        await _read_back_totals(context, access, caught_up, database_id, meta)
    except (EdgeRefused, ValueError, KeyError, TypeError) as error:
        # The error means that another program changed the database. It must not prevent later syncs.
        if isinstance(error, EdgeRefused) and error.code != "cloudflare_error":
            raise
        log.warning("totals not read back", extra={"account": account.id, "why": type(error).__name__})
    await context.store.run(syncs.end_recovery(account.id))
    return caught_up


async def _remove_unknown(context: Context, access: Access, account: Account, database_id: str, version: int) -> None:
    all_sites = await context.store.read(sites.changed_sites(account.id, 0))
    all_links = await context.store.read(links.changed_links(account.id, 0))
    known = {row.key for row in config_rows.rows_of(all_sites, all_links, account.link_host, account.settings, 0)}
    there = await worker_config.versions(access, database_id)
    unknown = [ConfigRow(key, version, None) for key in there if key not in known]
    await worker_config.write(access, database_id, unknown)


async def _read_back_totals(
    context: Context, access: Access, account: Account, database_id: str, meta: WorkerMeta
) -> None:
    # Include the day of the last stored hour, because its final totals may be missing.
    today = day_of(context.clock())
    first_day = max(day_of((account.restored_as_of or 0) - 1), today - totals.OLDEST_DAYS)
    open_hours, open_days = await d1.query(
        access, database_id, stored_totals.open_statements(meta.closed_day, meta.as_of)
    )
    hours = stored_totals.hours_of(open_hours.rows)
    visitors = stored_totals.visitors_of(open_days.rows)
    days: list[TargetCounts] = []
    while True:
        statement = stored_totals.days_statement(first_day, days[-1] if days else None)
        [result] = await d1.query(access, database_id, [statement])
        if not result.rows:
            break
        days += stored_totals.days_of(result.rows, visitors)
    # A cron run may have deleted a day during the read, so the counts of some sites or links may be missing. Do not
    # mark such a day as complete.
    kept_from = (await read_meta(access, database_id)).kept_from
    # A closed day without rows had no events.
    counted_from = max(first_day, kept_from, day_of(meta.since)) if meta.since else today
    closed_days = range(counted_from, min(meta.closed_day + 1, today))
    # Store the oldest part first. If the loop is interrupted, the totals are complete up to the newest stored day.
    for part in _build_parts(days, hours, meta, kept_from, closed_days):
        await context.store.run(totals.ingest(account.id, [part], context.clock()))


def _build_parts(
    days: Sequence[TargetCounts],
    hours: Sequence[TargetCounts],
    meta: WorkerMeta,
    kept_from: int,
    closed_days: Iterable[int],
) -> list[PushedPart]:
    """Return one part per day, as the Worker would push it.

    A part without rows means that nothing was counted on that day. `closed_days`: days that get a part even without
    rows.
    """
    of_day: dict[int, list[TargetCounts]] = defaultdict(list, {day: [] for day in closed_days})
    for target_counts in days:
        of_day[target_counts.day].append(target_counts)
    if meta.as_of:
        of_day.setdefault(day_of(meta.as_of - 1), [])
    parts = []
    for day in sorted(of_day):
        final = day <= meta.closed_day
        as_of = (day + 1) * DAY_MS if final else min(max(meta.as_of, day * DAY_MS), (day + 1) * DAY_MS)
        parts.append(make_part(day, as_of, of_day[day], hours, final=final and day >= kept_from))
    return parts


def make_part(
    day: int, as_of: int, days: Iterable[TargetCounts], hours: Iterable[TargetCounts], *, final: bool
) -> PushedPart:
    """Return the part of a push that the Worker would send for `day`.

    `as_of`: the time up to which the counts are complete (epoch ms). `days`: the day's totals of sites and links.
    `hours`: the totals of hours, including hours of other days, which are ignored. `final`: True if the day's totals
    will not change anymore.
    """
    of_hour: dict[int, list[CountRow]] = defaultdict(list)
    for target_counts in hours:
        if target_counts.day == day and target_counts.at is not None:
            of_hour[target_counts.at].append(target_counts.row)
    pushed_hours = tuple(PushedHour(at, tuple(rows)) for at, rows in sorted(of_hour.items()))
    return PushedPart(0, day, as_of, final, pushed_hours, (), tuple(target_counts.row for target_counts in days))
