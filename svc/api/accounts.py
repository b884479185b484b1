"""/v1/accounts: connecting edge accounts, installing the worker, zones, the link host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from svc import model
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Count, Day, EdgeAccountId, EdgeToken, Host, Moment, Name
from svc.api.shape import Answer, Body, NoBody, may_be_absent
from svc.errors import Code, with_remedy
from svc.finding import FindingKind
from svc.leftover import LeftKind, LeftWhy
from svc.model import (
    DROP_REASONS,
    LEAST_DAYS_KEPT,
    MOST_DAYS_KEPT,
    AccountState,
    AccountWarning,
    AdviceLevel,
    ConfigState,
    EdgePlan,
    Location,
    Metric,
    OperationKind,
    OperationState,
    RouteState,
    Suggestion,
    Unread,
)
from svc.security.token_page import TOKEN_PAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc import leftover
    from svc.errors import ErrorNote


_OF_BOOTSTRAP = (
    "An API token of the edge account with *Account Settings: Read* and *Account API Tokens: Edit*, valid for one day; "
    "`x-token-page` of the operation is the edge platform's page for it, filled in. It is used within this request and "
    "deleted, never stored."
)


DaysKept = Annotated[int, Field(ge=LEAST_DAYS_KEPT, le=MOST_DAYS_KEPT, examples=[LEAST_DAYS_KEPT])]


class Connect(Body):
    """An edge account to be connected."""

    edge_account_id: EdgeAccountId
    bootstrap_token: EdgeToken = Field(description=_OF_BOOTSTRAP)
    location: Location | None = Field(
        None,
        description="Where the account's database is to be made: near a part of the world (`wnam`, `enam`, `weur`,"
        " `eeur`, `apac`, `oc`), or bound to a jurisdiction (`eu`, `fedramp`). It cannot be changed later. Without it"
        " the edge platform makes it near the service.",
    )


class Renew(Body):
    """A bootstrap token that makes a new working token."""

    bootstrap_token: EdgeToken = Field(description=_OF_BOOTSTRAP)


class AccountChange(Body):
    """What is to change of an account; what is absent or null stays as it is."""

    name: Name | None = Field(None, description="What it is called here; first it has the edge platform's name.")
    plan: EdgePlan | None = Field(
        None,
        description="The account's plan for workers at the edge platform, by whose limits `advice` measures. The"
        " platform does not tell it.",
    )
    days_kept: DaysKept | None = Field(
        None,
        description="The number of days whose breakdowns (pages, sources, countries, …) the worker's database keeps."
        " Daily totals are kept permanently. A lower number deletes older breakdowns over the next nights, and they do"
        " not return when the number is raised again.",
    )


class PutLinkHost(Body):
    """The host on which all links of the account are to live."""

    host: Host
    replace_website: bool = Field(
        False,
        description="Use the host although its DNS record leads to a server, also at the zone's apex and `www`. The"
        " website is unreachable while the host is the link host, and reachable again afterwards: the service changes"
        " no DNS record. Default: `false`.",
    )
    has_certificate: bool = Field(
        False,
        description="Take the host though it lies more than one label below its zone: the zone has a certificate for it"
        " that is not the free one. Default: `false`.",
    )

    def wish(self) -> model.LinkHostWish:
        """As the actors take it."""
        return model.LinkHostWish(self.host, self.replace_website, self.has_certificate)


class AccountTrouble(Answer):
    """What is wrong with an account; of one that works, what needs a hand (`warnings`)."""

    code: str | None = may_be_absent()
    message: str | None = may_be_absent()
    details: dict[str, Any] | None = may_be_absent(
        "`remedy`; `revoke_tokens`: names of tokens to delete; others by code."
    )
    warnings: tuple[AccountWarning, ...] | None = may_be_absent()


class WorkingToken(Answer):
    """The working token: its value is never shown."""

    name: str
    expires_at: Moment


class Edge(Answer):
    """What is installed."""

    bundle: str = Field(description="SHA-256 of the worker's code.")
    up_to_date: bool
    schema_: int = Field(serialization_alias="schema")
    installed_at: Moment


class LastPush(Answer):
    """What the worker told of itself at its last push."""

    at: Moment
    bundle: str
    schema_: int | None = Field(serialization_alias="schema")
    queue: Count = Field(description="Parts and final days that wait to be sent.")
    error: str | None
    dropped: dict[str, Count] = Field(description="Events that were not counted, by reason.")


class Busiest(Answer):
    """The most that was used on a day; of `size` what the database holds, and when that was asked."""

    day: Day | None = Field(description="Null: nothing was used.")
    value: Count


class MetricAdvice(Answer):
    """One metric against its limit."""

    level: AdviceLevel
    limit: Count
    busiest: Busiest
    forecast: Day | None = Field(description="When the trend reaches the limit, if that is within 30 days.")


class Advice(Answer):
    """How near the account is to the limits of its plan, over the last seven complete days (UTC)."""

    level: AdviceLevel | None = Field(
        description="The worst level among the metrics that could be read. Null: none could be read."
    )
    metric: Metric | None = Field(
        description="The metric that decides the level: of the worst, the nearest to its limit. Null: the level is `ok`"
        " or null."
    )
    metrics: dict[Metric, MetricAdvice] = Field(
        description="What could be read. `requests`, `writes` and `reads` a day of the whole edge account, `size` in"
        " bytes of the worker's database. A paid plan has no daily limits, so `size` alone."
    )
    unavailable: tuple[Unread, ...] = Field(description="What could not be read, in part or at all.")
    suggest: Suggestion | None = Field(
        description="`shorter_hourly_retention`: the size alone is the problem, and `days_kept` of the account can be"
        " lowered."
    )
    at: Moment

    @classmethod
    def of(cls, advice: model.Advice, suggestion: Suggestion | None) -> Advice:
        """An advice. `suggestion`: what the account's user can still do."""
        return cls(
            level=advice.level,
            metric=advice.metric,
            metrics={
                name: MetricAdvice(
                    level=one.level,
                    limit=one.limit,
                    busiest=Busiest(day=one.busiest_day, value=one.busiest),
                    forecast=one.forecast,
                )
                for name, one in advice.metrics.items()
            },
            unavailable=advice.unavailable,
            suggest=suggestion,
            at=advice.at,
        )


class Account(Answer):
    """A connected edge account."""

    id: str
    edge_account_id: str
    name: str
    location: Location | None
    plan: EdgePlan = Field(description="By its user's own word.")
    days_kept: DaysKept = Field(description="The number of days whose breakdowns the worker's database keeps.")
    state: AccountState
    token: WorkingToken | None
    error: AccountTrouble | None
    edge: Edge | None
    push: LastPush | None
    advice: Advice | None = Field(description="Computed once a day; null until then.")
    created_at: Moment

    @classmethod
    def of(cls, account: model.Account, bundle: str) -> Account:
        """An account as lists and most answers show it. `bundle`: SHA-256 of the worker that installs would upload."""
        return cls(**_fields(account, bundle))


class Operation(Answer):
    """A long piece of work on an account."""

    kind: OperationKind
    state: OperationState
    step: str = Field(description="`selfcheck`: the worker runs, its first report is awaited.")
    error: ErrorObject | None
    updated_at: Moment

    @classmethod
    def of(cls, operation: model.Operation) -> Operation:
        """An operation."""
        return cls(
            kind=operation.kind,
            state=operation.state,
            step=operation.step,
            error=ErrorObject.of(operation.error),
            updated_at=operation.updated_at,
        )


class LinkHost(Answer):
    """The host on which an account's links live."""

    host: str
    state: RouteState
    config: ConfigState
    live_at: Moment | None = Field(
        description="From then on every visitor gets this version. Null: not synced yet, or synced before version 0.8."
    )
    error: ErrorObject | None

    @classmethod
    def of(cls, host: model.LinkHost, synced_version: int) -> LinkHost:
        """A link host; `synced_version`: what the worker's database has of the account's configuration."""
        config = config_state(host.version, synced_version)
        return cls(
            host=host.host,
            state=host.state,
            config=config,
            live_at=host.live_at if config == "synced" else None,
            error=ErrorObject.of(host.error),
        )


class FullAccount(Account):
    """An account with its latest operation and its link host."""

    operation: Operation | None
    link_host: LinkHost | None

    @classmethod
    def of_all(cls, account: model.Account, bundle: str, latest: model.Operation | None) -> FullAccount:
        """An account as GET /v1/accounts/{id} alone shows it."""
        return cls(
            **_fields(account, bundle),
            operation=None if latest is None else Operation.of(latest),
            link_host=None if account.link_host is None else LinkHost.of(account.link_host, account.synced_version),
        )


class AccountList(Answer):
    """Accounts, oldest first."""

    accounts: tuple[Account, ...]


class OneAccount(Answer):
    """An account as it is now."""

    account: Account


class OneFullAccount(Answer):
    """An account in full."""

    account: FullAccount


class OneLinkHost(Answer):
    """A link host as it is now."""

    link_host: LinkHost


class Leftover(Answer):
    """Something that a disconnect could not remove from the edge platform, for programs; its words are in `left`."""

    kind: LeftKind = Field(
        description="What it is. `uncounted_database`: it was not deleted, since its last counts could not be read, for"
        " the reason `why`."
    )
    why: LeftWhy = Field(description="Why it is still there. `refused`: `facts.said` has the platform's words.")
    facts: dict[str, str] = Field(description="What the words name, e.g. `route`, by both codes.")

    @classmethod
    def each(cls, left: Sequence[leftover.Leftover]) -> tuple[Leftover, ...]:
        """All of them, in their order."""
        return tuple(cls(kind=one.kind, why=one.why, facts=dict(one.facts)) for one in left)


class Disconnected(Answer):
    """What came of a disconnect."""

    ok: Literal[True] = True
    revoke_token: str | None = Field(
        description="The name of the working token, which cannot delete itself: revoke it in the edge platform's"
        " dashboard. Null: it is gone or expired, or there was none."
    )
    left: tuple[str, ...] = Field(
        description="What could not be removed from the edge platform, and why: a sentence each."
    )
    leftovers: tuple[Leftover, ...] = Field(
        description="An addition to the specification: the same in the same order, for programs, and for who speaks"
        " another language."
    )

    @classmethod
    def of(cls, former: model.FormerAccount) -> Disconnected:
        """What came of the disconnect of this account."""
        return cls(
            revoke_token=former.revoke_token,
            left=tuple(one.words for one in former.left),
            leftovers=Leftover.each(former.left),
        )


class Finding(Answer):
    """A difference between what should be at the edge platform and what is there."""

    kind: FindingKind = Field(description="What it is, for programs; of `other` the words alone tell.")
    facts: dict[str, str] = Field(description="What the words name, e.g. `route`, by the kind.")
    thing: str = Field(description="What it is about, e.g. `the route shop.example/ab3/x9k*`.")
    expected: str = Field(description="How it should be: `leads to the worker svc-edge`.")
    found: str = Field(description="How it is: `was deleted outside the service`.")
    remedy: str | None = Field(description="What a person does about it; null: it is mended.")
    remedy_code: str | None = Field(description="The error code whose remedy it is; null: it is none's.")
    mended: bool = Field(description="The check has mended it.")


class Check(Answer):
    """What a look at the whole account has found; nothing: all is well."""

    findings: tuple[Finding, ...]


class Zone(Answer):
    """A zone of the edge account."""

    name: str
    status: str = Field(description="The edge platform's own word.")


class Zones(Answer):
    """An edge account's zones by name; `truncated`: there are more than 1,000."""

    zones: tuple[Zone, ...] = Field(json_schema_extra={"maxItems": 1000})
    truncated: bool


def config_state(version: int, synced_version: int, error: ErrorNote | None = None) -> ConfigState:
    """Whether the worker knows this version of the account's configuration; `error`: why not, though it was synced."""
    return "synced" if version <= synced_version and error is None else "pending"


def _fields(account: model.Account, bundle: str) -> dict[str, Any]:
    return {
        "id": account.id,
        "edge_account_id": account.edge_account_id,
        "name": account.name,
        "location": account.location,
        "plan": account.plan,
        "days_kept": account.days_kept.days,
        "state": account.state,
        "token": None
        if account.token_name is None or account.token_expires_at is None
        else WorkingToken(name=account.token_name, expires_at=account.token_expires_at),
        "error": _trouble(account),
        "edge": None
        if account.edge_bundle is None or account.edge_schema is None or account.installed_at is None
        else Edge(
            bundle=account.edge_bundle,
            up_to_date=account.edge_bundle == bundle,
            schema_=account.edge_schema,
            installed_at=account.installed_at,
        ),
        "push": None
        if account.push is None
        else LastPush(
            at=account.push.at,
            bundle=account.push.bundle,
            schema_=account.push.schema,
            queue=account.push.queue,
            error=account.push.error,
            dropped={reason: account.push.dropped.get(reason, 0) for reason in DROP_REASONS},
        ),
        "advice": None if account.advice is None else Advice.of(account.advice, account.suggestion),
        "created_at": account.created_at,
    }


def _trouble(account: model.Account) -> AccountTrouble | None:
    """What is wrong with an account, and the warnings of one that works, with the names of tokens to revoke."""
    shown: dict[str, Any] = {} if account.error is None else with_remedy(account.error)
    if account.warnings:
        shown["warnings"] = account.warnings
    if account.revoke_tokens:
        shown["details"] = {**shown.get("details", {}), "revoke_tokens": list(account.revoke_tokens)}
    return AccountTrouble(**shown) if shown else None


# What the use of a bootstrap token may meet.
_BOOTSTRAP: tuple[Code, ...] = (
    "operation_in_progress",
    "invalid_bootstrap",
    "bootstrap_permission_error",
    "permission_catalog",
    "token_rights_mismatch",
    "token_check_failed",
    "orphan_not_deleted",
    "cloudflare_unavailable",
)
# What any question to the edge platform may meet.
_LIVE: tuple[Code, ...] = ("account_not_ready", "cloudflare_unavailable")

LIST = Endpoint(
    method="GET",
    path="/v1/accounts",
    tag="accounts",
    summary="List your connected accounts",
    scopes=("accounts", "sites"),
    answer=AccountList,
)
CONNECT = Endpoint(
    method="POST",
    path="/v1/accounts",
    tag="accounts",
    action="account.connect",
    summary="Connect an edge account",
    description="The service checks the bootstrap token, makes its own working token with just the rights that it"
    " needs, deletes the bootstrap token, and installs the worker. Poll the account until its `state` is `ready`."
    " After a 503 the account is `pending`: the same request goes on.",
    scopes=("accounts",),
    body=Connect,
    answer=OneAccount,
    status=202,
    codes=(
        "email_unconfirmed",
        "limit_reached",
        "not_found",
        "account_taken",
        "already_connected",
        *_BOOTSTRAP,
        "service_full",
        "not_configured",
        "account_not_ready",
    ),
    example={"edge_account_id": "023e105f4ecef8ad9ca31a8372d0c353", "bootstrap_token": "…"},
    token_page=TOKEN_PAGE,
)
SHOW = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}",
    tag="accounts",
    summary="Show an account with its latest operation and its link host",
    scopes=("accounts", "sites"),
    answer=OneFullAccount,
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/accounts/{account_id}",
    tag="accounts",
    action="account.change",
    summary="Change an account's name, its plan at the edge platform, or the days that its worker keeps",
    description="An addition to the specification. With another plan the advice is computed anew at once; until then"
    " there is none. The worker gets changed `days_kept` with the next sync.",
    scopes=("accounts",),
    body=AccountChange,
    answer=OneAccount,
    example={"plan": "paid"},
)
ZONES = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/zones",
    tag="accounts",
    summary="List the zones of the edge account, live",
    scopes=("accounts", "sites"),
    answer=Zones,
    codes=_LIVE,
)
RENEW = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/token",
    tag="accounts",
    action="account.renew",
    summary="Renew the working token",
    description="The service checks the bootstrap token, makes a new working token, and deletes the old one and the"
    " bootstrap token. The worker goes on untouched; an account that was in trouble for its token's sake is well again."
    " After a 503 nothing has changed: the same request tries again. After `renew_lost` the account"
    " goes on with the token that it had, and the next renewal deletes what the lost one left.",
    scopes=("accounts",),
    body=Renew,
    answer=OneAccount,
    codes=(*_BOOTSTRAP, "renew_lost", "account_not_ready"),
    example={"bootstrap_token": "…"},
    token_page=TOKEN_PAGE,
)
INSTALL = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/install",
    tag="accounts",
    action="account.install",
    summary="Install the worker, or install it again",
    description="The database is kept, the worker gets a new key. A worker or a database of the same name that the"
    " service did not make is never touched, nor is a worker that was changed outside the service.",
    scopes=("accounts",),
    body=NoBody,
    answer=OneAccount,
    status=202,
    codes=("account_not_ready", "operation_in_progress", "not_configured"),
)
DISCONNECT = Endpoint(
    method="DELETE",
    path="/v1/accounts/{account_id}",
    tag="accounts",
    action="account.disconnect",
    summary="Disconnect an account",
    description="The service removes its routes, worker and database from the edge platform, as far as they are its own"
    " and unchanged, and forgets the account. Its sites and links become `deleted`; what they counted stays, and their"
    " reports go on. It works in every state, also when the token or the platform does not: what could not be removed"
    " is named in `left`. Asked again, the first answer comes again.",
    scopes=("accounts",),
    body=NoBody,
    answer=Disconnected,
    codes=("operation_in_progress",),
)
CHECK = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/check",
    tag="accounts",
    action="account.check",
    summary="Compare what should be at the edge platform with what is there, and mend what needs no question",
    description="An addition to the specification. Looks at the working token and its rights, the worker, its"
    " bindings, cron and address, the database and what is in it, the routes and DNS records, and the worker's reports;"
    " the same look is taken every hour. What needs no question is mended: a route, a cron or configuration that is"
    " gone. What was changed outside the service is left alone. In any state of the account.",
    scopes=("accounts",),
    body=NoBody,
    answer=Check,
    codes=("cloudflare_unavailable",),
)
PUT_LINK_HOST = Endpoint(
    method="PUT",
    path="/v1/accounts/{account_id}/link-host",
    tag="accounts",
    action="link_host.set",
    summary="Set or replace the host of the account's links",
    description="The host needs a proxied DNS record, which the service does not make: AAAA 100:: for a host with"
    " nothing but links. A new host replaces the old one; links keep their codes, codes printed before lead nowhere."
    " All pages of the host are unreachable while it is the link host, so a host that serves a website is refused"
    " without `replace_website: true`.",
    scopes=("sites",),
    body=PutLinkHost,
    answer=OneLinkHost,
    status=202,
    codes=(
        *_LIVE,
        "zone_not_found",
        "zone_not_active",
        "dns_not_proxied",
        "link_host_is_website",
        "link_host_without_certificate",
    ),
    example={"host": "go.example.com"},
)

ENDPOINTS = (LIST, CONNECT, SHOW, CHANGE, ZONES, RENEW, INSTALL, CHECK, DISCONNECT, PUT_LINK_HOST)
