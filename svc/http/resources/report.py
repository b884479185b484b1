"""Combines stored and live counts into the totals and points of a report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from svc.api import reports as api
from svc.api.ledger import DayStatement
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import DIMENSIONS, Counts
from svc.worker.breakdowns import COMMON_LISTS, arrival_of
from svc.worker.counts import top

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from svc.http.resources.spans import Span
    from svc.model import UnavailableReason
    from svc.worker.counts import Live


@dataclass(frozen=True)
class Stored:
    """The stored counts of a site or link on the days of a span.

    The counts by hour are included if the span is divided into hours.

    `sent_until`: the time up to which the account's Worker has pushed its counts (epoch ms). `sent_days`: the days for
    which the Worker has pushed all counts. `hours_refused`: True if the Worker omitted some of the hours.
    `refused_days`: the days on which it omitted hours. `imported_days`: the days with imported counts; the value is
    True if the counts are estimates.
    """

    days: Mapping[int, Counts]
    hours: Mapping[int, Counts]
    sent_until: int | None
    sent_days: Set[int]
    hours_refused: bool = False
    refused_days: Set[int] = frozenset()
    imported_days: Mapping[int, bool] = field(default_factory=dict)


Point = tuple[int, Counts]


class Compared(NamedTuple):
    """The days that a report is compared with, and their stored counts."""

    span: Span
    stored: Stored


class _Numbers(NamedTuple):
    days: Mapping[int, Counts]
    points: Sequence[Point]
    estimated: Set[int] = frozenset()  # the times of the points that contain estimates


def site_report(
    span: Span,
    stored: Stored,
    live: Live | None,
    unavailable: UnavailableReason | None,
    limit: int,
    compared: Compared | None = None,
) -> api.Report:
    """Return a site's report with totals from the store and breakdowns from `live` (rules R2, R3).

    `limit`: the maximum length of each breakdown.
    """
    report = _report(span, stored.sent_until, _stored_numbers(span, stored), live, unavailable, limit)
    numbers = None if compared is None else _stored_numbers(*compared)
    incomplete = stored.hours_refused or _lacks_hours(span, stored)
    return report.model_copy(update={"incomplete": incomplete, "comparison": _comparison(compared, numbers)})


def live_report(
    span: Span,
    stored: Stored,
    live: Live | None,
    *,
    breakdowns: bool,
    limit: int,
    unavailable: UnavailableReason | None,
    created_on: int = 0,
    compared: Compared | None = None,
) -> api.Report:
    """Return a report with complete days from the store and other days from `live`, if available (rules R4, R5).

    Links always get this report; sites get it on request. A day with unknown counts has no point, because zero would be
    wrong. `created_on`: the first day (epoch day) on which the site or link can have counts.
    """
    as_of = live.at if live is not None else None
    numbers = _live_numbers(span, stored, live, created_on)
    report = _report(span, as_of, numbers, live if breakdowns else None, unavailable, limit)
    earlier = None if compared is None else _live_numbers(*compared, live, created_on)
    incomplete = _lacks_hours(span, stored)
    return report.model_copy(update={"incomplete": incomplete, "comparison": _comparison(compared, earlier)})


def closed_link_report(
    span: Span, stored: Stored, unavailable: UnavailableReason | None, compared: Compared | None = None
) -> api.Report:
    """Return the report of a link whose account is disconnected and whose counts are all stored.

    The last read before the disconnect included all hours up to the disconnect, even those not yet pushed (rule R7).
    """
    return site_report(span, replace(stored, hours_refused=False), None, unavailable, 0, compared)


def with_missing_breakdowns(
    report: api.Report, span: Span, stored: Stored, live: Live | None, created_on: int
) -> api.Report:
    """Return the report with a list of the days that its breakdowns do not cover, and the reasons.

    `live`: None if the database could not be read (`report.unavailable`), or was not read because the Worker no longer
    has any of the days.
    """
    if live is None:
        missing = [_missing(span.first_day, span.last_day, report.unavailable or "not_kept")]
        return report.model_copy(update={"breakdowns_missing": tuple(missing)})
    imported = [day for day in span.days if day in stored.imported_days]
    # A month that the Worker has added up contains no breakdowns of imported days.
    without_lists = _gaps(imported[0], imported[-1], live.imported_months) if imported else ()
    missing = [_missing(*gap, "imported") for gap in without_lists]
    # On days before its creation, the site or link had no counts that could be missing.
    first = max(span.first_day, created_on, *(day + 1 for day in imported[-1:]))
    last = min(span.last_day, live.kept_from - 1)
    missing += [_missing(*gap, "not_kept") for gap in _gaps(first, last, live.months)]
    unlisted = sorted(day for day in live.unlisted_days if day in span.days)
    if unlisted:
        missing.append(_missing(unlisted[0], unlisted[-1], "not_counted", live.visit_lists))
    nothing_kept = live.kept_from > span.last_day and not live.months
    return report.model_copy(
        update={
            "breakdowns_missing": tuple(missing),
            **({"breakdowns": None, "breakdowns_from": None} if nothing_kept else {}),
        }
    )


def _gaps(first: int, last: int, months: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the first and last day of each gap: consecutive days from `first` to `last` that no month covers."""
    for begin, end in months:
        if first < begin <= last:
            yield first, begin - 1
        first = max(first, end + 1)
    if first <= last:
        yield first, last


def _missing(first: int, last: int, reason: str, lists: Sequence[str] | None = None) -> api.MissingBreakdowns:
    return api.MissingBreakdowns.model_validate({"from_": first, "to": last, "reason": reason, "lists": lists})


def _stored_numbers(span: Span, stored: Stored) -> _Numbers:
    days = {day: stored.days.get(day, Counts()) for day in span.days}
    if span.by == "hour":
        return _Numbers(days, _hourly(span, stored.hours, stored.sent_until))
    return _Numbers(days, _daily(span, days), _estimated(span, stored))


def _live_numbers(span: Span, stored: Stored, live: Live | None, created_on: int) -> _Numbers:
    days: dict[int, Counts] = {}
    for day in span.days:
        known = _live_day(day, span.today, stored, live, created_on)
        if known is not None:
            days[day] = known
    if span.by != "hour":
        return _Numbers(days, _daily(span, days), _estimated(span, stored))
    if not span.has_today:
        return _Numbers(days, _hourly(span, stored.hours, stored.sent_until))
    points = _hourly(replace(span, last_day=span.today - 1), stored.hours, stored.sent_until)
    if live is not None:
        # If a new hour began while the counts were being read, its clicks are in the totals, so the hour needs a point.
        until = max([live.at, *(hour_at + 1 for hour_at in live.hours)])
        points += _hourly(replace(span, first_day=span.today), live.hours, until)
    return _Numbers(days, points)


def with_statement(report: api.Report, live: Live | None) -> api.Report:
    """Return the report with the statement of counts for its last day, if the database was read."""
    found = None if live is None else live.statement
    if found is None:
        return report
    statement = DayStatement.from_model(found.counts, day=found.day, closed=found.closed)
    return report.model_copy(update={"statement": statement})


def _live_day(day: int, today: int, stored: Stored, live: Live | None, created_on: int) -> Counts | None:
    kept = stored.days.get(day)
    if day in stored.sent_days and day < today:
        return kept or Counts()  # the Worker does not push sites and links without counts
    if live is not None and (day in live.days or day >= live.kept_from or day < created_on):
        # A day that is missing from the database had no clicks, unless the Worker has deleted it because of its age.
        return live.days.get(day, kept or Counts())
    return kept if day < today else None


def _hourly(span: Span, hours: Mapping[int, Counts], until: int | None) -> list[Point]:
    """Return a point for each hour that is in the span, is stored, and began before `until`."""
    start = max(span.first_day, span.hours_from) * DAY_MS
    end = min(until if until is not None else start, (span.last_day + 1) * DAY_MS)
    return [(at, hours.get(at, Counts())) for at in range(start, end, HOUR_MS)]


def _daily(span: Span, days: Mapping[int, Counts]) -> list[Point]:
    """Return a point for each day, week or month of the span: the sum of its days with known counts.

    If no day has known counts, the point is omitted.
    """
    if span.by == "day":
        return [(day * DAY_MS, counts) for day, counts in days.items()]
    points = []
    for part in span.parts():
        known = [days[day] for day in part if day in days]
        if known:
            points.append((part[0] * DAY_MS, sum(known, Counts())))
    return points


def _estimated(span: Span, stored: Stored) -> Set[int]:
    days = {day for day, is_estimate in stored.imported_days.items() if is_estimate}
    return {part[0] * DAY_MS for part in span.parts() if not days.isdisjoint(part)} if days else days


def _lacks_hours(span: Span, stored: Stored) -> bool:
    """Return True if the counts by hour are incomplete for a day before today.

    The Worker may have omitted hours, or the hours may not add up to the day's total.

    Reports in the format of the specification contain only today's hours, so the result for them is False.
    """
    if not span.extended or span.by != "hour":
        return False
    if any(day < span.today for day in stored.refused_days):
        return True
    events = dict.fromkeys(span.days, 0)
    for at, counts in stored.hours.items():
        events[day_of(at)] += counts.views + counts.bots
    return any(
        counts.views + counts.bots > events[day]
        for day, counts in stored.days.items()
        if day < span.today and day in stored.sent_days
    )


def _comparison(compared: Compared | None, numbers: _Numbers | None) -> api.Comparison | None:
    if compared is None or numbers is None:
        return None
    return api.Comparison.model_validate(
        {
            "from_": compared.span.first_day,
            "to": compared.span.last_day,
            "totals": _sum(numbers.days),
            "series": _shown(numbers),
        }
    )


def _sum(days: Mapping[int, Counts]) -> api.Counts:
    return api.Counts.model_validate(sum(days.values(), Counts()))


def _shown(numbers: _Numbers) -> tuple[api.Point, ...]:
    return tuple(
        api.Point(
            at=at,
            views=counts.views,
            bots=counts.bots,
            visitors=counts.visitors,
            estimated=True if at in numbers.estimated else None,
        )
        for at, counts in numbers.points
    )


def _report(
    span: Span,
    as_of: int | None,
    numbers: _Numbers,
    live: Live | None,
    unavailable: UnavailableReason | None,
    limit: int,
) -> api.Report:
    return api.Report(
        period=span.period,
        from_=span.first_day,
        to=span.last_day,
        by=span.by if span.extended else None,
        as_of=as_of,
        totals=_sum(numbers.days),
        series=_shown(numbers),
        incomplete=False,
        breakdowns=None if live is None else _breakdowns(span, live, limit),
        breakdowns_from=None if live is None else max(span.first_day, live.listed_from),
        unavailable=unavailable,
    )


def _breakdowns(span: Span, live: Live, limit: int) -> api.Breakdowns:
    names = [name for name in DIMENSIONS if name in live.breakdowns or name in COMMON_LISTS]
    tops = {name: top(live.breakdowns.get(name, {}), limit) for name in names}
    lists: dict[str, Any] = {name: _listed(tally) for name, tally in tops.items() if name != "arrivals"}
    if "arrivals" in tops:
        lists["arrivals"] = tuple(api.Arrival(**arrival_of(key)._asdict(), n=n) for key, n in tops["arrivals"].items())
    # There are only a few channels, so `limit` does not apply to them.
    channels = _listed(top(live.channels, len(live.channels))) if span.extended else None
    return api.Breakdowns(**lists, channels=channels)


def _listed(tally: Mapping[str, int]) -> tuple[api.Top, ...]:
    return tuple(api.Top(key=name, n=n) for name, n in tally.items())
