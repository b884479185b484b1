"""The final counts in a Worker's database. A disconnect reads them before it deletes the database. No I/O.

Closed days, to which the Worker adds no more events, have `day` rows. Open days have `hour` rows. The Worker folds
events, which means that it adds them to these rows. This module adds up the events that are not folded yet, by the
Worker's rules (edge_worker/src/fold.js). Unique visitors are counted in the database, because it contains their hashes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.clock import DAY_MS, HOUR_MS
from svc.model import OUTSIDE_REASONS
from svc.worker.event_lines import read_events
from svc.worker.rows import Row, Statement, integer
from svc.worker.stored_totals import OPEN_HOURS, OPEN_VISITORS, TargetCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The number of event rows per call. A row can have 260 kB, and the client accepts responses of up to 16 MB.
_EVENTS_A_CALL = 32
# The number of visitor hashes per call. This many hashes take 220 kB, far below D1's limit of 2 MB per parameter.
_HASHES_A_CALL = 20_000
_WHOLE_DAY = -1

_PAGES = f"select id, lines from event_page where id > cast(?1 as integer) order by id limit {_EVENTS_A_CALL}"  # noqa: S608  # a number
_LOG = f"select id, lines from event_log where id > cast(?1 as integer) order by id limit {_EVENTS_A_CALL}"  # noqa: S608  # a number
_HOURS = (
    f"{OPEN_HOURS} and (target, day, hour) > (?2, cast(?3 as integer), cast(?4 as integer))"
    " order by target, day, hour limit 2000"
)
_DAY_VISITORS = (
    f"{OPEN_VISITORS} and (target, day) > (?2, cast(?3 as integer))"
    " group by target, day order by target, day limit 2000"
)
# Hour -1 means the whole day. The query combines the two lists of hashes in a JSON array, because the firewall of
# Cloudflare's API blocks `union` as an attack.
_UNIQUE_VISITORS = (
    "select e.value ->> 0 as target, e.value ->> 1 as day, e.value ->> 2 as hour, (select count(distinct hash.value)"
    " from json_each(json_array(json_array(json(e.value -> '$[3]')), json((select json_group_array(json(h.visitors))"
    " from hour h where h.target = e.value ->> 0 and h.day = e.value ->> 1"
    " and e.value ->> 2 in (-1, h.hour))))) lists, json_each(lists.value) list, json_each(list.value) hash)"
    " as visitors from json_each(?1) e"
)


@dataclass
class Hour:
    """One target's counts for an hour, and the visitor hashes of events that are not folded yet."""

    views: int = 0
    bots: int = 0
    visitors: int = 0
    unfolded: set[str] = field(default_factory=set)


@dataclass
class OpenCounts:
    """The counts for days that the Worker has not closed. `closed_day` is the last closed day."""

    closed_day: int
    hours: dict[tuple[str, int], Hour] = field(default_factory=dict)  # by target and epoch hour
    day_visitors: dict[tuple[str, int], int] = field(default_factory=dict)  # by target and day

    def add_lines(self, texts: Iterable[str]) -> None:
        """Add the `lines` of event rows.

        As in the Worker, events of closed days and clicks outside of a link's period are ignored.

        Raises ValueError if the text is malformed.
        """
        for text in texts:
            for target, epoch_hour, reason, visitor, *_ in read_events(text):
                if epoch_hour // 24 <= self.closed_day or reason in OUTSIDE_REASONS:
                    continue
                hour = self.hours.setdefault((target, epoch_hour), Hour())
                if reason:
                    hour.bots += 1
                else:
                    hour.views += 1
                    hour.unfolded.add(visitor)

    def add_hours(self, rows: Sequence[Row]) -> None:
        """Add the result rows of `hours_statement`."""
        for row in rows:
            key = str(row["target"]), integer(row["day"]) * 24 + integer(row["hour"])
            hour = self.hours.setdefault(key, Hour())
            hour.views += integer(row["views"])
            hour.bots += integer(row["bots"])
            hour.visitors = integer(row["visitors"])

    def add_day_visitors(self, rows: Sequence[Row]) -> None:
        """Add the result rows of `day_visitors_statement`."""
        self.day_visitors.update({(str(row["target"]), integer(row["day"])): integer(row["visitors"]) for row in rows})

    def add_visitors(self, rows: Sequence[Row]) -> None:
        """Replace the visitor counts with the result rows of `visitor_statements`."""
        for row in rows:
            target, day, hour = str(row["target"]), integer(row["day"]), integer(row["hour"])
            if hour == _WHOLE_DAY:
                self.day_visitors[target, day] = integer(row["visitors"])
            else:
                self.hours[target, day * 24 + hour].visitors = integer(row["visitors"])

    def visitor_statements(self) -> Iterator[Statement]:
        """Yield statements that count the unique visitors of each hour and day with events that are not folded yet.

        The counts include the visitors of folded events.
        """
        by_day: dict[tuple[str, int], set[str]] = {}
        items: list[list[object]] = []
        for (target, epoch_hour), hour in self.hours.items():
            if hour.unfolded:
                by_day.setdefault((target, epoch_hour // 24), set()).update(hour.unfolded)
                items.append([target, epoch_hour // 24, epoch_hour % 24, sorted(hour.unfolded)])
        items += [[target, day, _WHOLE_DAY, sorted(hashes)] for (target, day), hashes in by_day.items()]
        waiting: list[list[object]] = []
        hashes = 0
        for item in items:
            count = len(item[3])  # type: ignore[arg-type]  # the list of hashes
            if waiting and hashes + count > _HASHES_A_CALL:
                yield _UNIQUE_VISITORS, [json.dumps(waiting)]
                waiting, hashes = [], 0
            waiting.append(item)
            hashes += count
        if waiting:
            yield _UNIQUE_VISITORS, [json.dumps(waiting)]

    def hour_counts(self) -> list[TargetCounts]:
        """Return the counts for each hour of the open days."""
        return [
            TargetCounts(target, at // 24, hour.views, hour.bots, hour.visitors, at * HOUR_MS)
            for (target, at), hour in self.hours.items()
        ]

    def day_counts(self) -> list[TargetCounts]:
        """Return the counts for each open day."""
        views: dict[tuple[str, int], int] = {}
        bots: dict[tuple[str, int], int] = {}
        for (target, at), hour in self.hours.items():
            key = target, at // 24
            views[key] = views.get(key, 0) + hour.views
            bots[key] = bots.get(key, 0) + hour.bots
        return [
            TargetCounts(target, day, n, bots[target, day], self.day_visitors.get((target, day), 0))
            for (target, day), n in views.items()
        ]


def events_statement(table: str, after_id: int) -> Statement:
    """Return the statement that reads the next rows after `after_id`. `table` is `event_log` or `event_page`."""
    return (_LOG if table == "event_log" else _PAGES), [str(after_id)]


def hours_statement(closed_day: int, after: Row | None) -> Statement:
    """Return the statement that reads the next hours of open days after the row `after`."""
    if after is None:
        return _HOURS, [str(closed_day), "", "-1", "-1"]
    return _HOURS, [str(closed_day), str(after["target"]), str(after["day"]), str(after["hour"])]


def day_visitors_statement(closed_day: int, after: Row | None) -> Statement:
    """Return the statement that reads the visitors of the next open days after the row `after`."""
    if after is None:
        return _DAY_VISITORS, [str(closed_day), "", "-1"]
    return _DAY_VISITORS, [str(closed_day), str(after["target"]), str(after["day"])]


def end_of_counting(open_counts: OpenCounts, day: int, now: int) -> int:
    """Return the time up to which an open day's counts are complete (epoch ms) when the Worker is deleted.

    This is the end of the current hour, or the end of the last hour with counts if that is later. It is never after the
    end of the day.
    """
    end = (day + 1) * DAY_MS
    if now >= end:
        return end
    latest = max((at for (_, at) in open_counts.hours if at // 24 == day), default=day * 24)
    return min(end, max(now // HOUR_MS, latest) * HOUR_MS + HOUR_MS)
