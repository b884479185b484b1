"""Transactions on users and the tokens of the mails that are sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from svc.model import User
from svc.store.tx import Row, Tx, sql

if TYPE_CHECKING:
    from svc.model import Plan

MailPurpose = Literal["confirm", "reset"]


def add_user(email: str, password_hash: str, now: int) -> Tx[User | None]:
    """A new user, unconfirmed, on plan `free`; None when the address is taken, whatever its capitals."""
    rows = yield sql(
        "insert into users (email, password_hash, email_confirmed, plan, created_at) values ($1, $2, 0, 'free', $3)"
        " on conflict (lower(email)) do nothing returning *",
        email,
        password_hash,
        now,
    )
    return user_of(rows[0]) if rows else None


def get_user(user_id: int) -> Tx[User | None]:
    """The user."""
    rows = yield sql("select * from users where id = $1", user_id)
    return user_of(rows[0]) if rows else None


def find_user(email: str) -> Tx[tuple[User, str] | None]:
    """The user with this address, whatever its capitals, and the hash of the password."""
    rows = yield sql(
        "select * from users where lower(email) = lower(cast($1 as text))",
        email,
    )
    return (user_of(rows[0]), rows[0]["password_hash"]) if rows else None


def set_plan(email: str, plan: Plan) -> Tx[bool]:
    """Switch a user's plan; False when there is no such user."""
    rows = yield sql(
        "update users set plan = $2 where lower(email) = lower(cast($1 as text)) returning id",
        email,
        plan,
    )
    return bool(rows)


def put_mail_token(user_id: int, purpose: MailPurpose, digest: str, expires_at: int) -> Tx[None]:
    """The token of the newest mail; the one of an earlier mail for the same purpose is dead."""
    yield sql(
        "insert into mail_tokens (user_id, purpose, digest, expires_at) values ($1, $2, $3, $4)"
        " on conflict (user_id, purpose) do update set digest = excluded.digest, expires_at = excluded.expires_at",
        user_id,
        purpose,
        digest,
        expires_at,
    )


def confirm_user(digest: str, now: int) -> Tx[User | None]:
    """Use up the token of a confirmation mail; None when it is unknown, used or expired."""
    user_id = yield from _use_mail_token("confirm", digest, now)
    if user_id is None:
        return None
    rows = yield sql("update users set email_confirmed = 1 where id = $1 returning *", user_id)
    return user_of(rows[0])


def confirm_address(email: str) -> Tx[bool]:
    """The operator vouches for the address. False: there is no such user."""
    rows = yield sql(
        "update users set email_confirmed = 1 where lower(email) = lower(cast($1 as text)) returning id", email
    )
    return bool(rows)


def reset_password(digest: str, password_hash: str, now: int) -> Tx[User | None]:
    """Use up the token of a reset mail: a new password, and every session ends. None as in `confirm_user`.

    Whoever has the mail has the address, so it is confirmed by this, too.
    """
    user_id = yield from _use_mail_token("reset", digest, now)
    if user_id is None:
        return None
    yield sql("delete from sessions where user_id = $1", user_id)
    rows = yield sql(
        "update users set password_hash = $2, email_confirmed = 1 where id = $1 returning *",
        user_id,
        password_hash,
    )
    return user_of(rows[0])


def lock_user(user_id: int) -> Tx[None]:
    """Make concurrent transactions that count what this user has follow one another.

    SQLite has one writer anyway; on PostgreSQL two of them would count the same and both find room.
    """
    yield sql("update users set plan = plan where id = $1", user_id)


def user_of(row: Row) -> User:
    """A row with the columns of users."""
    return User(
        id=row["id"],
        email=row["email"],
        email_confirmed=row["email_confirmed"] == 1,
        plan=row["plan"],
        created_at=row["created_at"],
    )


def _use_mail_token(purpose: MailPurpose, digest: str, now: int) -> Tx[int | None]:
    rows = yield sql(
        "delete from mail_tokens where digest = $1 and purpose = $2 and expires_at > $3 returning user_id",
        digest,
        purpose,
        now,
    )
    return int(rows[0]["user_id"]) if rows else None
