"""Generates visits, and independently computes the numbers that reports must show for them.

This module uses no code of the Worker, because an error in that code would otherwise also affect the expected numbers.
Each user agent is listed with the browser, system and device that a person would expect in the report.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

_WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0"
_CHROME = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {_WEBKIT} Safari/537.36"
_HOUR_MS = 3_600_000
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class Agent:
    """A browser: its user agent, and the keys under which breakdowns must count it."""

    user_agent: str
    device: str
    browser: str
    os: str


@dataclass(frozen=True)
class Bot:
    """A bot: its request, and the reason why the Worker must count it as a bot."""

    reason: str
    user_agent: str
    headers: tuple[tuple[str, str], ...] = ()
    method: str = ""  # "": the method that a person's request would have


AGENTS = (
    Agent(_CHROME, "desktop", "Chrome", "Windows"),
    Agent(_CHROME + " Edg/141.0.0.0", "desktop", "Edge", "Windows"),
    Agent("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", "desktop", "Firefox", "Linux"),
    Agent(
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0"
        " Safari/605.1.15",
        "desktop",
        "Safari",
        "macOS",
    ),
    Agent(
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6"
        " Mobile/15E148 Safari/604.1",
        "mobile",
        "Safari",
        "iOS",
    ),
    Agent(
        f"Mozilla/5.0 (Linux; Android 10; K) {_WEBKIT} Mobile Safari/537.36",
        "mobile",
        "Chrome",
        "Android",
    ),
    Agent(
        "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6"
        " Mobile/15E148 Safari/604.1",
        "tablet",
        "Safari",
        "iOS",
    ),
)
# The entry of AGENTS under which reports must count Chromium on this host.
DESKTOP_CHROME = AGENTS[0]
BOTS = (
    Bot("list", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    Bot("list", "curl/8.14.1"),
    Bot("headless", _CHROME.replace("Chrome/", "HeadlessChrome/")),
)
# Bots that follow links. Views have no prefetching bot, because a prefetched page with the snippet sends no view until
# a person sees the page.
CLICK_BOTS = (
    *BOTS,
    Bot("prefetch", _CHROME, (("Sec-Purpose", "prefetch;prerender"),)),
    Bot("head", _CHROME, method="HEAD"),
)
PAGES = ("/", "/shop", "/shop/shoes", "/about", "/blog/hello")
COUNTRIES = ("DE", "FR", "US", "JP", "BR")
# Referrers as browsers send them, with the source that the report must show.
REFERRERS = (
    ("", ""),
    ("https://www.google.com/", "google.com"),
    ("https://news.ycombinator.com/item?id=1", "news.ycombinator.com"),
    ("https://duckduckgo.com/", "duckduckgo.com"),
)


@dataclass(frozen=True)
class Hit:
    """One view or click. `bot` is None for a person."""

    agent: Agent
    bot: Bot | None
    address: str
    country: str
    referrer: str
    source: str
    page: str = ""  # a link's page is always empty
    scanned: bool = False  # a click with ?q, which QR codes contain
    query: str = ""  # the parameters that name the campaign
    campaign: str = ""
    served: str = ""  # the URL to which a link with rules redirected the click
    outside: str = ""  # why the click is outside its link's period ("" if it is not); such a click is not a view

    @property
    def user_agent(self) -> str:
        """Return the User-Agent header."""
        return self.bot.user_agent if self.bot else self.agent.user_agent


@dataclass
class Tally:
    """An independent count of the numbers that a report must show for one target."""

    views: Counter[int] = field(default_factory=Counter)  # by the start of the hour in epoch ms
    bots: Counter[int] = field(default_factory=Counter)
    seen: dict[int, set[tuple[str, str]]] = field(default_factory=dict)
    breakdowns: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)  # by dimension and UTC day
    imported: dict[int, dict[str, int]] = field(default_factory=dict)  # totals of days without hits, by UTC day

    def add(self, hit: Hit, at: int) -> None:
        """Count a hit that the Worker received at `at` (epoch ms)."""
        hour_at = at // _HOUR_MS * _HOUR_MS
        if hit.bot is not None:
            self.bots[hour_at] += 1
            self._key("bots", at, hit.bot.reason)
            return
        if hit.outside:
            self._key("outside", at, hit.outside)
            return
        self.views[hour_at] += 1
        self.seen.setdefault(hour_at, set()).add((hit.address, hit.user_agent))
        for name, key in (
            ("pages", hit.page),
            ("sources", hit.source),
            ("countries", hit.country),
            ("devices", hit.agent.device),
            ("browsers", hit.agent.browser),
            ("os", hit.agent.os),
        ):
            self._key(name, at, key)
        if hit.served:
            self._key("targets", at, hit.served)

    def hour(self, hour_at: int) -> dict[str, int]:
        """Return the views, bots and visitors of the hour that begins at `hour_at` (epoch ms)."""
        return {
            "views": self.views[hour_at],
            "bots": self.bots[hour_at],
            "visitors": len(self.seen.get(hour_at, set())),
        }

    def day(self, day: int) -> dict[str, int]:
        """Return the views, bots and visitors of a UTC day (days since 1970-01-01)."""
        if day in self.imported:
            return self.imported[day]
        hours = [at for at in {*self.views, *self.bots} if at // _DAY_MS == day]
        visitors: set[tuple[str, str]] = set()
        return {
            "views": sum(self.views[at] for at in hours),
            "bots": sum(self.bots[at] for at in hours),
            "visitors": len(visitors.union(*(self.seen.get(at, set()) for at in hours))),
        }

    def days(self, first: int, last: int) -> dict[str, int]:
        """Return the totals of the days from `first` to `last`. Visitors are the sum of daily visitors."""
        counted = [self.day(day) for day in range(first, last + 1)]
        return {name: sum(day[name] for day in counted) for name in ("views", "bots", "visitors")}

    def top(self, name: str, first: int, last: int) -> Counter[str]:
        """Return the counts in one breakdown, by key, over the UTC days (day numbers) from `first` to `last`."""
        return sum((self.breakdowns.get((name, day), Counter()) for day in range(first, last + 1)), Counter[str]())

    def _key(self, name: str, at: int, key: str) -> None:
        self.breakdowns.setdefault((name, at // _DAY_MS), Counter())[key] += 1


def views(count: int, seed: int) -> list[Hit]:
    """Return `count` views of several pages, from several countries, referrers and browsers. One in six is by a bot."""
    chance = random.Random(seed)  # noqa: S311  # a repeatable plan, no secret
    return [_hit(chance, chance.choice(PAGES), BOTS) for _ in range(count)]


def clicks(count: int, seed: int) -> list[Hit]:
    """Return `count` clicks on a short link. One in six comes from a bot, and some are scans of a QR code."""
    chance = random.Random(seed)  # noqa: S311  # a repeatable plan, no secret
    hits = []
    for _ in range(count):
        hit = _hit(chance, "", CLICK_BOTS)
        scanned = chance.random() < 0.2
        source = "qr" if scanned else hit.source
        hits.append(Hit(hit.agent, hit.bot, hit.address, hit.country, hit.referrer, source, "", scanned))
    return hits


def _hit(chance: random.Random, page: str, bots: tuple[Bot, ...]) -> Hit:
    visitor = chance.randrange(60)
    agent = AGENTS[visitor % len(AGENTS)]
    bot = chance.choice(bots) if chance.random() < 1 / 6 else None
    referrer, source = chance.choice(REFERRERS)
    # Addresses reserved for documentation (RFC 5737).
    return Hit(agent, bot, f"203.0.113.{visitor}", COUNTRIES[visitor % len(COUNTRIES)], referrer, source, page)
