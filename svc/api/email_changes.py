"""/v1/me/email, /auth/email/confirm and /auth/email/revert: change the email address of a user."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Email, MailToken, Moment, NewPassword, Password
from svc.api.shape import Body, EmptyBody, Ok, ResponseBody


class ChangeEmail(Body):
    """The new email address, and the password."""

    holds_password: ClassVar[bool] = True

    email: Email
    password: Password


class EmailToken(Body):
    """The token from the link in the email to the new address."""

    token: MailToken


class RevertEmail(Body):
    """The token from the link in the email to the old address, and a new password."""

    token: MailToken
    password: NewPassword


class PendingChange(ResponseBody):
    """A requested change of the email address, which has not been confirmed yet."""

    email: str = Field(description="The new address.")
    requested_at: Moment
    expires_at: Moment = Field(description="The time at which the link in the email to the new address expires.")


class Pending(ResponseBody):
    """The pending change, or null."""

    pending: PendingChange | None


SHOW = Endpoint(
    method="GET",
    path="/v1/me/email",
    tag="me",
    addition=True,
    summary="Show the pending change of the email address",
    access="session",
    response=Pending,
)
CANCEL = Endpoint(
    method="DELETE",
    path="/v1/me/email",
    tag="me",
    addition=True,
    action="email.cancel",
    summary="Cancel the pending change of the email address",
    description="The link in the email to the new address stops working. The link in the email to the old address stays"
    " valid. The response is the same if no change is pending.",
    access="session",
    body=EmptyBody,
    response=Ok,
)
REQUEST = Endpoint(
    method="POST",
    path="/v1/me/email",
    tag="me",
    addition=True,
    action="email.request",
    summary="Request a change of the email address",
    description="The service sends a link to the new address, and notifies the old one. The address changes when the"
    " user opens the link. The response is the same whether or not the new address belongs to a user. A new request"
    " replaces an earlier one that was not confirmed. At most five requests an hour are accepted, per user and per new"
    " address.",
    access="session",
    body=ChangeEmail,
    response=Ok,
    status=202,
    codes=("invalid_password", "email_unconfirmed"),
    example={"email": "ann@example.org", "password": "correct horse battery staple"},
)
CONFIRM = Endpoint(
    method="POST",
    path="/auth/email/confirm",
    tag="sign-in",
    addition=True,
    summary="Change the email address with the token that was sent to the new address",
    description="All sessions end, except the one that requested the change. API keys keep working.",
    access="anybody",
    body=EmailToken,
    response=Ok,
    codes=("rate_limited",),
    example={"token": "…"},
)
REVERT = Endpoint(
    method="POST",
    path="/auth/email/revert",
    tag="sign-in",
    addition=True,
    summary="Keep or restore the old email address with the token that was sent to it",
    description="The service sets the password from the request and ends all sessions. API keys keep working.",
    access="anybody",
    body=RevertEmail,
    response=Ok,
    codes=("rate_limited",),
    example={"token": "…", "password": "correct horse battery staple"},
)

ENDPOINTS = (SHOW, REQUEST, CANCEL, CONFIRM, REVERT)
