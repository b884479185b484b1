"""/auth: sign-up, confirmation, sign-in, password reset; the page session.

No answer reveals whether an address is known: answers are the same, the work before them is the same, and so is the
work behind them: e-mails are prepared for every address, and only those for somebody are sent.

Tries are counted before a body is read. Wrong passwords are also counted for each address, wherever they come from;
a browser from which its user signed in before has a count of its own, so that a stranger cannot lock anybody out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import trio
from quart import Response, request

from svc import emails
from svc.api import auth as api
from svc.api.auth import REFRESH_COOKIE
from svc.api.me import User as ShownUser
from svc.api.shape import Ok
from svc.clock import DAY_MS
from svc.errors import Invalid, ServiceError, Unauthorized
from svc.http.credentials import RateLimited, bearer, networks_of
from svc.http.serve import to_response
from svc.ids import digest, new_secret
from svc.limits import SlidingLimit
from svc.passwords import hash_password, verify_password
from svc.store import devices, sessions, users

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.api.shape import NoBody
    from svc.emails import Email
    from svc.http.deps import Deps
    from svc.http.serve import Serve
    from svc.model import User
    from svc.store.tx import Tx

DEVICE_COOKIE = "svc_device"

T = TypeVar("T")

# argon2id takes 50 ms of a core and 64 MiB each.
_HASHES_AT_ONCE = 2
# E-mails to one address in an hour: enough for somebody who looks in the wrong folder, too few to be a nuisance.
_EMAILS_AN_HOUR = 5
# A /24 or a /48 may hold several customers; more than a few who sign in within the same minute are rare.
_NETWORKS_AROUND = 5
# Not the framework's parser: it takes all of a header apart, and other applications of the host send long ones.
_COOKIE = {
    name: re.compile(rf"(?:^|; ?){name}=([A-Za-z0-9_-]{{1,200}})(?:;|$)") for name in (REFRESH_COOKIE, DEVICE_COOKIE)
}


@dataclass(frozen=True)
class _Pair:
    """The two tokens of a session; only their digests are stored."""

    access: str = field(repr=False)
    access_expires_at: int
    refresh: str = field(repr=False)
    refresh_expires_at: int


class Auth:
    """The handlers of /auth."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._clock = deps.clock
        self._mailer = deps.mailer
        self._timing = deps.config.timing
        self._base_url = deps.base_url
        self._client = serve.client
        self._hashing = trio.CapacityLimiter(_HASHES_AT_ONCE)
        self._tries = SlidingLimit(deps.config.limits.sign_ins_per_minute)
        self._tries_around = SlidingLimit(deps.config.limits.sign_ins_per_minute * _NETWORKS_AROUND)
        self._wrong_passwords = SlidingLimit(deps.config.limits.wrong_passwords_per_hour, window_s=3600)
        self._emails = SlidingLimit(_EMAILS_AN_HOUR, window_s=3600)
        admit = self._count_try
        serve.form(api.SIGN_UP, admit, self.sign_up)
        serve.form(api.CONFIRM, admit, self.confirm)
        serve.form(api.RESEND, admit, self.resend)
        serve.form(api.SIGN_IN, admit, self.sign_in)
        serve.form(api.REFRESH, admit, self.refresh)
        serve.form(api.SIGN_OUT, admit, self.sign_out)
        serve.form(api.ASK_RESET, admit, self.ask_reset)
        serve.form(api.RESET, admit, self.reset)

    async def sign_up(self, body: api.SignUp) -> Ok:
        """A new user, and an e-mail with the link that confirms the address.

        Over the limit of e-mails to the address nothing is made: without its link a sign-up could not be confirmed. Nor
        does then any password of those that wait count, since whoever opens one of their links may be another person.
        """
        password_hash = await self._in_thread(hash_password, body.password.get_secret_value())
        if not self._may_send("confirm", body.email):
            await self._store.run(users.void_sign_ups(body.email))
        else:
            token, expires_at = self._new_token()
            user = await self._store.run(
                users.sign_up(body.email, password_hash, digest(token), expires_at, self._clock())
            )
            email = (
                emails.account_exists(body.email, self._base_url)
                if user is None
                else emails.confirm_address(body.email, self._link("confirm", token), self._hours(), self._base_url)
            )
            self._mailer.post(lambda: _ready(email))
        return Ok()

    async def resend(self, body: api.Address) -> Ok:
        """The e-mail of the sign-up once more."""
        if self._may_send("confirm", body.email):
            self._mailer.post(lambda: self._confirm_email(body.email))
        return Ok()

    async def confirm(self, body: api.MailedToken) -> Ok:
        """The link of the e-mail was opened. Where no password counts, another e-mail lets its reader choose one."""
        user, lacks_password = await self._store.run(_confirm(digest(body.token.get_secret_value()), self._clock()))
        if user is None:
            raise _stale_link()
        if lacks_password:
            self._mailer.post(lambda: self._choose_email(user))
        return Ok()

    async def sign_in(self, body: api.Credentials) -> Response:
        """A page session: an access token in the body, a refresh token in a cookie."""
        device = digest(_cookie(DEVICE_COOKIE))
        user, stored, known = await self._store.read(_sign_in_facts(body.email, device))
        counted_as = f"device {device}" if known else f"address {digest(body.email)}"
        self._count_wrong_password(counted_as)
        right = await self._in_thread(verify_password, stored, body.password.get_secret_value())
        if user is None or not right:
            raise Unauthorized("The e-mail address or the password is not right.")
        self._wrong_passwords.give_back(counted_as)
        pair, new_device, now = self._new_pair(), None if known else new_secret("svd_"), self._clock()
        await self._store.run(_begin_session(user, pair, device if new_device is None else digest(new_device), now))
        response = self._session(user, pair)
        if new_device is not None:
            self._set_cookie(response, DEVICE_COOKIE, new_device, devices.DEVICE_DAYS * 86_400)
        return response

    async def refresh(self, body: NoBody) -> Response:
        """A new pair of tokens for the cookie's; the old pair is dead."""
        del body
        pair = self._new_pair()
        user = await self._store.run(
            sessions.rotate_session(
                digest(_cookie(REFRESH_COOKIE)),
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

    async def sign_out(self, body: NoBody) -> Response:
        """The session of the cookie, and that of the access token, end."""
        del body
        cookie = _cookie(REFRESH_COOKIE)
        if cookie:
            await self._store.run(sessions.end_session(digest(cookie)))
        if request.headers.get("Authorization"):
            await self._store.run(sessions.end_session(digest(bearer(request.headers["Authorization"]))))
        response = to_response(Ok())
        self._set_cookie(response, REFRESH_COOKIE, "", 0)
        return response

    async def ask_reset(self, body: api.Address) -> Ok:
        """An e-mail with a link that sets a new password, if there is such a user."""
        if self._may_send("reset", body.email):
            self._mailer.post(lambda: self._reset_email(body.email))
        return Ok()

    async def reset(self, body: api.Reset) -> Response:
        """A new password; all sessions of the user end. Whoever opened the link may sign in from this browser."""
        password_hash = await self._in_thread(hash_password, body.password.get_secret_value())
        token, device = digest(body.token.get_secret_value()), new_secret("svd_")
        if await self._store.run(_reset_password(token, password_hash, digest(device), self._clock())) is None:
            raise _stale_link()
        response = to_response(Ok())
        self._set_cookie(response, DEVICE_COOKIE, device, devices.DEVICE_DAYS * 86_400)
        return response

    # ----------------------------------------------------------------------------------- e-mails, after the answer

    async def _confirm_email(self, address: str) -> Email:
        token, expires_at = self._new_token()
        waiting = await self._store.run(users.put_confirm_token(address, digest(token), expires_at))
        if waiting > 1:
            return emails.choose_password(address, self._link("reset", token), self._hours(), self._base_url)
        link = self._link("confirm", token)
        return emails.confirm_address(address, link, self._hours(), self._base_url, send=waiting == 1)

    async def _choose_email(self, user: User) -> Email:
        token, expires_at = self._new_token()
        await self._store.run(users.put_mail_token(user.id, "reset", digest(token), expires_at))
        return emails.choose_password(user.email, self._link("reset", token), self._hours(), self._base_url)

    async def _reset_email(self, address: str) -> Email:
        token, expires_at = self._new_token()
        user = await self._store.run(users.put_reset_token(address, digest(token), expires_at))
        return emails.reset_password(address, self._link("reset", token), self._hours(), send=user is not None)

    def _may_send(self, purpose: users.MailPurpose, address: str) -> bool:
        """Whether the address may get one more e-mail of this purpose this hour; the answer is the same.

        Each purpose has its own, so that requests which send nothing do not use up the e-mails that set a password.
        """
        return self._emails.count(f"{purpose} {digest(address)}", self._clock()).allowed

    def _new_token(self) -> tuple[str, int]:
        return new_secret(), int(self._clock() + self._timing.mail_token_s * 1000)

    def _link(self, purpose: users.MailPurpose, token: str) -> str:
        return f"{self._base_url}/{purpose}?token={token}"

    def _hours(self) -> float:
        return round(self._timing.mail_token_s / 3600, 1)

    # --------------------------------------------------------------------------------------------------- parts

    def _count_try(self) -> None:
        """Raises ServiceError rate_limited: too many tries from this network."""
        own, around = networks_of(self._client())
        for limit, network in ((self._tries, own), (self._tries_around, around)):
            verdict = limit.count(network, self._clock())
            if not verdict.allowed:
                raise RateLimited(verdict.reset_s)

    def _count_wrong_password(self, counted_as: str) -> None:
        """Before it is tried, so that many at once do not pass; a right one is given back. Raises rate_limited."""
        verdict = self._wrong_passwords.count(counted_as, self._clock())
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
        session = api.Session(
            access_token=pair.access, expires_at=pair.access_expires_at, user=ShownUser.model_validate(user)
        )
        response = to_response(session)
        self._set_cookie(response, REFRESH_COOKIE, pair.refresh, self._timing.refresh_days * 86_400)
        return response

    def _set_cookie(self, response: Response, name: str, value: str, max_age_s: int) -> None:
        response.set_cookie(
            name,
            value,
            max_age=max_age_s,
            path="/auth",
            httponly=True,
            samesite="Strict",
            secure=self._base_url.startswith("https:"),
        )


def _sign_in_facts(address: str, device: str) -> Tx[tuple[User | None, str | None, bool]]:
    """Who has the address, the hash of the password, and whether this browser is one of theirs."""
    found = yield from users.find_user(address)
    user, stored = found if found is not None else (None, None)
    known = yield from devices.knows_device(users.NOBODY if user is None else user.id, device)
    return user, stored, known


def _begin_session(user: User, pair: _Pair, device: str, now: int) -> Tx[None]:
    yield from devices.remember_device(user.id, device, now)
    yield from sessions.add_session(
        user.id,
        digest(pair.access),
        pair.access_expires_at,
        digest(pair.refresh),
        pair.refresh_expires_at,
        now,
    )


def _confirm(token: str, now: int) -> Tx[tuple[User | None, bool]]:
    user = yield from users.confirm_user(token, now)
    return user, user is not None and (yield from users.lacks_password(user.id))


def _reset_password(token: str, password_hash: str, device: str, now: int) -> Tx[User | None]:
    user = yield from users.reset_password(token, password_hash, now)
    if user is not None:
        yield from devices.remember_device(user.id, device, now)
    return user


def _cookie(name: str) -> str:
    """The cookie's value; "" without one."""
    found = _COOKIE[name].search(request.headers.get("Cookie", ""))
    return found[1] if found else ""


async def _ready(email: Email) -> Email:
    return email


def _stale_link() -> ServiceError:
    return Invalid([("token", "is not known, was used, or has expired; request a new e-mail")])
