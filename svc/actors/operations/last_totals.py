"""Stores the last totals of a deleted Worker: the counts in its database that were not pushed.

Afterwards, the service has all counts, just as after a final push. Few calls are needed, because one call reads several
thousand rows, which can belong to any number of sites and links.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors.sync import recovery
from svc.clock import DAY_MS, day_of
from svc.edge import d1
from svc.store import totals
from svc.worker import last_counts, stored_totals
from svc.worker.last_counts import OpenCounts
from svc.worker.meta import STATEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.worker.pushed import PushedPart
    from svc.worker.rows import Row, Statement
    from svc.worker.stored_totals import TargetCounts

log = logging.getLogger(__name__)

# The maximum number of reads. A cron run that began before the Worker was deleted may change the tables during a read,
# and the read is then repeated.
_TRIES = 3
# Maximum number of sites and links per transaction, because a transaction blocks other writes to the store.
_TARGETS_A_PART = 1_000


async def keep_last_totals(context: Context, access: Access, account_id: str, database_id: str) -> None:
    """Read and store the last totals. Repeated calls are safe.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily. If the database
    contains data that the Worker cannot have written, raises ValueError, KeyError or TypeError.
    """
    pushed_as_of = await context.store.read(totals.pushed_as_of(account_id))
    now = context.clock()
    # If the newest push covers the time up to exactly midnight, start with the preceding day, because the store may
    # lack that day's final totals.
    first_day = day_of(now) - totals.OLDEST_DAYS if pushed_as_of is None else day_of(pushed_as_of - 1)
    for _ in range(_TRIES):
        before = await _state(access, database_id)
        closed, open_counts = await _read(access, database_id, first_day)
        if await _state(access, database_id) == before:
            break
        log.info("counts changed during read", extra={"account": account_id})
    for part in _build_parts(closed, open_counts, now):
        # Treat the current hour as complete, because the deleted Worker cannot count any more events.
        await context.store.run(totals.ingest(account_id, [part], max(now, part.as_of)))
    await _store_queued_parts(context, access, account_id, database_id)


async def _store_queued_parts(context: Context, access: Access, account_id: str, database_id: str) -> None:
    """Store the parts that the Worker has queued for a push.

    Store them last: if an earlier step is interrupted, the stored totals must not seem to be newer than they are.
    """
    last: Row | None = None
    while rows := await _rows(access, database_id, stored_totals.queued_statement(last)):
        last = rows[-1]
        parts = await trio.to_thread.run_sync(stored_totals.queued_of, rows)
        await context.store.run(totals.ingest(account_id, parts, context.clock()))


async def _state(access: Access, database_id: str) -> Sequence[Row]:
    [result] = await d1.query(access, database_id, [(STATEMENT, [])])
    return result.rows


async def _read(access: Access, database_id: str, first_day: int) -> tuple[list[TargetCounts], OpenCounts]:
    """Return the totals of the closed days since `first_day`, and the counts of the open days.

    A closed day is a day to which the Worker adds no more events. The result lacks closed days that the Worker has
    deleted because of their age.
    """
    meta = await recovery.read_meta(access, database_id)
    counts = OpenCounts(meta.closed_day)
    names: tuple[Literal["event_log", "event_page"], ...] = ("event_log", "event_page")
    for table in names:
        after_id = -1
        while rows := await _rows(access, database_id, last_counts.events_statement(table, after_id)):
            after_id = int(rows[-1]["id"])  # type: ignore[call-overload]  # a row's id is a number
            # Use a thread, because processing many events would block the actors of other accounts.
            await trio.to_thread.run_sync(counts.add_lines, [str(row["lines"]) for row in rows])
    await _read_all_rows(
        access, database_id, lambda last: last_counts.hours_statement(meta.closed_day, last), counts.add_hours
    )
    await _read_all_rows(
        access,
        database_id,
        lambda last: last_counts.day_visitors_statement(meta.closed_day, last),
        counts.add_day_visitors,
    )
    for statement in counts.visitor_statements():
        counts.add_visitors(await _rows(access, database_id, statement))
    days: list[TargetCounts] = []
    while True:
        rows = await _rows(access, database_id, stored_totals.days_statement(first_day, days[-1] if days else None))
        if not rows:
            break
        days += stored_totals.days_of(rows, {})
    return [day for day in days if day.day <= meta.closed_day], counts


async def _read_all_rows(
    access: Access,
    database_id: str,
    statement: Callable[[Row | None], Statement],
    add: Callable[[Sequence[Row]], None],
) -> None:
    last: Row | None = None
    while rows := await _rows(access, database_id, statement(last)):
        add(rows)
        last = rows[-1]


async def _rows(access: Access, database_id: str, statement: Statement) -> Sequence[Row]:
    [result] = await d1.query(access, database_id, [statement])
    return result.rows


def _build_parts(closed: Sequence[TargetCounts], open_counts: OpenCounts, now: int) -> Iterator[PushedPart]:
    """Yield the parts of the push that the Worker would have sent, oldest day first.

    A day has one or more parts. The last part is for today, and may be empty.
    """
    of_day: dict[int, list[TargetCounts]] = defaultdict(list, {day_of(now): []})
    for counts in (*closed, *open_counts.day_counts()):
        of_day[counts.day].append(counts)
    hours: dict[tuple[str, int], list[TargetCounts]] = defaultdict(list)
    for counts in open_counts.hour_counts():
        hours[counts.target, counts.day].append(counts)
    for day in sorted(of_day):
        as_of = last_counts.end_of_counting(open_counts, day, now)
        targets = of_day[day]
        for first in range(0, max(1, len(targets)), _TARGETS_A_PART):
            batch = targets[first : first + _TARGETS_A_PART]
            their_hours = [hour for target_counts in batch for hour in hours.get((target_counts.target, day), ())]
            yield recovery.make_part(day, as_of, batch, their_hours, final=as_of == (day + 1) * DAY_MS)
