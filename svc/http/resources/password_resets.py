"""/auth/reset: set a new password with a link that the service sends by email.

No response reveals whether an email address is registered. For registered and unregistered addresses, responses are
identical and take the same time: an email is prepared for every address, but sent only to users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import auth as api
from svc.api.shape import Ok
from svc.errors import Invalid, Issue
from svc.http.resources.auth_events import own_event
from svc.http.resources.mailed_links import invalid_link
from svc.http.serving.cookies import DEVICE_COOKIE, Cookies
from svc.http.serving.responses import to_response
from svc.ids import digest, new_secret
from svc.security.password_policy import password_problem_for_user
from svc.store import devices, email_changes, outbox, users

if TYPE_CHECKING:
    from quart import Response

    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.auth_limits import AuthLimits
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form
    from svc.model import Language, User
    from svc.store.tx import Tx


class PasswordResets:
    """The handlers of password resets."""

    def __init__(
        self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck, auth_events: AuthEvents, limits: AuthLimits
    ) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._link_ms = int(deps.context.config.timing.mail_token_s * 1000)
        self._cookies = Cookies(deps.base_url)
        self._passwords = passwords
        self._auth_events = auth_events
        self._limits = limits
        endpoints.form(api.ASK_RESET, self.ask_reset, limits.count_try)
        endpoints.form(api.RESET, self.reset, limits.count_try)

    async def ask_reset(self, form: Form[api.Address]) -> Ok:
        """If the address belongs to a user, send an email with a link to set a new password."""
        if self._limits.may_send("reset", form.body.email):
            now, language = self._clock(), form.request.language
            reset = outbox.post_newest(
                "reset", form.body.email, now, now + self._link_ms, instead_of=("reset",), language=language
            )
            await self._store.run(reset)
        return Ok()

    async def reset(self, form: Form[api.Reset]) -> Response:
        """Set a new password, end all of the user's sessions, and add this browser to the user's known browsers."""
        password_hash = await self._passwords.hash(form.body.password)
        token, device = digest(form.body.token.get_secret_value()), new_secret("svd_")
        chosen = form.body.password.get_secret_value()
        reset = _reset_password(token, chosen, password_hash, digest(device), form.request.language, self._clock())
        if (
            await self._store.run(
                self._auth_events.with_events(reset, "password.reset", "mail", form.request.client, own_event)
            )
            is None
        ):
            raise invalid_link()
        response = to_response(Ok())
        self._cookies.set(response, DEVICE_COOKIE, device, devices.DEVICE_DAYS * 86_400)
        return response


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
        yield from email_changes.end_requests(user.id)
        yield from devices.remember_device(user.id, device, now)
        yield from outbox.post_password_changed(user, now, language)
    return user
