"""Transactions that request, confirm and revert changes of a user's email address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.errors import Forbidden, NotFound
from svc.ids import new_id
from svc.store import outbox, users
from svc.store.devices import forget_devices
from svc.store.locks import lock_user
from svc.store.sessions import end_sessions
from svc.store.tx import UNCHANGED, Row, Tx, sql

if TYPE_CHECKING:
    from svc.model import Language, User

Purpose = Literal["confirm", "revert"]


@dataclass(frozen=True)
class EmailChange:
    """A requested or confirmed change. Times are epoch ms.

    `expires_at`: the time until which the link in the email to the new address can confirm the change. `revert_until`:
    the time until which the link in the email to the old address can revert the change.
    """

    id: str
    user_id: int
    old_email: str
    new_email: str
    session_id: str
    created_at: int
    expires_at: int
    revert_until: int
    confirmed_at: int | None


def request_change(change: EmailChange, verified: str, language: Language | None) -> Tx[None]:
    """Store a request, and queue the emails to both addresses. Replaces an earlier unconfirmed request of the user.

    Runs the same statements whether or not the new address belongs to a user, so that the duration does not reveal
    this. `verified`: the stored hash against which the password was verified. Raises Forbidden invalid_password if the
    password has changed since then.
    """
    if not (yield from users.still_has_password(change.user_id, verified)):
        raise Forbidden("invalid_password")
    yield sql("delete from email_changes where user_id = $1 and confirmed_at is null", change.user_id)
    yield sql(
        "insert into email_changes"
        " (id, user_id, old_email, new_email, session_id, created_at, expires_at, revert_until)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        change.id,
        change.user_id,
        change.old_email,
        change.new_email,
        change.session_id,
        change.created_at,
        change.expires_at,
        change.revert_until,
    )
    emails: tuple[tuple[outbox.MailKind, str, int], ...] = (
        ("email_change", change.new_email, change.expires_at),
        ("email_change_notice", change.old_email, change.revert_until),
    )
    for kind, address, ends_at in emails:
        yield from outbox.post(
            kind,
            address,
            change.created_at,
            ends_at,
            user_id=change.user_id,
            facts={"change": change.id},
            language=language,
        )


def get_change(change_id: str) -> Tx[EmailChange | None]:
    """Return the change; None if it no longer exists, because it was replaced or reverted."""
    rows = yield sql("select * from email_changes where id = $1", change_id)
    return _change(rows[0]) if rows else None


def pending_change(user_id: int, now: int) -> Tx[EmailChange | None]:
    """Return the user's change that can still be confirmed; None if there is none."""
    rows = yield sql(
        "select * from email_changes where user_id = $1 and confirmed_at is null and expires_at > $2", user_id, now
    )
    return _change(rows[0]) if rows else None


def cancel_change(user_id: int, now: int) -> Tx[None]:
    """End the pending change, if there is one. The link in the email to the old address stays valid.

    This link also lets the user set a new password. The user needs the link if an attacker requested and then canceled
    the change.
    """
    yield from lock_user(user_id)
    canceled = yield sql(
        "update email_changes set expires_at = created_at"
        " where user_id = $1 and confirmed_at is null and expires_at > $2 returning id",
        user_id,
        now,
    )
    if not canceled:
        yield UNCHANGED


def end_requests(user_id: int, *, but: str | None = None) -> Tx[None]:
    """End the pending changes, except those that this session requested.

    Use this after the user sets a new password, because a person who knew the previous one may have requested it.
    The links in the emails to the old address stay valid.
    """
    yield sql(
        "update email_changes set expires_at = created_at"
        " where user_id = $1 and confirmed_at is null and session_id <> $2",
        user_id,
        but or "",
    )


def add_token(change_id: str, purpose: Purpose, digest: str) -> Tx[None]:
    """Store the token for a link in an email. Tokens in earlier emails about the same change stay valid."""
    yield sql(
        "insert into email_change_tokens (digest, change_id, purpose)"
        " select cast($1 as text), id, cast($3 as text) from email_changes where id = $2",
        digest,
        change_id,
        purpose,
    )


def confirm_change(digest: str, now: int) -> Tx[User]:
    """Give the user the new address. Ends all of the user's sessions except the session that requested the change.

    Raises NotFound if the token is unknown, used or expired, if another user has the new address, or if the user is
    disabled, is being deleted or no longer has the old address.
    """
    change = yield from _find(digest, "confirm")
    yield from lock_user(change.user_id)
    # Two users may confirm the same address at the same time. The second transaction waits here.
    yield sql("update email_changes set new_email = new_email where lower(new_email) = lower($1)", change.new_email)
    claimed = yield sql(
        "update email_changes set confirmed_at = $2 where id = $1 and confirmed_at is null and expires_at > $2"
        " returning id",
        change.id,
        now,
    )
    user = yield from users.get_user(change.user_id)
    if not claimed or user is None or user.disabled_at is not None or user.email != change.old_email:
        raise NotFound
    yield from _switch(change.user_id, change.new_email)
    yield from end_sessions(change.user_id, but=change.session_id)
    switched = yield from users.get_user(change.user_id)
    if switched is None:
        raise NotFound
    return switched


def revert_change(digest: str, password_hash: str, now: int) -> Tx[User]:
    """Keep or restore the old address, set a new password, and end all sessions.

    Also reverts all later changes, because the same attacker may have made them. Links in emails about earlier changes
    stay valid. Raises NotFound if the token is unknown, used or expired, or if another user has the old address.
    """
    change = yield from _find(digest, "revert")
    yield from lock_user(change.user_id)
    reverted = yield sql(
        "delete from email_changes where id = $1 and revert_until > $2 returning confirmed_at", change.id, now
    )
    user = yield from users.get_user(change.user_id)
    if not reverted or user is None:
        raise NotFound
    yield sql("delete from email_changes where user_id = $1 and created_at >= $2", user.id, change.created_at)
    if user.email != change.old_email:
        yield from _switch(user.id, change.old_email)
    yield from users.forget_mail_tokens(user.id)
    yield from users.set_password_hash(user.id, password_hash)
    yield from end_sessions(user.id)
    yield from forget_devices(user.id)
    restored = yield from users.get_user(user.id)
    if restored is None:
        raise NotFound
    return restored


def _switch(user_id: int, email: str) -> Tx[None]:
    """Give the user another address. Links that confirm the previous address or reset the password stop working."""
    if not (yield from users.switch_address(user_id, email)):
        raise NotFound
    yield from users.forget_mail_tokens(user_id)
    yield sql("update outbox set address = $2 where user_id = $1 and account_id is not null", user_id, email)


def _find(digest: str, purpose: Purpose) -> Tx[EmailChange]:
    rows = yield sql(
        "select c.* from email_change_tokens t join email_changes c on c.id = t.change_id"
        " where t.digest = $1 and t.purpose = $2",
        digest,
        purpose,
    )
    if not rows:
        raise NotFound
    return _change(rows[0])


def new_change(
    user: User, new_email: str, session_id: str, now: int, *, expires_at: int, revert_until: int
) -> EmailChange:
    """Return a new change, which is not stored yet."""
    return EmailChange(
        new_id("chg"), user.id, user.email, new_email, session_id, now, expires_at, revert_until, confirmed_at=None
    )


def _change(row: Row) -> EmailChange:
    return EmailChange(**dict(row))
