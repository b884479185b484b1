"""/auth: sign-in, and the sign-in session with its tokens.

Attempts to sign in from browsers in which the user has signed in before are counted separately, so that a stranger
cannot lock the user out. Requests to refresh a session or to sign out are not counted, so that other clients in the
same network cannot block a signed-in user.
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from svc.api import auth as api
from svc.api.auth import REFRESH_COOKIE
from svc.api.me import User as ShownUser
from svc.api.shape import Ok
from svc.clock import DAY_MS
from svc.errors import Forbidden, Unauthorized
from svc.http.resources.auth_limits import NetworkLimit
from svc.http.serving.cookies import DEVICE_COOKIE, SIGNED_OUT, Cookies
from svc.http.serving.credentials import admit, bearer
from svc.http.serving.responses import to_response
from svc.ids import digest, new_id, new_secret
from svc.limits import SlidingLimit
from svc.security.session_tokens import Pair, family_of, first_pair, next_pair, pair_after, pair_of
from svc.store import devices, sessions, users

if TYPE_CHECKING:
    from quart import Response

    from svc.api.shape import EmptyBody
    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.auth_limits import AuthLimits
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form, RequestInfo
    from svc.model import User
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# For this long after a refresh token has been exchanged, a request with the old token still returns the newest pair of
# tokens. This covers several tabs that refresh at the same time, and a retry after a lost response. If the token is
# used later, it was stolen or copied.
_SAME_PAIR_S = 30
# The minimum age of a pair of tokens before it is replaced. Until then, the same pair is returned without a cookie,
# because the response with the pair's cookie may take this long to arrive. If the pair were replaced earlier, this
# response could overwrite the cookie of the newer pair.
_EXCHANGED_AFTER_S = 60
_REFRESH_DAYS = 30  # the lifetime of a refresh cookie
_LONGEST_BROWSER = 100


class SignIns:
    """The handlers that begin, refresh and end a sign-in session."""

    def __init__(
        self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck, auth_events: AuthEvents, limits: AuthLimits
    ) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._timing = deps.context.config.timing
        self._cookies = Cookies(deps.base_url)
        self._agent_of = deps.context.bundle.explainer.agent_of
        self._passwords = passwords
        self._auth_events = auth_events
        refreshes_per_minute = deps.context.config.limits.refreshes_per_minute
        self._refreshes = SlidingLimit(refreshes_per_minute)
        self._unknown_refreshes = NetworkLimit(refreshes_per_minute)
        self._exchanged_after_ms = min(_EXCHANGED_AFTER_S * 1000, int(self._timing.session_s * 500))
        endpoints.form(api.SIGN_IN, self.sign_in, limits.count_try)
        endpoints.form(api.REFRESH, self.refresh)
        endpoints.form(api.SIGN_OUT, self.sign_out)

    async def sign_in(self, form: Form[api.Credentials]) -> Response:
        """Begin a session. Return an access token in the body and a refresh token in a cookie.

        If the browser already has a refresh cookie, the response replaces the cookie, and the earlier session ends
        because no client could use it.
        """
        device = digest(self._cookies.get(form.request, DEVICE_COOKIE))
        user, stored, known = await self._store.read(_sign_in_facts(form.body.email, device))
        counted_as = f"device {device}" if known else f"address {digest(form.body.email)}"
        client = form.request.client
        is_correct = await self._passwords.is_correct(
            counted_as, stored, form.body.password, user, via="nobody", client=client
        )
        if user is None or stored is None or not is_correct:
            raise _wrong_password()
        if user.disabled_at is not None:  # only a caller who knows the password learns this
            raise Forbidden("user_disabled")
        pair, new_device, now = first_pair(), None if known else new_secret("svd_"), self._clock()
        session = sessions.Session(
            id=new_id("ses"),
            user_id=user.id,
            family=digest(family_of(pair.refresh)),
            browser=self._browser(form.request.user_agent),
            device=device if new_device is None else digest(new_device),
            created_at=now,
            issued=self._issued(pair, now),
        )
        replaced = digest(family_of(self._cookies.get(form.request, REFRESH_COOKIE)))
        begun = self._auth_events.with_events(
            _begin_session(session, stored, replaced),
            "session.begin",
            "session",
            client,
            lambda is_begun: [(session.user_id, session.id)] if is_begun else [],
        )
        if not await self._store.run(begun):
            raise _wrong_password()
        response = self._signed_in(user, pair, session.issued, now)
        if new_device is not None:
            self._cookies.set(response, DEVICE_COOKIE, new_device, devices.DEVICE_DAYS * 86_400)
        return response

    async def refresh(self, form: Form[EmptyBody]) -> Response:
        """Return a new pair of tokens. If a pair was recently created for this refresh token, return that pair again.

        If the refresh token was exchanged longer ago, two clients use it, so its session ends. The user has to sign in
        again, and a thief is signed out (RFC 9700, 4.14.2).
        """
        now, presented = self._clock(), self._cookies.get(form.request, REFRESH_COOKIE)
        family, known_as = digest(family_of(presented)), digest(presented)
        while True:  # repeat if another request exchanges the same token at the same time
            session_and_user = await self._store.peek(sessions.session_of_family(family, now))
            if session_and_user is None:
                self._unknown_refreshes.count(form.request.client, now)
                raise Unauthorized
            session, user = session_and_user
            admit(self._refreshes, family, now)
            newest, age_ms = session.issued, now - session.issued.at
            if known_as == newest.refresh_digest and age_ms < self._exchanged_after_ms:
                return to_response(_shown(user, pair_of(presented, newest.salt), newest))
            if known_as == session.previous and age_ms < _SAME_PAIR_S * 1000:
                return self._signed_in(user, pair_after(presented, newest.salt), newest, now)
            if known_as != newest.refresh_digest:
                await self._store.run(self._ended(sessions.end_session(family), "service", form.request))
                log.warning("refresh token reused, session ended", extra={"session": session.id, "user": user.id})
                raise Unauthorized
            pair = next_pair(presented)
            issued = self._issued(pair, now)
            if await self._store.run(sessions.rotate_session(session.id, known_as, issued, now + _SAME_PAIR_S * 1000)):
                return self._signed_in(user, pair, issued, now)

    async def sign_out(self, form: Form[EmptyBody]) -> Response:
        """End the cookie's session and the access token's session."""
        family = digest(family_of(self._cookies.get(form.request, REFRESH_COOKIE)))
        access = ""
        with suppress(Unauthorized):  # no valid token: no session to end
            access = digest(bearer(form.request.authorization))
        if await self._store.peek(sessions.is_there(family, access)):  # do not write if there is no session
            await self._store.run(self._ended(sessions.end_session(family, access), "session", form.request))
        response = to_response(Ok())
        self._cookies.set(response, REFRESH_COOKIE, "", 0)
        response.headers.update(SIGNED_OUT)
        return response

    def _ended(self, end: Tx[list[tuple[int, str]]], via: str, request: RequestInfo) -> Tx[list[tuple[int, str]]]:
        return self._auth_events.with_events(end, "session.end", via, request.client, lambda ended: ended)

    def _browser(self, user_agent: str) -> str:
        """Return the names of the browser and operating system.

        For other clients, return the first product name in the user agent.
        """
        agent = self._agent_of(user_agent)
        if agent.reason or agent.browser == agent.os == "Other":
            program = "".join(re.findall(r"[A-Za-z0-9 ._-]", user_agent.partition("/")[0]))
            return program[:_LONGEST_BROWSER].strip() or "Other"
        return f"{agent.browser} on {agent.os}"

    def _issued(self, pair: Pair, now: int) -> sessions.Issued:
        return sessions.Issued(
            access_digest=digest(pair.access),
            access_expires_at=int(now + self._timing.session_s * 1000),
            refresh_digest=digest(pair.refresh),
            refresh_expires_at=now + _REFRESH_DAYS * DAY_MS,
            salt=pair.salt,
            at=now,
        )

    def _signed_in(self, user: User, pair: Pair, issued: sessions.Issued, now: int) -> Response:
        response = to_response(_shown(user, pair, issued))
        self._cookies.set(response, REFRESH_COOKIE, pair.refresh, (issued.refresh_expires_at - now) // 1000)
        return response


def _sign_in_facts(address: str, device: str) -> Tx[tuple[User | None, str | None, bool]]:
    """Return the user with this email address, the password hash, and True if the device is known."""
    user_and_hash = yield from users.find_user(address)
    user, stored = user_and_hash if user_and_hash is not None else (None, None)
    known = yield from devices.is_known_device(users.UNKNOWN_USER if user is None else user.id, device)
    return user, stored, known


def _begin_session(session: sessions.Session, password_hash: str, replaced: str) -> Tx[bool]:
    """Begin a session, or return False if the password was changed while it was being checked."""
    if not (yield from users.still_has_password(session.user_id, password_hash)):
        return False
    yield from devices.remember_device(session.user_id, session.device, session.created_at)
    yield from sessions.end_session(replaced)
    yield from sessions.add_session(session)
    return True


def _shown(user: User, pair: Pair, issued: sessions.Issued) -> api.NewSession:
    return api.NewSession(
        access_token=pair.access, expires_at=issued.access_expires_at, user=ShownUser.model_validate(user)
    )


def _wrong_password() -> Unauthorized:
    return Unauthorized("The email address or the password is wrong.")
