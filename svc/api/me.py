"""/v1/me: the signed-in user's plan, limits, usage and settings, and the deletion of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Moment, Password, Wrong
from svc.api.remaining_resources import RemainingResource
from svc.api.shape import Body, ResponseBody, optional_field
from svc.model import Language, Plan
from svc.security.ip_networks import customer_network

if TYPE_CHECKING:
    from svc import model
    from svc.security.ip_networks import IpAddress


class User(ResponseBody):
    """A user of the service."""

    id: int
    email: str
    email_confirmed: bool
    notify: bool = Field(
        description="True if the service sends the user an email when an account needs attention and when it has"
        " recovered, and at most one email a day about broken targets of links."
    )
    language: Language | None = Field(
        description="The language of emails to the user. Null if the user has not chosen one. Each email is then in"
        " the language of the request that caused it, or in English if there was no such request."
    )
    email_refused_at: Moment | None = Field(
        description="The time when mail servers began to reject the address. Null if they accept it. While they reject"
        " it, the service sends only emails that the user requests. Notifications resume after a mail server has"
        " accepted an email, the user has confirmed the address again, or a request has set `notify` to true."
    )


class Limits(ResponseBody):
    """The maximum number of objects that the user can have, by kind, and the rate limits."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count
    requests_per_minute: Count
    report_reads_per_minute: Count


class Use(ResponseBody):
    """The number of objects that the user has, by kind. Deleted objects are not included."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count


class Caller(ResponseBody):
    """The caller: the user with plan, limits and usage, and the type of credential."""

    user: User
    plan: Plan
    limits: Limits
    use: Use
    via: Literal["session", "key"]


class ChangeMe(Body):
    """Changes to the user's settings. At least one field is required, and absent fields keep their value."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    notify: bool | None = optional_field(
        "Send an email when an account needs attention and when it has recovered, and at most one email a day about"
        " broken targets of links. Emails that were not sent because"
        " `notify` was false are not sent later. Default: unchanged."
    )
    language: Language | None = Field(
        None,
        description="The language of emails to the user, including emails that are already queued. Null removes the"
        " choice. Default: unchanged.",
    )

    @property
    def sets_language(self) -> bool:
        """True if the body has `language`, even if it is null."""
        return "language" in self.model_fields_set

    @field_validator("notify")
    @classmethod
    def _is_not_null(cls, notify: bool | None) -> bool:  # not called if the field is absent
        if notify is None:
            raise Wrong("must be true or false", "not_boolean")
        return notify

    @model_validator(mode="after")
    def _has_a_field(self) -> ChangeMe:
        if not self.model_fields_set:
            raise Wrong("must have at least one field", "too_few", 1)
        return self


class Leave(Body):
    """The user's password, which confirms the deletion."""

    holds_password: ClassVar[bool] = True

    password: Password


class Left(ResponseBody):
    """The result of a user's deletion."""

    ok: bool = True
    left: tuple[str, ...] = Field(
        description="The resources that could not be removed from Cloudflare. Each resource is described in a sentence"
        " with the account's name and id, and the reason. See the response to DELETE /v1/accounts/{id}."
    )
    leftovers: tuple[RemainingResource, ...] = Field(
        description="The resources that `left` describes, in the same order, in machine-readable form. `facts.account`"
        " is the account's name and id."
    )
    revoke_tokens: tuple[str, ...] = Field(
        description="The names of the accounts' working tokens. The service is not permitted to delete these tokens,"
        " so you have to delete them in the Cloudflare dashboard."
    )

    @classmethod
    def from_model(cls, result: model.DeletionResult) -> Left:
        """Return the response for a user's deletion."""
        return cls(
            left=tuple(account.words for account in result.left),
            leftovers=RemainingResource.each(result.left),
            revoke_tokens=result.revoke_tokens,
        )


class OwnAddress(ResponseBody):
    """The IP address from which the request came, as seen by the service or its trusted proxies.

    The service does not store it.
    """

    address: str | None = Field(description="The IP address. Null if it is unknown.")
    network: str | None = Field(
        description="The network to add to a site's `excluded_networks`. For IPv6, this is the /64 network, because"
        " devices change their addresses within it. Null if the address is not public, because Cloudflare then sees a"
        " different address."
    )

    @classmethod
    def from_client(cls, client: IpAddress | None) -> OwnAddress:
        """Return the response for a client's address; the address is None if it is unknown."""
        if client is None:
            return cls(address=None, network=None)
        return cls(address=str(client), network=customer_network(client) if client.is_global else None)


SHOW = Endpoint(
    method="GET", path="/v1/me", tag="me", summary="Show the user, the plan, the limits and the usage", response=Caller
)

CHANGE = Endpoint(
    method="PATCH",
    path="/v1/me",
    tag="me",
    addition=True,
    action="user.change",
    summary="Turn account notifications on or off, or change the language of emails",
    access="session",
    body=ChangeMe,
    response=Caller,
    example={"notify": False, "language": "de"},
)

LEAVE = Endpoint(
    method="DELETE",
    path="/v1/me",
    tag="me",
    action="nothing",  # no event, because the user's events are deleted with the user
    summary="Delete the user and all of the user's data",
    description="The service disconnects all accounts, as DELETE /v1/accounts/{id} does, and deletes the user with all"
    " sites, links, totals and keys. To keep the data, first use GET /v1/export. As soon as the service has verified"
    " the password, API keys and sessions stop working, and the email address becomes available for a new user. The"
    " deletion cannot be stopped. It continues even if the client disconnects or the service restarts. It can take"
    " several minutes, or up to half an hour if Cloudflare does not respond. Until the deletion ends, you can still"
    " repeat this request in the same session, and get the same response. Afterwards, the response is 401. The service"
    " also sends the result by email. It does not store the response for an Idempotency-Key.",
    access="session",
    body=Leave,
    response=Left,
    codes=("invalid_password",),
    leaving=True,
    signs_out=True,
    example={"password": "correct horse battery staple"},
)

ADDRESS = Endpoint(
    method="GET",
    path="/v1/me/address",
    tag="me",
    addition=True,
    summary="Show the IP address of the request",
    description="Use `network` to exclude your own visits from a site's counts.",
    response=OwnAddress,
)

ENDPOINTS = (SHOW, CHANGE, LEAVE, ADDRESS)
