"""/auth: sign-up, confirmation, sign-in, password reset, and the sign-in session.

No response reveals whether an email address is registered. For registered and unregistered addresses, responses are
identical and take the same time: an email is prepared for every address, but sent only to users.

Attempts are counted per network before the body is read. Wrong passwords are also counted per email address, across all
networks. Attempts from browsers in which the user has signed in before are counted separately, so that a stranger
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
from svc.errors import Forbidden, Invalid, Issue, ServiceError, Unauthorized
from svc.http.serving.cookies import DEVICE_COOKIE, SIGNED_OUT, Cookies
from svc.http.serving.credentials import admit, bearer, networks_of
from svc.http.serving.responses import to_response
from svc.ids import digest, new_id, new_secret
from svc.limits import SlidingLimit
from svc.security.password_policy import common_passwords, password_problem_for_user
from svc.security.session_tokens import Pair, family_of, first_pair, next_pair, pair_after, pair_of
from svc.store import devices, invitations, outbox, sessions, users
from svc.store.events import by_operator

if TYPE_CHECKING:
    from pydantic import SecretStr
    from quart import Response

    from svc.api.shape import EmptyBody
    from svc.clock import Clock
    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form, RequestInfo
    from svc.model import Language, User
    from svc.security.ip_networks import IpAddress
    from svc.store.outbox import MailKind
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

# The maximum number of emails to one address per hour. It allows several attempts, but prevents mass emails to a
# stranger.
_EMAILS_AN_HOUR = 5
# The limit for a /24 or /48 network, as a multiple of the limit for a client's own network. These networks may contain
# several customers of a provider, but rarely do more than this many sign in within the same minute.
_NETWORKS_AROUND = 5
# How long a refresh token that was already exchanged still gets the newest pair of tokens. This covers several tabs
# that refresh at the same time, and a retry after a lost response. If the token is used later, it was stolen or copied.
_SAME_PAIR_S = 30
# The minimum age of a pair of tokens before it is replaced. Until then, the same pair is returned without a cookie. The
# response with the pair's cookie may take this long to arrive. If the pair was replaced earlier, this response could
# overwrite the cookie of the newer pair.
_EXCHANGED_AFTER_S = 60
_REFRESH_DAYS = 30  # the lifetime of a refresh cookie
_LONGEST_BROWSER = 100


class _NetworkLimit:
    """A limit per minute for a client's own network, and five times that limit for the larger network around it."""

    def __init__(self, per_minute: int) -> None:
        self._own = SlidingLimit(per_minute)
        self._around = SlidingLimit(per_minute * _NETWORKS_AROUND)

    def count(self, client: IpAddress | None, now: int) -> None:
        """Count an attempt. Raises ServiceError rate_limited."""
        for limit, network in zip((self._own, self._around), networks_of(client), strict=True):
            admit(limit, network, now)


class Auth:
    """The handlers of /auth."""

    def __init__(
        self,
        deps: Deps,
        endpoints: Endpoints,
        passwords: PasswordCheck,
        auth_events: AuthEvents,
    ) -> None:
        self._auth_events = auth_events
        self._store = deps.context.store
        self._clock: Clock = deps.context.clock
        self._timing = deps.context.config.timing
        self._sign_up_mode = deps.context.config.auth.sign_up
        self._base_url = deps.base_url
        self._cookies = Cookies(deps.base_url)
        self._agent_of = deps.context.bundle.explainer.agent_of
        self._passwords = passwords
        limits = deps.context.config.limits
        self._tries = _NetworkLimit(limits.sign_ins_per_minute)
        self._refreshes = SlidingLimit(limits.refreshes_per_minute)
        self._unknown_refreshes = _NetworkLimit(limits.refreshes_per_minute)
        self._exchanged_after_ms = min(_EXCHANGED_AFTER_S * 1000, int(self._timing.session_s * 500))
        self._emails = SlidingLimit(_EMAILS_AN_HOUR, window_s=3600)
        common_passwords()  # load the list now, not during a request
        admit = self.count_try
        endpoints.form(api.SIGN_UP, self.sign_up, admit)
        endpoints.form(api.INVITATION, self.invitation, admit)
        endpoints.form(api.CONFIRM, self.confirm, admit)
        endpoints.form(api.RESEND, self.resend, admit)
        endpoints.form(api.SIGN_IN, self.sign_in, admit)
        endpoints.form(api.REFRESH, self.refresh)
        endpoints.form(api.SIGN_OUT, self.sign_out)
        endpoints.form(api.ASK_RESET, self.ask_reset, admit)
        endpoints.form(api.RESET, self.reset, admit)

    async def sign_up(self, form: Form[api.SignUp]) -> Ok:
        """Create a user, and send an email with the link that confirms the address.

        If the limit on emails to the address is reached, no user is created, because the user could not confirm the
        address without the link in an email. In this case, the passwords of earlier unconfirmed sign-ups with the
        address become invalid, because a person who did not choose these passwords may open the links in the earlier
        emails.

        Raises Forbidden sign_up_closed. This takes the same time for every address.
        """
        if form.body.invitation is not None:
            await self._sign_up_with_invitation(form, form.body.invitation)
            return Ok()
        if self._sign_up_mode != "open":
            raise Forbidden("sign_up_closed")
        password_hash = await self._passwords.hash(form.body.password)
        if not self._may_send("confirm", form.body.email):
            await self._store.run(users.invalidate_sign_ups(form.body.email))
        else:
            language = form.request.language
            made = _sign_up(form.body.email, password_hash, language, self._clock(), self._mail_expires_at())
            await self._store.run(
                self._auth_events.with_events(made, "user.sign_up", "nobody", form.request.client, _own_event)
            )
        return Ok()

    async def _sign_up_with_invitation(self, form: Form[api.SignUp], token: SecretStr) -> None:
        """Create a user whose address is confirmed.

        The address needs no confirmation, because the invitation link was given to its owner.

        Raises Forbidden sign_up_closed if the invitation is not valid for the address or was used in the meantime.
        """
        invitation = await self._find_invitation(token)
        if not invitation.is_for(form.body.email):
            raise Forbidden("sign_up_closed")
        password_hash = await self._passwords.hash(form.body.password)
        made = _sign_up_invited(invitation, password_hash, form.request.language, self._clock())
        await self._store.run(
            self._auth_events.with_events(made, "user.sign_up", "mail", form.request.client, _own_event)
        )

    async def invitation(self, form: Form[api.InvitationToken]) -> api.Invitation:
        """Return the invitation with this token. Raises Forbidden sign_up_closed."""
        invitation = await self._find_invitation(form.body.invitation)
        return api.Invitation(email=invitation.email, expires_at=invitation.expires_at)

    async def _find_invitation(self, token: SecretStr) -> invitations.Invitation:
        if self._sign_up_mode == "closed":
            raise Forbidden("sign_up_closed")
        known_as = digest(token.get_secret_value())
        invitation = await self._store.peek(invitations.find_invitation(known_as, self._clock()))
        if invitation is None:
            raise Forbidden("sign_up_closed")
        return invitation

    async def resend(self, form: Form[api.Address]) -> Ok:
        """Send the confirmation email again."""
        if self._may_send("confirm", form.body.email):
            await self._store.run(self._requested("resend", form, instead_of=("sign_up", "resend")))
        return Ok()

    async def confirm(self, form: Form[api.MailedToken]) -> Ok:
        """Confirm the address of the link's user.

        If the user has no valid password, send a link to choose one.
        """
        token = digest(form.body.token.get_secret_value())
        confirmed = _confirm(token, form.request.language, self._clock(), self._mail_expires_at())
        if (
            await self._store.run(
                self._auth_events.with_events(confirmed, "user.confirm", "mail", form.request.client, _own_event)
            )
            is None
        ):
            raise _stale_link()
        return Ok()

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

    async def ask_reset(self, form: Form[api.Address]) -> Ok:
        """If the address belongs to a user, send an email with a link to set a new password."""
        if self._may_send("reset", form.body.email):
            await self._store.run(self._requested("reset", form, instead_of=("reset",)))
        return Ok()

    async def reset(self, form: Form[api.Reset]) -> Response:
        """Set a new password, end all of the user's sessions, and add this browser to the user's known browsers."""
        password_hash = await self._passwords.hash(form.body.password)
        token, device = digest(form.body.token.get_secret_value()), new_secret("svd_")
        chosen = form.body.password.get_secret_value()
        reset = _reset_password(token, chosen, password_hash, digest(device), form.request.language, self._clock())
        if (
            await self._store.run(
                self._auth_events.with_events(reset, "password.reset", "mail", form.request.client, _own_event)
            )
            is None
        ):
            raise _stale_link()
        response = to_response(Ok())
        self._cookies.set(response, DEVICE_COOKIE, device, devices.DEVICE_DAYS * 86_400)
        return response

    def _ended(self, end: Tx[list[tuple[int, str]]], via: str, request: RequestInfo) -> Tx[list[tuple[int, str]]]:
        return self._auth_events.with_events(end, "session.end", via, request.client, lambda ended: ended)

    def _may_send(self, purpose: users.MailPurpose, address: str) -> bool:
        """Count an email to `address` for this purpose. Return True if the address is still within its hourly limit.

        Each purpose has a separate limit, so requests that send no email cannot block password reset emails.
        """
        return self._emails.count(f"{purpose} {digest(address)}", self._clock()).allowed

    def _requested(self, kind: MailKind, form: Form[api.Address], *, instead_of: tuple[MailKind, ...]) -> Tx[None]:
        """Return a transaction that queues an email to the address in the form, in the request's language."""
        now, useless_at, language = self._clock(), self._mail_expires_at(), form.request.language
        return outbox.post_newest(kind, form.body.email, now, useless_at, instead_of=instead_of, language=language)

    def _mail_expires_at(self) -> int:
        """Return the time (epoch ms) at which the link in an email that is requested now expires."""
        return int(self._clock() + self._timing.mail_token_s * 1000)

    # --------------------------------------------------------------------------------------------------- parts

    def count_try(self, request: RequestInfo) -> None:
        """Count an attempt from the client's network. Raises ServiceError rate_limited."""
        self._tries.count(request.client, self._clock())

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


def _own_event(user: User | None) -> list[tuple[int, None]]:
    """Return the (user id, target) pairs of the events to record.

    The target is None, because the event is about the user.
    """
    return [] if user is None else [(user.id, None)]


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


def _sign_up(address: str, password_hash: str, language: Language | None, now: int, useless_at: int) -> Tx[User | None]:
    user = yield from users.add_user(address, password_hash, now, language=language)
    user_id = None if user is None else user.id
    yield from outbox.post("sign_up", address, now, useless_at, user_id=user_id, language=language)
    return user


def _sign_up_invited(
    invitation: invitations.Invitation, password_hash: str, language: Language | None, now: int
) -> Tx[User]:
    """Redeem an invitation and add its user.

    Raises Forbidden if the invitation is no longer valid or the address has a user.
    """
    used = yield from invitations.use_invitation(invitation.id, now)
    if used is None:
        raise Forbidden("sign_up_closed")
    user = yield from users.add_user(used.email, password_hash, now, confirmed=True, language=language)
    if user is None:
        raise Forbidden("sign_up_closed")
    yield by_operator(user.id, "user.invite", used.created_at)
    return user


def _confirm(token: str, language: Language | None, now: int, useless_at: int) -> Tx[User | None]:
    user = yield from users.confirm_user(token, now)
    if user is not None and (yield from users.lacks_password(user.id)):
        yield from outbox.post("choose_password", user.email, now, useless_at, user_id=user.id, language=language)
    return user


def _reset_password(
    token: str, chosen: str, password_hash: str, device: str, language: Language | None, now: int
) -> Tx[User | None]:
    """Set a new password and queue an email about it. Return the user, or None if the link is invalid.

    Raises Invalid if the password is too similar to the address; the link then remains valid.
    """
    user = yield from users.reset_password(token, password_hash, now)
    if user is not None:
        fault = password_problem_for_user(user.email, chosen)
        if fault is not None:
            raise Invalid([Issue("password", fault, "weak_password")])
        yield from devices.remember_device(user.id, device, now)
        yield from outbox.post_password_changed(user, now, language)
    return user


def _shown(user: User, pair: Pair, issued: sessions.Issued) -> api.NewSession:
    return api.NewSession(
        access_token=pair.access, expires_at=issued.access_expires_at, user=ShownUser.model_validate(user)
    )


def _wrong_password() -> Unauthorized:
    return Unauthorized("The email address or the password is wrong.")


def _stale_link() -> ServiceError:
    return Invalid([Issue("token", "is invalid, was already used, or has expired; request a new email", "used_token")])
