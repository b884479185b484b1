"""/auth: sign-up, confirmation, sign-in, password reset; the page session."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Email, MailToken, Moment, NewPassword, Password
from svc.api.me import User
from svc.api.shape import Answer, Body, NoBody, Ok

REFRESH_COOKIE = "svc_refresh"


class SignUp(Body):
    """A new user."""

    email: Email
    password: NewPassword


class Credentials(Body):
    """Who signs in."""

    email: Email
    password: Password


class Address(Body):
    """An e-mail address."""

    email: Email


class MailedToken(Body):
    """The token of an e-mail's link."""

    token: MailToken


class Reset(Body):
    """The token of an e-mail's link, and the new password."""

    token: MailToken
    password: NewPassword


class Session(Answer):
    """A page session; the refresh token is in a cookie."""

    access_token: str = Field(json_schema_extra={"format": "password"})
    expires_at: Moment
    user: User


_SAME_ANSWER = "The answer does not tell whether the address is known."

SIGN_UP = Endpoint(
    method="POST",
    path="/auth/sign-up",
    tag="sign-in",
    summary="Sign up; an e-mail with a link follows",
    description=_SAME_ANSWER,
    access="anybody",
    body=SignUp,
    answer=Ok,
    status=202,
    codes=("rate_limited",),
    example={"email": "ann@example.com", "password": "correct horse battery staple"},
)
CONFIRM = Endpoint(
    method="POST",
    path="/auth/confirm",
    tag="sign-in",
    summary="Confirm the address by the token of the e-mail's link",
    access="anybody",
    body=MailedToken,
    answer=Ok,
    codes=("rate_limited",),
    example={"token": "…"},
)
RESEND = Endpoint(
    method="POST",
    path="/auth/confirm/resend",
    tag="sign-in",
    summary="Send the e-mail of the sign-up once more",
    description=_SAME_ANSWER,
    access="anybody",
    body=Address,
    answer=Ok,
    status=202,
    codes=("rate_limited",),
    example={"email": "ann@example.com"},
)
SIGN_IN = Endpoint(
    method="POST",
    path="/auth/sign-in",
    tag="sign-in",
    summary="Begin a page session",
    access="anybody",
    body=Credentials,
    answer=Session,
    codes=("unauthorized", "rate_limited"),
    cookies=True,
    example={"email": "ann@example.com", "password": "correct horse battery staple"},
)
REFRESH = Endpoint(
    method="POST",
    path="/auth/refresh",
    tag="sign-in",
    summary="New tokens for the cookie's; the old ones are dead",
    access="cookie",
    body=NoBody,
    answer=Session,
    codes=("rate_limited",),
    cookies=True,
)
SIGN_OUT = Endpoint(
    method="POST",
    path="/auth/sign-out",
    tag="sign-in",
    summary="End the session of the cookie and that of the access token",
    access="anybody",
    body=NoBody,
    answer=Ok,
    codes=("unauthorized", "rate_limited"),
    cookies=True,
)
ASK_RESET = Endpoint(
    method="POST",
    path="/auth/password-reset",
    tag="sign-in",
    summary="Ask for an e-mail with a link that sets a new password",
    description=_SAME_ANSWER,
    access="anybody",
    body=Address,
    answer=Ok,
    status=202,
    codes=("rate_limited",),
    example={"email": "ann@example.com"},
)
RESET = Endpoint(
    method="POST",
    path="/auth/password-reset/confirm",
    tag="sign-in",
    summary="Set a new password by the token of the e-mail's link; every session ends",
    access="anybody",
    body=Reset,
    answer=Ok,
    codes=("rate_limited",),
    cookies=True,
    example={"token": "…", "password": "correct horse battery staple"},
)

ENDPOINTS = (SIGN_UP, CONFIRM, RESEND, SIGN_IN, REFRESH, SIGN_OUT, ASK_RESET, RESET)
