"""/auth: sign-up, confirmation, sign-in, session refresh, password reset."""

from __future__ import annotations

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from svc.api.endpoint import Endpoint
from svc.api.fields import Email, MailToken, Moment, NewPassword, Password, Wrong
from svc.api.me import User
from svc.api.shape import Body, EmptyBody, Ok, ResponseBody, optional_field
from svc.config import SignUpMode
from svc.security.password_policy import password_problem_for_user

REFRESH_COOKIE = "svc_refresh"


def cookie_name(name: str, base_url: str) -> str:
    """Return the name of a cookie, with the prefix `__Host-` under https; see `http/serving/cookies.py`."""
    return f"__Host-{name}" if base_url.startswith("https:") else name


class SignUp(Body):
    """A new user."""

    email: Email
    password: NewPassword
    invitation: MailToken | None = optional_field(
        "The token from an invitation link for this address. With this token, the sign-up needs no confirmation email."
        " Default: no invitation."
    )

    @field_validator("password")
    @classmethod
    def _differs_from_email(cls, password: SecretStr, info: ValidationInfo) -> SecretStr:
        fault = password_problem_for_user(info.data.get("email", ""), password.get_secret_value())
        if fault is not None:
            raise Wrong(fault, "weak_password")
        return password


class Credentials(Body):
    """The credentials of a user."""

    email: Email
    password: Password


class Address(Body):
    """An email address."""

    email: Email


class MailedToken(Body):
    """The token from the link in an email."""

    token: MailToken


class InvitationToken(Body):
    """The token from an invitation link."""

    invitation: MailToken


class Invitation(ResponseBody):
    """A pending invitation to sign up."""

    email: str = Field(description="The only address that can sign up with this invitation.")
    expires_at: Moment


class Reset(Body):
    """The token from the link in an email, and the new password."""

    token: MailToken
    password: NewPassword


class NewSession(ResponseBody):
    """A sign-in session. The refresh token is in a cookie."""

    access_token: str = Field(json_schema_extra={"format": "password"})
    expires_at: Moment
    user: User


class PublicSettings(ResponseBody):
    """The public settings of the service. A field is absent if the operator has not set it."""

    sign_up: SignUpMode = Field(
        description="`open`: anyone can sign up. `invite`: only people with an invitation can. `closed`: no one can."
    )
    name: str = Field(description="The name of the service.")
    logo_url: str | None = optional_field("The URL of the logo, which is an SVG or PNG file.")
    contact: str | None = optional_field("The operator's email address, or an https URL to contact the operator.")
    imprint_url: str | None = optional_field("The operator's imprint (legal notice).")
    privacy_url: str | None = optional_field("The privacy policy.")
    terms_url: str | None = optional_field("The terms of service.")


_SAME_ANSWER = "The response is the same whether or not the address belongs to a user."

SETTINGS = Endpoint(
    method="GET",
    path="/auth/settings",
    tag="sign-in",
    addition=True,
    summary="Get the name and the public settings of the service",
    description="Clients may cache the response for five minutes.",
    access="anybody",
    response=PublicSettings,
)
SIGN_UP = Endpoint(
    method="POST",
    path="/auth/sign-up",
    tag="sign-in",
    summary="Sign up and receive a confirmation email",
    description=f"{_SAME_ANSWER} The operator can restrict sign-up to invited addresses, or close it. Sign-ups that"
    " are not allowed fail with 403 `sign_up_closed`. A sign-up with an invitation confirms the address immediately,"
    " without an email. Emails to the user are in English or German, depending on the `Accept-Language` header."
    " `PATCH /v1/me` changes the language.",
    access="anybody",
    body=SignUp,
    response=Ok,
    status=202,
    codes=("sign_up_closed", "rate_limited"),
    example={"email": "ann@example.com", "password": "correct horse battery staple"},
)
INVITATION = Endpoint(
    method="POST",
    path="/auth/invitation",
    tag="sign-in",
    addition=True,
    summary="Show the invitation that an invitation link refers to",
    description="The response does not reveal whether the address belongs to a user. If the invitation is not valid, or"
    " sign-up is closed, the response is 403 `sign_up_closed`.",
    access="anybody",
    body=InvitationToken,
    response=Invitation,
    codes=("sign_up_closed", "rate_limited"),
    example={"invitation": "…"},
)
CONFIRM = Endpoint(
    method="POST",
    path="/auth/confirm",
    tag="sign-in",
    summary="Confirm the email address with the token from the email",
    access="anybody",
    body=MailedToken,
    response=Ok,
    codes=("rate_limited",),
    example={"token": "…"},
)
RESEND = Endpoint(
    method="POST",
    path="/auth/confirm/resend",
    tag="sign-in",
    summary="Resend the confirmation email",
    description=_SAME_ANSWER,
    access="anybody",
    body=Address,
    response=Ok,
    status=202,
    codes=("rate_limited",),
    example={"email": "ann@example.com"},
)
SIGN_IN = Endpoint(
    method="POST",
    path="/auth/sign-in",
    tag="sign-in",
    summary="Sign in and start a session",
    access="anybody",
    body=Credentials,
    response=NewSession,
    codes=("unauthorized", "user_disabled", "rate_limited"),
    cookies=True,
    example={"email": "ann@example.com", "password": "correct horse battery staple"},
)
REFRESH = Endpoint(
    method="POST",
    path="/auth/refresh",
    tag="sign-in",
    summary="Exchange the refresh token for new tokens",
    description="The old tokens stop working after 30 s. Until then, a second tab, or a retry after a lost response,"
    " gets the same new tokens with the old cookie. After the 30 s, a request with the old cookie ends the session. A"
    " request with the new cookie gets the same tokens for 60 s.",
    access="cookie",
    body=EmptyBody,
    response=NewSession,
    codes=("rate_limited",),
    cookies=True,
)
SIGN_OUT = Endpoint(
    method="POST",
    path="/auth/sign-out",
    tag="sign-in",
    summary="Sign out",
    description="The service ends the sessions that the refresh cookie and the access token belong to.",
    access="anybody",
    body=EmptyBody,
    response=Ok,
    cookies=True,
    signs_out=True,
)
ASK_RESET = Endpoint(
    method="POST",
    path="/auth/password-reset",
    tag="sign-in",
    summary="Request an email with a link to reset the password",
    description=_SAME_ANSWER,
    access="anybody",
    body=Address,
    response=Ok,
    status=202,
    codes=("rate_limited",),
    example={"email": "ann@example.com"},
)
RESET = Endpoint(
    method="POST",
    path="/auth/password-reset/confirm",
    tag="sign-in",
    summary="Set a new password with the token from the email",
    description="The service ends all sessions of the user, and notifies the user of the change by email.",
    access="anybody",
    body=Reset,
    response=Ok,
    codes=("rate_limited",),
    cookies=True,
    example={"token": "…", "password": "correct horse battery staple"},
)


ENDPOINTS = (SETTINGS, SIGN_UP, INVITATION, CONFIRM, RESEND, SIGN_IN, REFRESH, SIGN_OUT, ASK_RESET, RESET)
