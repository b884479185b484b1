"""Cloudflare accounts, their settings, and accounts that were disconnected."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from svc.clock import DAY_MS

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model.advice import Advice, Suggestion
    from svc.model.events import JsonObject
    from svc.model.link_hosts import LinkHost
    from svc.model.pushes import WorkerPush
    from svc.remaining_resource import RemainingResource

# The stored expiry of a token that does not expire: 9999-12-31T23:59:59Z (epoch ms).
NO_EXPIRY = 253_402_300_799_000

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
AccountWarning = Literal[
    "bootstrap_not_deleted",
    "orphan_not_deleted",
    "old_token_not_deleted",
    "token_expires_soon",
    "not_confirmed",
    "crons_stopped",
    "daily_limit",
]
ConfigState = Literal["pending", "synced"]  # synced: the account's Worker has the object's current version
# The location of a database: a region in which it is created, or a jurisdiction in which its data must stay.
Jurisdiction = Literal["eu", "fedramp"]
Location = Literal["wnam", "enam", "weur", "eeur", "apac", "oc", Jurisdiction]
EdgePlan = Literal["free", "paid"]  # an account's plan at Cloudflare, as set by the user

# The limits of the numbers in WorkerSettings. A Worker without these settings keeps the maximum number of days, and
# keeps monthly sums permanently.
MIN_DAYS_KEPT, MAX_DAYS_KEPT = 14, 35
MIN_MONTHS_KEPT, MAX_MONTHS_KEPT = 6, 1_200
MonthsKept = int | Literal["forever"]
# From this age on, an account has more than MIN_MONTHS_KEPT whole months. The current month and the month in which the
# account was connected are not whole.
_MORE_MONTHS_MS = (MIN_MONTHS_KEPT + 2) * 31 * DAY_MS

# States in which the Worker runs and the working token is assumed to work.
SERVING: tuple[AccountState, ...] = ("ready", "no_connection")


@dataclass(frozen=True)
class WorkerSettings:
    """The settings of an account that its Worker needs.

    `days`, `months`: for how many days the Worker keeps daily breakdowns, and for how many months, not counting the
    current one, it keeps monthly sums. `plan`: determines how many rows the Worker may write per day. `version`: the
    configuration version that last changed one of the settings. 0 means that they were never changed, so the Worker has
    no row for them.
    """

    days: int = MAX_DAYS_KEPT
    months: MonthsKept = "forever"
    version: int = 0
    plan: EdgePlan = "free"


@dataclass(frozen=True)
class ConnectOptions:
    """A user's choices for a new account.

    `location`: where to create the database. `name`: the account's name in the service; None for its name at
    Cloudflare.
    """

    location: Location | None = None
    name: str | None = None


@dataclass(frozen=True)
class Account:
    """A connected Cloudflare account. Only the vault can decrypt `sealed_token`, which `repr` does not show."""

    id: str
    user_id: int
    edge_account_id: str
    name: str
    state: AccountState
    token_id: str | None
    token_name: str | None
    token_expires_at: int | None
    sealed_token: bytes | None = field(repr=False)
    token_made_at: int | None  # when the account began to use the token
    token_refused_at: int | None  # every token check since this time has failed; None if the last check succeeded
    token_refusals: int  # failed checks since `token_refused_at`
    suspected_at: int | None  # when a health check became due outside its schedule; None if no such check is due
    well_at: int | None  # time of the last health check if it found no problems, otherwise None
    error: ErrorNote | None
    warnings: tuple[AccountWarning, ...]  # each warning stays until its cause is fixed
    revoke_tokens: tuple[str, ...]  # names of tokens that may still be valid, but that the account does not use
    bootstrap_expires_at: int | None  # None if the bootstrap token was deleted or has expired
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
    settings: WorkerSettings
    config_version: int  # newest version of the sites, links, link host and settings
    synced_version: int  # version in the Worker's database
    asked_version: int  # highest version that the service has tried to write to the Worker's database
    restored_as_of: int | None  # end of the totals in a restored store; None if no Worker data has to be read back
    push: WorkerPush | None
    advice: Advice | None
    advice_due_at: int | None  # when to compute the advice next; None if it has never been computed
    notified: JsonObject  # problems that emails have reported to the user (actors/service/notifications.py)
    notice_due_at: int | None
    link_host: LinkHost | None
    created_at: int

    def token_expired_at(self, now: int) -> int | None:
        """Return the stored expiry of the working token if it has passed, otherwise None (all times in epoch ms)."""
        return None if self.token_expires_at is None or now < self.token_expires_at else self.token_expires_at

    @property
    def suggestion(self) -> Suggestion | None:
        """The setting to change so that the database becomes smaller; None if the advice does not suggest this.

        Only the monthly sums make a database grow, because the number of kept days is constant. A setting that is
        already at its minimum is not suggested. Keeping fewer months is not suggested until the account has more months
        than the minimum.
        """
        if self.advice is None or self.advice.suggest is None:
            return None
        size = self.advice.metrics.get("size")
        is_growing = size is not None and size.forecast is not None
        has_more_months = self.advice.at - self.created_at > _MORE_MONTHS_MS
        fewer_days = self.settings.days > MIN_DAYS_KEPT
        fewer_months = has_more_months and self.settings.months != MIN_MONTHS_KEPT
        if fewer_months and (is_growing or not fewer_days):
            return "shorter_month_retention"
        return "shorter_hourly_retention" if fewer_days else None


@dataclass(frozen=True)
class FormerAccount:
    """A disconnected account. The user can still read its sites, links and totals."""

    id: str
    user_id: int
    edge_account_id: str
    name: str
    disconnected_at: int
    counted_until: int | None  # end of the stored totals; None if there are none
    revoke_token: str | None  # the working token's name, if that token may still be valid
    left: tuple[RemainingResource, ...]  # resources that could not be removed from Cloudflare
    by_operator: bool  # the operator has disconnected the account

    @property
    def title(self) -> str:
        """The account's name and id. The id is included because several accounts can have the same name."""
        return f"{self.name} ({self.edge_account_id})"

    @property
    def has_all_counts(self) -> bool:
        """True if the store has all counts up to the disconnect, including the Worker's last counts."""
        return self.counted_until is not None and self.counted_until >= self.disconnected_at

    @property
    def synced_version(self) -> int:
        """The highest possible version. A disconnected account has no Worker, so no change is waiting for a sync."""
        return sys.maxsize

    @property
    def edge_link_format(self) -> int:
        """Always the maximum, because a disconnected account has no Worker that knows only older formats."""
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
