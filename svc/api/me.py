"""/v1/me: the signed-in user with plan, limits and usage; notifications; deletion of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from svc.api.accounts import RemainingResource
from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Moment, Password
from svc.api.shape import Answer, Body
from svc.model import Plan

if TYPE_CHECKING:
    from svc import model


class User(Answer):
    """A user of the service."""

    id: int
    email: str
    email_confirmed: bool
    notify: bool = Field(description="Send an e-mail when an account needs attention and when it has recovered.")
    email_refused_at: Moment | None = Field(
        description="Time since which mail servers have rejected the address; null: they accept it. E-mails that you"
        " request are still sent. Notifications are sent again when an e-mail has been accepted, the address has been"
        " confirmed again, or `notify` is set."
    )


class Limits(Answer):
    """Maximum number of objects of this user, and rate limits per API key."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count
    requests_per_minute: Count
    report_reads_per_minute: Count


class Use(Answer):
    """Number of objects of this user, without deleted ones."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count


class Caller(Answer):
    """The caller, and the type of its credential."""

    user: User
    plan: Plan
    limits: Limits
    use: Use
    via: Literal["session", "key"]


class ChangeMe(Body):
    """The user's settings."""

    notify: bool = Field(
        description="Send an e-mail when an account needs attention and when it has recovered. E-mails that are not"
        " sent while this is off are not sent later."
    )


class Leave(Body):
    """The password, which confirms that the user requests the deletion."""

    holds_password: ClassVar[bool] = True

    password: Password


class Left(Answer):
    """The result of a user's deletion."""

    ok: bool = True
    left: tuple[str, ...] = Field(
        description="The resources that could not be removed from Cloudflare, each with the account's name and id and"
        " the reason, in a sentence. See the response of DELETE /v1/accounts/{id}."
    )
    leftovers: tuple[RemainingResource, ...] = Field(
        description="An addition to the specification: the resources in `left`, in the same order, as codes for"
        " programs. `facts.account` is the account's name and id."
    )
    revoke_tokens: tuple[str, ...] = Field(
        description="The names of the accounts' working tokens, which cannot delete themselves: delete them in the"
        " Cloudflare dashboard."
    )

    @classmethod
    def from_model(cls, farewell: model.DeletionResult) -> Left:
        """Return the response for a user's deletion."""
        return cls(
            left=tuple(one.words for one in farewell.left),
            leftovers=RemainingResource.each(farewell.left),
            revoke_tokens=farewell.revoke_tokens,
        )


SHOW = Endpoint(
    method="GET", path="/v1/me", tag="me", summary="Show the user, the plan, its limits and usage", answer=Caller
)

CHANGE = Endpoint(
    method="PATCH",
    path="/v1/me",
    tag="me",
    action="user.change",
    summary="Turn notifications about the accounts on or off",
    access="session",
    body=ChangeMe,
    answer=Caller,
    example={"notify": False},
)

LEAVE = Endpoint(
    method="DELETE",
    path="/v1/me",
    tag="me",
    action="nothing",  # the user's events are deleted, too
    summary="Delete the user and all stored data",
    description="Disconnects all accounts, as DELETE /v1/accounts/{id} does, and deletes all sites, links, totals, keys"
    " and the user. Use GET /v1/export first to keep the data. As soon as the password has been verified, API keys and"
    " sessions stop working and the e-mail address becomes available again. The deletion cannot be stopped, and"
    " continues if the client disconnects or the service restarts. It can take several minutes, and at most half an"
    " hour if Cloudflare does not respond. Until it ends, the same session may repeat the request and gets the same"
    " response; afterwards it gets 401. The result is also sent by e-mail. No response is stored for an"
    " Idempotency-Key.",
    access="session",
    body=Leave,
    answer=Left,
    codes=("invalid_password",),
    leaving=True,
    signs_out=True,
    example={"password": "correct horse battery staple"},
)

ENDPOINTS = (SHOW, CHANGE, LEAVE)
