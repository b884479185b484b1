"""/v1/me/email, /auth/email/confirm and /auth/email/revert: change a user's email address.

No response reveals whether the new address already belongs to a user. Only the email to that address differs; the
processing takes the same time. The owner of the old address can revert the change for a week, so an attacker who knows
the password cannot take over the user permanently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import email_changes as api
from svc.api.shape import Ok
from svc.clock import DAY_MS
from svc.errors import Forbidden, Invalid, Issue, NotFound
from svc.http.serving.credentials import admit
from svc.ids import digest
from svc.limits import SlidingLimit
from svc.security.password_policy import password_problem_for_user
from svc.store import email_changes

if TYPE_CHECKING:
    from svc.api.shape import EmptyBody, NoQuery
    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.auth_limits import AuthLimits
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form, Read, RequestInfo, Write
    from svc.model import OwnAction, User
    from svc.store.idempotency import StoredResponse
    from svc.store.tx import Tx

# The maximum number of requests per hour, for each user and for each new address.
_REQUESTS_AN_HOUR = 5
# How long the link in the email to the old address works.
_REVERT_DAYS = 7


class EmailChanges:
    """The handlers for email changes."""

    def __init__(
        self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck, auth_events: AuthEvents, limits: AuthLimits
    ) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._link_ms = int(deps.context.config.timing.mail_token_s * 1000)
        self._passwords = passwords
        self._auth_events = auth_events
        self._requests = SlidingLimit(_REQUESTS_AN_HOUR, window_s=3600)
        endpoints.read(api.SHOW, self.show)
        endpoints.write(api.REQUEST, self.request)
        endpoints.write(api.CANCEL, self.cancel)
        endpoints.form(api.CONFIRM, self.confirm, limits.count_try)
        endpoints.form(api.REVERT, self.revert, limits.count_try)

    async def show(self, read: Read[NoQuery]) -> api.Pending:
        """Return the pending change."""
        change = await self._store.read(email_changes.pending_change(read.caller.user.id, self._clock()))
        if change is None:
            return api.Pending(pending=None)
        return api.Pending(
            pending=api.PendingChange(
                email=change.new_email, requested_at=change.created_at, expires_at=change.expires_at
            )
        )

    async def cancel(self, write: Write[EmptyBody]) -> StoredResponse:
        """Cancel the pending change of the email address."""
        canceled = email_changes.cancel_change(write.caller.user.id, self._clock())
        return await self._store.run(write.commit(_ok)(canceled))

    async def request(self, write: Write[api.ChangeEmail]) -> StoredResponse:
        """Send a link to the new address, and a notice to the old one."""
        user, new_email = write.caller.user, write.body.email
        verified = await self._passwords.check(user, write.body.password, write.request.client)
        if not user.email_confirmed:
            raise Forbidden("email_unconfirmed")
        if new_email == user.email:
            raise Invalid([Issue("email", "is already your email address")])
        now = self._clock()
        for name in (f"user {user.id}", f"address {digest(new_email.lower())}"):
            admit(self._requests, name, now)
        change = email_changes.new_change(
            user,
            new_email,
            write.caller.session_id or "",
            now,
            expires_at=now + self._link_ms,
            revert_until=now + _REVERT_DAYS * DAY_MS,
        )
        requested = email_changes.request_change(change, verified, write.request.language)
        return await self._store.run(write.commit(_ok)(requested))

    async def confirm(self, form: Form[api.EmailToken]) -> Ok:
        """Change the user's email address to the new address, which the link has confirmed."""
        changed = email_changes.confirm_change(digest(form.body.token.get_secret_value()), self._clock())
        return await self._run(changed, "email.change", form.request)

    async def revert(self, form: Form[api.RevertEmail]) -> Ok:
        """Cancel the change or restore the old address, and set a new password."""
        password_hash = await self._passwords.hash(form.body.password)
        chosen, token = form.body.password.get_secret_value(), digest(form.body.token.get_secret_value())
        return await self._run(_revert(token, chosen, password_hash, self._clock()), "email.revert", form.request)

    async def _run(self, tx: Tx[User], action: OwnAction, request: RequestInfo) -> Ok:
        """Run a transaction and record its event. Raises Invalid if the link is not valid."""
        try:
            await self._store.run(
                self._auth_events.with_events(tx, action, "mail", request.client, lambda user: [(user.id, None)])
            )
        except NotFound:
            fault = "is invalid, was already used, or has expired"
            raise Invalid([Issue("token", fault, "used_token")]) from None
        return Ok()


def _revert(token: str, chosen: str, password_hash: str, now: int) -> Tx[User]:
    """Revert the change and return the user.

    Raises Invalid if the password is too similar to the address. The user can then use the link again.
    """
    user = yield from email_changes.revert_change(token, password_hash, now)
    fault = password_problem_for_user(user.email, chosen)
    if fault is not None:
        raise Invalid([Issue("password", fault, "weak_password")])
    return user


def _ok(_: None) -> Ok:
    return Ok()
