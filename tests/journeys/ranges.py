"""Random parameters of reports, and the expected reports, computed from the visits.

Like `recount`, the code is independent of the service. It is based only on docs/use/reports.md.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tests.journeys.recount import DAY_MS, DAYS, HOUR_MS, counts, day_counts, listed, ranked, text
from tests.journeys.retained import first_day_of, month_of

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence, Set

    from tests.journeys.recount import Target
    from tests.journeys.retained import Retained

_EPOCH = date(1970, 1, 1)
_PERIODS = (*DAYS, "yesterday", "month", "last_month", "12mo", "year", "all")
_CHANNELS = {
    "": "direct",
    "(other)": "(other)",
    "google.com": "search",
    "duckduckgo.com": "search",
    "news.ycombinator.com": "social",
    "qr": "qr",
    "(internal)": "internal",
}
# The service does not accept counts of days that are older than this, so it assumes that an older day without counts
# had no visits.
_OLDEST_PUSHED_DAYS = 37
# The Worker's database can contain days up to this age whose month has not been added up yet.
_STORED_DAYS = 67


def random_query(chance: random.Random, today: int) -> dict[str, str]:
    """Return the parameters of a valid request for a report. `by` is always set."""
    query = {}
    length = 0
    if chance.random() < 0.5:
        length = chance.choice((1, 1, 2, 7, 20, 33, 62, 100, 400))
        last = today - chance.choice((0, 0, 1, 2, 9, 30, 62))
        query = {"from": day_text(last - length + 1), "to": day_text(last)}
    else:
        query = {"period": chance.choice(_PERIODS)}
    steps = ["day", "week", "month"]
    if length and today - 39 < day_number(query["from"]):
        steps.append("hour")
    query["by"] = chance.choice(steps)
    if query.get("period") != "all" and chance.random() < 0.5:
        query["compare"] = chance.choice(("previous", "year"))
    if chance.random() < 0.3:
        query["limit"] = chance.choice(("1", "3", "25", "100"))
    return query


def report(target: Target, query: Mapping[str, str], now: int, until: int) -> dict[str, Any]:
    """Return the expected report as of `until`: the period, totals, series and comparison."""
    today = _EPOCH + timedelta(now // DAY_MS)
    first, last = _days(target, query, today)
    by = query["by"]
    found = {
        "period": query.get("period", "custom"),
        "by": by,
        **_counted(target, first, last, by, until),
    }
    if "compare" in query:
        found["comparison"] = _counted(target, *_compared(query, first, last, today), by, until)
    return found


def without_unknown_days(
    wanted: dict[str, Any], shown: dict[str, Any], now: int, retained: Retained, busy_days: Set[int]
) -> None:
    """From the expected report or comparison, remove the points that the service may omit.

    If an account counted nothing on a day, its Worker reports nothing about this day. For a few weeks after
    the Worker has deleted the day, the service cannot know that the day has no counts. `busy_days`: the days on which
    the account counted something.
    """
    days = range(now // DAY_MS - _OLDEST_PUSHED_DAYS, retained.kept_from)
    present = {point["at"] for point in shown["series"]}
    starts = [day_number(point["at"][:10]) for point in wanted["series"]]
    ends = [*starts[1:], day_number(wanted["to"]) + 1]
    wanted["series"] = [
        point
        for point, start, end in zip(wanted["series"], starts, ends, strict=True)
        if point["at"] in present or not all(day in days and day not in busy_days for day in range(start, end))
    ]


def check_hours(shown: dict[str, Any], wanted: dict[str, Any], now: int, *, has_live_counts: bool) -> bool:
    """Check the points of an hourly report, and copy them to `wanted`. Return False if the report is not hourly.

    For days before today, a report has points up to the last push. For today, a report with live data has points up to
    now.
    """
    if wanted["by"] != "hour":
        return False
    pairs = [(shown, wanted)]
    if "comparison" in wanted:
        pairs.append((shown["comparison"], wanted["comparison"]))
    for have, want in pairs:
        expected = {point["at"]: point for point in want["series"]}
        today = text(now // DAY_MS * DAY_MS)
        earlier = [at for at in expected if at < today]
        ats = [point["at"] for point in have["series"]]
        if has_live_counts:
            own = [at for at in ats if at < today]
            # A comparison does not contain hours that are no longer stored.
            start = earlier.index(own[0]) if own and have is not shown else 0
            assert own == earlier[start : start + len(own)], (ats, list(expected))
            assert [at for at in ats if at >= today] == [at for at in expected if at >= today], (ats, list(expected))
        elif have is shown:
            assert ats == list(expected), (ats, list(expected))
        if not shown["incomplete"] and have is shown:
            assert have["series"] == [expected[at] for at in ats], (have["series"], expected)
        want["series"] = have["series"]
    return True


def day_text(day: int) -> str:
    """Return a day number as YYYY-MM-DD."""
    return (_EPOCH + timedelta(day)).isoformat()


def day_number(day: str) -> int:
    """Return the day number of YYYY-MM-DD."""
    return (date.fromisoformat(day) - _EPOCH).days


def first_breakdowns(target: Target, period: str, now: int, retained: Retained) -> dict[str, Any]:
    """Return the expected breakdowns of a report in the format of the specification, for a period that ends `now`."""
    last = now // DAY_MS
    first = last - DAYS[period] + 1
    return {
        "breakdowns": listed(target, retained.listed_days(first, last)),
        "breakdowns_from": day_text(retained.listed_from(first, last)),
    }


def breakdowns(target: Target, shown: dict[str, Any], now: int, retained: Retained | str, limit: int) -> dict[str, Any]:
    """Return the expected breakdowns of a report over the days of `shown`.

    `retained`: what the account's database has, or the reason why the database is not available. `limit`: the maximum
    length of each list, except that of channels.
    """
    first, last = day_number(shown["from"]), day_number(shown["to"])
    if isinstance(retained, str):
        missing = [{"from": shown["from"], "to": shown["to"], "reason": retained}]
        return {"breakdowns": None, "breakdowns_from": None, "breakdowns_missing": missing}
    # If the Worker's database cannot contain days or months of the range, the service does not read the database.
    was_read = last >= now // DAY_MS - _STORED_DAYS or _has_whole_month(first, last)
    imported = [day for day in sorted(target.imported) if first <= day <= last] if was_read else []
    missing = [{"from": day_text(imported[0]), "to": day_text(imported[-1]), "reason": "imported"}] if imported else []
    created_on = (target.created_at - HOUR_MS) // DAY_MS
    begin = max([first, created_on, *(day + 1 for day in imported)]) if was_read else first
    days = retained.listed_days(first, last) if was_read else set()
    missing += _gaps([day for day in range(begin, last + 1) if day not in days])
    if not days:
        return {"breakdowns": None, "breakdowns_from": None, "breakdowns_missing": missing}
    sources = [event.key("sources") for event in target.events if event.at // DAY_MS in days]
    channels = ranked([None if source is None else _CHANNELS[source] for source in sources])
    return {
        "breakdowns": {**listed(target, days, limit), "channels": channels},
        "breakdowns_from": day_text(retained.listed_from(first, last)),
        "breakdowns_missing": missing,
    }


def _has_whole_month(first: int, last: int) -> bool:
    month = month_of(first - 1) + 1  # the first month that begins on `first` or later
    return first_day_of(month + 1) - 1 <= last


def _gaps(days: Sequence[int]) -> list[dict[str, str]]:
    """Return the first and the last day of each group of consecutive days."""
    all_days = set(days)
    begins = [day for day in days if day - 1 not in all_days]
    ends = [day for day in days if day + 1 not in all_days]
    return [
        {"from": day_text(begin), "to": day_text(end), "reason": "not_kept"}
        for begin, end in zip(begins, ends, strict=True)
    ]


def _counted(target: Target, first: date, last: date, by: str, until: int) -> dict[str, Any]:
    days = [first + timedelta(number) for number in range((last - first).days + 1)]
    by_day = {day: day_counts(target, (day - _EPOCH).days, until) for day in days}
    if by == "hour":
        start, end = (first - _EPOCH).days * DAY_MS, ((last - _EPOCH).days + 1) * DAY_MS
        series = [
            {"at": text(at), **counts([e for e in target.events if at <= e.at < min(at + HOUR_MS, until)])}
            for at in range(start, min(until, end), HOUR_MS)
        ]
    else:
        parts: dict[object, list[date]] = {}
        for day in days:
            key = day if by == "day" else day.isocalendar()[:2] if by == "week" else (day.year, day.month)
            parts.setdefault(key, []).append(day)
        series = [
            {"at": text((part[0] - _EPOCH).days * DAY_MS), **_sum([by_day[day] for day in part])}
            for part in parts.values()
        ]
    return {
        "from": first.isoformat(),
        "to": last.isoformat(),
        "totals": _sum(list(by_day.values())),
        "series": series,
    }


def _days(target: Target, query: Mapping[str, str], today: date) -> tuple[date, date]:
    if "from" in query:
        return date.fromisoformat(query["from"]), date.fromisoformat(query["to"])
    period = query["period"]
    if period in DAYS:
        return today - timedelta(DAYS[period] - 1), today
    if period == "all":
        return _EPOCH + timedelta(min([target.created_at // DAY_MS, *target.imported])), today
    month = today.replace(day=1)
    before = (month - timedelta(1)).replace(day=1)
    year = month
    for _ in range(11):
        year = (year - timedelta(1)).replace(day=1)
    return {
        "yesterday": (today - timedelta(1), today - timedelta(1)),
        "month": (month, today),
        "last_month": (before, month - timedelta(1)),
        "12mo": (year, today),
        "year": (today.replace(month=1, day=1), today),
    }[period]


def _compared(query: Mapping[str, str], first: date, last: date, today: date) -> tuple[date, date]:
    period = query.get("period")
    ends_today = period in ("today", "7d", "30d", "month", "12mo", "year") or last == today
    is_whole = first.day == 1 and (last + timedelta(1)).day == 1 and not ends_today
    if query["compare"] == "year" or period in ("12mo", "year"):
        months = 12
    elif period == "month":
        months = 1
    elif is_whole:
        months = 12 * (last.year - first.year) + last.month - first.month + 1
    else:
        length = last - first + timedelta(1)
        return first - length, last - length
    found = [_earlier(day, months) for day in (first, last)]
    if is_whole:
        found[1] = found[1].replace(day=calendar.monthrange(found[1].year, found[1].month)[1])
    return found[0], found[1]


def _earlier(day: date, months: int) -> date:
    first = day.replace(day=1)
    for _ in range(months):
        first = (first - timedelta(1)).replace(day=1)
    return first.replace(day=min(day.day, calendar.monthrange(first.year, first.month)[1]))


def _sum(several: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(each[name] for each in several) for name in ("views", "bots", "visitors")}
