"""/v1/accounts: connect Cloudflare accounts, install the Worker, and list zones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from svc import model
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Count, Day, EdgeAccountId, EdgeToken, Moment, MonthsKept, Name
from svc.api.link_hosts import LinkHost
from svc.api.shape import Body, EmptyBody, ResponseBody, optional_field
from svc.errors import Code, with_remedy
from svc.finding import FindingKind
from svc.model import (
    DROP_REASONS,
    MAX_DAYS_KEPT,
    MIN_DAYS_KEPT,
    AccountState,
    AccountWarning,
    AdviceLevel,
    EdgePlan,
    Location,
    Metric,
    OperationKind,
    OperationState,
    Suggestion,
    Unread,
)
from svc.remaining_resource import LeftKind, LeftWhy
from svc.security.token_page import TOKEN_PAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc import remaining_resource


_BOOTSTRAP_FIELD = (
    "An API token of the Cloudflare account that is valid for one day and has the permissions *Account Settings: Read*"
    " and *Account API Tokens: Edit*. `x-token-page` in `/openapi.json` is the URL of Cloudflare's form with these"
    " permissions already filled in. The service uses the token only for this request. It never stores the token, and"
    " deletes it after the request."
)


DaysKept = Annotated[int, Field(ge=MIN_DAYS_KEPT, le=MAX_DAYS_KEPT, examples=[MIN_DAYS_KEPT])]


class Connect(Body):
    """A Cloudflare account to connect."""

    edge_account_id: EdgeAccountId
    bootstrap_token: EdgeToken = Field(description=_BOOTSTRAP_FIELD)
    location: Location | None = Field(
        None,
        description="The location of the account's database: a region (`wnam`, `enam`, `weur`, `eeur`, `apac`, `oc`) or"
        " a jurisdiction (`eu`, `fedramp`). It cannot be changed later. By default, Cloudflare chooses a region near"
        " the service.",
    )
    name: Name | None = Field(
        None,
        description="The account's name in this service. By default, it is the name at Cloudflare. This field is not"
        " part of the original API specification.",
    )

    def options(self) -> model.ConnectOptions:
        """Return the user's choices for the account."""
        return model.ConnectOptions(self.location, self.name)


class Renew(Body):
    """The bootstrap token with which the service creates a new working token."""

    bootstrap_token: EdgeToken = Field(description=_BOOTSTRAP_FIELD)


class AccountChange(Body):
    """Changes to an account. Fields that are absent or null keep their value."""

    name: Name | None = Field(
        None, description="The account's name in this service. Initially, it is the name at Cloudflare."
    )
    plan: EdgePlan | None = Field(
        None,
        description="The account's Workers plan at Cloudflare. `advice` compares usage with the limits of this plan."
        " The service cannot read the plan from Cloudflare.",
    )
    days_kept: DaysKept | None = Field(
        None,
        description="The number of days for which the Worker's database keeps breakdowns (pages, sources, countries,"
        " …). Daily totals are kept permanently. If you lower the number, the Worker deletes older breakdowns over the"
        " following nights. Raising the number again does not restore them.",
    )
    months_kept: MonthsKept | None = Field(
        None,
        description="The number of months before the current month for which the Worker's database keeps breakdowns as"
        " sums of a whole month, or `forever`. If you lower the number, the Worker deletes older months after the next"
        " midnight (UTC). Raising the number again does not restore them.",
    )


class AccountError(ResponseBody):
    """An account's error, its warnings, or both. A working account can have warnings that need attention."""

    code: str | None = optional_field()
    message: str | None = optional_field()
    details: dict[str, Any] | None = optional_field(
        "`remedy` says what the user can do, and `revoke_tokens` lists the names of tokens to delete. Other details"
        " depend on the code."
    )
    warnings: tuple[AccountWarning, ...] | None = optional_field()


class WorkingToken(ResponseBody):
    """The working token. Its value is never shown."""

    name: str
    expires_at: Moment


class Edge(ResponseBody):
    """The installed Worker."""

    bundle: str = Field(description="SHA-256 of the Worker's code.")
    up_to_date: bool
    schema_: int = Field(serialization_alias="schema")
    installed_at: Moment


class LastPush(ResponseBody):
    """The Worker's status at its last push."""

    at: Moment
    bundle: str
    schema_: int | None = Field(serialization_alias="schema")
    queue: Count = Field(
        description="The number of parts that the Worker had not sent after this push. Each part contains new"
        " totals for a day, or marks a day as final."
    )
    error: str | None
    dropped: dict[str, Count] = Field(description="The number of events that were not counted, by reason.")


class Busiest(ResponseBody):
    """The highest usage on one day.

    For the metric `size`, `value` is the database's size, and `day` is the day on which the service read it.
    """

    day: Day | None = Field(description="The day of this usage. Null if there was no usage.")
    value: Count


class MetricAdvice(ResponseBody):
    """Usage of one metric compared with its limit."""

    level: AdviceLevel
    limit: Count
    busiest: Busiest
    forecast: Day | None = Field(
        description="The day on which usage will reach the limit if the trend continues. Null if this is more than 30"
        " days away."
    )


class Advice(ResponseBody):
    """Usage over the last seven complete days (UTC), compared with the limits of the account's plan."""

    level: AdviceLevel | None = Field(
        description="The worst level among the metrics that could be read. Null if no metric could be read."
    )
    metric: Metric | None = Field(
        description="The metric that determines `level`. If several metrics have this level, `metric` is the one"
        " closest to its limit. Null if `level` is `ok` or null."
    )
    metrics: dict[Metric, MetricAdvice] = Field(
        description="The metrics that could be read. `requests`, `writes` and `reads` are daily numbers for the whole"
        " Cloudflare account. `size` is the size of the Worker's database in bytes. Paid plans have no daily limits, so"
        " only `size` is present."
    )
    unavailable: tuple[Unread, ...] = Field(description="The data that could not be read in full.")
    suggest: Suggestion | None = Field(
        description="If the size of the database is the only problem, the setting to lower: `days_kept`"
        " (`shorter_hourly_retention`), or `months_kept` (`shorter_month_retention`) if the size is forecast to reach"
        " the limit or `days_kept` is already at its minimum. Null if the setting cannot be lowered."
    )
    at: Moment

    @classmethod
    def from_model(cls, advice: model.Advice, suggestion: Suggestion | None) -> Advice:
        """Return the response for stored advice.

        `suggestion`: the suggestion that is shown with the advice, or None.
        """
        return cls(
            level=advice.level,
            metric=advice.metric,
            metrics={
                name: MetricAdvice(
                    level=usage.level,
                    limit=usage.limit,
                    busiest=Busiest(day=usage.busiest_day, value=usage.busiest),
                    forecast=usage.forecast,
                )
                for name, usage in advice.metrics.items()
            },
            unavailable=advice.unavailable,
            suggest=suggestion,
            at=advice.at,
        )


class Account(ResponseBody):
    """A connected Cloudflare account."""

    id: str
    edge_account_id: str
    name: str
    location: Location | None
    plan: EdgePlan = Field(description="The account's Workers plan, as set by the user.")
    days_kept: DaysKept = Field(description="The number of days for which the Worker's database keeps breakdowns.")
    months_kept: MonthsKept = Field(
        description="The number of months before the current month for which the Worker's database keeps breakdowns as"
        " sums of a whole month."
    )
    state: AccountState
    token: WorkingToken | None
    error: AccountError | None
    edge: Edge | None
    push: LastPush | None
    advice: Advice | None = Field(
        description="The plan usage, computed once a day. Null until it has been computed for the first time."
    )
    created_at: Moment

    @classmethod
    def from_model(cls, account: model.Account, bundle: str) -> Account:
        """Return the response object for an account.

        `bundle`: SHA-256 of the Worker code that an install uploads now.
        """
        return cls(**_fields(account, bundle))


class Operation(ResponseBody):
    """A long-running operation on an account."""

    kind: OperationKind
    state: OperationState
    step: str = Field(
        description="The current step. During `selfcheck`, the Worker is already installed, and the service is waiting"
        " for its first push."
    )
    error: ErrorObject | None
    updated_at: Moment

    @classmethod
    def from_model(cls, operation: model.Operation) -> Operation:
        """Return the response for an operation."""
        return cls(
            kind=operation.kind,
            state=operation.state,
            step=operation.step,
            error=ErrorObject.from_model(operation.error),
            updated_at=operation.updated_at,
        )


class FullAccount(Account):
    """An account with its latest operation and its link host."""

    operation: Operation | None
    link_host: LinkHost | None

    @classmethod
    def of_all(cls, account: model.Account, bundle: str, latest: model.Operation | None) -> FullAccount:
        """Return the response object for GET /v1/accounts/{id}. `latest`: the account's latest operation."""
        return cls(
            **_fields(account, bundle),
            operation=None if latest is None else Operation.from_model(latest),
            link_host=None
            if account.link_host is None
            else LinkHost.from_model(account.link_host, account.synced_version),
        )


class AccountList(ResponseBody):
    """The accounts, oldest first."""

    accounts: tuple[Account, ...]


class OneAccount(ResponseBody):
    """The account as it is after the request."""

    account: Account


class OneFullAccount(ResponseBody):
    """An account with its latest operation and its link host."""

    account: FullAccount


class RemainingResource(ResponseBody):
    """A resource that the service could not remove from Cloudflare. The field `left` describes it in a sentence."""

    kind: LeftKind = Field(
        description="The kind of resource. `uncounted_database` is the Worker's database, which the service did not"
        " delete because it could not read the last counts; `why` gives the reason."
    )
    why: LeftWhy = Field(
        description="The reason why the resource still exists. If it is `refused`, `facts.said` is Cloudflare's"
        " message."
    )
    facts: dict[str, str] = Field(
        description="Details such as `route`. `kind` and `why` determine which details are present."
    )

    @classmethod
    def each(cls, left: Sequence[remaining_resource.RemainingResource]) -> tuple[RemainingResource, ...]:
        """Return the response objects for the resources that remain at Cloudflare, in the same order."""
        return tuple(cls(kind=resource.kind, why=resource.why, facts=dict(resource.facts)) for resource in left)


class Disconnected(ResponseBody):
    """The result of disconnecting an account."""

    ok: Literal[True] = True
    revoke_token: str | None = Field(
        description="The name of the working token. A token cannot delete itself, so you have to delete it in the"
        " Cloudflare dashboard. Null if the token was deleted, has expired, or never existed."
    )
    left: tuple[str, ...] = Field(
        description="One sentence for each resource that the service could not remove from Cloudflare."
    )
    leftovers: tuple[RemainingResource, ...] = Field(
        description="The same resources as in `left`, in the same order, but as codes for programs and translations."
        " This field is not part of the original API specification."
    )

    @classmethod
    def from_model(cls, former: model.FormerAccount) -> Disconnected:
        """Return the response for a disconnected account."""
        return cls(
            revoke_token=former.revoke_token,
            left=tuple(resource.words for resource in former.left),
            leftovers=RemainingResource.each(former.left),
        )


class Finding(ResponseBody):
    """A difference between the expected and the actual state at Cloudflare."""

    kind: FindingKind = Field(
        description="The kind of finding. For `other`, only `thing`, `expected` and `found` describe the difference."
    )
    facts: dict[str, str] = Field(description="Details such as `route`. `kind` determines which details are present.")
    thing: str = Field(description="The resource, e.g. `the route shop.example/ab3/x9k*`.")
    expected: str = Field(description="Its expected state, e.g. `points to the Worker svc-edge`.")
    found: str = Field(description="Its actual state, e.g. `was deleted outside the service`.")
    remedy: str | None = Field(description="What the user can do. Null if the health check has repaired the problem.")
    remedy_code: str | None = Field(description="The code of an error that has the same remedy. Null if none has.")
    mended: bool = Field(description="True if the health check has repaired the problem.")


class Check(ResponseBody):
    """The findings of a health check. The list is empty if no problem was found."""

    findings: tuple[Finding, ...]


class Zone(ResponseBody):
    """A zone of the Cloudflare account."""

    name: str
    status: str = Field(description="The zone's status at Cloudflare.")


class Zones(ResponseBody):
    """The zones of a Cloudflare account, sorted by name. `truncated` is true if there are more than 1,000."""

    zones: tuple[Zone, ...] = Field(json_schema_extra={"maxItems": 1000})
    truncated: bool


def _fields(account: model.Account, bundle: str) -> dict[str, Any]:
    return {
        "id": account.id,
        "edge_account_id": account.edge_account_id,
        "name": account.name,
        "location": account.location,
        "plan": account.plan,
        "days_kept": account.retention.days,
        "months_kept": account.retention.months,
        "state": account.state,
        "token": None
        if account.token_name is None or account.token_expires_at is None
        else WorkingToken(name=account.token_name, expires_at=account.token_expires_at),
        "error": _account_error(account),
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
        "advice": None if account.advice is None else Advice.from_model(account.advice, account.suggestion),
        "created_at": account.created_at,
    }


def _account_error(account: model.Account) -> AccountError | None:
    """Return the account's error, warnings and names of tokens to revoke; None if there are none of these."""
    fields: dict[str, Any] = {} if account.error is None else with_remedy(account.error)
    if account.warnings:
        fields["warnings"] = account.warnings
    if account.revoke_tokens:
        fields["details"] = {**fields.get("details", {}), "revoke_tokens": list(account.revoke_tokens)}
    return AccountError(**fields) if fields else None


# Error codes of endpoints that accept a bootstrap token.
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
# Error codes of endpoints that call Cloudflare's API.
_LIVE: tuple[Code, ...] = ("account_not_ready", "cloudflare_unavailable")

LIST = Endpoint(
    method="GET",
    path="/v1/accounts",
    tag="accounts",
    summary="List your connected accounts",
    scopes=("accounts", "sites"),
    response=AccountList,
)
CONNECT = Endpoint(
    method="POST",
    path="/v1/accounts",
    tag="accounts",
    action="account.connect",
    summary="Connect a Cloudflare account",
    description="The service checks the bootstrap token, creates its own working token with only the permissions that"
    " it needs, deletes the bootstrap token, and installs the Worker. Poll the account until its `state` is `ready`."
    " After a 503, the account is `pending`: send the same request again to continue.",
    scopes=("accounts",),
    body=Connect,
    response=OneAccount,
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
    summary="Get an account with its latest operation and its link host",
    scopes=("accounts", "sites"),
    response=OneFullAccount,
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/accounts/{account_id}",
    tag="accounts",
    action="account.change",
    summary="Change an account's name, Cloudflare plan or breakdown retention",
    description="When `plan` changes, the service immediately begins to recompute `advice`. Until it has finished,"
    " `advice` is null. New values of `days_kept` and `months_kept` reach the Worker with the next sync. This operation"
    " is not part of the original API specification.",
    scopes=("accounts",),
    body=AccountChange,
    response=OneAccount,
    example={"plan": "paid"},
)
ZONES = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/zones",
    tag="accounts",
    summary="List the zones of the Cloudflare account",
    description="The service reads the zones from Cloudflare for each request.",
    scopes=("accounts", "sites"),
    response=Zones,
    codes=_LIVE,
)
RENEW = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/token",
    tag="accounts",
    action="account.renew",
    summary="Renew the working token",
    description="The service checks the bootstrap token, creates a new working token, and deletes the old working"
    " token and the bootstrap token. The Worker keeps running. If the old token had stopped working, the account works"
    " again after the renewal. If the response is 503, nothing has changed: send the same request again. If the"
    " response is `renew_lost`, the account keeps its old token, and the next renewal deletes any new token that the"
    " failed renewal left at Cloudflare.",
    scopes=("accounts",),
    body=Renew,
    response=OneAccount,
    codes=(*_BOOTSTRAP, "renew_lost", "account_not_ready"),
    example={"bootstrap_token": "…"},
    token_page=TOKEN_PAGE,
)
INSTALL = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/install",
    tag="accounts",
    action="account.install",
    summary="Install or reinstall the Worker",
    description="A reinstall keeps the database and gives the Worker a new key. The service does not overwrite a Worker"
    " or database of the same name that it did not create, or a Worker that was changed outside the service.",
    scopes=("accounts",),
    body=EmptyBody,
    response=OneAccount,
    status=202,
    codes=("account_not_ready", "operation_in_progress", "not_configured"),
)
DISCONNECT = Endpoint(
    method="DELETE",
    path="/v1/accounts/{account_id}",
    tag="accounts",
    action="account.disconnect",
    summary="Disconnect an account",
    description="The service removes the routes, Worker and database that it created at Cloudflare, unless they were"
    " changed outside the service. It then deletes the account. The account's sites and links become `deleted`; their"
    " counts and reports remain available. You can disconnect an account in any state, even if its token is invalid or"
    " Cloudflare is unavailable. `left` lists the resources that remain at Cloudflare. If you repeat the request, you"
    " get the same response again.",
    scopes=("accounts",),
    body=EmptyBody,
    response=Disconnected,
    codes=("operation_in_progress",),
)
CHECK = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/check",
    tag="accounts",
    action="account.check",
    summary="Run a health check, and repair what can be repaired safely",
    description="The health check inspects the working token and its permissions; the Worker, its bindings, its cron"
    " trigger and its workers.dev address; the database and its contents; the routes and DNS records; and the Worker's"
    " pushes. The service restores missing routes, cron triggers and configuration. It does not overwrite resources"
    " that were changed outside the service; it reports them as findings. You can run a health check in any account"
    " state. The service also runs health checks automatically. This operation is not part of the original API"
    " specification.",
    scopes=("accounts",),
    body=EmptyBody,
    response=Check,
    codes=("cloudflare_unavailable",),
)

ENDPOINTS = (
    LIST,
    CONNECT,
    SHOW,
    CHANGE,
    ZONES,
    RENEW,
    INSTALL,
    CHECK,
    DISCONNECT,
)
