"""The nouns of the service: frozen, no I/O. Times are epoch ms (UTC), days are day numbers (clock.day_of)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import ErrorNote
    from svc.leftover import Leftover

AccountState = Literal[
    "pending",
    "bootstrap_lost",
    "connected",
    "installing",
    "ready",
    "permission_error",
    "revoked",
    "resource_drift",
    "no_connection",
]
OperationKind = Literal["connect", "renew", "install", "update", "disconnect"]
# What the events of a user tell of (docs/api.md): first what is about the user, then what is about an edge account.
OwnAction = Literal[
    "user.sign_up",
    "user.confirm",
    "user.change",
    "plan.change",
    "password.reset",
    "password.change",
    "password.refuse",
    "session.begin",
    "session.end",
    "key.issue",
    "key.change",
    "key.revoke",
]
AccountAction = Literal[
    "account.connect",
    "account.change",
    "account.renew",
    "account.install",
    "account.update",
    "account.disconnect",
    "account.check",
    "account.state",
    "link_host.set",
    "site.create",
    "site.change",
    "site.delete",
    "site.rotate",
    "link.create",
    "link.change",
    "link.delete",
    "totals.import",
]
Action = Literal[OwnAction, AccountAction]
OWN_ACTIONS: tuple[OwnAction, ...] = get_args(OwnAction)
EventOrder = Literal["newest", "oldest"]
RolloutState = Literal["running", "done", "halted"]
# A rollout is halted by its operator, or because too many updates failed.
HaltReason = Literal["operator", "failures"]
# The outcome of an account's update; `excused`: it failed for a reason that says nothing about the new worker.
UpdateOutcome = Literal["under_way", "updated", "failed", "excused"]
OperationState = Literal["running", "done", "failed"]
AccountWarning = Literal[
    "bootstrap_not_deleted",
    "orphan_not_deleted",
    "old_token_not_deleted",
    "token_expires_soon",
    "not_confirmed",
    "crons_stopped",
    "daily_limit",
]
RouteState = Literal["route_pending", "active", "route_conflict"]
# Why a site's visitors do not reach the worker, although its zone is in the account.
SiteWarning = Literal["zone_not_active", "dns_not_proxied"]
SITE_WARNINGS: tuple[SiteWarning, ...] = get_args(SiteWarning)
SiteState = Literal[RouteState, "deleted"]
SiteOrder = Literal["oldest", "newest", "host"]
LinkState = Literal["active", "deleted"]
LinkOrder = Literal["newest", "oldest", "clicks", "code"]
ConfigState = Literal["pending", "synced"]  # whether the account's worker knows it as it is
# Where a database is kept: near a part of the world, or by law inside a jurisdiction.
Jurisdiction = Literal["eu", "fedramp"]
Location = Literal["wnam", "enam", "weur", "eeur", "apac", "oc", Jurisdiction]
Plan = Literal["free", "api"]  # a user's, with this service
EdgePlan = Literal["free", "paid"]  # an account's, with the edge platform, by its user's own word
Suggestion = Literal["shorter_hourly_retention"]  # advice that a user can follow by a setting of the account
# The range of DaysKept. The maximum is also what a worker without the setting keeps.
LEAST_DAYS_KEPT, MOST_DAYS_KEPT = 14, 35
Metric = Literal["requests", "writes", "reads", "size"]
AdviceLevel = Literal["ok", "watch", "upgrade_soon", "over"]  # each worse than the one before
Unread = Literal["analytics", "size"]  # what an advice could not read
Scope = Literal["accounts", "sites", "links", "reports"]
Period = Literal["today", "7d", "30d"]
UnavailableReason = Literal["not_installed", "cloudflare", "rate_limited"]  # why an account's database was not read
Dimension = Literal["pages", "sources", "countries", "devices", "browsers", "os", "bots"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
# What failed when a worker reports an error: a push before this one, or the work of a cron.
WorkerErrorKind = Literal["push", "cron"]
DROP_REASONS = ("budget", "invalid", "unknown_target", "too_old", "busy", "expired")

# States in which the worker runs and the working token is believed to work.
SERVING: tuple[AccountState, ...] = ("ready", "no_connection")

JsonObject = dict[str, object]


@dataclass(frozen=True)
class Event:
    """Something that was changed for a user: one of the user's audit trail, written with the change.

    `via`: "session", the id of an API key, "service", "operator", "mail" (the link of an e-mail), "nobody" (without a
    credential). `ip`: the client's address. `outcome`: "done", "accepted" (the rest follows at the edge platform), a
    state, or the code of an error. `edge_account_id`: the edge account that it is about; None: the user alone. `count`:
    how many changes of the kind. `number`: its place in the trail, from 1, without a gap; 0: it is not written yet.
    """

    user_id: int
    at: int
    via: str
    ip: str | None
    action: Action
    target: str | None
    outcome: str
    edge_account_id: str | None = None
    count: int = 1
    number: int = 0


@dataclass(frozen=True)
class User:
    """A person who signs in. Never holds the password's hash."""

    id: int
    email: str
    email_confirmed: bool
    plan: Plan
    notify: bool  # troubles of the accounts are told by e-mail
    email_refused_at: int | None  # since when mail servers refuse the address
    created_at: int


@dataclass(frozen=True)
class Key:
    """An API key; its value is known only to its owner."""

    id: str
    user_id: int
    name: str | None
    prefix: str
    scopes: tuple[Scope, ...]
    allow_accounts: tuple[str, ...] | None  # edge account ids
    allow_ips: tuple[str, ...] | None  # addresses and CIDR networks
    created_at: int
    last_used: int | None  # day number


@dataclass(frozen=True)
class Operation:
    """One long piece of work on an edge account: a row, so that a killed process can go on with it."""

    id: str
    account_id: str
    edge_account_id: str
    kind: OperationKind
    state: OperationState
    step: str
    error: ErrorNote | None
    attempts: int
    # When a working token of the operation's name was asked for, while it may be alive and is not the account's own.
    token_asked_at: int | None
    token_id: str | None  # the id of that token, once the platform has told it
    open_uploads: int  # uploads of the worker that were begun and whose answer was never recorded
    created_at: int
    updated_at: int

    @property
    def token_name(self) -> str:
        """The name of the working token that the operation makes."""
        return f"svc-{self.id}"


@dataclass(frozen=True)
class Rollout:
    """The update of all accounts to a worker: a few accounts first, and then the others in turns.

    `updated`: accounts whose new worker reports. `failed`: accounts whose update failed because of the new worker.
    """

    id: int
    bundle: str  # sha256
    state: RolloutState
    reason: HaltReason | None  # why it is halted
    spread_from: int | None  # when the turns of the other accounts began; None: the first ones are still being tried
    updated: int
    failed: int
    started_at: int
    changed_at: int
    looked_at: int  # the service's last poll
    patient_until: int  # the service was away: until then silence says nothing about a worker


@dataclass(frozen=True)
class WorkerPush:
    """The worker's report of itself at its last push; stored by these names, so that each new one has a default."""

    at: int
    bundle: str
    schema: int | None = None
    queue: int = 0
    error: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    install: str = ""
    error_kind: WorkerErrorKind | None = None  # None: there is no error


@dataclass(frozen=True)
class Figure:
    """The edge platform's count for one UTC day, or its estimate.

    Of an estimate, the true value lies between `at_least` and `at_most` in 95 of 100 cases. Of a count, all three
    numbers are equal.
    """

    day: int
    value: int
    at_least: int
    at_most: int

    @classmethod
    def exact(cls, day: int, value: int) -> Figure:
        """A figure that is not an estimate."""
        return cls(day, value, value, value)


@dataclass(frozen=True)
class Measured:
    """One metric of an account against its limit: a day's use, or the size of the worker's database in bytes.

    `busiest`: the most that was used on one of the days, and `busiest_day` that day (None: nothing was); of a size, how
    large it is and the day on which that was asked. `forecast`: the day on which the trend reaches the limit.
    """

    level: AdviceLevel
    limit: int
    busiest: int
    busiest_day: int | None
    forecast: int | None


@dataclass(frozen=True)
class Advice:
    """How near an account is to its limits (see svc/worker/advice.py). It is stored by these names, so each new one has
    a default."""

    at: int
    level: AdviceLevel | None  # None: no metric could be read
    metric: Metric | None = None  # the one that decides the level; None: all is ok, or none could be read
    metrics: Mapping[Metric, Measured] = field(default_factory=dict)  # only those that could be read
    unavailable: tuple[Unread, ...] = ()
    suggest: Suggestion | None = None  # shown only while it can be followed: see Account.suggestion


@dataclass(frozen=True)
class DaysKept:
    """The number of days whose breakdowns an account's worker keeps in its database.

    `version`: the account's configuration version that set it. 0: never changed, so the worker has no row of it.
    """

    days: int = MOST_DAYS_KEPT
    version: int = 0


@dataclass(frozen=True)
class LinkHostWish:
    """A host that is to be the link host, and what its user has confirmed.

    `replace_website`: what its DNS record leads to may be hidden. `has_certificate`: the zone has a certificate for it
    that the platform did not give for free.
    """

    host: str
    replace_website: bool = False
    has_certificate: bool = False


@dataclass(frozen=True)
class LinkHost:
    """The one host of an account on which its short links live."""

    host: str
    zone_id: str
    state: RouteState
    route_id: str | None
    error: ErrorNote | None
    version: int  # the account's configuration version that holds it
    live_at: int | None = None  # from when on every isolate serves the version that was synced last

    def route(self, account_id: str) -> UnwantedRoute:
        """Its route, as one that is wanted no more."""
        return UnwantedRoute(account_id, self.zone_id, self.host, link_pattern(self.host), self.route_id)


@dataclass(frozen=True)
class UnwantedRoute:
    """A route at the platform that is to be removed. `site_id`: whose it was; None: the link host's.

    `again_at`: it was not there, though it may have been asked for, and is looked for once more then (epoch ms).
    """

    account_id: str
    zone_id: str
    host: str
    pattern: str
    route_id: str | None  # None: it may never have been made, or its making was never heard of
    site_id: str | None = None
    again_at: int | None = None


def site_pattern(host: str, path: str) -> str:
    """The route of a site's counter: its path, with and without what follows it (query, script name)."""
    return f"{host}{path}*"


def link_pattern(host: str) -> str:
    """The route of a link host: all of it."""
    return f"{host}/*"


@dataclass(frozen=True)
class Account:
    """A connected edge account. `sealed_token` opens only with the vault; repr never shows it."""

    id: str
    user_id: int
    edge_account_id: str
    name: str
    plan: EdgePlan
    state: AccountState
    token_id: str | None
    token_name: str | None
    token_expires_at: int | None
    sealed_token: bytes | None = field(repr=False)
    token_made_at: int | None  # when it became the account's own
    token_refused_at: int | None  # since when every check of the token was refused; None: the last one was not
    token_refusals: int  # checks since then
    suspected_at: int | None  # since when a refusal makes a look at the whole account due; None: it does not
    well_at: int | None  # when the last look at the whole account found all well; None: it did not
    error: ErrorNote | None
    warnings: tuple[AccountWarning, ...]  # each stays until its cause is gone
    revoke_tokens: tuple[str, ...]  # names of tokens that may be alive at the platform and are not the account's own
    bootstrap_expires_at: int | None  # None: the bootstrap token is gone
    location: Location | None  # where its database is made; None: where the edge platform makes it
    database_id: str | None
    database_sought_at: int | None  # a creation of the database was asked for then, and its outcome is not recorded
    script_etag: str | None  # etag of our last upload; a different one means the script was changed outside the service
    edge_bundle: str | None
    edge_schema: int | None
    installed_at: int | None
    install_id: str | None  # the operation whose upload runs
    heard_at: int | None  # when the worker reported last, or was installed
    days_kept: DaysKept
    config_version: int  # the newest version of sites, links, link host and days kept
    synced_version: int  # what the worker's database has
    asked_version: int  # what it may have at most, as far as this store knows
    restored_as_of: int | None  # up to when a restored store knew its totals, until its worker was asked
    push: WorkerPush | None
    advice: Advice | None
    advice_due_at: int | None  # when it is to be computed next; None: it never was
    told: JsonObject  # what its user was told by e-mail (actors/service/notifications.py)
    notice_due_at: int | None
    link_host: LinkHost | None
    created_at: int

    @property
    def suggestion(self) -> Suggestion | None:
        """The suggestion of the advice; None when there is none or the setting is already at its minimum."""
        if self.advice is None or self.days_kept.days <= LEAST_DAYS_KEPT:
            return None
        return self.advice.suggest


@dataclass(frozen=True)
class FormerAccount:
    """What is left of an account that was disconnected: by it the user still sees its sites, links and totals."""

    id: str
    user_id: int
    edge_account_id: str
    name: str
    disconnected_at: int
    counted_until: int | None  # up to when its totals are known; None: it never counted
    revoke_token: str | None  # the name of the working token, where it may be alive
    left: tuple[Leftover, ...]  # what could not be removed from the edge platform

    @property
    def title(self) -> str:
        """How its user knows it among others: names are chosen freely, two may be one."""
        return f"{self.name} ({self.edge_account_id})"

    @property
    def has_all_counts(self) -> bool:
        """Whether everything counted before the disconnect is stored: the disconnect read the worker's last counts."""
        return self.counted_until is not None and self.counted_until >= self.disconnected_at

    @property
    def synced_version(self) -> int:
        """There is no worker any more that could lack something of the configuration."""
        return sys.maxsize

    @property
    def link_host(self) -> None:
        """Its links are clicked nowhere."""
        return


@dataclass(frozen=True)
class Farewell:
    """What came of a user's deletion: what is left of the accounts that were disconnected for it."""

    accounts: tuple[FormerAccount, ...]

    @property
    def left(self) -> tuple[Leftover, ...]:
        """What could not be removed from the edge platform, and of which account it is."""
        return tuple(thing.of(account.title) for account in self.accounts for thing in account.left)

    @property
    def revoke_tokens(self) -> tuple[str, ...]:
        """The names of working tokens that may be alive."""
        return tuple(account.revoke_token for account in self.accounts if account.revoke_token is not None)


@dataclass(frozen=True)
class Retiring:
    """An old path of a site, still counted until `until`. `route_id` None: its route is still to be made."""

    path: str
    route_id: str | None
    until: int


@dataclass(frozen=True)
class EndedPath:
    """An old path of a site that counts no more, as of a version of the account's configuration."""

    path: str
    version: int


@dataclass(frozen=True)
class Site:
    """A host whose pages are counted."""

    id: str
    account_id: str
    user_id: int
    host: str
    zone_id: str
    state: SiteState
    path: str  # "/ab3/x9k": one or two segments
    script_name: str  # without .js
    snippet: str  # the code that its pages carry, with __PATH__ for its path
    excluded_paths: tuple[str, ...]
    respect_gpc: bool  # who sends Sec-GPC or DNT is not counted
    route_id: str | None
    retiring: tuple[Retiring, ...]
    error: ErrorNote | None
    version: int
    created_at: int
    config_error: ErrorNote | None = None  # why the worker does not know it, though it was synced
    live_at: int | None = None  # from when on every isolate serves the version that was synced last
    warnings: tuple[ErrorNote, ...] = ()  # each has a code of SiteWarning, and stays until its cause is gone
    ended_paths: tuple[EndedPath, ...] = ()
    first_view_at: int | None = None  # the first hour with views, no earlier than the site is; None: none was pushed

    @property
    def routes(self) -> list[UnwantedRoute]:
        """The routes of its path and of its old ones, as some that are wanted no more; none of a deleted site."""
        if self.state == "deleted":
            return []
        old_routes = [self.route(old.path, old.route_id) for old in self.retiring]
        return [self.route(self.path, self.route_id), *old_routes]

    def route(self, path: str, route_id: str | None) -> UnwantedRoute:
        """The route of one of its paths, as one that is wanted no more."""
        pattern = site_pattern(self.host, path)
        return UnwantedRoute(self.account_id, self.zone_id, self.host, pattern, route_id, self.id)


def url_host(url: str) -> str:
    """The host of an address, in lower case, without user, port and the dot at its end."""
    return (urlsplit(url).hostname or "").removesuffix(".")


@dataclass(frozen=True)
class Rule:
    """Where a click goes when its country and device match; an absent condition matches all."""

    url: str
    countries: tuple[str, ...] | None = None
    devices: tuple[str, ...] | None = None

    def fields(self) -> dict[str, object]:
        """Its one form in JSON, in the store, in the worker's database and in an answer: what is absent is left out."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Rule:
        """The rule whose `fields` were stored as JSON; a condition that only a newer version knows is ignored."""
        conditions = {name: tuple(fields[name]) for name in ("countries", "devices") if name in fields}
        return cls(fields["url"], **conditions)


# The pattern of a text that can be stored: PostgreSQL stores no NUL.
NO_NUL = r"^[^\x00]*$"

# Paths of a link host that programs ask for by themselves, and which do: as codes they would count clicks that nobody
# made. Most such paths (`/favicon.ico`, `/.well-known/…`) cannot be codes anyway. Words that people choose for a link,
# like `login`, are not here though scanners try them.
RESERVED_CODES: Mapping[str, str] = {
    "cdn-cgi": "the edge platform's own pages",  # /cdn-cgi/ is the platform's own on every host
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
        "scanners for weaknesses",
    ),
}


@dataclass(frozen=True)
class Link:
    """A short link."""

    id: str
    account_id: str
    user_id: int
    code: str
    url: str
    rules: tuple[Rule, ...]
    state: LinkState
    version: int
    created_at: int
    config_error: ErrorNote | None = None  # why the worker does not know it, though it was synced
    live_at: int | None = None  # from when on every isolate serves the version that was synced last

    def targets_on(self, host: str) -> list[str]:
        """The fields (`url`, `rules.0.url` …) whose address is on `host`."""
        targets = [("url", self.url), *((f"rules.{n}.url", rule.url) for n, rule in enumerate(self.rules))]
        return [name for name, url in targets if url_host(url) == host]


@dataclass(frozen=True)
class Counts:
    """Views of people, hits of bots, unique visitors."""

    views: int = 0
    bots: int = 0
    visitors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.views + other.views, self.bots + other.bots, self.visitors + other.visitors)
