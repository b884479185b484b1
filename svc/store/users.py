"""Transactions on users, on sign-ups, and on the tokens of links in emails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc.ids import new_id
from svc.model import User
from svc.store.devices import forget_devices
from svc.store.events import begin_audit_log
from svc.store.invitations import withdraw
from svc.store.notifications import address_works
from svc.store.tx import Row, Tx, placeholders, sql

if TYPE_CHECKING:
    from svc.model import Language, Plan

MailPurpose = Literal["confirm", "reset"]

# The user id under which tokens for unknown addresses are stored, so that the response time does not show whether an
# address is known.
UNKNOWN_USER = 0
# The maximum number of unconfirmed sign-ups with the same address. If there are more, the oldest sign-up is deleted.
# Each sign-up sends an email, and the service sends at most five emails an hour to an address. A sign-up is therefore
# never deleted within its first hour.
MAX_SIGN_UPS = 10


def has_no_users() -> Tx[bool]:
    """Return True if the store has no users."""
    return not (yield sql("select id from users limit 1"))


def add_user(
    email: str, password_hash: str, now: int, *, confirmed: bool = False, language: Language | None = None
) -> Tx[User | None]:
    """Add a user with the `free` plan. Returns None if another user has confirmed the address, ignoring case.

    Adding a confirmed user deletes all sign-ups with the address, and any invitation for the address. An unconfirmed
    user is called a sign-up. Several sign-ups may have the same address.
    """
    rows = yield sql(
        "insert into users (email, password_hash, email_confirmed, plan, created_at, language)"
        " select cast($1 as text), cast($2 as text), cast($3 as bigint), 'free', cast($4 as bigint), cast($5 as text)"
        " where not exists"
        " (select id from users where lower(email) = lower(cast($1 as text)) and email_confirmed = 1)"
        " on conflict do nothing returning *",
        email,
        password_hash,
        int(confirmed),
        now,
        language,
    )
    waiting = yield from _sign_ups(email)
    yield from begin_audit_log(int(rows[0]["id"]) if rows else UNKNOWN_USER)
    if not rows:
        return None
    yield from _forget(waiting if confirmed else waiting[MAX_SIGN_UPS:])
    if confirmed:
        yield from withdraw(email)
    return user_of(rows[0])


def invalidate_sign_ups(email: str) -> Tx[None]:
    """Invalidate the passwords and sessions of all sign-ups with this address.

    Use this if there were more sign-ups than emails, because the service then cannot know which sign-up a confirmation
    belongs to. The link in each email still confirms the address, and the user then chooses a password.
    """
    same = "lower(email) = lower(cast($1 as text)) and email_confirmed = 0"
    yield sql(f"delete from sessions where user_id in (select id from users where {same})", email)  # noqa: S608  # constant text
    yield sql(f"update users set password_hash = '' where {same}", email)  # noqa: S608  # constant text


def lacks_password(user_id: int) -> Tx[bool]:
    """Return True if the user has no password and must choose one; see `invalidate_sign_ups`."""
    rows = yield sql("select id from users where id = $1 and password_hash = ''", user_id)
    return bool(rows)


def get_user(user_id: int) -> Tx[User | None]:
    """Return the user; None if there is no such user or the user is being deleted."""
    rows = yield sql("select * from users where id = $1 and email is not null", user_id)
    return user_of(rows[0]) if rows else None


def is_being_deleted(user_id: int) -> Tx[bool]:
    """Return True if the user is being deleted; see `user_deletions`."""
    return bool((yield sql("select 1 from users where id = $1 and email is null", user_id)))


def owner_is_leaving(account_id: str) -> Tx[bool]:
    """Return True if the account's user is being deleted."""
    rows = yield sql("select user_id from accounts where id = $1", account_id)
    return bool(rows) and (yield from is_being_deleted(rows[0]["user_id"]))


def find_user(email: str) -> Tx[tuple[User, str] | None]:
    """Return the user with this address, ignoring case, and the password hash; None if there is no such user.

    If no user has confirmed the address, the result is the newest sign-up.
    """
    rows = yield sql(
        "select * from users where lower(email) = lower(cast($1 as text))"
        " order by email_confirmed desc, id desc limit 1",
        email,
    )
    return (user_of(rows[0]), rows[0]["password_hash"]) if rows else None


def password_hash_of(user_id: int) -> Tx[str | None]:
    """Return the user's password hash; None if there is no such user."""
    rows = yield sql("select password_hash from users where id = $1", user_id)
    return str(rows[0]["password_hash"]) if rows else None


def still_has_password(user_id: int, password_hash: str) -> Tx[bool]:
    """Lock the user's row, and return True if this is still the user's password hash.

    Returns False if the user is being deleted or is disabled.
    """
    rows = yield sql(
        "update users set plan = plan where id = $1 and password_hash = $2 and email is not null"
        " and disabled_at is null returning id",
        user_id,
        password_hash,
    )
    return bool(rows)


def set_password_hash(user_id: int, password_hash: str) -> Tx[None]:
    """Change the user's password. Sessions and known browsers do not change."""
    yield sql("update users set password_hash = $2 where id = $1", user_id, password_hash)


def set_plan(user_id: int, plan: Plan) -> Tx[bool]:
    """Change the user's plan. Returns False if the user already has this plan."""
    return bool((yield sql("update users set plan = $2 where id = $1 and plan <> $2 returning id", user_id, plan)))


def put_mail_token(
    user_id: int, purpose: MailPurpose, digest: str, expires_at: int, mail_id: str | None = None
) -> Tx[None]:
    """Store the token for the link in an email.

    Tokens in the user's earlier emails for the same purpose become invalid.

    `mail_id`: the email's id, or None for a new email. The tokens in earlier copies of the same email stay valid as
    long as this token. Does nothing if the user was deleted or is being deleted.
    """
    user = yield from get_user(user_id)  # also for UNKNOWN_USER, so that all calls take the same time
    if user is None and user_id != UNKNOWN_USER:
        return
    mail_id = mail_id or new_id("mail")
    yield sql(
        "delete from mail_tokens where user_id = $1 and purpose = $2 and mail_id <> $3", user_id, purpose, mail_id
    )
    yield sql("update mail_tokens set expires_at = $2 where mail_id = $1", mail_id, expires_at)
    yield sql(
        "insert into mail_tokens (digest, user_id, purpose, mail_id, expires_at) values ($1, $2, $3, $4, $5)",
        digest,
        user_id,
        purpose,
        mail_id,
        expires_at,
    )


def has_mail_token(mail_id: str) -> Tx[bool]:
    """Return True if the email still has a token.

    If not, the link in the email was used, or a newer email has replaced this email.
    """
    rows = yield sql("select digest from mail_tokens where mail_id = $1", mail_id)
    return bool(rows)


def put_reset_token(email: str, digest: str, expires_at: int, mail_id: str | None = None) -> Tx[User | None]:
    """Store a token that resets the password of the user with this address. Returns the user.

    If there is no such user, the function returns None after the same time, so that the duration does not reveal this.
    """
    match = yield from find_user(email)
    yield from put_mail_token(match[0].id if match else UNKNOWN_USER, "reset", digest, expires_at, mail_id)
    return match[0] if match else None


def put_confirm_token(
    email: str, digest: str, expires_at: int, mail_id: str | None = None
) -> Tx[tuple[User | None, int]]:
    """Store a token that confirms the address. Returns the newest sign-up and the number of sign-ups.

    If there are several sign-ups, the user must also set a new password, because the service cannot know which sign-up
    the owner of the address made. If mail servers refuse a confirmed address, the user can confirm it again. If there
    is nothing to confirm, the function returns (None, 0) after the same time, so that the duration does not reveal
    this.
    """
    match = yield from find_user(email)
    waiting = yield from _sign_ups(email)
    user = None if match is None else match[0]
    if user is not None and user.email_confirmed:
        waiting = [] if user.email_refused_at is None else [user.id]
    yield from put_mail_token(
        waiting[0] if waiting else UNKNOWN_USER, "reset" if len(waiting) > 1 else "confirm", digest, expires_at, mail_id
    )
    return (user if waiting else None), len(waiting)


def confirm_user(digest: str, now: int) -> Tx[User | None]:
    """Use the token of a confirmation email. Returns the user; None if the token is unknown, used or expired.

    The sign-up becomes the user with this address, and keeps its password and sessions (see `confirm_sign_up`). The
    address is no longer marked as refused.
    """
    user_id = yield from _use_mail_token("confirm", digest, now)
    return None if user_id is None else (yield from confirm_sign_up(user_id))


def switch_address(user_id: int, email: str) -> Tx[bool]:
    """Change the address of a confirmed user. Returns False if another user has confirmed the new address.

    Deletes the sign-ups with the new address, and any invitation for it.
    """
    # Lock these sign-ups first, so that no other transaction confirms one of them at the same time.
    yield sql("update users set plan = plan where lower(email) = lower(cast($1 as text))", email)
    yield from withdraw(email)
    match = yield from find_user(email)
    if match is not None and match[0].email_confirmed and match[0].id != user_id:
        return False
    yield from _forget([other for other in (yield from _sign_ups(email)) if other != user_id])
    yield sql("update users set email = $2, email_refused_at = null where id = $1", user_id, email)
    return True


def reset_password(digest: str, password_hash: str, now: int) -> Tx[User | None]:
    """Use the token of a reset email to set a new password, and end all sessions.

    This also confirms the address, because the user has received the email. Returns the user; None if the token is
    unknown, used or expired.
    """
    user_id = yield from _use_mail_token("reset", digest, now)
    if user_id is None or (yield from confirm_sign_up(user_id)) is None:
        return None
    yield sql("delete from sessions where user_id = $1", user_id)
    yield from forget_devices(user_id)
    rows = yield sql("update users set password_hash = $2 where id = $1 returning *", user_id, password_hash)
    return user_of(rows[0])


def user_of(row: Row) -> User:
    """Return the user that is stored in a row of `users`."""
    return User(
        id=row["id"],
        email=row["email"],
        email_confirmed=row["email_confirmed"] == 1,
        plan=row["plan"],
        notify=row["notify"] == 1,
        language=row["language"],
        email_refused_at=row["email_refused_at"],
        disabled_at=row["disabled_at"],
        created_at=row["created_at"],
    )


def forget_mail_tokens(user_id: int) -> Tx[None]:
    """Invalidate the links in all emails that confirm the user's address or reset the password."""
    yield sql("delete from mail_tokens where user_id = $1", user_id)


def _use_mail_token(purpose: MailPurpose, digest: str, now: int) -> Tx[int | None]:
    """Delete a token and return its user id; None if the token is unknown, used or expired.

    Locks all users with the same address, so that only one of them is confirmed.
    """
    yield sql(
        "update users set plan = plan where lower(email) = (select lower(u.email) from users u"
        " join mail_tokens t on t.user_id = u.id where t.digest = $1 and t.purpose = $2)",
        digest,
        purpose,
    )
    rows = yield sql(
        "delete from mail_tokens where digest = $1 and purpose = $2 and expires_at > $3 and user_id <> $4"
        " returning user_id",
        digest,
        purpose,
        now,
        UNKNOWN_USER,
    )
    if not rows:
        return None
    user_id = int(rows[0]["user_id"])
    # Delete the tokens in other copies of the email.
    yield sql("delete from mail_tokens where user_id = $1 and purpose = $2", user_id, purpose)
    yield from address_works(user_id)
    return user_id


def confirm_sign_up(user_id: int) -> Tx[User | None]:
    """Confirm the user's address. Returns the user; None if another user has the address or the user was deleted.

    Deletes the other sign-ups with the address, their sessions, and any invitation for the address. Also revokes the
    user's existing API keys. Otherwise, a person who signed up with someone else's address could keep a key, because a
    password reset only ends sessions.
    """
    rows = yield sql("select * from users where id = $1", user_id)
    if not rows or rows[0]["email_confirmed"] == 1:
        return user_of(rows[0]) if rows else None
    match = yield from find_user(rows[0]["email"])
    if match is not None and match[0].email_confirmed:
        return None
    yield from _forget([other for other in (yield from _sign_ups(rows[0]["email"])) if other != user_id])
    yield sql("delete from keys where user_id = $1", user_id)
    yield from withdraw(rows[0]["email"])
    rows = yield sql("update users set email_confirmed = 1 where id = $1 returning *", user_id)
    return user_of(rows[0])


def _sign_ups(email: str) -> Tx[list[int]]:
    """Return the ids of the unconfirmed users with this address, newest first."""
    rows = yield sql(
        "select id from users where lower(email) = lower(cast($1 as text)) and email_confirmed = 0 order by id desc",
        email,
    )
    return [int(row["id"]) for row in rows]


def _forget(user_ids: list[int]) -> Tx[None]:
    """Delete users who never confirmed their address."""
    if user_ids:
        listed = placeholders(len(user_ids))
        yield sql(f"delete from mail_tokens where user_id in ({listed})", *user_ids)  # noqa: S608  # placeholders only
        yield sql(f"delete from users where email_confirmed = 0 and id in ({listed})", *user_ids)  # noqa: S608  # placeholders only
