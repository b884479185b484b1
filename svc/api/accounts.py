"""/v1/accounts: list accounts, and change their name, plan and retention.

`account_operations` has the requests that connect and disconnect accounts and install the Worker.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from svc import model
from svc.api.advice import Advice
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Count, Moment, MonthsKept, Name
from svc.api.link_hosts import LinkHost
from svc.api.shape import Body, ResponseBody, optional_field
from svc.errors import with_remedy
from svc.model import (
    DROP_REASONS,
    MAX_DAYS_KEPT,
    MIN_DAYS_KEPT,
    AccountState,
    AccountWarning,
    EdgePlan,
    Location,
    OperationKind,
    OperationState,
)

DaysKept = Annotated[int, Field(ge=MIN_DAYS_KEPT, le=MAX_DAYS_KEPT, examples=[MIN_DAYS_KEPT])]


class AccountChange(Body):
    """Changes to an account. Fields that are absent or null keep their value."""

    name: Name | None = Field(
        None,
        description="The account's name in this service. Initially, it is the `name` in the connect request or, if this"
        " was absent, the name at Cloudflare.",
    )
    plan: EdgePlan | None = Field(
        None,
        description="The account's Workers plan at Cloudflare. `advice` compares usage with the limits of this plan,"
        " and on the paid plan, the Worker may write more rows per day. The service cannot read the plan from"
        " Cloudflare, so set it here.",
    )
    days_kept: DaysKept | None = Field(
        None,
        description="The number of days for which the Worker's database keeps breakdowns (pages, sources, countries,"
        " …). Daily totals are kept permanently. If you lower the number, the Worker deletes older breakdowns over the"
        " following nights. Raising the number again does not restore them.",
    )
    months_kept: MonthsKept | None = Field(
        None,
        description="The number of past calendar months for which the Worker's database keeps monthly sums of the"
        " breakdowns, or `forever`. The current month is not included. If you lower the number, the Worker deletes"
        " older months after the next midnight (UTC). Raising the number again does not restore them.",
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
    expires_at: Moment = Field(
        description="The expiry as Cloudflare reported it in the last health check. If a user has removed the expiry in"
        " Cloudflare's dashboard, this is a time in the year 9999."
    )


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
        description="The number of parts that the Worker still had to send after this push. Each part contains new"
        " totals for a day, or marks a day as final."
    )
    error: str | None
    dropped: dict[str, Count] = Field(description="The number of events that were not counted, by reason.")


class Account(ResponseBody):
    """A connected Cloudflare account."""

    id: str
    edge_account_id: str
    name: str
    location: Location | None
    plan: EdgePlan = Field(description="The account's Workers plan, as set by the user.")
    days_kept: DaysKept = Field(description="The number of days for which the Worker's database keeps breakdowns.")
    months_kept: MonthsKept = Field(
        description="The number of past calendar months for which the Worker's database keeps monthly sums of the"
        " breakdowns. The current month is not included."
    )
    state: AccountState
    token: WorkingToken | None
    error: AccountError | None
    edge: Edge | None
    push: LastPush | None
    advice: Advice | None = Field(
        description="The plan usage, computed once a day. Null until it has been computed for the current `plan`."
    )
    created_at: Moment

    @classmethod
    def from_model(cls, account: model.Account, bundle: str) -> Account:
        """Return the response object for an account.

        `bundle`: SHA-256 of the Worker code that an install would upload now.
        """
        return cls(**_fields(account, bundle))


class Operation(ResponseBody):
    """A long-running operation on an account."""

    kind: OperationKind
    state: OperationState
    step: str = Field(
        description="The current step. During `selfcheck`, the Worker is already installed, and the service is waiting"
        " for the Worker's first push."
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


def _fields(account: model.Account, bundle: str) -> dict[str, Any]:
    return {
        "id": account.id,
        "edge_account_id": account.edge_account_id,
        "name": account.name,
        "location": account.location,
        "plan": account.settings.plan,
        "days_kept": account.settings.days,
        "months_kept": account.settings.months,
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


LIST = Endpoint(
    method="GET",
    path="/v1/accounts",
    tag="accounts",
    summary="List your connected accounts",
    scopes=("accounts", "sites"),
    response=AccountList,
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
    addition=True,
    action="account.change",
    summary="Change an account's name, Cloudflare plan or breakdown retention",
    description="When `plan` changes, the service immediately begins to recompute `advice`. Until it has finished,"
    " `advice` is null. New values of `days_kept` and `months_kept` reach the Worker with the next sync.",
    scopes=("accounts",),
    body=AccountChange,
    response=OneAccount,
    example={"plan": "paid"},
)

ENDPOINTS = (LIST, SHOW, CHANGE)
