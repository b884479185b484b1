"""Transactions on totals: what the workers push, and what reports read.

Every number of a push is absolute for its target and hour, or target and day, as of a moment. A row takes the place
of the stored one unless that is newer; of two with the same moment the final one, then the larger one is the newer,
because counters only grow. So pushes may come in any order and any number of times: the outcome is the same
(rule W3).

A day that was imported from another product has as_of 0, so what a worker pushes always takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import Counts
from svc.store.tx import Tx, many, sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.store.tx import Row
    from svc.worker.pushed import PushedPart

# The worker keeps a part for 35 days; with its clock and ours apart, and a day for the last push under way.
OLDEST_DAYS = 37

# A part that reaches further beyond our clock than this waits in the worker's queue until our clock agrees.
EARLY_MS = 5 * 60_000

Refusal = Literal["too_old", "invalid"]


@dataclass(frozen=True)
class Ingested:
    """What became of a push. A part that is neither accepted nor refused is early: the worker sends it again."""

    accepted: tuple[int, ...]
    refused: tuple[tuple[int, Refusal], ...]
    unknown_targets: tuple[str, ...]


def _upsert(table: Literal["hours", "days"], key: Literal["at", "day"]) -> str:
    """A row takes the place of an older one: a larger (as_of, final, views, bots, visitors) is the newer."""
    mark = ", imported = 0" if table == "days" else ""
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
    """Take in the parts of a push; see `ingest_all`."""
    [ingested] = yield from ingest_all([(account_id, parts)], now)
    return ingested


def ingest_all(pushes: Sequence[tuple[str, Sequence[PushedPart]]], now: int) -> Tx[list[Ingested]]:
    """Take in pushes, each an account's id and its parts, with as many statements as one takes.

    A part is refused as `invalid` when its hours lie outside its day or are not over at its as_of, as `too_old` when no
    report could show it; one that is early is left to the worker. Rows of targets that are not the account's are left
    out and named. The accounts are there: the transaction has locked them (`accounts.record_pushes`), or nobody else
    can remove them.
    """
    sorted_out = [(account_id, *_sorted_out(parts, now)) for account_id, parts in pushes]
    named = [_named(good) for _, good, _ in sorted_out]
    owners, site_rows = yield from _owners(set().union(*named))
    hours: list[_TotalRow] = []
    days: list[_TotalRow] = []
    for account_id, good, _ in sorted_out:
        for part in good:
            kept = part.as_of, int(part.final)
            for hour in part.hours:
                hours += [(row[0], hour.at, *row[1:], *kept) for row in hour.rows if owners.get(row[0]) == account_id]
            days += [(row[0], part.day, *row[1:], *kept) for row in part.days if owners.get(row[0]) == account_id]
    good_of: dict[str, list[PushedPart]] = {}
    for account_id, good, _ in sorted_out:
        if good:
            good_of.setdefault(account_id, []).extend(good)
    yield from _store(good_of, hours, days)
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
        for (account_id, good, refused), names in zip(sorted_out, named, strict=True)
    ]


def _sorted_out(parts: Sequence[PushedPart], now: int) -> tuple[list[PushedPart], list[tuple[int, Refusal]]]:
    """The parts that are taken, and those that are refused."""
    good: list[PushedPart] = []
    refused: list[tuple[int, Refusal]] = []
    for part in parts:
        why = refusal(part, now)
        if why is not None:
            refused.append((part.id, why))
        elif not is_early(part, now):
            good.append(part)
    return good, refused


def _named(parts: Sequence[PushedPart]) -> set[str]:
    return {row[0] for part in parts for rows in (part.days, *(hour.rows for hour in part.hours)) for row in rows}


def _store(parts_of: Mapping[str, Sequence[PushedPart]], hours: list[_TotalRow], days: list[_TotalRow]) -> Tx[None]:
    """Store the rows, and of the parts, by account, which hours were refused and how far they reach."""
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
    """For each site its first view, where these parts tell of an earlier one than is known.

    That is the begin of the first hour with views, or the making of the site in that hour. Of a day that comes without
    its hours it is the begin of the day.
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
    found = []
    for row in site_rows:
        times = [time for time in (row["first_view_at"], first_hour.get(row["id"])) if time is not None]
        day_at = first_day.get(row["id"])
        if day_at is not None and all(day_at + DAY_MS <= time for time in times):
            times.append(day_at)
        first = max(min(times), row["created_at"]) if times else None
        if first not in (None, row["first_view_at"]):
            found.append((row["id"], first))
    return found


# target, hour's start or day, views, bots, visitors, as_of, final
_TotalRow = tuple[str, int, int, int, int, int, int]


def _newest(rows: list[_TotalRow]) -> list[_TotalRow]:
    """Of each target and time the newest row (see `_upsert`); sorted, so that two pushes at once lock in one order."""
    newest: dict[tuple[str, int], _TotalRow] = {}
    for row in rows:
        other = newest.setdefault(row[:2], row)
        if other is not row and (row[5:], row[2:5]) > (other[5:], other[2:5]):
            newest[row[:2]] = row
    return sorted(newest.values())


def refusal(part: PushedPart, now: int) -> Refusal | None:
    """Why a part cannot be taken, now or later; None when it can. Pure."""
    first, end = part.day * DAY_MS, (part.day + 1) * DAY_MS
    if not first <= part.as_of <= end:
        return "invalid"
    if any(not first <= hour.at <= part.as_of - HOUR_MS or hour.at % HOUR_MS for hour in part.hours):
        return "invalid"
    # The write budget refuses an hour's points while the hour is still running.
    if any(not first <= at < end or at % HOUR_MS for at in part.refused_hours):
        return "invalid"
    if part.day < day_of(now) - OLDEST_DAYS:
        return "too_old"
    return None


def is_early(part: PushedPart, now: int) -> bool:
    """Whether a part tells of a time that has not come by our clock: ours, or the worker's, is wrong. Pure."""
    return max(part.as_of, *part.refused_hours, 0) > now + EARLY_MS


def is_settled(part: PushedPart, now: int) -> bool:
    """Whether a part is taken or refused now, and so leaves the worker's outbox. Pure."""
    return refusal(part, now) is not None or not is_early(part, now)


def hour_counts(target: str, from_ms: int, to_ms: int) -> Tx[list[tuple[int, Counts]]]:
    """The target's hours that begin in [from_ms, to_ms), in order; an hour without a row had no views."""
    rows = yield sql(
        "select at, views, bots, visitors from hours where target = $1 and at >= $2 and at < $3 order by at",
        target,
        from_ms,
        to_ms,
    )
    return [(row["at"], Counts(row["views"], row["bots"], row["visitors"])) for row in rows]


def day_counts(target: str, from_day: int, to_day: int) -> Tx[dict[int, tuple[Counts, int, bool]]]:
    """The target's days in [from_day, to_day]: the counts, up to when, and whether they are the whole day's.

    A day without a row had no views, if the account's worker has sent that day (`final_days`, `pushed_as_of`).
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


def final_days(account_id: str, from_day: int, to_day: int) -> Tx[set[int]]:
    """The days in [from_day, to_day] of which the account's worker has sent everything, for all its targets."""
    rows = yield sql(
        "select day from final_days where account_id = $1 and day >= $2 and day <= $3", account_id, from_day, to_day
    )
    return {row["day"] for row in rows}


def pushed_as_of(account_id: str) -> Tx[int | None]:
    """The end of the latest closed hour that the account's worker has sent; None before the first."""
    rows = yield sql("select as_of from pushed where account_id = $1", account_id)
    return rows[0]["as_of"] if rows else None


def refused_hours(account_id: str, from_ms: int, to_ms: int) -> Tx[list[int]]:
    """The hours that begin in [from_ms, to_ms) whose points the worker's write budget refused, in order."""
    rows = yield sql(
        "select at from refused_hours where account_id = $1 and at >= $2 and at < $3 order by at",
        account_id,
        from_ms,
        to_ms,
    )
    return [row["at"] for row in rows]


def _owners(named: set[str]) -> Tx[tuple[dict[str, str], list[Row]]]:
    """Of each of `named` that there is the account, and of the sites among them when each was made and first seen.

    Deleted ones are included: their last totals still come.
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
