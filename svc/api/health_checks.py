"""/v1/accounts/{id}/check: run a health check of an account."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.shape import EmptyBody, ResponseBody
from svc.finding import FindingKind


class Finding(ResponseBody):
    """A difference between the expected and the actual state at Cloudflare."""

    kind: FindingKind = Field(
        description="The kind of finding. For `other`, only `thing`, `expected` and `found` describe the difference."
    )
    facts: dict[str, str] = Field(description="Details such as `route`. `kind` determines which details are present.")
    thing: str = Field(description="The resource, e.g. `the route shop.example/ab3/x9k*`.")
    expected: str = Field(description="The expected state of `thing`, e.g. `points to the Worker svc-edge`.")
    found: str = Field(description="The actual state of `thing`, e.g. `was deleted outside the service`.")
    remedy: str | None = Field(description="What the user can do. Null if the health check has repaired the problem.")
    remedy_code: str | None = Field(
        description="The code of the error that has the same remedy as this problem. Null if the service has repaired"
        " the problem, or repairs it automatically."
    )
    mended: bool = Field(description="True if the health check has repaired the problem.")


class Check(ResponseBody):
    """The findings of a health check. The list is empty if no problem was found."""

    findings: tuple[Finding, ...]


CHECK = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/check",
    tag="accounts",
    addition=True,
    action="account.check",
    summary="Run a health check, and repair what can be repaired safely",
    description="The health check inspects the working token and its permissions; the Worker, its bindings, its cron"
    " trigger and its workers.dev address; the database and its contents; the routes and DNS records; and the Worker's"
    " pushes. The service restores missing routes and tables, the cron trigger and the configuration, and turns off the"
    " workers.dev address. It does not overwrite other resources that were changed outside the service; it reports them"
    " as findings. You can run a health check in any account state. The service also runs health checks automatically.",
    scopes=("accounts",),
    body=EmptyBody,
    response=Check,
    codes=("cloudflare_unavailable",),
)

ENDPOINTS = (CHECK,)
