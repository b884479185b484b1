"""From a row of the outbox to the e-mail as it is sent now: what it says, to whom, and whether it is still wanted.

Composing is a transaction. A link's token begins here, its time as well, and only its digest is stored. A repeat of an
e-mail has a token of its own, beside those of the copies before, one of which may have arrived. For an address that
nobody has, the same statements run, and the e-mail is made and dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.ids import digest
from svc.mail import messages
from svc.store import accounts, outbox, users
from svc.store.tx import given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc.mail.messages import Email
    from svc.model import User
    from svc.store.outbox import MailKind, Waiting
    from svc.store.tx import Tx


# E-mails whose link opens something, once.
_WITH_LINK: tuple[MailKind, ...] = ("sign_up", "resend", "reset", "choose_password")


@dataclass(frozen=True)
class Terms:
    """What links are made of: where users look (without a slash at its end), and how long a link works."""

    service_url: str
    link_s: float

    @property
    def hours(self) -> float:
        """How long a link works, as an e-mail says it."""
        return round(self.link_s / 3600, 1)

    def link(self, purpose: users.MailPurpose, token: str) -> str:
        """The link with a token."""
        return f"{self.service_url}/{purpose}?token={token}"


@dataclass(frozen=True)
class Draft:
    """A try to send: what the e-mail may be made of. Times are epoch ms."""

    terms: Terms
    token: str = field(repr=False)
    now: int

    @property
    def expires_at(self) -> int:
        """When the token's time is over."""
        return int(self.now + self.terms.link_s * 1000)


@dataclass(frozen=True)
class Composed:
    """An e-mail, and whose address it goes to, if anybody's."""

    email: Email
    user: User | None


def compose(mail_id: str, draft: Draft, again_at: int) -> Tx[Composed | None]:
    """The e-mail of a row that is about to be sent; None when there is nothing to send any more, and then no row.

    `again_at` (epoch ms): when it is due again, if this process ends before it knows of an outcome.
    """
    row = yield from outbox.begin(mail_id, again_at)
    if row is None:
        return None
    # One whose link was used, or that a newer e-mail has replaced: its copy has arrived.
    stale = row.attempts > 1 and row.kind in _WITH_LINK and not (yield from users.has_mail_token(row.id))
    composed = None if stale else (yield from _KINDS[row.kind](row, draft))
    if composed is None:
        yield from outbox.done(row.id)
    return composed


def _sign_up(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """The link that confirms a sign-up; without a user, a notice to who has the address already."""
    user = yield from _user_of(row)
    waits = user is not None and not user.email_confirmed
    yield from _token(row, "confirm", user.id if waits and user else users.NOBODY, draft)
    found = yield from users.find_user(row.address)  # also where nobody asks: known or not, the work is the same
    if row.user_id is None:
        notice = messages.account_exists(row.address, draft.terms.service_url, mail_id=row.id)
        return Composed(notice, found[0] if found else None)
    link = draft.terms.link("confirm", draft.token)
    email = messages.confirm_address(
        row.address, link, draft.terms.hours, draft.terms.service_url, mail_id=row.id, send=waits
    )
    return Composed(email, user)


def _resend(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user, waiting = yield from users.put_confirm_token(row.address, digest(draft.token), draft.expires_at, row.id)
    terms = draft.terms
    if waiting > 1:
        link = terms.link("reset", draft.token)
        email = messages.choose_password(row.address, link, terms.hours, terms.service_url, mail_id=row.id)
    else:
        link = terms.link("confirm", draft.token)
        email = messages.confirm_address(
            row.address, link, terms.hours, terms.service_url, mail_id=row.id, send=user is not None
        )
    return Composed(email, user)


def _reset(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from users.put_reset_token(row.address, digest(draft.token), draft.expires_at, row.id)
    link = draft.terms.link("reset", draft.token)
    email = messages.reset_password(row.address, link, draft.terms.hours, mail_id=row.id, send=user is not None)
    return Composed(email, user)


def _choose_password(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from _user_of(row)
    if user is None:
        return None
    yield from _token(row, "reset", user.id, draft)
    link = draft.terms.link("reset", draft.token)
    terms = draft.terms
    return Composed(messages.choose_password(user.email, link, terms.hours, terms.service_url, mail_id=row.id), user)


def _password_changed(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    user = yield from _user_of(row)
    return Composed(messages.password_changed(row.address, draft.terms.service_url, mail_id=row.id), user)


def _account(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """A trouble of an account, or its end, with the account's name of now."""
    account = None if row.account_id is None else (yield from accounts.account_by_id(row.account_id))
    user = None if account is None else (yield from users.get_user(account.user_id))
    if account is None or user is None or not user.notify:
        return None
    link = f"{draft.terms.service_url}/accounts/{account.id}"
    return Composed(messages.about_account(row.id, row.address, account.name, row.facts, link), user)


def _user_deleted(row: Waiting, draft: Draft) -> Tx[Composed | None]:
    """What is left at the edge platform. The row is all that the store still knows of who had the address."""
    left, tokens = row.facts["left"], row.facts["revoke_tokens"]
    email = messages.user_deleted(row.address, left, tokens, draft.terms.service_url, mail_id=row.id)
    return (yield from given(Composed(email, None)))


def _user_of(row: Waiting) -> Tx[User | None]:
    return (yield from users.get_user(users.NOBODY if row.user_id is None else row.user_id))


def _token(row: Waiting, purpose: users.MailPurpose, user_id: int, draft: Draft) -> Tx[None]:
    yield from users.put_mail_token(user_id, purpose, digest(draft.token), draft.expires_at, row.id)


_KINDS: Mapping[MailKind, Callable[[Waiting, Draft], Tx[Composed | None]]] = {
    "sign_up": _sign_up,
    "resend": _resend,
    "reset": _reset,
    "choose_password": _choose_password,
    "password_changed": _password_changed,
    "account": _account,
    "user_deleted": _user_deleted,
}
