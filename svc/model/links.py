"""Short links, with their rules and options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args
from urllib.parse import urlsplit

from svc.clock import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import ErrorNote
    from svc.model.disabled import Disabled

LinkState = Literal["active", "deleted"]
# Why a target of a link is broken: the response has status 404 or 410, no secure connection is possible, or the host
# does not exist.
TargetProblem = Literal["http_404", "http_410", "tls_failed", "unknown_host"]
TARGET_PROBLEMS: tuple[TargetProblem, ...] = get_args(TargetProblem)
LinkOrder = Literal["newest", "oldest", "clicks", "code"]

# Why a click is outside of its link's period: the period has not started yet, or has ended.
OutsideReason = Literal["early", "ended"]
OUTSIDE_REASONS: tuple[OutsideReason, ...] = get_args(OutsideReason)


def url_host(url: str) -> str:
    """Return the host of a URL in lower case, without user, port or trailing dot."""
    return (urlsplit(url).hostname or "").removesuffix(".")


Device = Literal["mobile", "desktop"]
OperatingSystem = Literal["iOS", "Android", "Windows", "macOS", "Linux"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a short URL's query string. If `value` is None, any value matches."""

    name: str
    value: str | None = None


@dataclass(frozen=True)
class Variant:
    """One of the targets of a split link. `share`: the percentage of visitors who are redirected to it."""

    url: str
    share: int


@dataclass(frozen=True)
class Rule:
    """The destination for some clicks. A condition that is None matches all clicks; all conditions must match.

    `languages`: in lower case. `pt` also matches `pt-br`.
    """

    url: str
    countries: tuple[str, ...] | None = None
    devices: tuple[Device, ...] | None = None
    languages: tuple[str, ...] | None = None
    os: tuple[OperatingSystem, ...] | None = None
    query: Parameter | None = None

    @property
    def needs_format_2(self) -> bool:
        """True if the rule has a condition that format 1 of a link's configuration row cannot contain."""
        return (self.languages, self.os, self.query) != (None, None, None)

    def fields(self) -> dict[str, object]:
        """Return the rule as JSON for the store and the Worker's database. Omit conditions that are None."""
        return {
            name: _present_fields(value) if isinstance(value, Parameter) else value
            for name, value in _present_fields(self).items()
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Rule:
        """Return the rule that was stored as JSON. Conditions that only newer versions know are ignored."""
        # The same few texts, such as country codes, occur in many rules. `intern` keeps each text in memory only once.
        lists: dict[str, Any] = {name: tuple(map(intern, fields[name])) for name in _LISTS if name in fields}
        return cls(fields["url"], **lists, query=Parameter(**fields["query"]) if "query" in fields else None)


_LISTS = ("countries", "devices", "languages", "os")


def _present_fields(value: Rule | Parameter) -> dict[str, object]:
    return {name: each for name, each in vars(value).items() if each is not None}


# The pattern of text that can be stored. PostgreSQL cannot store the character NUL.
NO_NUL = r"^[^\x00]*$"

# The minimum and maximum number of characters in a link's code.
MIN_CODE_CHARS, MAX_CODE_CHARS = 3, 32

# Paths that browsers and other software request automatically, and the software that requests them. Links with these
# codes would count clicks that no person made. Most such paths (`/favicon.ico`, `/.well-known/…`) are not valid codes
# and need no entry. Scanners also request words that people choose for links, such as `login`, but those words are not
# reserved.
RESERVED_CODES: Mapping[str, str] = {
    "cdn-cgi": "Cloudflare's own pages",  # Cloudflare serves /cdn-cgi/ on every host
    "apple-app-site-association": "phones",
    **dict.fromkeys(("favicon", "robots", "sitemap"), "browsers and crawlers"),
    **dict.fromkeys(
        (
            "wp-admin",
            "wp-login",
            "wp-content",
            "wp-includes",
            "wp-json",
            "xmlrpc",
            "phpmyadmin",
            "cgi-bin",
            "actuator",
            "server-status",
            "HNAP1",
        ),
        "vulnerability scanners",
    ),
}


@dataclass(frozen=True)
class WantedLink:
    """A link to create. If `code` is None, the link gets a random code. The other fields are those of `Link`."""

    url: str
    code: str | None
    rules: tuple[Rule, ...] = ()
    title: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()
    forward_query: bool = False
    starts_at: int | None = None
    ends_at: int | None = None
    after_url: str | None = None
    split: tuple[Variant, ...] = ()


# How long after its deletion a link can be restored.
RESTORABLE_MS = 30 * DAY_MS
# The maximum number of links that one request can change if it lists their ids, and if it selects them by a filter.
MAX_LINK_IDS, MAX_LINKS_SELECTED = 1_000, 10_000


class LinkChange(TypedDict, total=False):
    """The new values of a link's fields. Fields that are absent keep their value."""

    url: str
    rules: tuple[Rule, ...]
    title: str | None
    note: str | None
    tags: tuple[str, ...]
    forward_query: bool
    starts_at: int | None
    ends_at: int | None
    after_url: str | None
    split: tuple[Variant, ...]


@dataclass(frozen=True)
class BrokenTarget:
    """A broken target of a link. For at least a day, every request to the target has had a problem.

    `problem`: the problem of the last request. `since`: the first request with a problem. `checked_at`: the last
    request. Times are epoch ms.
    """

    url: str
    problem: TargetProblem
    since: int
    checked_at: int


@dataclass(frozen=True)
class Link:
    """A short link.

    `broken_targets`: the link's broken targets; see `store/broken_targets.py`. Transactions that read links leave it
    empty, unless their docstrings say otherwise.
    """

    id: str
    account_id: str
    user_id: int
    code: str
    url: str
    rules: tuple[Rule, ...]
    state: LinkState
    version: int
    created_at: int
    config_error: ErrorNote | None = None  # the reason why the sync could not apply the link
    live_at: int | None = None  # time from which all isolates serve the last synced version
    disabled: Disabled | None = None  # a disabled link is not in the Worker's configuration
    title: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()  # normalized (link_texts.normalize_tag), sorted, without duplicates
    broken_targets: tuple[BrokenTarget, ...] = ()
    deleted_at: int | None = None  # when the user deleted the link, if known
    forward_query: bool = False  # the Worker adds the query of the short URL to the target
    # The period in which clicks go to the targets (epoch ms). `ends_at` is the first moment after the period.
    starts_at: int | None = None
    ends_at: int | None = None
    after_url: str | None = None  # target of clicks outside of the period; None: treat such clicks like unknown codes
    split: tuple[Variant, ...] = ()  # if not empty, replaces `url` for clicks that match no rule

    @property
    def restorable_until(self) -> int | None:
        """The time (epoch ms) until which the deleted link can be restored; None if `deleted_at` is None."""
        return None if self.deleted_at is None else self.deleted_at + RESTORABLE_MS

    def targets(self) -> list[tuple[str, str]]:
        """Return all URLs to which clicks can lead, each with the path of its field (`url`, `rules.0.url`, …)."""
        targets = [("url", self.url), *((f"rules.{n}.url", rule.url) for n, rule in enumerate(self.rules))]
        targets += [(f"split.{n}.url", variant.url) for n, variant in enumerate(self.split)]
        return targets if self.after_url is None else [*targets, ("after_url", self.after_url)]

    def reachable_targets(self) -> list[str]:
        """Return the URLs to which clicks lead before, during or after the link's period."""
        unused = {"url"} if self.split else set()
        if self.starts_at is None and self.ends_at is None:
            unused.add("after_url")
        return [url for name, url in self.targets() if name not in unused]

    def targets_at(self, at: int) -> list[str]:
        """Return the URLs to which clicks lead at this time (epoch ms)."""
        if self.outside_at(at) is None:
            return replace(self, starts_at=None, ends_at=None).reachable_targets()
        return [] if self.after_url is None else [self.after_url]

    def targets_until(self, at: int) -> int | None:
        """Return the time until which `targets_at(at)` stays the same (epoch ms); None if it never changes."""
        return min((each for each in (self.starts_at, self.ends_at) if each is not None and each > at), default=None)

    def redirects_like(self, other: Link) -> bool:
        """Return True if both links redirect in the same way.

        They may differ in fields that the Worker does not use.
        """
        return replace(self, title=other.title, note=other.note, tags=other.tags) == other

    @property
    def format(self) -> int:
        """The format of the link's configuration row. Workers that know only older formats ignore parts of the row."""
        has_period = self.starts_at is not None or self.ends_at is not None
        has_features = has_period or self.forward_query or bool(self.split)
        return 2 if has_features or any(rule.needs_format_2 for rule in self.rules) else 1

    def outside_at(self, at: int) -> OutsideReason | None:
        """Return the reason why a click at `at` (epoch ms) is outside the link's period, or None if it is within it."""
        if self.starts_at is not None and at < self.starts_at:
            return "early"
        return "ended" if self.ends_at is not None and at >= self.ends_at else None

    def targets_on(self, host: str) -> list[str]:
        """Return the paths of the fields (`url`, `rules.0.url`, …) that contain a URL on `host`."""
        return [name for name, url in self.targets() if url_host(url) == host]
