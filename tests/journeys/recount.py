"""Computes the expected report from the visits themselves.

The code is simple and slow, and uses no code of the service. It is based only on the specification (2, Report; 4,
Reports) and on docs/use/counting.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from edge_worker.harness.visitors import Hit

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
DAYS = {"today": 1, "7d": 7, "30d": 30}
DIMENSIONS = ("pages", "sources", "countries", "devices", "browsers", "os", "bots")
VISIT_LISTS = {"site": ("campaigns", "entries", "arrivals"), "link": ("campaigns", "targets")}


@dataclass(frozen=True)
class Event:
    """A view or click with a response at `at` (epoch ms). `detailed`: True if the write budget allowed the Worker to
    store the details.
    """

    at: int
    hit: Hit
    detailed: bool = True

    @property
    def person(self) -> tuple[str, str] | None:
        """The visitor's identity. None for a bot, and for a click outside its link's period."""
        return None if self.hit.bot or self.hit.outside else (self.hit.address, self.hit.user_agent)

    def key(self, dimension: str) -> str | None:
        """Return the event's key in this breakdown, or None if the breakdown does not count the event."""
        if self.hit.bot or dimension == "bots":
            return self.hit.bot.reason if self.hit.bot and dimension == "bots" else None
        if self.hit.outside or dimension == "outside":
            return self.hit.outside if self.hit.outside and dimension == "outside" else None
        if dimension in ("campaigns", "entries", "arrivals", "targets"):
            return self._visit_key(dimension) if self.detailed else None
        if not self.detailed:
            return "(other)"
        keys = {
            "pages": self.hit.page,
            "sources": self.hit.source,
            "countries": self.hit.country,
            "devices": self.hit.agent.device,
            "browsers": self.hit.agent.browser,
            "os": self.hit.agent.os,
        }
        return keys[dimension]

    def _visit_key(self, dimension: str) -> str | None:
        hit = self.hit
        if dimension in ("campaigns", "targets"):
            return (hit.campaign if dimension == "campaigns" else hit.served) or None
        if hit.source == "(internal)":
            return None
        return hit.page if dimension == "entries" else f"{hit.source} {hit.page}"


@dataclass
class Target:
    """A site or link with all of its events. `imported`: imported views, bots and visitors by day number.

    `created_at` is in epoch ms.
    """

    kind: str
    id: str
    events: list[Event] = field(default_factory=list)
    imported: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    created_at: int = 0


def text(at: int) -> str:
    """Return a time in epoch ms as text in the API's format."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(written: str) -> int:
    """Return the time in epoch ms for a text in the API's format."""
    return round(datetime.fromisoformat(written).timestamp() * 1000)


def counts(events: Sequence[Event]) -> dict[str, int]:
    """Return views, bots and visitors. Views and visitors exclude bots. Each person is one visitor."""
    people = [event.person for event in events if event.person is not None]
    bots = sum(event.hit.bot is not None for event in events)
    return {"views": len(people), "bots": bots, "visitors": len(set(people))}


def day_counts(target: Target, day: int, until: int) -> dict[str, int]:
    """Return the counts for a UTC day, including only events before `until`."""
    own = [event for event in target.events if event.at // DAY_MS == day and event.at < until]
    views, bots, visitors = target.imported.get(day, (0, 0, 0))
    counted = counts(own)
    return {
        "views": counted["views"] + views,
        "bots": counted["bots"] + bots,
        "visitors": counted["visitors"] + visitors,
    }


def report(target: Target, period: str, now: int, until: int | None) -> dict[str, Any]:
    """Return the report's numbers as of `until`: `from`, `to`, `totals`, `series`."""
    today = now // DAY_MS
    days = range(today - DAYS[period] + 1, today + 1)
    counted_until = 0 if until is None else until
    by_day = {day: day_counts(target, day, counted_until) for day in days}
    if period == "today":
        starts = range(today * DAY_MS, min(counted_until, (today + 1) * DAY_MS), HOUR_MS)
        series = [
            {"at": text(at), **counts([e for e in target.events if at <= e.at < min(at + HOUR_MS, counted_until)])}
            for at in starts
        ]
    else:
        series = [{"at": text(day * DAY_MS), **by_day[day]} for day in days]
    return {
        "period": period,
        "from": text(days[0] * DAY_MS)[:10],
        "to": text(today * DAY_MS)[:10],
        "totals": {name: sum(day[name] for day in by_day.values()) for name in ("views", "bots", "visitors")},
        "series": series,
    }


def listed(target: Target, days: Set[int], limit: int = 10) -> dict[str, list[dict[str, Any]]]:
    """Return the most frequent keys of each dimension in the events of these days. Ties are sorted by key."""
    events = [event for event in target.events if event.at // DAY_MS in days]
    names = (*DIMENSIONS, *VISIT_LISTS[target.kind])
    lists = {name: ranked([event.key(name) for event in events])[:limit] for name in names}
    outside = ranked([event.key("outside") for event in events])
    if outside:
        lists["outside"] = outside
    for entry in lists.get("arrivals", ()):
        entry["source"], entry["page"] = entry.pop("key").rsplit(" ", 1)
    return lists


def ranked(keys: Sequence[str | None]) -> list[dict[str, Any]]:
    tally = {key: keys.count(key) for key in keys if key is not None}
    return [{"key": key, "n": tally[key]} for key in sorted(tally, key=lambda key: (-tally[key], key))]


def last_seven_days(target: Target, now: int, until: int) -> int:
    """Return the views of the last seven closed UTC days."""
    today = now // DAY_MS
    return sum(day_counts(target, day, until)["views"] for day in range(today - 7, today))
