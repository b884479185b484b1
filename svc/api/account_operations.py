"""/v1/accounts: connect accounts, renew the working token, install the Worker, and disconnect accounts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from svc import model
from svc.api.accounts import OneAccount
from svc.api.endpoint import Endpoint
from svc.api.fields import EdgeAccountId, EdgeToken, Name
from svc.api.remaining_resources import RemainingResource
from svc.api.shape import Body, EmptyBody, ResponseBody
from svc.errors import Code
from svc.model import Location
from svc.security.token_page import TOKEN_PAGE

_BOOTSTRAP_FIELD = (
    "An API token of the Cloudflare account, with the permissions *Account Settings: Read* and *Account API Tokens:"
    " Edit*. Set the token to expire after one day. `x-token-page` in `/openapi.json` is the URL of Cloudflare's form"
    " with these permissions already filled in. The service uses the token only for this request, and never stores it."
    " If the request succeeds, the service deletes the token at Cloudflare. If an error contains"
    " `details.bootstrap_token`, the token is still valid: use it for the next attempt, or delete it."
)
# Error codes of endpoints that accept a bootstrap token.
_BOOTSTRAP_CODES: tuple[Code, ...] = (
    "operation_in_progress",
    "invalid_bootstrap",
    "bootstrap_permission_error",
    "permission_catalog",
    "token_rights_mismatch",
    "token_check_failed",
    "orphan_not_deleted",
    "cloudflare_unavailable",
)


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
        description="The account's name in this service. By default, it is the name at Cloudflare.",
    )

    def options(self) -> model.ConnectOptions:
        """Return the user's choices for the account."""
        return model.ConnectOptions(self.location, self.name)


class Renew(Body):
    """The bootstrap token with which the service creates a new working token."""

    bootstrap_token: EdgeToken = Field(description=_BOOTSTRAP_FIELD)


class Disconnected(ResponseBody):
    """The result of disconnecting an account."""

    ok: Literal[True] = True
    revoke_token: str | None = Field(
        description="The name of the working token. The service is not permitted to delete this token, so you have to"
        " delete it in the Cloudflare dashboard. Null if the token was deleted, has expired, or never existed."
    )
    left: tuple[str, ...] = Field(
        description="One sentence for each resource that the service could not remove from Cloudflare."
    )
    leftovers: tuple[RemainingResource, ...] = Field(
        description="The resources that `left` describes, in the same order, in machine-readable form."
    )

    @classmethod
    def from_model(cls, former: model.FormerAccount) -> Disconnected:
        """Return the response for a disconnected account."""
        return cls(
            revoke_token=former.revoke_token,
            left=tuple(resource.words for resource in former.left),
            leftovers=RemainingResource.each(former.left),
        )


CONNECT = Endpoint(
    method="POST",
    path="/v1/accounts",
    tag="accounts",
    action="account.connect",
    summary="Connect a Cloudflare account",
    description="The service checks the bootstrap token, creates its own working token with only the permissions that"
    " it needs, deletes the bootstrap token, and installs the Worker. Poll the account until its `state` is `ready`."
    " After a 503 `cloudflare_unavailable`, send the same request again to continue. In the meantime, the"
    " account stays `pending`, for up to an hour.",
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
        *_BOOTSTRAP_CODES,
        "service_full",
        "not_configured",
    ),
    example={"edge_account_id": "023e105f4ecef8ad9ca31a8372d0c353", "bootstrap_token": "…"},
    token_page=TOKEN_PAGE,
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
    codes=(*_BOOTSTRAP_CODES, "renew_lost", "account_not_ready"),
    example={"bootstrap_token": "…"},
    token_page=TOKEN_PAGE,
)
INSTALL = Endpoint(
    method="POST",
    path="/v1/accounts/{account_id}/install",
    tag="accounts",
    action="account.install",
    summary="Install or reinstall the Worker",
    description="A reinstall keeps the database and gives the Worker a new key. The service does not overwrite a"
    " Worker or database that it did not create, nor a Worker that was changed outside the service.",
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
    " changed outside the service. It then deletes its record of the account. The account's sites and links become"
    " `deleted`; their counts and reports remain available. You can disconnect an account in any state, even if its"
    " token is invalid or Cloudflare is unavailable. `left` lists the resources that remain at Cloudflare. If you"
    " repeat the request, you get the same response again.",
    scopes=("accounts",),
    body=EmptyBody,
    response=Disconnected,
    codes=("operation_in_progress",),
)

ENDPOINTS = (CONNECT, RENEW, INSTALL, DISCONNECT)
