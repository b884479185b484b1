"""Transactions on API keys. The store has only the digest of a key's value (rule C6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Forbidden, NotFound, Unauthorized
from svc.model import Key
from svc.store.locks import lock_user
from svc.store.tx import UNCHANGED, Row, Tx, from_json, sql, to_json
from svc.store.user_limits import limit_of
from svc.store.users import user_of

if TYPE_CHECKING:
    from svc.model import User


def add_key(key: Key, digest: str, default_limit: int) -> Tx[Key]:
    """Issue a key. Raises Forbidden limit_reached if the user already has the maximum number of keys (rule C7).

    `default_limit`: the maximum number, unless the operator has set another one for the user.
    """
    yield from lock_user(key.user_id)
    limit = yield from limit_of(key.user_id, "keys", default_limit)
    rows = yield sql("select count(*) as n from keys where user_id = $1", key.user_id)
    if rows[0]["n"] >= limit:
        raise Forbidden("limit_reached", f"The limit of {limit} API keys has been reached.")
    yield sql(
        "insert into keys (id, user_id, digest, name, prefix, scopes, allow_accounts, allow_ips, created_at, last_used)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        key.id,
        key.user_id,
        digest,
        key.name,
        key.prefix,
        to_json(key.scopes),
        to_json(key.allow_accounts),
        to_json(key.allow_ips),
        key.created_at,
        key.last_used,
    )
    return key


def list_keys(user_id: int) -> Tx[list[Key]]:
    """Return a user's keys, oldest first."""
    rows = yield sql("select * from keys where user_id = $1 order by created_at, id", user_id)
    return [_key(row) for row in rows]


def key_by_digest(digest: str) -> Tx[tuple[Key, User] | None]:
    """Return the key with this digest and its user; None if there is no such key or its user is being deleted."""
    rows = yield sql(
        "select u.*, k.id as key_id, k.user_id, k.name, k.prefix, k.scopes, k.allow_accounts, k.allow_ips,"
        " k.created_at as key_created_at, k.last_used"
        " from keys k join users u on u.id = k.user_id and u.email is not null where k.digest = $1",
        digest,
    )
    if not rows:
        return None
    row = rows[0]
    return _key({**row, "id": row["key_id"], "created_at": row["key_created_at"]}), user_of(row)


def touch_key(key_id: str, day: int) -> Tx[None]:
    """Record that the key was used on this day (day number)."""
    yield sql("update keys set last_used = $2 where id = $1 and (last_used is null or last_used < $2)", key_id, day)


def rename_key(user_id: int, key_id: str, name: str) -> Tx[Key]:
    """Rename a user's key. Raises NotFound if the user has no such key."""
    rows = yield sql(
        "update keys set name = $3 where id = $1 and user_id = $2 and (name is null or name <> $3) returning *",
        key_id,
        user_id,
        name,
    )
    if not rows:
        rows = yield sql("select * from keys where id = $1 and user_id = $2", key_id, user_id)
        if not rows:
            raise NotFound
        yield UNCHANGED
    return _key(rows[0])


def check_not_revoked(key_id: str) -> Tx[None]:
    """Check the key again, because a long time may have passed since the request was authenticated.

    Raises Unauthorized if the key has been revoked, or Forbidden user_disabled if its user has been disabled.
    """
    rows = yield sql("select u.disabled_at from keys k join users u on u.id = k.user_id where k.id = $1", key_id)
    if not rows:
        raise Unauthorized("The key was revoked.")
    if rows[0]["disabled_at"] is not None:
        raise Forbidden("user_disabled")


def delete_key(user_id: int, key_id: str) -> Tx[bool]:
    """Revoke a user's key. Returns False if the user has no such key."""
    rows = yield sql("delete from keys where id = $1 and user_id = $2 returning id", key_id, user_id)
    return bool(rows)


def _key(row: Row) -> Key:
    return Key(
        id=row["id"],
        user_id=row["user_id"],
        name=row["name"],
        prefix=row["prefix"],
        scopes=tuple(from_json(row["scopes"])),
        allow_accounts=_tuple(row["allow_accounts"]),
        allow_ips=_tuple(row["allow_ips"]),
        created_at=row["created_at"],
        last_used=row["last_used"],
    )


def _tuple(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(from_json(text))
