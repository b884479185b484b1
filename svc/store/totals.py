"""Transactions on totals, which Workers push and reports read. A target is a site or a link.

A push consists of parts, each of which has the totals of one day. Every number in a push is the whole count for a
target's hour or day up to a time (`as_of`), not an increment. A row replaces the stored row unless the stored row is
newer. If two rows have the same `as_of`, a final row counts as newer than a row that is not final. Otherwise, the row
with the larger counts is newer, because counts only grow. Pushes may therefore arrive in any order and any number of
times, with the same result (rule W3).

A day that was imported from another product has an `as_of` of 0, so a Worker's push always replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import Counts
from svc.store import automatic_notes
from svc.store.tx import Tx, many, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.store.tx import Row
    from svc.worker.pushed import PushedPart

# The oldest accepted day, in days before today. The Worker keeps a part (the totals of one day) for 35 days. One more
# day allows for clock differences, and another for the last push.
OLDEST_DAYS = 37

# A part that is further in the future than this is not accepted yet. It stays in the Worker's queue and is sent again
# later.
EARLY_MS = 5 * 60_000

Refusal = Literal["too_old", "invalid"]


@dataclass(frozen=True)
class Ingested:
    """The result of a push.

    Parts from the future are in neither `accepted` nor `refused`, and the Worker sends them again later.
    """

    accepted: tuple[int, ...]
    refused: tuple[tuple[int, Refusal], ...]
    unknown_targets: tuple[str, ...]


def _upsert(table: Literal["hours", "days"], key: Literal["at", "day"]) -> str:
    """Return the SQL that inserts a row or replaces an older row.

    The row with the larger (as_of, final, views, bots, visitors) is the newer row.
    """
    mark = ", imported = 0, estimated = 0" if table == "days" else ""
    return (
        f"insert into {table} (target, {key}, views, bots, visitors, as_of, final) values ($1, $2, $3, $4, $5, $6, $7)"  # noqa: S608  # names of this file
        f" on conflict (target, {key}) do update set views = excluded.views, bots = excluded.bots,"
        f" visitors = excluded.visitors, as_of = excluded.as_of, final = excluded.final{mark}"
        " where (excluded.as_of, excluded.final, excluded.views, excluded.bots, excluded.visitors)"
        f" > ({table}.as_of, {table}.final, {table}.views, {table}.bots, {table}.visitors)"
    )


_UPSERT_HOUR = _upsert("hours", "at")
_UPSERT_DAY = _upsert("days", "day")


def ingest(account_id: str, parts: Sequence[PushedPart], now: int) -> Tx[Ingested]:
    """Store the parts of a push; see `ingest_all`."""
    [ingested] = yield from ingest_all([(account_id, parts)], now)
    return ingested


def ingest_all(pushes: Sequence[tuple[str, Sequence[PushedPart]]], now: int) -> Tx[list[Ingested]]:
    """Store several pushes with as many statements as a single push needs.

    A push consists of an account id and its parts. A part is refused as `invalid` if its hours are outside its day or
    had not ended at its `as_of`. It is refused as `too_old` if its day is before the oldest accepted day. Early parts
    (`is_early`) are ignored and stay in the Worker's queue. Rows of targets that do not belong to the account are
    skipped, and the result lists these targets. The accounts must exist and be locked by the transaction, for example
    by `pushes.record_pushes`, so that they are not deleted concurrently.
    """
    split = [(account_id, *_split(parts, now)) for account_id, parts in pushes]
    named = [_named_targets(good) for _, good, _ in split]
    owners, site_rows = yield from _owners(set().union(*named))
    hours: list[_TotalRow] = []
    days: list[_TotalRow] = []
    for account_id, good, _ in split:
        for part in good:
            kept = part.as_of, int(part.final)
            for hour in part.hours:
                hours += [(row[0], hour.at, *row[1:], *kept) for row in hour.rows if owners.get(row[0]) == account_id]
            days += [(row[0], part.day, *row[1:], *kept) for row in part.days if owners.get(row[0]) == account_id]
    good_of: dict[str, list[PushedPart]] = {}
    for account_id, good, _ in split:
        if good:
            good_of.setdefault(account_id, []).extend(good)
    yield from _store(good_of, hours, days, now)
    first_views = [
        each
        for account_id, good in good_of.items()
        for each in _first_views(good, [row for row in site_rows if row["account_id"] == account_id])
    ]
    if first_views:
        yield many(
            "update sites set first_view_at = $2 where id = $1 and (first_view_at is null or first_view_at > $2)",
            sorted(first_views),
        )
    return [
        Ingested(
            tuple(part.id for part in good),
            tuple(refused),
            tuple(sorted(target for target in names if owners.get(target) != account_id)),
        )
        for (account_id, good, refused), names in zip(split, named, strict=True)
    ]


def _split(parts: Sequence[PushedPart], now: int) -> tuple[list[PushedPart], list[tuple[int, Refusal]]]:
    """Return the accepted parts, and the refused parts' ids with the reasons. Early parts are in neither list."""
    good: list[PushedPart] = []
    refused: list[tuple[int, Refusal]] = []
    for part in parts:
        why = refusal(part, now)
        if why is not None:
            refused.append((part.id, why))
        elif not is_early(part, now):
            good.append(part)
    return good, refused


def _named_targets(parts: Sequence[PushedPart]) -> set[str]:
    return {row[0] for part in parts for rows in (part.days, *(hour.rows for hour in part.hours)) for row in rows}


def _store(
    parts_of: Mapping[str, Sequence[PushedPart]], hours: list[_TotalRow], days: list[_TotalRow], now: int
) -> Tx[None]:
    """Store the rows. Also store each account's refused hours, final days and newest `as_of` from its parts."""
    parts = [(account_id, part) for account_id, good in parts_of.items() for part in good]
    refused_hours = {(account_id, at) for account_id, part in parts for at in part.refused_hours}
    final_days = {(account_id, part.day) for account_id, part in parts if part.final}
    if hours:
        yield many(_UPSERT_HOUR, _newest(hours))
    if days:
        yield many(_UPSERT_DAY, _newest(days))
    if refused_hours:
        yield many(
            "insert into refused_hours (account_id, at) values ($1, $2) on conflict (account_id, at) do nothing",
            sorted(refused_hours),
        )
        yield from automatic_notes.hours_refused(refused_hours, now)
    if final_days:
        yield many(
            "insert into final_days (account_id, day) values ($1, $2) on conflict (account_id, day) do nothing",
            sorted(final_days),
        )
    if parts:
        yield many(
            "insert into pushed (account_id, as_of) values ($1, $2) on conflict (account_id) do update"
            " set as_of = excluded.as_of where excluded.as_of > pushed.as_of",
            sorted((account_id, max(part.as_of for part in good)) for account_id, good in parts_of.items()),
        )


def _first_views(parts: Sequence[PushedPart], site_rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Return (site id, time) for each site if its first view in these parts is earlier than the stored first view.

    The time is the start of the first hour with views, or the start of the day if no hours of that day were pushed. The
    time is never before the site's creation.
    """
    ids = {row["id"] for row in site_rows}
    hours = [
        (target, hour.at)
        for part in parts
        for hour in part.hours
        for target, views, _, _ in hour.rows
        if views and target in ids
    ]
    days = [
        (target, part.day * DAY_MS) for part in parts for target, views, _, _ in part.days if views and target in ids
    ]
    first_hour = dict(sorted(hours, reverse=True))
    first_day = dict(sorted(days, reverse=True))
    first_views = []
    for row in site_rows:
        times = [time for time in (row["first_view_at"], first_hour.get(row["id"])) if time is not None]
        day_at = first_day.get(row["id"])
        if day_at is not None and all(day_at + DAY_MS <= time for time in times):
            times.append(day_at)
        first = max(min(times), row["created_at"]) if times else None
        if first not in (None, row["first_view_at"]):
            first_views.append((row["id"], first))
    return first_views


# (target id, start of the hour (epoch ms) or epoch day, views, bots, visitors, as_of, final)
_TotalRow = tuple[str, int, int, int, int, int, int]


def _newest(rows: list[_TotalRow]) -> list[_TotalRow]:
    """Return the newest row for each target and time (see `_upsert`), sorted so that pushes cannot deadlock."""
    newest: dict[tuple[str, int], _TotalRow] = {}
    for row in rows:
        other = newest.setdefault(row[:2], row)
        if other is not row and (row[5:], row[2:5]) > (other[5:], other[2:5]):
            newest[row[:2]] = row
    return sorted(newest.values())


def refusal(part: PushedPart, now: int) -> Refusal | None:
    """Return the reason why a part can never be accepted; None if it can be accepted. No I/O."""
    first, end = part.day * DAY_MS, (part.day + 1) * DAY_MS
    if not first <= part.as_of <= end:
        return "invalid"
    if any(not first <= hour.at <= part.as_of - HOUR_MS or hour.at % HOUR_MS for hour in part.hours):
        return "invalid"
    # The Worker's write budget can refuse to count events in the current hour, so refused hours may not have ended yet.
    if any(not first <= at < end or at % HOUR_MS for at in part.refused_hours):
        return "invalid"
    if part.day < day_of(now) - OLDEST_DAYS:
        return "too_old"
    return None


def is_early(part: PushedPart, now: int) -> bool:
    """Return True if a part is in the future because the clock of the service or of the Worker is wrong. No I/O."""
    return max(part.as_of, *part.refused_hours, 0) > now + EARLY_MS


def is_settled(part: PushedPart, now: int) -> bool:
    """Return True if a part is accepted or refused now, which means that the Worker deletes it from its queue.

    No I/O.
    """
    return refusal(part, now) is not None or not is_early(part, now)


def hour_counts(target: str, from_ms: int, to_ms: int) -> Tx[list[tuple[int, Counts]]]:
    """Return the target's counts for the hours that begin in [from_ms, to_ms), in order. Missing hours had no views."""
    rows = yield sql(
        "select at, views, bots, visitors from hours where target = $1 and at >= $2 and at < $3 order by at",
        target,
        from_ms,
        to_ms,
    )
    return [(row["at"], Counts(row["views"], row["bots"], row["visitors"])) for row in rows]


def day_counts(target: str, from_day: int, to_day: int) -> Tx[dict[int, tuple[Counts, int, bool]]]:
    """Return the target's stored days in [from_day, to_day] as day → (counts, `as_of`, True if the day is final).

    A missing day had no views if the account's Worker has sent the totals of that day (see `final_days`,
    `pushed_as_of`).
    """
    rows = yield sql(
        "select day, views, bots, visitors, as_of, final from days where target = $1 and day >= $2 and day <= $3",
        target,
        from_day,
        to_day,
    )
    return {
        row["day"]: (Counts(row["views"], row["bots"], row["visitors"]), row["as_of"], row["final"] == 1)
        for row in rows
    }


def imported_days(target: str, from_day: int, to_day: int) -> Tx[dict[int, bool]]:
    """Return the target's days in [from_day, to_day] with imported counts. True means that the counts are estimates."""
    rows = yield sql(
        "select day, estimated from days where target = $1 and day >= $2 and day <= $3 and imported = 1",
        target,
        from_day,
        to_day,
    )
    return {row["day"]: row["estimated"] == 1 for row in rows}


def first_day(target: str) -> Tx[int | None]:
    """Return the first day with counts for the target, including imported counts; None if there are no counts."""
    rows = yield sql("select min(day) as day from days where target = $1", target)
    day: int | None = rows[0]["day"]
    return day


def final_days(account_id: str, from_day: int, to_day: int) -> Tx[set[int]]:
    """Return the days in [from_day, to_day] for which the account's Worker has sent the final totals of all targets."""
    rows = yield sql(
        "select day from final_days where account_id = $1 and day >= $2 and day <= $3", account_id, from_day, to_day
    )
    return {row["day"] for row in rows}


def pushed_as_of(account_id: str) -> Tx[int | None]:
    """Return the end of the last closed hour that the account's Worker has sent; None before its first push."""
    rows = yield sql("select as_of from pushed where account_id = $1", account_id)
    return rows[0]["as_of"] if rows else None


def oldest_push(account_ids: Sequence[str]) -> Tx[int | None]:
    """Return the earliest `pushed_as_of` of these accounts.

    Accounts that never pushed are ignored; None if none has pushed.
    """
    if not account_ids:
        return None
    rows = yield sql(
        f"select min(as_of) as as_of from pushed where account_id in ({placeholders(len(account_ids))})",  # noqa: S608  # placeholders only
        *account_ids,
    )
    as_of: int | None = rows[0]["as_of"]
    return as_of


def all_pushed_as_of(account_ids: Sequence[str]) -> Tx[int | None]:
    """Return the earliest `pushed_as_of` of these accounts; None if one of them never pushed."""
    rows = yield sql(
        f"select count(*) as n, min(as_of) as as_of from pushed where account_id in ({placeholders(len(account_ids))})",  # noqa: S608  # placeholders only
        *account_ids,
    )
    return rows[0]["as_of"] if rows[0]["n"] == len(account_ids) else None


def refused_hours(account_id: str, from_ms: int, to_ms: int) -> Tx[list[int]]:
    """Return the hours in [from_ms, to_ms), in order, for which the Worker's write budget refused events."""
    rows = yield sql(
        "select at from refused_hours where account_id = $1 and at >= $2 and at < $3 order by at",
        account_id,
        from_ms,
        to_ms,
    )
    return [row["at"] for row in rows]


def _owners(named: set[str]) -> Tx[tuple[dict[str, str], list[Row]]]:
    """Return the account id of each existing target in `named`, and the database rows of the sites among them.

    Deleted targets are included, because their last totals may arrive late.
    """
    site_ids = tuple(sorted(target for target in named if target.startswith("site_")))
    link_ids = tuple(sorted(target for target in named if target.startswith("lnk_")))
    link_rows: list[Row] = []
    site_rows: list[Row] = []
    if link_ids:
        link_rows = yield sql("select id, account_id from links where id = any($1)", link_ids)
    if site_ids:
        site_rows = yield sql(
            "select id, account_id, created_at, first_view_at from sites where id = any($1)", site_ids
        )
    return {row["id"]: row["account_id"] for row in (*link_rows, *site_rows)}, site_rows
