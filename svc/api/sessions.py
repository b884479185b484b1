"""/v1/me/sessions and /v1/me/password: where a user is signed in, and with what."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.fields import Moment, NewPassword, Password
from svc.api.shape import Answer, Body, NoBody, Ok


class Session(Answer):
    """A page session that can go on."""

    id: str
    browser: str = Field(description="What signed in, as it calls itself: `Firefox on Linux`, `curl`.")
    created_at: Moment
    last_used: Moment = Field(description="When its tokens were last made anew; of a page in use within the hour.")
    current: bool = Field(description="Whether it is the session that asks.")


class SessionList(Answer):
    """A user's sessions, the one used last first."""

    sessions: tuple[Session, ...]


class ChangePassword(Body):
    """The password, and the one that is to take its place."""

    holds_password: ClassVar[bool] = True

    old: Password
    new: NewPassword


LIST = Endpoint(
    method="GET",
    path="/v1/me/sessions",
    tag="me",
    summary="List where you are signed in",
    description="No addresses are stored, so none are shown.",
    access="session",
    answer=SessionList,
)
END_ALL = Endpoint(
    method="DELETE",
    path="/v1/me/sessions",
    tag="me",
    action="session.end",
    summary="Sign out everywhere: every session ends, this one, too",
    access="session",
    body=NoBody,
    answer=Ok,
    signs_out=True,
)
END = Endpoint(
    method="DELETE",
    path="/v1/me/sessions/{session_id}",
    tag="me",
    action="session.end",
    summary="End a session",
    access="session",
    body=NoBody,
    answer=Ok,
    signs_out=True,
)
CHANGE_PASSWORD = Endpoint(
    method="POST",
    path="/v1/me/password",
    tag="me",
    action="password.change",
    summary="Change the password; every other session ends",
    description="An e-mail tells the user that it was changed.",
    access="session",
    body=ChangePassword,
    answer=Ok,
    codes=("invalid_password",),
    example={"old": "correct horse battery staple", "new": "four more words of mine"},
)

ENDPOINTS = (LIST, END_ALL, END, CHANGE_PASSWORD)
