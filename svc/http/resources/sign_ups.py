"""/auth: sign-up, invitations, and the confirmation of an email address.

No response reveals whether an email address is registered. For registered and unregistered addresses, responses are
identical and take the same time. Only the emails to these addresses differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.api import auth as api
from svc.api.shape import Ok
from svc.errors import Forbidden
from svc.http.resources.auth_events import own_event
from svc.http.resources.mailed_links import invalid_link
from svc.ids import digest
from svc.security.password_policy import common_passwords
from svc.store import invitations, outbox, users
from svc.store.events import by_operator

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.auth_limits import AuthLimits
    from svc.http.resources.password_check import PasswordCheck
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form
    from svc.model import Language, User
    from svc.store.tx import Tx


class SignUps:
    """The handlers of sign-up, invitations and the confirmation of an address."""

    def __init__(
        self, deps: Deps, endpoints: Endpoints, passwords: PasswordCheck, auth_events: AuthEvents, limits: AuthLimits
    ) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._link_ms = int(deps.context.config.timing.mail_token_s * 1000)
        self._mode = deps.context.config.auth.sign_up
        self._passwords = passwords
        self._auth_events = auth_events
        self._limits = limits
        common_passwords()  # load the list now, not during a request
        endpoints.form(api.SIGN_UP, self.sign_up, limits.count_try)
        endpoints.form(api.INVITATION, self.invitation, limits.count_try)
        endpoints.form(api.CONFIRM, self.confirm, limits.count_try)
        endpoints.form(api.RESEND, self.resend, limits.count_try)

    async def sign_up(self, form: Form[api.SignUp]) -> Ok:
        """Create a user, and send an email with the link that confirms the address.

        If the limit on emails to the address is reached, no user is created, because the user could not confirm the
        address without the link in an email. In this case, the passwords of earlier unconfirmed sign-ups with the
        address become invalid: the owner of the address can still open the links in the earlier emails, but may not
        have chosen these passwords.

        Raises Forbidden sign_up_closed if sign-up requires an invitation or is closed, or if the invitation is not
        valid. The method takes the same time for every address.
        """
        if form.body.invitation is not None:
            await self._sign_up_with_invitation(form, form.body.invitation)
            return Ok()
        if self._mode != "open":
            raise Forbidden("sign_up_closed")
        password_hash = await self._passwords.hash(form.body.password)
        if not self._limits.may_send("confirm", form.body.email):
            await self._store.run(users.invalidate_sign_ups(form.body.email))
        else:
            now, language = self._clock(), form.request.language
            made = _sign_up(form.body.email, password_hash, language, now, now + self._link_ms)
            await self._store.run(
                self._auth_events.with_events(made, "user.sign_up", "nobody", form.request.client, own_event)
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
            self._auth_events.with_events(made, "user.sign_up", "mail", form.request.client, own_event)
        )

    async def invitation(self, form: Form[api.InvitationToken]) -> api.Invitation:
        """Return the invitation with this token.

        Raises Forbidden sign_up_closed if there is no such invitation, or sign-up is closed.
        """
        invitation = await self._find_invitation(form.body.invitation)
        return api.Invitation(email=invitation.email, expires_at=invitation.expires_at)

    async def _find_invitation(self, token: SecretStr) -> invitations.Invitation:
        if self._mode == "closed":
            raise Forbidden("sign_up_closed")
        known_as = digest(token.get_secret_value())
        invitation = await self._store.peek(invitations.find_invitation(known_as, self._clock()))
        if invitation is None:
            raise Forbidden("sign_up_closed")
        return invitation

    async def resend(self, form: Form[api.Address]) -> Ok:
        """Send the confirmation email again."""
        if self._limits.may_send("confirm", form.body.email):
            address, now, language = form.body.email, self._clock(), form.request.language
            resend = outbox.post_newest(
                "resend", address, now, now + self._link_ms, instead_of=("sign_up", "resend"), language=language
            )
            await self._store.run(resend)
        return Ok()

    async def confirm(self, form: Form[api.MailedToken]) -> Ok:
        """Confirm the address of the token's user.

        If the user has no valid password, send a link to choose one.
        """
        token, now = digest(form.body.token.get_secret_value()), self._clock()
        confirmed = _confirm(token, form.request.language, now, now + self._link_ms)
        if (
            await self._store.run(
                self._auth_events.with_events(confirmed, "user.confirm", "mail", form.request.client, own_event)
            )
            is None
        ):
            raise invalid_link()
        return Ok()


def _sign_up(address: str, password_hash: str, language: Language | None, now: int, useless_at: int) -> Tx[User | None]:
    user = yield from users.add_user(address, password_hash, now, language=language)
    user_id = None if user is None else user.id
    yield from outbox.post("sign_up", address, now, useless_at, user_id=user_id, language=language)
    return user


def _sign_up_invited(
    invitation: invitations.Invitation, password_hash: str, language: Language | None, now: int
) -> Tx[User]:
    """Redeem an invitation and add its user.

    Raises Forbidden if the invitation is no longer valid or the address already belongs to a user.
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
