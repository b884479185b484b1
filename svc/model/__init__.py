"""The service's data types, which are immutable. Times are epoch ms (UTC), days are day numbers (clock.day_of). No I/O.

Each module has the types of one subject. Import them from this package.
"""

from svc.model.accounts import (
    MAX_DAYS_KEPT,
    MAX_MONTHS_KEPT,
    MIN_DAYS_KEPT,
    MIN_MONTHS_KEPT,
    NO_EXPIRY,
    SERVING,
    Account,
    AccountState,
    AccountWarning,
    ConfigState,
    ConnectOptions,
    DeletionResult,
    EdgePlan,
    FormerAccount,
    Jurisdiction,
    Location,
    MonthsKept,
    WorkerSettings,
)
from svc.model.advice import Advice, AdviceLevel, Figure, Measured, Metric, Suggestion, Unread
from svc.model.disabled import MAX_REASON_CHARS, Disabled
from svc.model.events import OWN_ACTIONS, AccountAction, Action, Event, EventOrder, JsonObject, OwnAction
from svc.model.link_hosts import Fallback, FallbackChanges, LinkHost, LinkHostRequest, LinkHostUsage
from svc.model.links import (
    MAX_CODE_CHARS,
    MAX_LINK_IDS,
    MAX_LINKS_SELECTED,
    MIN_CODE_CHARS,
    NO_NUL,
    OUTSIDE_REASONS,
    RESERVED_CODES,
    RESTORABLE_MS,
    TARGET_PROBLEMS,
    BrokenTarget,
    Device,
    Link,
    LinkChange,
    LinkOrder,
    LinkState,
    OperatingSystem,
    OutsideReason,
    Parameter,
    Rule,
    TargetProblem,
    Variant,
    WantedLink,
    url_host,
)
from svc.model.operations import Operation, OperationKind, OperationState
from svc.model.pushes import DROP_REASONS, WorkerErrorKind, WorkerPush
from svc.model.reports import (
    DIMENSIONS,
    Compare,
    Counts,
    Dimension,
    OverviewOrder,
    Period,
    ReportPeriod,
    ShownPeriod,
    Step,
    UnavailableReason,
    VisitList,
)
from svc.model.rollouts import HaltReason, Rollout, RolloutState, UpdateOutcome
from svc.model.routes import ObsoleteRoute, RouteState, link_pattern, site_pattern
from svc.model.sharing import (
    MAILING_KINDS,
    AlertKind,
    Mailing,
    MailingContent,
    MailingKind,
    MailingTarget,
    Note,
    NoteKind,
    NoteTarget,
    Recipient,
    RecipientState,
    Share,
    SnippetOnPage,
    TargetKind,
)
from svc.model.sites import SITE_WARNINGS, EndedPath, Retiring, Site, SiteChange, SiteOrder, SiteState, SiteWarning
from svc.model.users import DEFAULT_LANGUAGE, LANGUAGES, LIMITED_KINDS, Key, Language, LimitedKind, Plan, Scope, User
