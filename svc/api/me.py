"""/v1/me: the caller, its limits, and what it uses of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Count
from svc.api.shape import Answer, Body
from svc.model import Plan


class User(Answer):
    """A person who signs in."""

    id: int
    email: str
    email_confirmed: bool
    notify: bool = Field(description="Troubles of the accounts, and their end, are told by e-mail.")


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


SHOW = Endpoint(
    method="GET", path="/v1/me", tag="me", summary="Who asks, the plan, its limits and what is used", answer=Caller
)

CHANGE = Endpoint(
    method="PATCH",
    path="/v1/me",
    tag="me",
    summary="Switch e-mails about the accounts on or off",
    body=ChangeMe,
    answer=Caller,
    example={"notify": False},
)

ENDPOINTS = (SHOW, CHANGE)
