"""The current counts for one site or link (a target) in the Worker's database. No I/O.

The Worker folds events: it adds them to the rows of the tables `day` and `hour`. Events that are not folded yet are in
the tables `event_log` and `event_page`. The service reads all of these rows in one batch. This module adds them up by
the Worker's rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter

from svc.clock import DAY_MS, HOUR_MS, LAST_DAY, day_of
from svc.model import DIMENSIONS, OUTSIDE_REASONS, Counts, Dimension, VisitList
from svc.worker import known_sources
from svc.worker.breakdowns import LINK_LISTS, SITE_LISTS, VISIT_LISTS, CappedCounts, event_keys
from svc.worker.event_lines import read_events_of
from svc.worker.months import MonthState, MonthSums, month_statement, sum_months, whole_months

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from svc.worker.breakdowns import Cap
    from svc.worker.ledger import TargetDay
    from svc.worker.months import Month
    from svc.worker.rows import Row, Statement

# Two separate statements read the events, because the firewall of Cloudflare's API blocks `union` as an attack.
_PAGES_OF = "select lines from event_page where instr(lines, ?1) > 0"
_LOG_OF = "select lines from event_log where instr(lines, ?1) > 0"
# The maximum number of entries per breakdown in a report.
MAX_TOP = 100
_HASHES = TypeAdapter(list[str])


@dataclass(frozen=True)
class TargetDays:
    """The target and the days to read: the id of a site or link, and an inclusive range of day numbers.

    `listed_from`: the first day of the breakdowns. None means `first_day`. `has_months`: True if the database has the
    table of months.
    """

    target_id: str
    first_day: int
    last_day: int
    listed_from: int | None = None
    has_months: bool = False

    @property
    def months(self) -> list[Month]:
        """The months whose rows are read. The requested breakdowns must cover all days of such a month."""
        first = self.first_day if self.listed_from is None else self.listed_from
        return whole_months(first, self.last_day) if self.has_months else []


class Rows(NamedTuple):
    """The result rows of `read_statements`, in the order of the statements."""

    days: Sequence[Row]
    hours: Sequence[Row]  # only hours of open days, because the Worker deletes the hours of closed days
    pages: Sequence[Row]  # also contains lines for other targets and days
    log: Sequence[Row]  # like `pages`, but not sorted yet
    states: Sequence[Row]
    months: Sequence[Row] = ()  # only if whole months are read


@dataclass(frozen=True)
class DayStatement:
    """A target's statement of counts for a day (day number).

    `closed`: True if the Worker will not add more events to the day.
    """

    day: int
    closed: bool
    counts: TargetDay


@dataclass(frozen=True)
class Live:
    """The counts at the time `at` (epoch ms).

    `days`: by day number. `hours`: today's hours, by start time (epoch ms).

    `breakdowns`: sums over `months` and over all days that were read, starting at `kept_from`. A breakdown is missing
    if the target or the Worker's version does not have it. `kept_from`: the first day (day number) after the days that
    the Worker has deleted because of their age, or 0 if it has deleted none. Counts that are missing for earlier days
    are unknown, not 0. `channels`: the breakdown of the sources by channel (`known_sources.py`).

    `statement`: the statement of counts for the last day. None if it was not read, its numbers are unknown, or the
    service's store was too busy.
    `visit_lists`: those of the target's breakdowns that older Workers do not count. `unlisted_days`: the day numbers
    that an older Worker counted without these breakdowns. `months`: the first and the last day of each whole month that
    is imported, or that the Worker has added up. A month's breakdowns are included even if some of its days are
    deleted. `imported_months`: the same for imported months only.
    """

    at: int
    days: Mapping[int, Counts]
    hours: Mapping[int, Counts]
    breakdowns: Mapping[Dimension, Mapping[str, int]]
    kept_from: int = 0
    statement: DayStatement | None = None
    channels: Mapping[str, int] = field(default_factory=dict)
    visit_lists: tuple[VisitList, ...] = ()
    unlisted_days: Set[int] = frozenset()
    months: tuple[tuple[int, int], ...] = ()
    imported_months: tuple[tuple[int, int], ...] = ()

    @property
    def listed_from(self) -> int:
        """The first day that the breakdowns can contain."""
        return min([self.kept_from, *(first for first, _ in self.months)])

    def with_tops(self) -> Live:
        """Return a copy in which each breakdown has only its `MAX_TOP` largest keys."""
        return replace(self, breakdowns={name: top(counts, MAX_TOP) for name, counts in self.breakdowns.items()})


def top(tally: Mapping[str, int], limit: int) -> dict[str, int]:
    """Return the `limit` largest entries in descending order. Entries with equal counts are ordered by key."""
    return dict(sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))[:limit])


class _Day(BaseModel):
    views: int = 0
    visitors: int = 0
    pages: dict[str, int] = {}
    sources: dict[str, int] = {}
    countries: dict[str, int] = {}
    devices: dict[str, int] = {}
    browsers: dict[str, int] = {}
    os: dict[str, int] = {}
    bots: dict[str, int] = {}
    campaigns: dict[str, int] = {}
    entries: dict[str, int] | None = None  # None if an older Worker counted the day
    arrivals: dict[str, int] = {}
    targets: dict[str, int] = {}
    outside: dict[str, int] = {}


class _State(BaseModel):
    """The Worker's state: the last closed day, and the first day that retention has not deleted.

    `kept_from` is 0 if no day was deleted, or if the Worker's version does not report this day. `visit_lists` is true
    if the Worker counts `VISIT_LISTS`.
    """

    day: int = -1
    kept_from: Annotated[int, Field(ge=0, le=LAST_DAY)] = 0
    visit_lists: bool = False
    months: MonthState | None = None

    @property
    def is_older(self) -> bool:
        """True if the Worker has run, but does not count `VISIT_LISTS`."""
        return self.day >= 0 and not self.visit_lists


@dataclass
class _Tally:
    today: int
    caps: Mapping[Dimension, Cap]
    is_older: bool  # True if the Worker does not count `VISIT_LISTS`
    days: dict[int, Counts] = field(default_factory=dict)
    hours: dict[int, Counts] = field(default_factory=dict)
    keys: dict[tuple[int, Dimension], CappedCounts] = field(default_factory=dict)
    unlisted_days: set[int] = field(default_factory=set)
    day_seen: dict[int, set[str]] = field(default_factory=dict)
    hour_seen: dict[int, set[str]] = field(default_factory=dict)

    def add_day(self, row: Row) -> None:
        """Add the folded counts of a day."""
        stored = _Day.model_validate_json(str(row["totals"]))
        day = int(str(row["day"]))
        self.days[day] = Counts(stored.views, sum(stored.bots.values()), stored.visitors)
        if stored.entries is None:
            self.unlisted_days.add(day)
        for dimension in DIMENSIONS:
            counts = dict(getattr(stored, dimension) or {})
            self.keys[day, dimension] = CappedCounts(self.caps[dimension], counts)

    def add_hour(self, row: Row) -> None:
        """Add the folded counts of an hour on an open day.

        The views and bots of this hour are already included in the day's counts.
        """
        day, hour = int(str(row["day"])), int(str(row["hour"]))
        hour_at = day * DAY_MS + hour * HOUR_MS
        seen = set(_HASHES.validate_json(str(row["visitors"]))) if row["visitors"] else set()
        self.day_seen.setdefault(day, set()).update(seen)
        self.hour_seen[hour_at] = seen
        if day == self.today:
            self.hours[hour_at] = Counts(int(str(row["views"])), int(str(row["bots"])), len(seen))

    def count_visitors(self) -> None:
        """Count the visitors of open days, which the Worker counts only when it closes a day."""
        for day, visitors in self.day_seen.items():
            self.days[day] = replace(self.days.get(day, Counts()), visitors=len(visitors))

    def add_event(self, hour: int, reason: str, visitor: str, detail: Sequence[str]) -> None:
        """Add an event that is not folded yet. `hour` is the number of hours since 1970."""
        day, hour_at = hour // 24, hour * HOUR_MS
        if self.is_older:
            self.unlisted_days.add(day)
        if reason in OUTSIDE_REASONS:
            self.count_key(day, "outside", reason)
            self.days.setdefault(day, Counts())
            return
        if reason:
            of_day = of_hour = Counts(bots=1)
            self.count_key(day, "bots", reason)
        else:
            of_day = Counts(1, 0, _first_time(self.day_seen.setdefault(day, set()), visitor))
            of_hour = Counts(1, 0, _first_time(self.hour_seen.setdefault(hour_at, set()), visitor))
            for dimension, key in event_keys(detail):
                if day not in self.unlisted_days or dimension not in VISIT_LISTS:
                    self.count_key(day, dimension, key)
        self.days[day] = self.days.get(day, Counts()) + of_day
        if day == self.today:
            self.hours[hour_at] = self.hours.get(hour_at, Counts()) + of_hour

    def count_key(self, day: int, dimension: Dimension, key: str) -> None:
        """Add 1 to a day's count for a key, within the Worker's limits."""
        counts = self.keys.get((day, dimension))
        if counts is None:
            counts = self.keys[day, dimension] = CappedCounts(self.caps[dimension])
        counts.add(key)

    def breakdowns(
        self, first_day: int, lists: Sequence[VisitList], months: MonthSums
    ) -> dict[Dimension, dict[str, int]]:
        """Return the sum of each breakdown over all months, and over the days from `first_day` on that are in no month.

        `lists`: the breakdowns that the target can have. A breakdown is missing from the result if an older Worker
        without this breakdown counted all of the days. `outside` is missing if no click was outside of the link's
        period.
        """
        days = {day for day in self.days if day >= first_day and not months.has(day)}
        is_listed = months.has_visit_lists or bool(days - self.unlisted_days)
        is_empty = not days and not months.lists
        names = [name for name in DIMENSIONS if name not in VISIT_LISTS or (name in lists and (is_listed or is_empty))]
        summed: dict[Dimension, dict[str, int]] = {name: dict(months.lists.get(name, {})) for name in names}
        for (day, dimension), capped in self.keys.items():
            if day not in days or dimension not in summed:
                continue
            of_all = summed[dimension]
            for key, n in capped.counts.items():
                of_all[key] = of_all.get(key, 0) + n
        return {name: counts for name, counts in summed.items() if counts or name != "outside"}


def read_statements(asked: TargetDays) -> list[Statement]:
    """Return the batch of statements with parameters. The results are the fields of `Rows`, in the same order."""
    days = [asked.target_id, str(asked.first_day), str(asked.last_day)]
    between = "target = ?1 and day between cast(?2 as integer) and cast(?3 as integer)"
    months = asked.months
    return [
        (f"select day, totals from day where {between}", days),  # noqa: S608  # constant text
        (f"select day, hour, views, bots, visitors from hour where {between}", days),  # noqa: S608  # constant text
        (_PAGES_OF, [asked.target_id]),
        (_LOG_OF, [asked.target_id]),
        ("select value from meta where key = 'state'", []),
        *([month_statement(asked.target_id, months)] if months else []),
    ]


def add_up(rows: Rows, asked: TargetDays, caps: Mapping[Dimension, Cap], now: int) -> Live:
    """Add up the rows that were read at `now` (epoch ms). `caps`: the limits of each breakdown.

    Raises ValueError, KeyError or TypeError if a row is malformed.
    """
    states = [_State.model_validate_json(str(row["value"])) for row in rows.states]
    tally = _Tally(day_of(now), caps, is_older=any(state.is_older for state in states))
    closed_day = max((state.day for state in states), default=-1)
    kept_from = max((state.kept_from for state in states), default=0)
    if kept_from > max(0, closed_day):
        raise ValueError("the state names deleted days that are not closed")
    for row in rows.days:
        tally.add_day(row)
    for row in rows.hours:
        tally.add_hour(row)
    tally.count_visitors()
    for row in (*rows.pages, *rows.log):
        for _, hour, reason, visitor, *detail in read_events_of(row["lines"], asked.target_id):
            # Drop events that arrived after their day was closed, as the Worker does.
            if asked.first_day <= hour // 24 <= asked.last_day and hour // 24 > closed_day:
                tally.add_event(hour, reason, visitor, detail)
    # Cloudflare does not document that batches are atomic. A cron run may therefore have deleted days between the read
    # of these days and that of the state, which is last. The counts for the deleted days are correct, but the
    # breakdowns omit these days.
    listed_from = asked.first_day if asked.listed_from is None else asked.listed_from
    first_listed = max(kept_from, listed_from)
    of_link = asked.target_id.startswith("lnk_")
    lists = LINK_LISTS if of_link else SITE_LISTS
    state = max(states, key=lambda state: state.day, default=_State())
    months = sum_months(rows.months, asked.months, state.months, kept_from)
    breakdowns = tally.breakdowns(first_listed, lists, months)
    channels = known_sources.channels(breakdowns["sources"], of_link=of_link)
    unlisted = frozenset(day for day in tally.unlisted_days if day >= first_listed and not months.has(day))
    live = Live(
        now,
        tally.days,
        tally.hours,
        breakdowns,
        kept_from,
        channels=channels,
        visit_lists=lists,
        unlisted_days=unlisted | months.unlisted_days,
        months=tuple(months.covered),
        imported_months=tuple(months.imported),
    )
    counts = [
        count
        for each in (*live.days.values(), *live.hours.values())
        for count in (each.views, each.bots, each.visitors)
    ]
    if min((*counts, *(n for keys in live.breakdowns.values() for n in keys.values())), default=0) < 0:
        raise ValueError("a count is negative")
    return live


def _first_time(seen: set[str], visitor: str) -> int:
    if not visitor or visitor in seen:
        return 0
    seen.add(visitor)
    return 1
