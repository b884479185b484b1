"""/auth: sign-up, confirmation, sign-in, password reset; the page session.

What is said never tells whether an address is known: answers are the same, the work before them is the same, and
mails are composed after the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import trio
from quart import Response, request

from svc.clock import DAY_MS, iso
from svc.errors import Invalid, ServiceError, Unauthorized
from svc.http import wire
from svc.http.bodies import Address, Credentials, Nothing, Reset, SignUp, Token
from svc.http.credentials import RateLimited, bearer
from svc.http.gate import body_of, reply, route
from svc.http.limits import SlidingLimit
from svc.ids import digest, new_secret
from svc.mail import Letter
from svc.passwords import hash_password, verify_password
from svc.store import sessions, users

if TYPE_CHECKING:
    from quart_trio import QuartTrio

    from svc.http.app import Deps
    from svc.http.gate import Gate
    from svc.model import User

REFRESH_COOKIE = "svc_refresh"

Purpose = Literal["confirm", "reset"]
_ComposeFor = Callable[[str], Awaitable[Letter | None]]
T = TypeVar("T")

# argon2id takes 50 ms of a core and 64 MiB each.
_HASHES_AT_ONCE = 2
# Letters to one address in an hour: enough for somebody who looks in the wrong folder, too few to be a nuisance.
_LETTERS_AN_HOUR = 5


@dataclass(frozen=True)
class _Pair:
    """The two tokens of a session; only their digests are stored."""

    access: str = field(repr=False)
    access_expires_at: int
    refresh: str = field(repr=False)
    refresh_expires_at: int


class Auth:
    """The handlers of /auth."""

    def __init__(self, deps: Deps, gate: Gate) -> None:
        self._store = deps.store
        self._clock = deps.clock
        self._mailer = deps.mailer
        self._timing = deps.config.timing
        self._base_url = deps.base_url
        self._gate = gate
        self._hashing = trio.CapacityLimiter(_HASHES_AT_ONCE)
        self._tries = SlidingLimit(deps.config.limits.sign_ins_per_minute)
        self._letters = SlidingLimit(_LETTERS_AN_HOUR, window_s=3600)

    def add_routes(self, app: QuartTrio) -> None:
        """Put the handlers under their paths."""
        route(app, "POST", "/auth/sign-up", self.sign_up)
        route(app, "POST", "/auth/confirm", self.confirm)
        route(app, "POST", "/auth/confirm/resend", self.resend)
        route(app, "POST", "/auth/sign-in", self.sign_in)
        route(app, "POST", "/auth/refresh", self.refresh)
        route(app, "POST", "/auth/sign-out", self.sign_out)
        route(app, "POST", "/auth/password-reset", self.ask_reset)
        route(app, "POST", "/auth/password-reset/confirm", self.reset)

    async def sign_up(self) -> Response:
        """A new user, and a letter with the link that confirms the address."""
        body = await body_of(SignUp)
        self._count_try()
        password_hash = await self._in_thread(hash_password, body.password.get_secret_value())
        await self._store.run(users.add_user(body.email, password_hash, self._clock()))
        self._post(self._confirm_or_known, body.email)
        return reply({"ok": True}, 202)

    async def resend(self) -> Response:
        """The letter of the sign-up once more."""
        body = await body_of(Address)
        self._count_try()
        self._post(self._confirm_if_needed, body.email)
        return reply({"ok": True}, 202)

    async def confirm(self) -> Response:
        """The link of the letter was opened."""
        body = await body_of(Token)
        self._count_try()
        if await self._store.run(users.confirm_user(digest(body.token.get_secret_value()), self._clock())) is None:
            raise _stale_link()
        return reply({"ok": True})

    async def sign_in(self) -> Response:
        """A page session: an access token in the body, a refresh token in a cookie."""
        body = await body_of(Credentials)
        self._count_try()
        found = await self._store.read(users.find_user(body.email))
        stored = found[1] if found is not None else None
        right = await self._in_thread(verify_password, stored, body.password.get_secret_value())
        if found is None or not right:
            raise Unauthorized("The e-mail address or the password is not right.")
        pair = self._new_pair()
        await self._store.run(
            sessions.add_session(
                found[0].id,
                digest(pair.access),
                pair.access_expires_at,
                digest(pair.refresh),
                pair.refresh_expires_at,
                self._clock(),
            )
        )
        return self._session(found[0], pair)

    async def refresh(self) -> Response:
        """A new pair of tokens for the cookie's; the old pair is dead."""
        await body_of(Nothing)
        self._count_try()
        pair = self._new_pair()
        user = await self._store.run(
            sessions.rotate_session(
                digest(request.cookies.get(REFRESH_COOKIE, "")),
                digest(pair.access),
                pair.access_expires_at,
                digest(pair.refresh),
                pair.refresh_expires_at,
                self._clock(),
            )
        )
        if user is None:
            raise Unauthorized
        return self._session(user, pair)

    async def sign_out(self) -> Response:
        """The session of the cookie, and that of the access token, end."""
        await body_of(Nothing)
        cookie = request.cookies.get(REFRESH_COOKIE)
        if cookie:
            await self._store.run(sessions.end_session(digest(cookie)))
        if request.headers.get("Authorization"):
            await self._store.run(sessions.end_session(digest(bearer(request.headers["Authorization"]))))
        response = reply({"ok": True})
        self._set_cookie(response, "", 0)
        return response

    async def ask_reset(self) -> Response:
        """A letter with a link that sets a new password, if there is such a user."""
        body = await body_of(Address)
        self._count_try()
        self._post(self._reset_letter, body.email)
        return reply({"ok": True}, 202)

    async def reset(self) -> Response:
        """A new password; all sessions of the user end."""
        body = await body_of(Reset)
        self._count_try()
        password_hash = await self._in_thread(hash_password, body.password.get_secret_value())
        token = digest(body.token.get_secret_value())
        if await self._store.run(users.reset_password(token, password_hash, self._clock())) is None:
            raise _stale_link()
        return reply({"ok": True})

    # ------------------------------------------------------------------------------------------------- letters

    async def _confirm_or_known(self, email: str) -> Letter | None:
        """After a sign-up: to a known address, a word that somebody tried."""
        found = await self._store.read(users.find_user(email))
        if found is None:
            return None
        if not found[0].email_confirmed:
            return await self._confirm_letter(found[0])
        return Letter(
            email,
            "You have an account already",
            f"Somebody, probably you, signed up with this address at {self._base_url}.\n"
            "You have an account there already; if you forgot its password, ask for a new one on the sign-in page.\n",
        )

    async def _confirm_if_needed(self, email: str) -> Letter | None:
        found = await self._store.read(users.find_user(email))
        return await self._confirm_letter(found[0]) if found is not None and not found[0].email_confirmed else None

    async def _confirm_letter(self, user: User) -> Letter:
        link = await self._link(user, "confirm")
        return Letter(
            user.email,
            "Confirm your address",
            f"Open this link to confirm your e-mail address:\n\n{link}\n\n"
            f"{self._lasts()} If you did not sign up at {self._base_url}, do nothing.\n",
        )

    async def _reset_letter(self, email: str) -> Letter | None:
        found = await self._store.read(users.find_user(email))
        if found is None:
            return None
        link = await self._link(found[0], "reset")
        return Letter(
            email,
            "Set a new password",
            f"Open this link to set a new password:\n\n{link}\n\n"
            f"{self._lasts()} If you did not ask for it, do nothing: your password stays as it is.\n",
        )

    async def _link(self, user: User, purpose: Purpose) -> str:
        token = new_secret()
        expires_at = self._clock() + self._timing.mail_token_s * 1000
        await self._store.run(users.put_mail_token(user.id, purpose, digest(token), int(expires_at)))
        return f"{self._base_url}/{purpose}?token={token}"

    def _lasts(self) -> str:
        return f"It works for {round(self._timing.mail_token_s / 3600, 1):g} hours."

    # --------------------------------------------------------------------------------------------------- parts

    def _post(self, compose: _ComposeFor, email: str) -> None:
        """Have a letter written, unless this address got enough of them; the answer stays the same."""
        if self._letters.take(email, self._clock()).allowed:
            self._mailer.post(partial(compose, email))

    def _count_try(self) -> None:
        """Raises ServiceError rate_limited: too many tries from this address."""
        verdict = self._tries.take(str(self._gate.client()), self._clock())
        if not verdict.allowed:
            raise RateLimited(verdict.reset_s)

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await trio.to_thread.run_sync(work, *arguments, limiter=self._hashing)

    def _new_pair(self) -> _Pair:
        now = self._clock()
        return _Pair(
            new_secret("svs_"),
            int(now + self._timing.session_s * 1000),
            new_secret("svr_"),
            now + self._timing.refresh_days * DAY_MS,
        )

    def _session(self, user: User, pair: _Pair) -> Response:
        response = reply(
            {"access_token": pair.access, "expires_at": iso(pair.access_expires_at), "user": wire.user(user)}
        )
        self._set_cookie(response, pair.refresh, self._timing.refresh_days * 86_400)
        return response

    def _set_cookie(self, response: Response, value: str, max_age_s: int) -> None:
        response.set_cookie(
            REFRESH_COOKIE,
            value,
            max_age=max_age_s,
            path="/auth",
            httponly=True,
            samesite="Strict",
            secure=self._base_url.startswith("https:"),
        )


def _stale_link() -> ServiceError:
    return Invalid([("token", "is not known, was used, or has expired; ask for a new letter")])
