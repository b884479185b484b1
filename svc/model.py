"""The service's data types, which are immutable.

Times are epoch ms (UTC), days are day numbers (clock.day_of). No I/O.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args
from urllib.parse import urlsplit

from svc.clock import DAY_MS, iso

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.remaining_resource import RemainingResource

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
# Kinds of events (docs/use/api.md). An OwnAction concerns only the user, an AccountAction a Cloudflare account.
OwnAction = Literal[
    "user.sign_up",
    "user.invite",
    "user.confirm",
    "user.change",
    "user.disable",
    "user.enable",
    "plan.change",
    "limits.change",
    "email.request",
    "email.cancel",
    "email.change",
    "email.revert",
    "password.reset",
    "password.link",
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
    "link_host.change",
    "site.create",
    "site.change",
    "site.delete",
    "site.rotate",
    "site.disable",
    "site.enable",
    "link.create",
    "link.change",
    "link.delete",
    "link.restore",
    "link.disable",
    "link.enable",
    "totals.import",
    "note.create",
    "note.change",
    "note.delete",
    "share.create",
    "share.change",
    "share.delete",
    "mailing.change",
    "mailing.confirm",
    "mailing.unsubscribe",
]
Action = Literal[OwnAction, AccountAction]
OWN_ACTIONS: tuple[OwnAction, ...] = get_args(OwnAction)
EventOrder = Literal["newest", "oldest"]
RolloutState = Literal["running", "done", "halted"]
# The reason why a rollout is halted: the operator halted it, or too many updates failed.
HaltReason = Literal["operator", "failures"]
# The outcome of an account's update. `excused`: the update failed for a reason unrelated to the new Worker.
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
# Reasons why a site's visitors do not reach the Worker, although its zone is in the account.
SiteWarning = Literal["zone_not_active", "dns_not_proxied"]
SITE_WARNINGS: tuple[SiteWarning, ...] = get_args(SiteWarning)
SiteState = Literal[RouteState, "deleted"]
SiteOrder = Literal["oldest", "newest", "host"]
LinkState = Literal["active", "deleted"]
# Why a target of a link is broken: the response has status 404 or 410, there is no secure connection, or its host does
# not exist.
TargetProblem = Literal["http_404", "http_410", "tls_failed", "unknown_host"]
TARGET_PROBLEMS: tuple[TargetProblem, ...] = get_args(TargetProblem)
TargetKind = Literal["site", "link", "account"]
NoteTarget = TargetKind  # the object whose reports show a note
# Kinds of notes that the service writes; see `svc.api.note_texts`.
NoteKind = Literal[
    "imported", "snippet_rotated", "worker_updated", "hours_refused", "route_missing", "link_host_route_missing"
]
MailingTarget = Literal["site", "account"]  # the object that an email report is about
AlertKind = Literal["spike", "drop", "silence"]
SnippetOnPage = Literal["present", "absent", "unread"]  # unread: the page could not be read
MailingKind = Literal["weekly", "monthly"]
# What the recipients of a mailing get.
MailingContent = Literal["reports", "alerts", "reports_and_alerts"]
MAILING_KINDS: tuple[MailingKind, ...] = get_args(MailingKind)
RecipientState = Literal["unconfirmed", "confirmed", "unsubscribed"]
LinkOrder = Literal["newest", "oldest", "clicks", "code"]
ConfigState = Literal["pending", "synced"]  # synced: the account's Worker has the current version
# The location of a database: a region in which it is created, or a jurisdiction in which its data must stay.
Jurisdiction = Literal["eu", "fedramp"]
Location = Literal["wnam", "enam", "weur", "eeur", "apac", "oc", Jurisdiction]
Plan = Literal["free", "api"]  # a user's plan in this service
# The objects whose number is limited for each user.
LimitedKind = Literal["accounts", "sites", "links", "keys"]
LIMITED_KINDS: tuple[LimitedKind, ...] = get_args(LimitedKind)
Language = Literal["en", "de"]  # of emails and of the web application
LANGUAGES: tuple[Language, ...] = get_args(Language)
DEFAULT_LANGUAGE: Language = "en"
EdgePlan = Literal["free", "paid"]  # an account's plan at Cloudflare, as set by the user
# Advice that a user can follow by changing an account setting: keep fewer days, or fewer months.
Suggestion = Literal["shorter_hourly_retention", "shorter_month_retention"]
# The ranges of Retention. A Worker without the setting keeps the maximum number of days, and months permanently.
MIN_DAYS_KEPT, MAX_DAYS_KEPT = 14, 35
MIN_MONTHS_KEPT, MAX_MONTHS_KEPT = 6, 1_200
MonthsKept = int | Literal["forever"]
# From this age on, an account has more than MIN_MONTHS_KEPT months: the current month and the first month do not count.
_MORE_MONTHS_MS = (MIN_MONTHS_KEPT + 2) * 31 * DAY_MS
Metric = Literal["requests", "writes", "reads", "size"]
AdviceLevel = Literal["ok", "watch", "upgrade_soon", "over"]  # in ascending order of severity
Unread = Literal["analytics", "size"]  # data sources that could not be read for an advice
Scope = Literal["accounts", "sites", "links", "reports"]
Period = Literal["today", "7d", "30d"]  # of reports in version 0.8.0, and of overviews
ReportPeriod = Literal["today", "7d", "30d", "yesterday", "month", "last_month", "12mo", "year", "all"]
ShownPeriod = ReportPeriod | Literal["custom"]
Step = Literal["hour", "day", "week", "month"]  # what each point of a report's series covers
Compare = Literal["previous", "year"]
OverviewOrder = Literal["views", "change", "name"]
UnavailableReason = Literal["not_installed", "cloudflare", "rate_limited"]  # why a Worker's database was not read
Dimension = Literal[
    "pages",
    "sources",
    "countries",
    "devices",
    "browsers",
    "os",
    "bots",
    "campaigns",
    "entries",
    "arrivals",
    "targets",
    "outside",
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
# Why a click is outside of its link's period: before its start, or after its end.
OutsideReason = Literal["early", "ended"]
OUTSIDE_REASONS: tuple[OutsideReason, ...] = get_args(OutsideReason)
# The dimensions that older Workers do not count.
VisitList = Literal["campaigns", "entries", "arrivals", "targets"]
# The failed action in a Worker's error report: an earlier push, or a cron run.
WorkerErrorKind = Literal["push", "cron"]
DROP_REASONS = ("budget", "invalid", "unknown_target", "too_old", "busy", "expired")

# States in which the Worker runs and the working token is assumed to work.
SERVING: tuple[AccountState, ...] = ("ready", "no_connection")

JsonObject = dict[str, object]


@dataclass(frozen=True)
class Event:
    """An entry of a user's audit log, stored in the same transaction as the change.

    `via`: "session", the id of an API key, "service", "operator", "mail" (a link in an email), or `nobody` (no
    credential).
    `ip`: the client's IP address.
    `outcome`: "done", "accepted" (work at Cloudflare follows), a state, or an error code.
    `edge_account_id`: the Cloudflare account that the event concerns; None if it concerns only the user.
    `count`: number of changes.
    `number`: position in the user's log, counted from 1 without gaps; 0 until the event is stored.
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
    """A user of the service, without the password's hash."""

    id: int
    email: str
    email_confirmed: bool
    plan: Plan
    notify: bool  # send emails when accounts need attention
    language: Language | None  # of emails to the user; None: not chosen
    email_refused_at: int | None  # when mail servers began to reject the address; None if they accept it
    disabled_at: int | None  # when the operator disabled the user; None if the user is enabled
    created_at: int


@dataclass(frozen=True)
class Key:
    """An API key, without its value, which the service does not store."""

    id: str
    user_id: int
    name: str | None
    prefix: str
    scopes: tuple[Scope, ...]
    allow_accounts: tuple[str, ...] | None  # Cloudflare account ids
    allow_ips: tuple[str, ...] | None  # addresses and CIDR networks
    created_at: int
    last_used: int | None  # day number


@dataclass(frozen=True)
class Operation:
    """A long-running operation on an account, stored so that the next process can resume it after a crash."""

    id: str
    account_id: str
    edge_account_id: str
    kind: OperationKind
    state: OperationState
    step: str
    error: ErrorNote | None
    attempts: int
    # The time at which the operation requested a working token. Set while the token may be valid and the account does
    # not use it.
    token_asked_at: int | None
    token_id: str | None  # the id of that token, if Cloudflare's response arrived
    open_uploads: int  # number of Worker uploads for which no response was recorded
    created_at: int
    updated_at: int

    @property
    def token_name(self) -> str:
        """The name of the working token that the operation creates."""
        return f"svc-{self.id}"


@dataclass(frozen=True)
class Rollout:
    """The update of all accounts to a Worker version: first a few canary accounts, then the others in waves.

    `updated`: number of accounts whose new Worker has reported. `failed`: number of accounts whose update failed
    because of the new Worker.
    """

    id: int
    bundle: str  # sha256
    state: RolloutState
    reason: HaltReason | None  # set while the rollout is halted
    spread_from: int | None  # start of the waves; None until the canary phase has ended
    updated: int
    failed: int
    started_at: int
    changed_at: int
    looked_at: int  # the service's last poll
    patient_until: int  # until this time after an outage of the service, a silent Worker does not count as failed


@dataclass(frozen=True)
class WorkerPush:
    """The Worker's status at its last push. Stored as JSON by field name, so new fields need a default."""

    at: int
    bundle: str
    schema: int | None = None
    queue: int = 0
    error: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    install: str = ""
    error_kind: WorkerErrorKind | None = None  # None: no error


@dataclass(frozen=True)
class Figure:
    """Cloudflare's count or estimate for one UTC day.

    For an estimate, `at_least` and `at_most` are the bounds of its 95% confidence interval. For a count, all three
    numbers are equal.
    """

    day: int
    value: int
    at_least: int
    at_most: int

    @classmethod
    def exact(cls, day: int, value: int) -> Figure:
        """Return the figure for a count, which has no confidence interval."""
        return cls(day, value, value, value)


@dataclass(frozen=True)
class Measured:
    """One metric of an account compared with its limit: usage per day, or the size of the Worker's database in bytes.

    `busiest`: the highest daily usage, or the size when it was last read.
    `busiest_day`: the day of that usage or reading; None if there was no usage.
    `forecast`: the day on which the trend reaches the limit.
    """

    level: AdviceLevel
    limit: int
    busiest: int
    busiest_day: int | None
    forecast: int | None


@dataclass(frozen=True)
class Advice:
    """An account's usage compared with the limits of its Cloudflare plan (see svc/worker/advice.py).

    Stored as JSON by field name, so new fields need a default.
    """

    at: int
    level: AdviceLevel | None  # None: no metric could be read
    metric: Metric | None = None  # the metric that determines the level; None if the level is ok or None
    metrics: Mapping[Metric, Measured] = field(default_factory=dict)  # only metrics that could be read
    unavailable: tuple[Unread, ...] = ()
    suggest: Suggestion | None = None  # any suggestion: only the size is a problem; see Account.suggestion


@dataclass(frozen=True)
class Retention:
    """The number of days for which an account's Worker keeps breakdowns, and of earlier months with their sums.

    `months` does not include the current month. `version`: the configuration version that last changed one of the
    numbers. 0 means that they were never changed, so the Worker has no row for them.
    """

    days: int = MAX_DAYS_KEPT
    months: MonthsKept = "forever"
    version: int = 0


@dataclass(frozen=True)
class ConnectOptions:
    """A user's choices for a new account.

    `location`: where to create the database. `name`: the account's name in the service; None for its name at
    Cloudflare.
    """

    location: Location | None = None
    name: str | None = None


# The names of the URLs to which the link host redirects `/`, and paths without a link.
Fallback = Literal["root_url", "not_found_url"]
# New URLs for the given fallbacks. None removes the fallback.
FallbackChanges = Mapping[Fallback, str | None]


@dataclass(frozen=True)
class LinkHostRequest:
    """A request to set the link host, with the user's confirmations.

    `replace_website`: True if the host may be used even if it serves a website. `has_certificate`: True if the zone has
    a certificate for the host in addition to Cloudflare's free certificate. `fallbacks`: the fallback URLs to change.
    """

    host: str
    replace_website: bool = False
    has_certificate: bool = False
    fallbacks: FallbackChanges = field(default_factory=dict)


@dataclass(frozen=True)
class LinkHost:
    """The host of all short links of an account."""

    host: str
    zone_id: str
    state: RouteState
    route_id: str | None
    error: ErrorNote | None
    version: int  # the account's configuration version that set the link host
    live_at: int | None = None  # when all isolates serve the last synced version
    root_url: str | None = None
    not_found_url: str | None = None
    config_error: ErrorNote | None = None  # the reason why the sync could not apply this version
    visit_at: int | None = None  # when the service requests a code from the host next; None if no request is due
    failed_visits: int = 0  # requests in a row with a problem
    visit_error: ErrorNote | None = None  # the problem of the last request, once it has lasted for a while

    def with_fallbacks(self, changes: FallbackChanges) -> LinkHost:
        """Return a copy with these changes."""
        return replace(
            self,
            root_url=changes.get("root_url", self.root_url),
            not_found_url=changes.get("not_found_url", self.not_found_url),
        )

    def fallbacks(self) -> dict[str, str]:
        """Return the fallback URLs that are set, by name."""
        urls = {"root_url": self.root_url, "not_found_url": self.not_found_url}
        return {name: url for name, url in urls.items() if url is not None}

    def route(self, account_id: str) -> ObsoleteRoute:
        """Return the link host's route, so that it can be removed."""
        return ObsoleteRoute(account_id, self.zone_id, self.host, link_pattern(self.host), self.route_id)


@dataclass(frozen=True)
class LinkHostUsage:
    """The clicks by people and the QR code scans on a link host since `first_day`. Scans are also clicks.

    `scans`: None if they cannot be read. `scans_since`: the first day that the scans cover.
    """

    host: str
    first_day: int
    clicks: int
    scans: int | None
    scans_since: int | None
    unavailable: UnavailableReason | None


@dataclass(frozen=True)
class ObsoleteRoute:
    """A route to remove at Cloudflare. `site_id`: the route's site; None if the route belonged to the link host.

    `again_at`: when to search again for a route that may have been created but was not found (epoch ms).
    """

    account_id: str
    zone_id: str
    host: str
    pattern: str
    route_id: str | None  # None if the route was never created, or its creation was not confirmed
    site_id: str | None = None
    again_at: int | None = None


def site_pattern(host: str, path: str) -> str:
    """Return the route pattern of a site's counter. It matches the path with any script name or query."""
    return f"{host}{path}*"


def link_pattern(host: str) -> str:
    """Return the route pattern that covers all paths of a link host."""
    return f"{host}/*"


@dataclass(frozen=True)
class Account:
    """A connected Cloudflare account. Only the vault can decrypt `sealed_token`, which `repr` does not show."""

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
    token_made_at: int | None  # when the token became the account's token
    token_refused_at: int | None  # every token check since this time has failed; None if the last check succeeded
    token_refusals: int  # failed checks since `token_refused_at`
    suspected_at: int | None  # time of the refusal that made a health check due; None if no refusal made a check due
    well_at: int | None  # time of the last health check if it found no problems, otherwise None
    error: ErrorNote | None
    warnings: tuple[AccountWarning, ...]  # each warning stays until its cause is fixed
    revoke_tokens: tuple[str, ...]  # names of tokens that may still be valid but do not belong to the account
    bootstrap_expires_at: int | None  # None if the bootstrap token has been deleted
    location: Location | None  # location of the Worker's database; None if Cloudflare chose it
    database_id: str | None
    database_sought_at: int | None  # when the database was requested, if no outcome has been recorded
    script_etag: str | None  # etag of our last upload; any other etag means that something else changed the script
    edge_bundle: str | None
    edge_schema: int | None
    edge_link_format: int  # the newest form of a link's configuration row that the Worker knows
    installed_at: int | None
    install_id: str | None  # the operation that uploaded the running Worker
    heard_at: int | None  # when the Worker last reported, or was installed
    retention: Retention
    config_version: int  # newest version of the sites, links, link host and retention
    synced_version: int  # version in the Worker's database
    asked_version: int  # highest version that may be in the Worker's database, as far as this store knows
    restored_as_of: int | None  # after a restore: end of the backup's totals, until the data was read back
    push: WorkerPush | None
    advice: Advice | None
    advice_due_at: int | None  # when to compute the advice next; None if it has never been computed
    notified: JsonObject  # problems that emails have reported to the user (actors/service/notifications.py)
    notice_due_at: int | None
    link_host: LinkHost | None
    created_at: int

    @property
    def suggestion(self) -> Suggestion | None:
        """The setting that makes the database smaller, if the advice suggests that, or None.

        The sums of months make a database grow, but the number of days does not. A setting that is already at its
        minimum is not suggested, and neither are fewer months if the account is too young to have more.
        """
        if self.advice is None or self.advice.suggest is None:
            return None
        size = self.advice.metrics.get("size")
        is_growing = size is not None and size.forecast is not None
        has_more_months = self.advice.at - self.created_at > _MORE_MONTHS_MS
        fewer_days = self.retention.days > MIN_DAYS_KEPT
        fewer_months = has_more_months and self.retention.months != MIN_MONTHS_KEPT
        if fewer_months and (is_growing or not fewer_days):
            return "shorter_month_retention"
        return "shorter_hourly_retention" if fewer_days else None


@dataclass(frozen=True)
class FormerAccount:
    """A disconnected account, which keeps its sites, links and totals readable for the user."""

    id: str
    user_id: int
    edge_account_id: str
    name: str
    disconnected_at: int
    counted_until: int | None  # end of the stored totals; None if the account never counted
    revoke_token: str | None  # the working token's name, if that token may still be valid
    left: tuple[RemainingResource, ...]  # resources that could not be removed from Cloudflare
    by_operator: bool  # the operator has disconnected the account

    @property
    def title(self) -> str:
        """The account's name and id. The id is included because several accounts can have the same name."""
        return f"{self.name} ({self.edge_account_id})"

    @property
    def has_all_counts(self) -> bool:
        """True if all counts until the disconnect are stored, because the disconnect read the Worker's last counts."""
        return self.counted_until is not None and self.counted_until >= self.disconnected_at

    @property
    def synced_version(self) -> int:
        """The highest possible version, because there is no Worker that could still be missing a change."""
        return sys.maxsize

    @property
    def edge_link_format(self) -> int:
        """The highest possible form, for the same reason."""
        return sys.maxsize

    @property
    def link_host(self) -> None:
        """Always None, because the account's links no longer work."""
        return


@dataclass(frozen=True)
class DeletionResult:
    """The result of a user's deletion, collected from the accounts that it disconnected."""

    accounts: tuple[FormerAccount, ...]

    @property
    def left(self) -> tuple[RemainingResource, ...]:
        """The resources that could not be removed from Cloudflare. Each one names its account."""
        return tuple(thing.of(account.title) for account in self.accounts for thing in account.left)

    @property
    def revoke_tokens(self) -> tuple[str, ...]:
        """The names of working tokens that may still be valid."""
        return tuple(account.revoke_token for account in self.accounts if account.revoke_token is not None)


# The maximum length of the operator's reason for disabling a site or link, which the owner sees.
MAX_REASON_CHARS = 500


@dataclass(frozen=True)
class Disabled:
    """When and why the operator disabled a site or a link. The owner sees the reason."""

    at: int
    reason: str

    @property
    def details(self) -> JsonObject:
        """The details of the error that refuses changes to the object."""
        return {"disabled": {"at": iso(self.at), "reason": self.reason}}


@dataclass(frozen=True)
class Retiring:
    """A former path of a site, on which views are counted until the time `until`. `route_id`: None without a route."""

    path: str
    route_id: str | None
    until: int


@dataclass(frozen=True)
class EndedPath:
    """A site's old path that no longer counts views. `version`: the configuration version that removed the path."""

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
    path: str  # one or two segments, such as "/ab3/x9k"
    script_name: str  # without .js
    snippet: str  # the HTML for the site's pages, with the placeholder __PATH__ for the path
    excluded_paths: tuple[str, ...]
    respect_gpc: bool  # do not count visitors whose browser sends Sec-GPC or DNT
    route_id: str | None
    retiring: tuple[Retiring, ...]
    error: ErrorNote | None
    version: int
    created_at: int
    config_error: ErrorNote | None = None  # the reason why the sync could not apply the site
    live_at: int | None = None  # when all isolates serve the last synced version
    warnings: tuple[ErrorNote, ...] = ()  # each has a code from SiteWarning, and stays until its cause is fixed
    ended_paths: tuple[EndedPath, ...] = ()
    disabled: Disabled | None = None  # a disabled site is not in the Worker's configuration
    first_view_at: int | None = None  # first hour with views, at least created_at; None if no views were pushed
    excluded_networks: tuple[str, ...] = ()  # canonical; see security/ip_networks
    excluded_countries: tuple[str, ...] = ()
    excluded_asns: tuple[int, ...] = ()
    visitor_opt_out: bool = False  # offer visitors a page that turns counting off for their browser

    @property
    def routes(self) -> list[ObsoleteRoute]:
        """The routes of the site's current and old paths, so that they can be removed. Empty for a deleted site."""
        if self.state == "deleted":
            return []
        old_routes = [self.route(old.path, old.route_id) for old in self.retiring]
        return [self.route(self.path, self.route_id), *old_routes]

    def route(self, path: str, route_id: str | None) -> ObsoleteRoute:
        """Return the route of one of the site's paths, so that it can be removed."""
        pattern = site_pattern(self.host, path)
        return ObsoleteRoute(self.account_id, self.zone_id, self.host, pattern, route_id, self.id)


@dataclass(frozen=True)
class SiteChange:
    """The settings of a site that a request sets. None keeps the current value."""

    excluded_paths: tuple[str, ...] | None = None
    excluded_networks: tuple[str, ...] | None = None
    excluded_countries: tuple[str, ...] | None = None
    excluded_asns: tuple[int, ...] | None = None
    respect_gpc: bool | None = None
    visitor_opt_out: bool | None = None

    def apply_to(self, site: Site) -> Site:
        """Return the site with these settings."""
        return replace(site, **{name: value for name, value in vars(self).items() if value is not None})


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
        """True if the rule has a condition that is not part of the first form of a link's configuration row."""
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
        lists = {name: tuple(fields[name]) for name in ("countries", "devices", "languages", "os") if name in fields}
        return cls(fields["url"], **lists, query=Parameter(**fields["query"]) if "query" in fields else None)


def _present_fields(value: Rule | Parameter) -> dict[str, object]:
    return {name: each for name, each in vars(value).items() if each is not None}


# The pattern of text that can be stored. PostgreSQL cannot store the character NUL.
NO_NUL = r"^[^\x00]*$"

# Paths that browsers and other software request automatically, and the software that requests them. Links with these
# codes would count clicks that no person made. Most such paths (`/favicon.ico`, `/.well-known/…`) are not valid codes
# and need no entry. Scanners also request words that people choose for links, such as `login`, but those words are not
# reserved.
# The minimum and maximum number of characters in a link's code.
MIN_CODE_CHARS, MAX_CODE_CHARS = 3, 32
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


# How long a deleted link can be restored.
RESTORABLE_MS = 30 * DAY_MS
# The maximum number of links that one request can change: selected by their ids, or by a filter.
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
    """A target of a link whose requests have had a problem for at least a day.

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

    `broken_targets`: those of its targets that are broken; see `store/broken_targets.py`. Transactions on links leave
    it empty, unless they say otherwise.
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
    live_at: int | None = None  # when all isolates serve the last synced version
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
    after_url: str | None = None  # where clicks outside of the period go; None: as for an unknown code
    split: tuple[Variant, ...] = ()  # if not empty, replaces `url` for clicks that match no rule

    @property
    def restorable_until(self) -> int | None:
        """The time (epoch ms) until which the link can be restored; None if it cannot."""
        return None if self.deleted_at is None else self.deleted_at + RESTORABLE_MS

    def targets(self) -> list[tuple[str, str]]:
        """Return all URLs to which clicks can lead, each with the path of its field (`url`, `rules.0.url`, …)."""
        targets = [("url", self.url), *((f"rules.{n}.url", rule.url) for n, rule in enumerate(self.rules))]
        targets += [(f"split.{n}.url", variant.url) for n, variant in enumerate(self.split)]
        return targets if self.after_url is None else [*targets, ("after_url", self.after_url)]

    def redirects_like(self, other: Link) -> bool:
        """Return True if the links differ at most in the fields that the Worker does not have."""
        return replace(self, title=other.title, note=other.note, tags=other.tags) == other

    @property
    def format(self) -> int:
        """The form of the link's configuration row. Workers that know only older forms ignore parts of the row."""
        has_period = self.starts_at is not None or self.ends_at is not None
        has_features = has_period or self.forward_query or bool(self.split)
        return 2 if has_features or any(rule.needs_format_2 for rule in self.rules) else 1

    def outside_at(self, at: int) -> OutsideReason | None:
        """Return the reason why a click at `at` (epoch ms) is outside of the link's period, or None if it is not."""
        if self.starts_at is not None and at < self.starts_at:
            return "early"
        return "ended" if self.ends_at is not None and at >= self.ends_at else None

    def targets_on(self, host: str) -> list[str]:
        """Return the paths of the fields (`url`, `rules.0.url`, …) that contain a URL on `host`."""
        return [name for name, url in self.targets() if url_host(url) == host]


@dataclass(frozen=True)
class Counts:
    """Counts for a site or a link: views by people, hits by bots, and unique visitors."""

    views: int = 0
    bots: int = 0
    visitors: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.views + other.views, self.bots + other.bots, self.visitors + other.visitors)


@dataclass(frozen=True)
class Note:
    """A text about a day, which reports show. A note on an account is shown for all of the account's sites and links.

    `text`: the user's text. Notes that the service wrote have an empty text, and `kind` and `facts` instead.
    """

    id: str
    user_id: int
    account_id: str  # the target's account, or the target itself
    target_kind: NoteTarget
    target: str
    day: int
    text: str
    created_at: int
    kind: NoteKind | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A public page with the counts of a site, a link or an account. Its URL contains a secret.

    `until`: the last day (epoch day) on which the page is available; None if it does not end. `periods`: the periods
    that viewers can select; None if they can select any days. `lists`: True if the page shows breakdowns. `embed`: the
    origins of the sites whose pages may show the page in a frame.
    """

    id: str
    user_id: int
    account_id: str  # the target's account, or the target itself
    target_kind: TargetKind
    target: str
    name: str
    sealed_secret: bytes = field(repr=False)
    password_hash: str | None = field(repr=False)
    until: int | None
    periods: tuple[ReportPeriod, ...] | None
    lists: bool
    embed: tuple[str, ...]
    created_at: int


@dataclass(frozen=True)
class Recipient:
    """A recipient of email reports.

    `asked_at`: when the last confirmation email to this address was queued (epoch ms); None if none was.
    """

    id: str
    email: str
    language: Language
    state: RecipientState
    asked_at: int | None = None


@dataclass(frozen=True)
class Mailing:
    """The email reports about a site, or about all sites of an account.

    `weekly_day`, `monthly_day`: the day (day number) on which the next report is due; None if these reports are off.
    `alerts_from`: hours from this time on (epoch ms) can raise alerts; None if alerts are off.
    `minute`: how many minutes after midnight UTC reports are due.
    """

    target: str
    target_kind: MailingTarget
    user_id: int
    account_id: str
    weekly_day: int | None
    monthly_day: int | None
    minute: int
    created_at: int
    recipients: tuple[Recipient, ...] = ()
    alerts_from: int | None = None

    def next_day(self, kind: MailingKind) -> int | None:
        """The day on which the next report of this kind is due; None if these reports are off."""
        return self.weekly_day if kind == "weekly" else self.monthly_day
