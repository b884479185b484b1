"""Transactions on sign-in sessions. A session begins when a user signs in with a browser.

A session has an access token, which is valid for a short time, and a refresh token. The browser exchanges the refresh
token for a new pair of tokens.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from svc.store.tx import Row, Tx, sql
from svc.store.users import user_of

if TYPE_CHECKING:
    from svc.model import User

# The maximum number of sessions per user. Real users need fewer sessions. The limit prevents automated sign-ins from
# filling the store.
MAX_SESSIONS = 50

# The sessions with their users. Sessions of users who are being deleted are excluded.
_WITH_USER = (
    "select s.id as session_id, u.id, u.email, u.email_confirmed, u.plan, u.notify, u.language, u.email_refused_at,"
    " u.disabled_at, u.created_at from sessions s join users u on u.id = s.user_id and u.email is not null"
)

_ITS_TOKENS = "family_digest = $1 or access_digest = $2 or previous_access_digest = $2"


@dataclass(frozen=True, slots=True)
class Issued:
    """The digests of a session's newest tokens, the salt from which the tokens were derived, and the times (ms).

    The fields have the same order as the columns of `sessions`.
    """

    access_digest: str
    access_expires_at: int
    refresh_digest: str
    refresh_expires_at: int
    salt: str
    at: int


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in session.

    `family`: the digest of the part that all of the session's refresh tokens share. `device`: the digest of the
    browser's cookie. `previous`: the digest of the refresh token that was exchanged for the newest pair; None if the
    newest pair is the first.
    """

    id: str
    user_id: int
    family: str
    browser: str
    device: str
    created_at: int
    issued: Issued
    previous: str | None = None


def add_session(session: Session) -> Tx[None]:
    """Begin a session. If the user then has more than `MAX_SESSIONS` sessions, end the least recently used."""
    yield sql(
        "insert into sessions (id, user_id, family_digest, browser, device_digest, created_at, access_digest,"
        " access_expires_at, refresh_digest, refresh_expires_at, salt, issued_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        session.id,
        session.user_id,
        session.family,
        session.browser,
        session.device,
        session.created_at,
        *astuple(session.issued),
    )
    yield sql(
        f"delete from sessions where user_id = $1 and id <> $2 and id not in (select id from sessions"  # noqa: S608  # a constant
        f" where user_id = $1 and id <> $2 order by issued_at desc, id limit {MAX_SESSIONS - 1})",
        session.user_id,
        session.id,
    )


def session_of_access(access_digest: str, now: int) -> Tx[tuple[User, str] | None]:
    """Return the user and session id for an access token; None if the token is unknown or expired."""
    rows = yield sql(f"{_WITH_USER} where s.access_digest = $1 and s.access_expires_at > $2", access_digest, now)
    if not rows:
        rows = yield sql(
            f"{_WITH_USER} where s.previous_access_digest = $1 and s.previous_access_until > $2",
            access_digest,
            now,
        )
    return (user_of(rows[0]), rows[0]["session_id"]) if rows else None


def session_of_family(family: str, now: int) -> Tx[tuple[Session, User] | None]:
    """Return the session with this family of refresh tokens, and its user; None if it has ended or expired."""
    rows = yield sql(
        "select s.*, u.email, u.email_confirmed, u.plan, u.notify, u.language, u.email_refused_at,"
        " u.disabled_at, u.created_at as user_created_at from sessions s join users u on u.id = s.user_id"
        " where s.family_digest = $1 and s.refresh_expires_at > $2 and u.email is not null",
        family,
        now,
    )
    if not rows:
        return None
    row = rows[0]
    return _session(row), user_of({**row, "id": row["user_id"], "created_at": row["user_created_at"]})


def rotate_session(session_id: str, refresh_digest: str, issued: Issued, old_access_until: int) -> Tx[bool]:
    """Replace the token pair that has this refresh token. Returns False if the pair is no longer the newest.

    The old access token stays valid until `old_access_until` or its own expiry, whichever comes first.
    """
    rows = yield sql(
        "update sessions set previous_digest = refresh_digest, previous_access_digest = access_digest,"
        " previous_access_until = case when access_expires_at < $9 then access_expires_at else $9 end,"
        " access_digest = $3, access_expires_at = $4, refresh_digest = $5, refresh_expires_at = $6, salt = $7,"
        " issued_at = $8"
        " where id = $1 and refresh_digest = $2 returning id",
        session_id,
        refresh_digest,
        *astuple(issued),
        old_access_until,
    )
    return bool(rows)


def list_sessions(user_id: int, now: int) -> Tx[list[Session]]:
    """Return the user's unexpired sessions, most recently used first."""
    rows = yield sql(
        "select * from sessions where user_id = $1 and refresh_expires_at > $2 order by issued_at desc, id",
        user_id,
        now,
    )
    return [_session(row) for row in rows]


def device_of(session_id: str) -> Tx[str]:
    """Return the digest of the session's browser cookie; "" if the session has ended."""
    rows = yield sql("select device_digest from sessions where id = $1", session_id)
    return str(rows[0]["device_digest"]) if rows else ""


def is_there(family: str, access_digest: str) -> Tx[bool]:
    """Return True if there is a session with this family or this access token."""
    rows = yield sql(f"select id from sessions where {_ITS_TOKENS}", family, access_digest)  # noqa: S608  # constant text
    return bool(rows)


def end_session(family: str, access_digest: str = "") -> Tx[list[tuple[int, str]]]:
    """End the session with this family and the session with this access token. Returns (user id, session id) pairs."""
    rows = yield sql(
        f"delete from sessions where {_ITS_TOKENS} returning user_id, id",  # noqa: S608  # constant text
        family,
        access_digest,
    )
    return [(int(row["user_id"]), str(row["id"])) for row in rows]


def end_own_session(user_id: int, session_id: str) -> Tx[bool]:
    """End the user's session with this id. Returns False if there is no such session."""
    rows = yield sql("delete from sessions where user_id = $1 and id = $2 returning id", user_id, session_id)
    return bool(rows)


def end_sessions(user_id: int, but: str = "") -> Tx[None]:
    """End all sessions of the user, except the one with the id `but`."""
    yield sql("delete from sessions where user_id = $1 and id <> $2", user_id, but)


def _session(row: Row) -> Session:
    issued = Issued(
        row["access_digest"],
        row["access_expires_at"],
        row["refresh_digest"],
        row["refresh_expires_at"],
        row["salt"],
        row["issued_at"],
    )
    return Session(
        row["id"],
        row["user_id"],
        row["family_digest"],
        row["browser"],
        row["device_digest"],
        row["created_at"],
        issued,
        row["previous_digest"],
    )
