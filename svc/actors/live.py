"""Reading an account's own database for a report: one call, the newest there is, kept for a few minutes.

The worker folds its events into `day` and `hour` rows; what is not folded yet lies in `event_log` and `event_page`
rows. All are read in one batch, which is one instant, and added up here by the worker's rules; see
docs/worker-database.md.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import trio
from pydantic import BaseModel, TypeAdapter, ValidationError

from svc.actors import health
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.edge import d1
from svc.errors import EdgeError, ServiceError
from svc.limits import SlidingLimit
from svc.model import DIMENSIONS, SERVING, Counts, Dimension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.actors.context import Context
    from svc.model import Account

Reason = Literal["not_installed", "cloudflare", "rate_limited"]

# 1,000 reports of some kB each: a few MB at the most.
_KEPT = 1_000


class LiveUnavailable(Exception):  # named for the caller's situation
    """The account's database cannot be read now; `reason` is the report's `unavailable`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True)
class Live:
    """What the database held at `at` (epoch ms): counts per day number, per hour of today (its start in epoch ms),
    and each breakdown over all days read."""

    at: int
    days: Mapping[int, Counts]
    hours: Mapping[int, Counts]
    breakdowns: Mapping[Dimension, Mapping[str, int]]


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


# A line of events: target, epoch hour, bot's reason, visitor's hash; then, of a person and unless the worker's write
# budget refused its detail, page, source and client, which is "country|device|browser|os".
_Event = tuple[str, int, str, str] | tuple[str, int, str, str, str, str, str]
_EVENTS: TypeAdapter[list[_Event]] = TypeAdapter(list[_Event])
_OF_PEOPLE: tuple[Dimension, ...] = ("pages", "sources", "countries", "devices", "browsers", "os")
_EVENTS_OF = """select lines from (select lines from event_page union all select lines from event_log)
    where instr(lines, ?1) > 0"""
# The key of what is beyond a breakdown's cap, which the first keys that come fill (docs/worker-database.md).
_OTHER = "(other)"
_HASHES = TypeAdapter(list[str])


class _State(BaseModel):
    """The worker's own account of its work; `day` is the last day that it has closed."""

    day: int = -1


@dataclass
class _Tally:
    caps: Mapping[Dimension, int]
    days: dict[int, Counts] = field(default_factory=dict)
    hours: dict[int, Counts] = field(default_factory=dict)
    keys: dict[tuple[int, Dimension], dict[str, int]] = field(default_factory=dict)
    day_seen: dict[int, set[str]] = field(default_factory=dict)
    hour_seen: dict[int, set[str]] = field(default_factory=dict)

    def add(self, day: int, dimension: Dimension, key: str) -> None:
        """Count one more under a key of a day, by the worker's caps."""
        counts = self.keys.setdefault((day, dimension), {})
        full = len(counts) - (_OTHER in counts) >= self.caps[dimension]
        name = _OTHER if key not in counts and full else key
        counts[name] = counts.get(name, 0) + 1

    def breakdowns(self) -> dict[Dimension, dict[str, int]]:
        """Each dimension over all days."""
        summed: dict[Dimension, dict[str, int]] = {name: {} for name in DIMENSIONS}
        for (_, dimension), counts in self.keys.items():
            of_all = summed[dimension]
            for key, n in counts.items():
                of_all[key] = of_all.get(key, 0) + n
        return summed


class LiveReads:
    """Reads of all accounts, each answer kept for report_cache_s."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._allowed = SlidingLimit(context.config.limits.report_reads_per_minute)  # for each user
        self._kept: OrderedDict[tuple[str, int, int], Live] = OrderedDict()

    async def read(self, user_id: int, account: Account, target_id: str, first_day: int, last_day: int) -> Live:
        """What the database holds of `target_id` from first_day to last_day (day numbers, both included).

        A kept answer spends nothing. Raises LiveUnavailable.
        """
        key = (target_id, first_day, last_day)
        now = self._context.clock()
        kept = self._kept.get(key)
        if kept is not None and now - kept.at < self._context.config.timing.report_cache_s * 1000:
            return kept
        if account.state not in SERVING or account.database_id is None or account.sealed_token is None:
            raise LiveUnavailable("not_installed")
        if not self._allowed.take(str(user_id), now).allowed:
            raise LiveUnavailable("rate_limited")
        try:
            with trio.fail_after(self._context.config.edge.report_read_s):
                async with health.refusals_noted(self._context, account):
                    results = await d1.query(
                        self._context.access(account), account.database_id, statements(target_id, first_day, last_day)
                    )
        except (EdgeError, trio.TooSlowError):
            raise LiveUnavailable("cloudflare") from None
        except ServiceError:  # the stored token cannot be opened
            raise LiveUnavailable("not_installed") from None
        try:
            rows = [result.rows for result in results]
            # In a thread: events that wait to be folded can be many, and the other requests go on meanwhile.
            caps = self._context.bundle.caps
            live = await trio.to_thread.run_sync(lambda: add_up(now, target_id, first_day, last_day, caps, *rows))
        except (ValidationError, ValueError, KeyError, TypeError):
            raise LiveUnavailable("cloudflare") from None  # somebody else wrote into that database
        self._keep(key, live)
        return live

    def _keep(self, key: tuple[str, int, int], live: Live) -> None:
        self._kept[key] = live
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def statements(target_id: str, first_day: int, last_day: int) -> list[tuple[str, list[str | int | None]]]:
    """The one batch of a read: day rows, the hours that still hold their visitors, the events not folded yet."""
    days: list[str | int | None] = [target_id, str(first_day), str(last_day)]
    between = "target = ?1 and day between cast(?2 as integer) and cast(?3 as integer)"
    return [
        (f"select day, totals from day where {between}", days),  # noqa: S608  # constant text
        (f"select day, hour, views, bots, visitors from hour where {between}", days),  # noqa: S608  # constant text
        (_EVENTS_OF, [target_id]),
        ("select value from meta where key = 'state'", []),
    ]


def add_up(
    at: int,
    target_id: str,
    first_day: int,
    last_day: int,
    caps: Mapping[Dimension, int],
    days: Sequence[Mapping[str, object]],
    hours: Sequence[Mapping[str, object]],
    events: Sequence[Mapping[str, object]],
    states: Sequence[Mapping[str, object]],
) -> Live:
    """The rows of one read as counts. Pure. Raises ValueError on rows that the worker did not write."""
    tally = _Tally(caps)
    today = day_of(at)
    closed_day = max((_State.model_validate_json(str(row["value"])).day for row in states), default=-1)
    for row in days:
        stored = _Day.model_validate_json(str(row["totals"]))
        day = int(str(row["day"]))
        tally.days[day] = Counts(stored.views, sum(stored.bots.values()), stored.visitors)
        for dimension in DIMENSIONS:
            tally.keys[day, dimension] = dict(getattr(stored, dimension))
    for row in hours:
        day, hour = int(str(row["day"])), int(str(row["hour"]))
        hour_at = day * DAY_MS + hour * HOUR_MS
        seen = set(_HASHES.validate_json(str(row["visitors"]))) if row["visitors"] else set()
        tally.day_seen.setdefault(day, set()).update(seen)
        tally.hour_seen[hour_at] = seen
        if day == today:
            tally.hours[hour_at] = Counts(int(str(row["views"])), int(str(row["bots"])), len(seen))
    for day, visitors in tally.day_seen.items():  # the worker counts them when it closes the day
        tally.days[day] = replace(tally.days.get(day, Counts()), visitors=len(visitors))
    for row in events:
        lines = json.loads("[" + str(row["lines"])[:-1].replace("\n", ",") + "]")
        # Of a hundred thousand lines most are often another target's.
        own = [line for line in lines if line[:1] == [target_id]]
        for _, hour, reason, visitor, *detail in _EVENTS.validate_python(own):
            day = hour // 24
            # What comes after its day was closed is dropped by the worker, too.
            if first_day <= day <= last_day and day > closed_day:
                _add_event(tally, hour, reason, visitor, detail, today)
    return Live(at, tally.days, tally.hours, tally.breakdowns())


def _add_event(tally: _Tally, hour: int, reason: str, visitor: str, detail: Sequence[str], today: int) -> None:
    day, hour_at = hour // 24, hour * HOUR_MS
    if reason:
        of_day = of_hour = Counts(bots=1)
        tally.add(day, "bots", reason)
    else:
        of_day = Counts(1, 0, _first_time(tally.day_seen.setdefault(day, set()), visitor))
        of_hour = Counts(1, 0, _first_time(tally.hour_seen.setdefault(hour_at, set()), visitor))
        for dimension, key in zip(_OF_PEOPLE, _keys_of(detail), strict=True):
            tally.add(day, dimension, key)
    tally.days[day] = tally.days.get(day, Counts()) + of_day
    if day == today:
        tally.hours[hour_at] = tally.hours.get(hour_at, Counts()) + of_hour


def _keys_of(detail: Sequence[str]) -> list[str]:
    """The keys of one event of a person, a dimension each; none came with it: the write budget refused them."""
    if not detail:
        return [_OTHER] * len(_OF_PEOPLE)
    page, source, client = detail
    return [page, source, *client.split("|")]


def _first_time(seen: set[str], visitor: str) -> int:
    if not visitor or visitor in seen:
        return 0
    seen.add(visitor)
    return 1
