"""/v1/me: the caller, its limits, and what it uses of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from svc.api.accounts import Leftover
from svc.api.endpoint import Endpoint
from svc.api.fields import Count, Moment, Password
from svc.api.shape import Answer, Body
from svc.model import Plan

if TYPE_CHECKING:
    from svc import model


class User(Answer):
    """A person who signs in."""

    id: int
    email: str
    email_confirmed: bool
    notify: bool = Field(description="Troubles of the accounts, and their end, are told by e-mail.")
    email_refused_at: Moment | None = Field(
        description="Since when mail servers refuse the address: you cannot be reached. What you ask for is sent"
        " all the same. Troubles are told again once an e-mail was taken, the address is confirmed again, or `notify`"
        " is set."
    )


class Limits(Answer):
    """What this user may have, and how often a key may ask."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count
    requests_per_minute: Count
    report_reads_per_minute: Count


class Use(Answer):
    """What this user has; what is deleted does not count."""

    accounts: Count
    sites: Count
    links: Count
    keys: Count


class Caller(Answer):
    """Who asks, with which credential."""

    user: User
    plan: Plan
    limits: Limits
    use: Use
    via: Literal["session", "key"]


class ChangeMe(Body):
    """What a user decides."""

    notify: bool = Field(
        description="Whether troubles of the accounts that need a hand, and their end, are told by e-mail. While it is"
        " off nothing is sent, and nothing later for what happened meanwhile."
    )


class Leave(Body):
    """That it is the user who wants to be deleted, and not somebody at the same desk."""

    holds_password: ClassVar[bool] = True

    password: Password


class Left(Answer):
    """The user is gone, with all that was stored."""

    ok: bool = True
    left: tuple[str, ...] = Field(
        description="What could not be removed from the edge platform, a sentence each, behind the account's name and"
        " id there; as in the answer to DELETE /v1/accounts/{id}."
    )
    leftovers: tuple[Leftover, ...] = Field(
        description="An addition to the specification: the same in the same order, for programs; `facts.account` is the"
        " account's name and id."
    )
    revoke_tokens: tuple[str, ...] = Field(
        description="The names of the accounts' working tokens, which cannot delete themselves: revoke them in the edge"
        " platform's dashboard."
    )

    @classmethod
    def of(cls, farewell: model.Farewell) -> Left:
        """What came of a user's deletion."""
        return cls(
            left=tuple(one.words for one in farewell.left),
            leftovers=Leftover.each(farewell.left),
            revoke_tokens=farewell.revoke_tokens,
        )


SHOW = Endpoint(
    method="GET", path="/v1/me", tag="me", summary="Who asks, the plan, its limits and what is used", answer=Caller
)

CHANGE = Endpoint(
    method="PATCH",
    path="/v1/me",
    tag="me",
    action="user.change",
    summary="Switch e-mails about the accounts on or off",
    access="session",
    body=ChangeMe,
    answer=Caller,
    example={"notify": False},
)

LEAVE = Endpoint(
    method="DELETE",
    path="/v1/me",
    tag="me",
    action="nothing",  # it ends the user's events, so none could tell of it
    summary="Delete the user, with everything that is stored",
    description="Every account is disconnected, as DELETE /v1/accounts/{id} does, and its totals are not kept; then"
    " everything else is deleted: sites, links, totals, keys, the user. GET /v1/export gives it all before. From the"
    " moment on when the password was right no key and no session works any more, and the address is free. It cannot be"
    " stopped: a client that hangs up, or a service that is restarted, makes no difference. It may take minutes, where"
    " the edge platform does not answer half an hour at most. Until then the session that asked may send the same"
    " request again, and waits for the same answer; from then on it gets 401. The same is told by e-mail. No answer is"
    " kept for an Idempotency-Key.",
    access="session",
    body=Leave,
    answer=Left,
    codes=("invalid_password",),
    leaving=True,
    signs_out=True,
    example={"password": "correct horse battery staple"},
)

ENDPOINTS = (SHOW, CHANGE, LEAVE)
