"""Transactions on page sessions: an access token for an hour, a refresh token that is exchanged for the next pair."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from svc.store.tx import Row, Tx, sql
from svc.store.users import user_of

if TYPE_CHECKING:
    from svc.model import User

# Of one user. More browsers and programs than a person has, few enough that a robot's sign-ins do not fill the store.
MOST_SESSIONS = 50

# Of a user who is being deleted no session opens anything.
_WHO = (
    "select s.id as session_id, u.id, u.email, u.email_confirmed, u.plan, u.notify, u.email_refused_at, u.created_at"
    " from sessions s join users u on u.id = s.user_id and u.email is not null"
)

_ITS_TOKENS = "family_digest = $1 or access_digest = $2 or previous_access_digest = $2"


@dataclass(frozen=True, slots=True)
class Issued:
    """The digests of a session's newest tokens, the salt that made them, and their times (epoch ms); in the order in
    which they are stored."""

    access_digest: str
    access_expires_at: int
    refresh_digest: str
    refresh_expires_at: int
    salt: str
    at: int


@dataclass(frozen=True, slots=True)
class Session:
    """A page session. `family`, `device`: digests of its refresh tokens' common part, of the browser's cookie.

    `previous`: the digest of the refresh token that the newest pair was made for; None: it is the first pair.
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
    """Begin a session; of more than `MOST_SESSIONS` those that were not used for longest end."""
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
        f" where user_id = $1 and id <> $2 order by issued_at desc, id limit {MOST_SESSIONS - 1})",
        session.user_id,
        session.id,
    )


def session_of_access(access_digest: str, now: int) -> Tx[tuple[User, str] | None]:
    """Whose access token this is, and the id of its session; None when it is unknown, ended or expired."""
    rows = yield sql(f"{_WHO} where s.access_digest = $1 and s.access_expires_at > $2", access_digest, now)
    if not rows:
        rows = yield sql(
            f"{_WHO} where s.previous_access_digest = $1 and s.previous_access_until > $2", access_digest, now
        )
    return (user_of(rows[0]), rows[0]["session_id"]) if rows else None


def session_of_family(family: str, now: int) -> Tx[tuple[Session, User] | None]:
    """The session whose refresh tokens have this family, and its user; None when it is unknown, ended or expired."""
    rows = yield sql(
        "select s.*, u.email, u.email_confirmed, u.plan, u.notify, u.email_refused_at, u.created_at as user_created_at"
        " from sessions s join users u on u.id = s.user_id"
        " where s.family_digest = $1 and s.refresh_expires_at > $2 and u.email is not null",
        family,
        now,
    )
    if not rows:
        return None
    row = rows[0]
    return _session(row), user_of({**row, "id": row["user_id"], "created_at": row["user_created_at"]})


def rotate_session(session_id: str, refresh_digest: str, issued: Issued, old_access_until: int) -> Tx[bool]:
    """Put a new pair in the place of the one with this refresh token; False when that is not the newest any more.

    The old access token works until `old_access_until`, if it would have worked as long.
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
    """The user's sessions that can go on, the one that was used last first."""
    rows = yield sql(
        "select * from sessions where user_id = $1 and refresh_expires_at > $2 order by issued_at desc, id",
        user_id,
        now,
    )
    return [_session(row) for row in rows]


def device_of(session_id: str) -> Tx[str]:
    """The digest of the cookie of the session's browser; "" when the session has ended."""
    rows = yield sql("select device_digest from sessions where id = $1", session_id)
    return str(rows[0]["device_digest"]) if rows else ""


def is_there(family: str, access_digest: str) -> Tx[bool]:
    """Whether there is a session with this family, or with this access token."""
    rows = yield sql(f"select id from sessions where {_ITS_TOKENS}", family, access_digest)  # noqa: S608  # constant text
    return bool(rows)


def end_session(family: str, access_digest: str = "") -> Tx[list[tuple[int, str]]]:
    """End the session with this family, and the one with this access token: whose they were, and their ids."""
    rows = yield sql(
        f"delete from sessions where {_ITS_TOKENS} returning user_id, id",  # noqa: S608  # constant text
        family,
        access_digest,
    )
    return [(int(row["user_id"]), str(row["id"])) for row in rows]


def end_own_session(user_id: int, session_id: str) -> Tx[bool]:
    """End this session of the user; False when there is none."""
    rows = yield sql("delete from sessions where user_id = $1 and id = $2 returning id", user_id, session_id)
    return bool(rows)


def end_sessions(user_id: int, but: str = "") -> Tx[None]:
    """End all sessions of the user, but for the one with this id."""
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
