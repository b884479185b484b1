"""Random histories of accounts: actions, the times of actions, and visitors.

Each account has its own seed for random numbers, so that it can be rerun without the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from edge_worker.harness.visitors import clicks, views
from tests.journeys.recount import DAY_MS, HOUR_MS, Target
from tests.journeys.retained import Retained, Setting, first_day_of, month_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge_worker.emulator.client import Customer
    from edge_worker.harness.visitors import Hit

SECOND_MS, MINUTE_MS = 1_000, 60_000
# The Worker's first run after this time of day closes the previous day.
_CLOSED_AFTER_MIDNIGHT_MS = 11 * MINUTE_MS
# The number of links that a user creates at the same time: from one link to all links of a shop.
_MADE_AT_ONCE = (1, 2, 4, 12, 24)
# Campaigns, as the URL of a page or link contains them, and the keys under which they must be counted.
_CAMPAIGNS = (("", ""), ("", ""), ("Spring+Sale", "spring sale"), ("spring%20sale", "spring sale"), ("mail", "mail"))
# The rules of some links.
RULES = (
    {"countries": ["DE", "FR"], "url": "https://a.example/de"},
    {"devices": ["mobile"], "url": "https://a.example/mobile"},
)
URL = "https://a.example/"
# A world with more days lasts long enough for Workers to delete the days of a month with visits.
_LONG_DAYS = 75
# Actions of users and events of accounts, with their weights. The weights add up to 100.
ACTIONS = {
    "nothing": 45, "add": 16, "delete": 5, "rotate": 8, "reinstall": 2, "short budget": 14, "no crons": 7,
    "disconnect": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The size of a world: accounts, days, the number of moments at which something happens, and the maximum size of an
    account.
    """

    seed: int
    accounts: int
    days: int
    moments: int
    most: int  # maximum number of sites and links per account
    months_kept: int | None = None  # the number of months that some accounts keep; None: all accounts keep all months
    ranges: int = 4  # the number of random periods for which the reports of each site and link are checked at the end
    only: int | None = None  # run only this account
    until_moment: int | None = None  # stop after this moment

    def most_of_one(self, chance: random.Random) -> int:
        """Return the maximum number of sites and links for one account. For some accounts, the maximum is two."""
        return chance.choice((2, self.most // 4, self.most // 2, self.most, self.most))

    def retention(self, chance: random.Random) -> Setting:
        """Return the retention of one account."""
        return Setting(chance.choice((35, 14, 20)), chance.choice((None, self.months_kept)))

    def rerun_command(self, number: int, moment_number: int) -> str:
        """Return the command that repeats the history of one account up to a moment."""
        settings = {
            "SEED": self.seed, "ACCOUNTS": self.accounts, "DAYS": self.days, "MOMENTS": self.moments, "MOST": self.most,
            "MONTHS": self.months_kept or 0, "ONLY": number, "UNTIL": moment_number,
        }  # fmt: skip
        named = " ".join(f"SVC_TEST_{name}={value}" for name, value in settings.items())
        return f"{named} .venv/bin/python -m pytest tests/journeys/test_reports.py -k rerun"


@dataclass(frozen=True)
class Moment:
    """A time at which visitors arrive, and the push failures before that time.

    `boundary`: visitors arrive a minute before the end of an hour, and again right after it. `short_budget`: at this
    time, the write budgets of some accounts are nearly used up.
    """

    at: int
    boundary: bool
    short_budget: bool
    service_away: bool
    lost_responses: int
    lost_requests: int

    @property
    def well(self) -> bool:
        """True if every push and its response arrive."""
        return not (self.service_away or self.lost_responses or self.lost_requests)

    def quiet(self) -> Moment:
        """Return a copy of this moment without push failures."""
        return replace(self, service_away=False, lost_responses=0, lost_requests=0)


@dataclass
class Site:
    """A site or link of an account, and the URLs that visitors request."""

    target: Target
    host: str
    path: str
    old_paths: list[tuple[str, int]] = field(default_factory=list)  # (path, time until which it counts, in epoch ms)
    alive: bool = True
    has_rules: bool = False
    has_ended: bool = False  # True if the period of the link has ended
    synced: bool = False  # True if the Worker has its current version


@dataclass(frozen=True)
class Visit:
    """A visitor's request. `detailed`: True if the write budget allows the Worker to store its details."""

    line: str
    host: str
    body: str
    hit: Hit
    target: Target
    detailed: bool


@dataclass
class RandomAccount:
    """One account and its history, beginning when it is connected."""

    number: int
    chance: random.Random
    customer: Customer
    zone: str
    headers: dict[str, str]
    token: str  # the customer's own token
    most: int  # maximum number of sites and links, including deleted ones
    account_id: str = ""
    sites: list[Site] = field(default_factory=list)
    away: int = 0  # number of moments without crons
    away_since: int = 0  # epoch ms: the start of the time without crons
    connected: bool = True
    leaving: bool = False  # True if its user will disconnect it
    level: int = 0  # level of the write budget
    level_day: int = -1
    # separate random numbers, so that reports do not change the history
    range_chance: random.Random = field(default_factory=random.Random)
    retention: Setting = field(default_factory=Setting)
    retained: Retained | None = None  # the days and months that its Worker's database contains, if known
    months_due: bool = False  # True if a month has ended that the Worker has not added up yet
    ever_short: bool = False  # True if the write budget was nearly used up on any day
    ran_at: int = 0  # epoch ms: the last time that its crons ran until idle
    # epoch ms of the first event that is counted only at the end of its day, because of the write budget, or 0
    since_level: int = 0
    refused_at: int = 0  # epoch ms: by this time, the Worker has certainly omitted hours of the same day; 0: unknown
    incomplete_day: int = -1  # the day for which the Worker has reported omitted hours
    closed: list[tuple[int, int]] = field(default_factory=list)  # (time, end of the last hour closed by then), epoch ms
    as_of_at_least: int = 0  # epoch ms: the Worker has sent data at least up to this time

    @property
    def alive(self) -> list[Site]:
        """The sites and links that are not deleted."""
        return [site for site in self.sites if site.alive]

    def kinds(self) -> list[str]:
        """Return the kinds of a new group of sites and links. The list is empty if the maximum is reached."""
        count = min(self.chance.choice(_MADE_AT_ONCE), self.most - len(self.sites))
        return [self.chance.choice(("site", "link")) for _ in range(count)]

    def action(self, here: Moment) -> str:
        """Return the account's action at a moment, one of `ACTIONS`."""
        [action] = self.chance.choices(tuple(ACTIONS), tuple(ACTIONS.values()))
        if action == "short budget" and not here.short_budget:
            action = "add"
        if not self.connected or (self.away and action in ("reinstall", "short budget", "no crons")):
            return "nothing"
        return action

    def visits(self, now: int) -> Iterator[Visit]:
        """Yield the visits that happen at time `now` (epoch ms)."""
        if not self.connected or self.chance.random() < 0.3:
            return
        if self.level > 1 and self.level_day != now // DAY_MS:
            return  # yield nothing until the next cron, because isolates may or may not omit details
        for site in self.alive:
            count, seed = self.chance.choice((0, 0, 1, 2, 3, 5, 9)), self.chance.randrange(2**32)
            is_site = site.target.kind == "site"
            # Use separate random numbers, so that changes to the visits do not change the rest of the history.
            visit_chance = random.Random(f"{seed}/visits")
            for plain in views(count, seed) if is_site else clicks(count, seed):
                hit = _visit(visit_chance, plain) if is_site else _click(visit_chance, plain, site)
                path = site.path
                if site.old_paths and self.chance.random() < 0.3:
                    path, until = self.chance.choice(site.old_paths)
                    if until < now + 2 * MINUTE_MS:  # the path has expired or is about to expire
                        continue
                if is_site:
                    line, body = f"POST {path}", f"{hit.page}\n{hit.referrer}\n{hit.query and f'?{hit.query}'}"
                else:
                    method = (hit.bot and hit.bot.method) or "GET"
                    query = "&".join(filter(None, ("q" if hit.scanned else "", hit.query)))
                    line, body = f"{method} {path}{query and f'?{query}'}", ""
                yield Visit(line, site.host, body, hit, site.target, self.level < 2)

    def waits(self, now: int) -> bool:
        """Return True if events at this time would be counted only at the end of their day, provided that the write
        budget is nearly used up.

        When the Worker folds the end of the previous day, it also folds all later events that it has stored, even if
        the budget is low, and counts them in their hours. These events therefore do not wait.
        """
        return self.ran_at >= now // DAY_MS * DAY_MS + _CLOSED_AFTER_MIDNIGHT_MS

    def dead_ends(self, now: int) -> Iterator[tuple[str, str, str]]:
        """Yield the method, host and path of URLs that are visited but no longer counted."""
        for site in self.sites:
            over = [path for path, until in site.old_paths if until < now - 2 * MINUTE_MS]
            for path in [*([] if site.alive else [site.path]), *over]:
                if self.chance.random() < 0.2:
                    yield "POST" if site.target.kind == "site" else "GET", site.host, path


def _visit(chance: random.Random, hit: Hit) -> Hit:
    """Return the view, in some cases changed so that it follows another view on the site, or has a campaign."""
    if chance.random() < 0.3:
        return replace(hit, referrer="/before", source="(internal)")
    return _with_campaign(chance, hit)


def _click(chance: random.Random, hit: Hit, link: Site) -> Hit:
    """Return the click with the destination that the link's rules determine, and in some cases with a campaign."""
    hit = _with_campaign(chance, hit)
    if link.has_ended and hit.bot is None:
        return replace(hit, outside="ended")
    if not link.has_rules:
        return hit
    if hit.country in ("DE", "FR"):
        return replace(hit, served="https://a.example/de")
    return replace(hit, served="https://a.example/mobile" if hit.agent.device in ("mobile", "tablet") else URL)


def _with_campaign(chance: random.Random, hit: Hit) -> Hit:
    sent, campaign = chance.choice(_CAMPAIGNS)
    return replace(hit, query=f"utm_campaign={sent}", campaign=campaign) if sent else hit


@dataclass
class Seen:
    """Counts of what happened in a world. Tests use them to check that a run has covered enough cases."""

    histories: int = 0
    events: int = 0
    reports: int = 0
    incomplete: int = 0
    disconnected: int = 0
    months: int = 0  # number of months whose stored sums occur in reports
    mixed: int = 0  # number of reports that contain both the sums of months and single days
    actions: dict[str, int] = field(default_factory=dict)

    def count(self, action: str) -> None:
        """Count an action."""
        self.actions[action] = self.actions.get(action, 0) + 1


def month_starts(after: int, before: int) -> list[int]:
    """Return the starts of all months that begin between two times (all in epoch ms)."""
    months = range(month_of(after // DAY_MS) + 1, month_of(before // DAY_MS) + 1)
    return [first_day_of(month) * DAY_MS for month in months]


def moments(plan: Plan, begin: int, chance: random.Random) -> list[Moment]:
    """Return the moments of the plan: some full days, gaps between them, and ends of hours and days.

    In a long world, one moment is near the beginning and one is on the last day, so that reports at the end need the
    sums of a month whose days are deleted.
    """
    first_day = begin // DAY_MS + 1
    full = chance.sample(range(plan.days), k=max(1, plan.moments // 4))
    days = [chance.choice((*full, *full, chance.randrange(plan.days))) for _ in range(plan.moments)]
    if plan.days > _LONG_DAYS:
        days += [chance.randrange(_LONG_DAYS // 5), plan.days - 1]
    hours = {(first_day + day) * 24 + chance.choice((*range(24), 23, 23)) for day in days}
    found: list[Moment] = []
    for hour in sorted(hours):
        boundary = chance.random() < 0.3
        at = hour * HOUR_MS + (HOUR_MS - 50 * SECOND_MS if boundary else chance.randint(12, 45) * MINUTE_MS)
        fate, short_budget, number = chance.random(), chance.random() < 0.25, chance.randint(1, 9)
        lost_responses = number if 0.1 < fate < 0.2 else 0
        lost_requests = number if 0.2 < fate < 0.3 else 0
        if not found or at > found[-1].at + 15 * MINUTE_MS:
            found.append(Moment(at, boundary, short_budget, fate < 0.1, lost_responses, lost_requests))
    return found
