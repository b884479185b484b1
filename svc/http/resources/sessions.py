"""/v1/me/sessions and /v1/me/password: a user's sessions and password. API keys may not use these endpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.api import sessions as api
from svc.api.shape import EmptyBody, Ok
from svc.errors import Forbidden, Invalid, Issue, NotFound
from svc.http.serving.cookies import SIGNED_OUT
from svc.limits import SlidingLimit
from svc.security.password_policy import password_problem_for_user
from svc.store import devices, email_changes, outbox, sessions, users

if TYPE_CHECKING:
    from svc.api.shape import NoQuery
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read, Write
    from svc.model import Language, User
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx

# The maximum number of emails per hour that notify a user of a changed password. More emails would not help the user.
_EMAILS_AN_HOUR = 5


class Sessions:
    """The handlers of /v1/me/sessions and /v1/me/password."""

    def __init__(self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._passwords = passwords
        self._emails = SlidingLimit(_EMAILS_AN_HOUR, window_s=3600)
        endpoints.read(api.LIST, self.list)
        endpoints.write(api.END_ALL, self.end_all)
        endpoints.write(api.END, self.end)
        endpoints.write(api.CHANGE_PASSWORD, self.change_password)

    async def list(self, read: Read[NoQuery]) -> api.SessionList:
        """Return the user's sessions."""
        caller = read.caller
        stored = await self._store.read(sessions.list_sessions(caller.user.id, self._clock()))
        return api.SessionList(
            sessions=tuple(
                api.Session(
                    id=session.id,
                    browser=session.browser,
                    created_at=session.created_at,
                    last_used=session.issued.at,
                    current=session.id == caller.session_id,
                )
                for session in stored
            )
        )

    async def end_all(self, write: Write[EmptyBody]) -> StoredResponse:
        """End all sessions of the user, including the caller's."""
        return _signed_out(await self._store.run(write.commit(_ok)(sessions.end_sessions(write.caller.user.id))))

    async def end(self, write: Write[EmptyBody]) -> StoredResponse:
        """End one session. The browser that used the session then has to sign in again."""
        response = await self._store.run(write.commit(_ok)(_end(write.caller.user.id, write.id)))
        return _signed_out(response) if write.id == write.caller.session_id else response

    async def change_password(self, write: Write[api.ChangePassword]) -> StoredResponse:
        """Change the password, end all other sessions, and remove all other browsers from the user's known browsers."""
        user, session_id = write.caller.user, write.caller.session_id or ""
        verified = await self._passwords.check(user, write.body.old, write.request.client)
        new = write.body.new.get_secret_value()
        fault = password_problem_for_user(user.email, new)
        if new == write.body.old.get_secret_value():
            fault = "must differ from the old password"
        if fault is not None:
            raise Invalid([Issue("new", fault, "weak_password")])
        new_hash = await self._passwords.hash(write.body.new)
        now = self._clock()
        change = _change_password(user.id, session_id, verified, new_hash)
        if self._emails.count(str(user.id), now).allowed:
            change = _with_notice(change, user, now, write.request.language)
        return await self._store.run(write.commit(_ok)(change))


def _end(user_id: int, session_id: str) -> Tx[None]:
    if not (yield from sessions.end_own_session(user_id, session_id)):
        raise NotFound


def _change_password(user_id: int, session_id: str, verified: str, new_hash: str) -> Tx[None]:
    """Set the new hash. Raises Forbidden if the password was changed while it was being checked."""
    if not (yield from users.still_has_password(user_id, verified)):
        raise Forbidden("invalid_password")
    yield from users.set_password_hash(user_id, new_hash)
    yield from devices.forget_devices(user_id, but=(yield from sessions.device_of(session_id)))
    yield from sessions.end_sessions(user_id, but=session_id)
    yield from email_changes.end_requests(user_id, but=session_id)


def _with_notice(change: Tx[None], user: User, now: int, language: Language | None) -> Tx[None]:
    yield from change
    yield from outbox.post_password_changed(user, now, language)


def _signed_out(response: StoredResponse) -> StoredResponse:
    return replace(response, headers={**response.headers, **SIGNED_OUT})


def _ok(_: None) -> Ok:
    return Ok()
