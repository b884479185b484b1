"""Composes the email for a row of the outbox, if the email is still needed.

Each email is composed in a transaction. The transaction creates the token for a link and stores the token's digest, so
the token's lifetime starts when the email is sent. Each retry creates another token. Earlier tokens stay valid, because
an earlier copy of the email may have arrived. For an address without a user, the transaction runs the same statements,
so that the timing does not reveal which addresses have users. The email is then discarded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from svc.identity.marks import DEFAULT_NAME
from svc.ids import digest, new_id
from svc.mail import messages
from svc.mail.alert import alert_email
from svc.mail.messages import Link, Service
from svc.mail.report import Addressee, report_email
from svc.model import DEFAULT_LANGUAGE
from svc.remaining_resource import RemainingResource
from svc.store import accounts, alerts, broken_targets, email_changes, invitations, outbox, recipients, users
from svc.store.tx import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc.mail.messages import Email
    from svc.model import Language, User
    from svc.store.outbox import MailKind, Waiting
    from svc.store.recipients import Subscription
    from svc.store.tx import Tx


# Emails with a link that works only once.
_WITH_LINK: tuple[MailKind, ...] = ("sign_up", "resend", "reset", "choose_password")


@dataclass(frozen=True)
class Terms:
    """The service's name, its public URL without a trailing slash, and the lifetime of links in emails (seconds)."""

    service_url: str
    link_s: float
    service_name: str = DEFAULT_NAME

    @property
    def service(self) -> Service:
        """The service's URL and name, for the texts of emails."""
        return Service(self.service_url, self.service_name)

    def link(self, purpose: users.MailPurpose, token: str) -> Link:
        """Return the link for a token."""
        return Link(f"{self.service_url}/{purpose}?token={token}", round(self.link_s / 3600, 1))

    def email_link(self, path: Literal["email", "email/revert"], token: str) -> Link:
        """Return the link for a token that changes an email address, or reverts the change."""
        return Link(f"{self.service_url}/{path}?token={token}", round(self.link_s / 3600, 1))

    def recipient_url(self, token: str) -> str:
        """Return the URL of the page on which a recipient of email reports confirms or unsubscribes."""
        return f"{self.service_url}/m/{token}"

    def invitation_url(self, token: str) -> str:
        """Return the URL of the sign-up page for an invitation's token."""
        return f"{self.service_url}/sign-up?invitation={token}"


@dataclass(frozen=True)
class Draft:
    """The input for one attempt to send an email. `now` is in epoch ms."""

    terms: Terms
    token: str = field(repr=False)
    now: int

    @property
    def expires_at(self) -> int:
        """The token's expiry in epoch ms."""
        return int(self.now + self.terms.link_s * 1000)

    def link(self, purpose: users.MailPurpose) -> Link:
        """Return the link for the email."""
        return self.terms.link(purpose, self.token)


@dataclass(frozen=True)
class Composed:
    """An email, and the user who has the recipient's address (None if there is none).

    `recipient_id`: the recipient, for email reports.
    """

    email: Email
    user: User | None
    recipient_id: str | None = None


def compose(mail_id: str, draft: Draft, again_at: int) -> Tx[Composed | None]:
    """Compose the email of a row, or delete the row and return None if the email is no longer needed.

    `again_at`: the time of the next attempt (epoch ms) if this process ends before it records an outcome.
    """
    row = yield from outbox.begin(mail_id, again_at)
    if row is None:
        return None
    # The email is no longer needed if its token does not exist. The user has then used the link in an earlier copy of
    # the email, or a newer email has replaced this email.
    stale = row.attempts > 1 and row.kind in _WITH_LINK and not (yield from users.has_mail_token(row.id))
    composed = None if stale else (yield from _KINDS[row.kind](row, draft))
    if composed is None:
        yield from outbox.done(row.id)
    return composed


def _sign_up(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email that confirms a sign-up, or a notice if the address already belongs to a user."""
    user = yield from _get_user(row)
    unconfirmed = user is not None and not user.email_confirmed
    yield from _token(row, "confirm", user.id if unconfirmed and user else users.UNKNOWN_USER, draft)
    # Run this search even if its result is not needed, so that the timing does not reveal whether the address is known.
    match = yield from users.find_user(row.address)
    service = draft.terms.service
    if row.user_id is None:
        known = match[0] if match else None
        return Composed(messages.account_exists(_language(row, known), row.address, service, mail_id=row.id), known)
    link = draft.link("confirm")
    email = messages.confirm_address(_language(row, user), row.address, link, service, mail_id=row.id, send=unconfirmed)
    return Composed(email, user)


def _resend(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user, waiting = yield from users.put_confirm_token(row.address, digest(draft.token), draft.expires_at, row.id)
    language, service = _language(row, user), draft.terms.service
    if waiting > 1:
        email = messages.choose_password(language, row.address, draft.link("reset"), service, mail_id=row.id)
    else:
        link = draft.link("confirm")
        email = messages.confirm_address(language, row.address, link, service, mail_id=row.id, send=user is not None)
    return Composed(email, user)


def _reset(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from users.put_reset_token(row.address, digest(draft.token), draft.expires_at, row.id)
    link, service = draft.link("reset"), draft.terms.service
    email = messages.reset_password(
        _language(row, user), row.address, link, service, mail_id=row.id, send=user is not None
    )
    return Composed(email, user)


def _choose_password(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from _get_user(row)
    if user is None:
        return None
    yield from _token(row, "reset", user.id, draft)
    link, service = draft.link("reset"), draft.terms.service
    return Composed(messages.choose_password(_language(row, user), user.email, link, service, mail_id=row.id), user)


def _password_changed(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from _get_user(row)
    service = draft.terms.service
    return Composed(messages.password_changed(_language(row, user), row.address, service, mail_id=row.id), user)


def _account(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email about an account's problem or recovery, with the account's current name."""
    account = None if row.account_id is None else (yield from accounts.account_by_id(row.account_id))
    user = None if account is None else (yield from users.get_user(account.user_id))
    if account is None or user is None or not user.wants_notices:
        return None
    link = f"{draft.terms.service_url}/accounts/{account.id}"
    language = _language(row, user)
    email = messages.about_account(language, row.address, account.name, row.facts, link, mail_id=row.id)
    return Composed(email, user)


def _target(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email about a site or link that the operator has disabled or enabled."""
    user = yield from _get_user(row)
    if user is None:
        return None
    link = f"{draft.terms.service_url}/{row.facts['kind']}s/{row.facts['id']}"
    email = messages.about_target(_language(row, user), row.address, row.facts, link, mail_id=row.id)
    return Composed(email, user)


def _account_disconnected(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email about an account that the operator has disconnected."""
    user = yield from _get_user(row)
    if user is None:
        return None
    email = messages.account_disconnected(
        _language(row, user),
        row.address,
        row.facts["name"],
        [RemainingResource(**fields) for fields in row.facts["leftovers"]],
        row.facts["revoke_token"],
        draft.terms.service,
        mail_id=row.id,
    )
    return Composed(email, user)


def _user_deleted(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the last email to a deleted user, which lists the remaining resources.

    After the deletion, only the email's row still contains the address.
    """
    # Earlier versions of the service stored sentences in `left`.
    left = row.facts.get("left") or [RemainingResource(**fields) for fields in row.facts.get("leftovers", ())]
    tokens, service = row.facts["revoke_tokens"], draft.terms.service
    email = messages.user_deleted(_language(row, None), row.address, left, tokens, service, mail_id=row.id)
    return (yield from constant(Composed(email, None)))


def _invitation(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email with an invitation link, unless the invitation is no longer valid."""
    invitation = yield from invitations.get_invitation(row.facts["invitation"], draft.now)
    if invitation is None:
        return None
    yield from invitations.add_token(invitation.id, digest(draft.token))
    email = messages.invitation(
        _language(row, None),
        row.address,
        draft.terms.invitation_url(draft.token),
        invitation.expires_at,
        draft.terms.service,
        mail_id=row.id,
    )
    return Composed(email, None)


def _email_change(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email that asks the new address to confirm, or a notice if the address belongs to another user."""
    change = yield from email_changes.get_change(row.facts["change"])
    if change is None or change.confirmed_at is not None or change.expires_at <= draft.now:
        return None
    # Run the same statements for every address, so that the timing does not reveal whether the address belongs to a
    # user.
    yield from email_changes.add_token(change.id, "confirm", digest(draft.token))
    match = yield from users.find_user(row.address)
    requester = yield from users.get_user(change.user_id)
    known = match[0] if match and match[0].email_confirmed and match[0].id != change.user_id else None
    service = draft.terms.service
    if known is not None:
        return Composed(messages.address_in_use(_language(row, known), row.address, service, mail_id=row.id), known)
    link = draft.terms.email_link("email", draft.token)
    email = messages.confirm_new_address(_language(row, requester), row.address, link, service, mail_id=row.id)
    return Composed(email, None)


def _email_change_notice(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the notice to the old address, with a link that reverts the change."""
    change = yield from email_changes.get_change(row.facts["change"])
    user = None if change is None else (yield from users.get_user(change.user_id))
    if change is None or user is None:
        return None
    yield from email_changes.add_token(change.id, "revert", digest(draft.token))
    email = messages.email_change_requested(
        _language(row, user),
        row.address,
        change.new_email,
        draft.terms.email_link("email/revert", draft.token).url,
        change.revert_until,
        draft.terms.service,
        mail_id=row.id,
    )
    return Composed(email, user if user.email == row.address else None)


def _report_confirm(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email that asks a recipient of email reports to confirm, if the user still wants to send reports."""
    found, user = yield from _recipient_and_user(row)
    if found is None or user is None or found.recipient.state != "unconfirmed":
        return None
    email = messages.confirm_reports(
        found.recipient.language,
        row.address,
        user.email,
        found.name if found.target_kind == "site" else None,
        (yield from _recipient_url(found, draft)),
        draft.terms.service,
        found.content,
        mail_id=row.id,
    )
    return Composed(email, None, found.recipient.id)


def _report(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose an email report, unless the recipient has unsubscribed or was removed."""
    found, user = yield from _recipient_and_user(row)
    if found is None or user is None or found.recipient.state != "confirmed":
        return None
    page = f"{draft.terms.service_url}/{found.target_kind}s/{found.target}"
    to = Addressee(
        row.address,
        found.recipient.language,
        (yield from _recipient_url(found, draft)),
        page if row.address == user.email else None,
        row.id,
    )
    return Composed(report_email(row.facts["report"], to, draft.terms.service), None, found.recipient.id)


def _alert(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose an alert, unless the recipient has unsubscribed, alerts were turned off, or the site is not counted."""
    found, user = yield from _recipient_and_user(row)
    alert = row.facts["alert"]
    if found is None or user is None or found.recipient.state != "confirmed" or not found.alerts:
        return None
    if not (yield from alerts.is_counted(alert["site"])):
        return None
    to = Addressee(
        row.address,
        found.recipient.language,
        (yield from _recipient_url(found, draft)),
        f"{draft.terms.service_url}/sites/{alert['site']}" if row.address == user.email else None,
        row.id,
    )
    return Composed(alert_email(alert, to, draft.terms.service), None, found.recipient.id)


def _broken_targets(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """Compose the email about broken targets of links, if any of these targets are still broken."""
    user = yield from _get_user(row)
    found = yield from broken_targets.still_broken(row.facts["targets"])
    if user is None or not user.wants_notices or not found:
        return None
    link = f"{draft.terms.service_url}/links?state=broken"
    email = messages.about_broken_targets(
        _language(row, user), row.address, found, row.facts["more"], link, mail_id=row.id
    )
    return Composed(email, user)


def _recipient_and_user(row: Waiting) -> Tx[tuple[Subscription | None, User | None]]:
    """Return the recipient of an email report and the user who sends it.

    Both are None if the recipient was removed, or if the user is disabled or being deleted.
    """
    if not (yield from recipients.lock_recipient(row.facts["recipient"])):
        return None, None
    found = yield from recipients.get_subscription(row.facts["recipient"])
    user = yield from _get_user(row)
    is_valid = found is not None and found.listed and user is not None and user.disabled_at is None
    return (found, user) if is_valid else (None, None)


def _recipient_url(found: Subscription, draft: Draft) -> Tx[str]:
    """Store a new token for the links in an email to this recipient, and return the URL of the recipient's page."""
    token = new_id("mlt")
    yield from recipients.add_token(found.recipient.id, digest(token), draft.now)
    return draft.terms.recipient_url(token)


def _language(row: Waiting, user: User | None) -> Language:
    """Return the language of the email: the user's choice, otherwise the request's language, otherwise the default.

    For an unconfirmed user, the request's language comes first, because a stranger may have signed up with the address.
    """
    chosen = None if user is None else user.language
    first, second = (row.language, chosen) if user is not None and not user.email_confirmed else (chosen, row.language)
    return first or second or DEFAULT_LANGUAGE


def _get_user(row: Waiting) -> Tx[User | None]:
    return (yield from users.get_user(users.UNKNOWN_USER if row.user_id is None else row.user_id))


def _token(row: Waiting, purpose: users.MailPurpose, user_id: int, draft: Draft) -> Tx[None]:
    yield from users.put_mail_token(user_id, purpose, digest(draft.token), draft.expires_at, row.id)


_KINDS: Mapping[MailKind, Callable[[Waiting, Draft], Tx[Composed | None]]] = {
    "sign_up": _sign_up,
    "resend": _resend,
    "reset": _reset,
    "choose_password": _choose_password,
    "password_changed": _password_changed,
    "account": _account,
    "target_disabled": _target,
    "target_enabled": _target,
    "account_disconnected": _account_disconnected,
    "user_deleted": _user_deleted,
    "invitation": _invitation,
    "email_change": _email_change,
    "email_change_notice": _email_change_notice,
    "report_confirm": _report_confirm,
    "report": _report,
    "alert": _alert,
    "broken_targets": _broken_targets,
}
