"""Transactions on page sessions: an access token for an hour, a refresh token that is exchanged for the next pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import Tx, sql
from svc.store.users import get_user, user_of

if TYPE_CHECKING:
    from svc.model import User


def add_session(
    user_id: int, access_digest: str, access_expires_at: int, refresh_digest: str, refresh_expires_at: int, now: int
) -> Tx[None]:
    """Begin a session."""
    yield sql(
        "insert into sessions (refresh_digest, access_digest, user_id, access_expires_at, refresh_expires_at,"
        " created_at) values ($1, $2, $3, $4, $5, $6)",
        refresh_digest,
        access_digest,
        user_id,
        access_expires_at,
        refresh_expires_at,
        now,
    )


def session_user(access_digest: str, now: int) -> Tx[User | None]:
    """Whose access token this is; None when it is unknown, ended or expired."""
    rows = yield sql(
        "select u.id, u.email, u.email_confirmed, u.plan, u.notify, u.created_at"
        " from sessions s join users u on u.id = s.user_id"
        " where s.access_digest = $1 and s.access_expires_at > $2",
        access_digest,
        now,
    )
    return user_of(rows[0]) if rows else None


def rotate_session(
    refresh_digest: str,
    new_access_digest: str,
    access_expires_at: int,
    new_refresh_digest: str,
    refresh_expires_at: int,
    now: int,
) -> Tx[User | None]:
    """Exchange a refresh token for a new pair; the old pair is dead. None when it is unknown, used or expired."""
    rows = yield sql(
        "update sessions set access_digest = $2, access_expires_at = $3, refresh_digest = $4, refresh_expires_at = $5"
        " where refresh_digest = $1 and refresh_expires_at > $6 returning user_id",
        refresh_digest,
        new_access_digest,
        access_expires_at,
        new_refresh_digest,
        refresh_expires_at,
        now,
    )
    return (yield from get_user(rows[0]["user_id"])) if rows else None


def end_session(digest: str) -> Tx[bool]:
    """End the session whose access or refresh token has this digest; False when there is none."""
    rows = yield sql("delete from sessions where refresh_digest = $1 or access_digest = $1 returning user_id", digest)
    return bool(rows)
