"""Histories of accounts, made up at random: what a life is, when something happens in it, who visits.

Whatever a life does is drawn from its own seed, so that it can be lived again without the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from edge_worker.harness.visitors import clicks, views
from tests.journeys.recount import DAY_MS, HOUR_MS, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge_worker.emulator.client import Customer
    from edge_worker.harness.visitors import Hit

SECOND_MS, MINUTE_MS = 1_000, 60_000
# A worker's first run after this closes the day before.
_CLOSED_AFTER_MIDNIGHT_MS = 11 * MINUTE_MS
# A user makes one now and then, or a shop's links in one go.
_MADE_AT_ONCE = (1, 2, 4, 12, 24)
# What an account's user does, or what befalls the account, and how often among a hundred.
DEEDS = {
    "nothing": 45, "add": 16, "delete": 5, "rotate": 8, "reinstall": 2, "short budget": 14, "no crons": 7,
    "disconnect": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How large a world is: lives, days that pass, moments at which something happens, and the most that a life has."""

    seed: int
    lives: int
    days: int
    moments: int
    most: int  # sites and links
    only: int | None = None  # this life alone
    until_moment: int | None = None  # no longer than this

    def most_of_one(self, chance: random.Random) -> int:
        """The most sites and links of one life: some have no more than their first two."""
        return chance.choice((2, self.most // 4, self.most // 2, self.most, self.most))

    def again(self, life: int, moment_number: int) -> str:
        """The command that lives one life again, up to a moment."""
        settings = {
            "SEED": self.seed, "LIVES": self.lives, "DAYS": self.days, "MOMENTS": self.moments, "MOST": self.most,
            "ONLY": life, "UNTIL": moment_number,
        }  # fmt: skip
        named = " ".join(f"SVC_TEST_{name}={value}" for name, value in settings.items())
        return f"{named} .venv/bin/python -m pytest tests/journeys/test_reports.py -k again"


@dataclass(frozen=True)
class Moment:
    """When visitors come, and what befalls the pushes before. `boundary`: a minute before the end of an hour, and
    again right after it. `short_budget`: some accounts' write budgets are short then.
    """

    at: int
    boundary: bool
    short_budget: bool
    service_away: bool
    lost_answers: int
    lost_requests: int

    @property
    def well(self) -> bool:
        """Every push arrives and is answered."""
        return not (self.service_away or self.lost_answers or self.lost_requests)

    def quiet(self) -> Moment:
        """The same moment, at which nothing befalls the pushes."""
        return replace(self, service_away=False, lost_answers=0, lost_requests=0)


@dataclass
class Site:
    """A site or link of a life, and where its visitors go."""

    target: Target
    host: str
    path: str
    old_paths: list[tuple[str, int]] = field(default_factory=list)  # counted until (epoch ms)
    alive: bool = True
    synced: bool = False  # the worker has it as it is


@dataclass(frozen=True)
class Visit:
    """One request of a visitor. `detailed`: the write budget allows its detail."""

    line: str
    host: str
    body: str
    hit: Hit
    target: Target
    detailed: bool


@dataclass
class Life:
    """One account, from its connect on."""

    number: int
    chance: random.Random
    customer: Customer
    zone: str
    headers: dict[str, str]
    hand: str  # the customer's own token
    most: int  # so many sites and links at the most, deleted ones too
    account_id: str = ""
    sites: list[Site] = field(default_factory=list)
    away: int = 0  # moments for which no cron runs
    connected: bool = True
    leaving: bool = False  # its user is about to disconnect it
    level: int = 0  # of the write budget
    level_day: int = -1
    ran_at: int = 0  # epoch ms: when its crons last ran until there was nothing to do
    since_level: int = 0  # epoch ms: the first event that waits for its day's end for the write budget; 0: none
    refused_at: int = 0  # epoch ms: by then the worker has certainly refused hours of that day
    incomplete_day: int = -1  # … and told so
    closed: list[tuple[int, int]] = field(default_factory=list)  # at which time hours up to which were closed
    as_of_at_least: int = 0  # epoch ms: they were sent up to there

    @property
    def alive(self) -> list[Site]:
        """What is not deleted."""
        return [site for site in self.sites if site.alive]

    def kinds(self) -> list[str]:
        """What its user makes at once: some sites and links, none when it has the most that it may."""
        count = min(self.chance.choice(_MADE_AT_ONCE), self.most - len(self.sites))
        return [self.chance.choice(("site", "link")) for _ in range(count)]

    def deed(self, here: Moment) -> str:
        """What happens to it at a moment: one of `DEEDS`."""
        [deed] = self.chance.choices(tuple(DEEDS), tuple(DEEDS.values()))
        if deed == "short budget" and not here.short_budget:
            deed = "add"
        if not self.connected or (self.away and deed in ("reinstall", "short budget", "no crons")):
            return "nothing"
        return deed

    def visits(self, now: int) -> Iterator[Visit]:
        """Who comes now."""
        if not self.connected or self.chance.random() < 0.3:
            return
        if self.level > 1 and self.level_day != now // DAY_MS:
            return  # until the next cron isolates go on without detail, or not
        for site in self.alive:
            count, seed = self.chance.choice((0, 0, 1, 2, 3, 5, 9)), self.chance.randrange(2**32)
            for hit in views(count, seed) if site.target.kind == "site" else clicks(count, seed):
                path = site.path
                if site.old_paths and self.chance.random() < 0.3:
                    path, until = self.chance.choice(site.old_paths)
                    if until < now + 2 * MINUTE_MS:  # it is over, or nearly
                        continue
                if site.target.kind == "site":
                    line, body = f"POST {path}", f"{hit.page}\n{hit.referrer}\n"
                else:
                    method = (hit.bot and hit.bot.method) or "GET"
                    line, body = f"{method} {path}{'?q' if hit.scanned else ''}", ""
                yield Visit(line, site.host, body, hit, site.target, self.level < 2)

    def waits(self, now: int) -> bool:
        """Whether what comes now waits for the end of its day, should the write budget be short.

        The end of the day before is folded in any budget, and with it all that has come by then, which has its hours.
        """
        return self.ran_at >= now // DAY_MS * DAY_MS + _CLOSED_AFTER_MIDNIGHT_MS

    def dead_ends(self, now: int) -> Iterator[tuple[str, str, str]]:
        """Where somebody still comes, and nothing is counted any more: method, host, path."""
        for site in self.sites:
            over = [path for path, until in site.old_paths if until < now - 2 * MINUTE_MS]
            for path in [*([] if site.alive else [site.path]), *over]:
                if self.chance.random() < 0.2:
                    yield "POST" if site.target.kind == "site" else "GET", site.host, path


@dataclass
class Seen:
    """What came about in a world, so that a test can tell that it looked at something."""

    histories: int = 0
    events: int = 0
    reports: int = 0
    incomplete: int = 0
    disconnected: int = 0
    deeds: dict[str, int] = field(default_factory=dict)

    def note(self, deed: str) -> None:
        """One more of it."""
        self.deeds[deed] = self.deeds.get(deed, 0) + 1


def moments(plan: Plan, begin: int, chance: random.Random) -> list[Moment]:
    """When something happens, over the plan's days: some full days, gaps between them, ends of hours and of days."""
    first_day = begin // DAY_MS + 1
    full = chance.sample(range(plan.days), k=max(1, plan.moments // 4))
    days = [chance.choice((*full, *full, chance.randrange(plan.days))) for _ in range(plan.moments)]
    hours = {(first_day + day) * 24 + chance.choice((*range(24), 23, 23)) for day in days}
    found: list[Moment] = []
    for hour in sorted(hours):
        boundary = chance.random() < 0.3
        at = hour * HOUR_MS + (HOUR_MS - 50 * SECOND_MS if boundary else chance.randint(12, 45) * MINUTE_MS)
        fate, short_budget, number = chance.random(), chance.random() < 0.25, chance.randint(1, 9)
        lost_answers = number if 0.1 < fate < 0.2 else 0
        lost_requests = number if 0.2 < fate < 0.3 else 0
        if not found or at > found[-1].at + 15 * MINUTE_MS:
            found.append(Moment(at, boundary, short_budget, fate < 0.1, lost_answers, lost_requests))
    return found
