"""/auth: sign-up, confirmation, sign-in, password reset; the page session."""

from __future__ import annotations

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from svc.api.endpoint import Endpoint
from svc.api.fields import Email, MailToken, Moment, NewPassword, Password, Wrong
from svc.api.me import User
from svc.api.shape import Answer, Body, NoBody, Ok
from svc.security.password_policy import fault_for

REFRESH_COOKIE = "svc_refresh"


def cookie_name(name: str, base_url: str) -> str:
    """The name that a cookie of ours has where the service is reached at `base_url`; see `http/serving/cookies.py`."""
    return f"__Host-{name}" if base_url.startswith("https:") else name


class SignUp(Body):
    """A new user."""

    email: Email
    password: NewPassword

    @field_validator("password")
    @classmethod
    def _unlike_the_address(cls, password: SecretStr, info: ValidationInfo) -> SecretStr:
        fault = fault_for(info.data.get("email", ""), password.get_secret_value())
        if fault is not None:
            raise Wrong(fault, "weak_password")
        return password


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


class NewSession(Answer):
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
    answer=NewSession,
    codes=("unauthorized", "rate_limited"),
    cookies=True,
    example={"email": "ann@example.com", "password": "correct horse battery staple"},
)
REFRESH = Endpoint(
    method="POST",
    path="/auth/refresh",
    tag="sign-in",
    summary="New tokens for the cookie's; the old ones are dead",
    description="A second tab, or a request that is sent again because its answer was lost, gets the same new tokens:"
    " for 30 s with the cookie from before, for 60 s with the new one. A cookie from before that comes later ends the"
    " session.",
    access="cookie",
    body=NoBody,
    answer=NewSession,
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
    codes=("unauthorized",),
    cookies=True,
    signs_out=True,
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
    description="An e-mail tells the user that it was changed.",
    access="anybody",
    body=Reset,
    answer=Ok,
    codes=("rate_limited",),
    cookies=True,
    example={"token": "…", "password": "correct horse battery staple"},
)

ENDPOINTS = (SIGN_UP, CONFIRM, RESEND, SIGN_IN, REFRESH, SIGN_OUT, ASK_RESET, RESET)
