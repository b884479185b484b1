"""/v1/me/sessions and /v1/me/password: the user's sign-in sessions and password."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Moment, NewPassword, Password
from svc.api.shape import Body, EmptyBody, Ok, ResponseBody


class Session(ResponseBody):
    """An active sign-in session."""

    id: str
    browser: str = Field(
        description="The client that signed in, as identified by its user agent, e.g. `Firefox on Linux` or `curl`."
    )
    created_at: Moment
    last_used: Moment = Field(
        description="The time of the last token refresh. While a page of the web application is open, this is less"
        " than an hour ago."
    )
    current: bool = Field(description="True if this is the caller's session.")


class SessionList(ResponseBody):
    """The user's sessions, most recently used first."""

    sessions: tuple[Session, ...]


class ChangePassword(Body):
    """The current and the new password."""

    holds_password: ClassVar[bool] = True

    old: Password
    new: NewPassword


LIST = Endpoint(
    method="GET",
    path="/v1/me/sessions",
    tag="me",
    addition=True,
    summary="List your sessions",
    description="To find the IP address of a sign-in, use the audit log (`GET /v1/events`).",
    access="session",
    response=SessionList,
)
END_ALL = Endpoint(
    method="DELETE",
    path="/v1/me/sessions",
    tag="me",
    addition=True,
    action="session.end",
    summary="Sign out everywhere, including this session",
    access="session",
    body=EmptyBody,
    response=Ok,
    signs_out=True,
)
END = Endpoint(
    method="DELETE",
    path="/v1/me/sessions/{session_id}",
    tag="me",
    addition=True,
    action="session.end",
    summary="End a session",
    access="session",
    body=EmptyBody,
    response=Ok,
    signs_out=True,
)
CHANGE_PASSWORD = Endpoint(
    method="POST",
    path="/v1/me/password",
    tag="me",
    addition=True,
    action="password.change",
    summary="Change the password and end all other sessions",
    description="The service notifies the user of the change by email.",
    access="session",
    body=ChangePassword,
    response=Ok,
    codes=("invalid_password",),
    example={"old": "correct horse battery staple", "new": "four more words of mine"},
)

ENDPOINTS = (LIST, END_ALL, END, CHANGE_PASSWORD)
