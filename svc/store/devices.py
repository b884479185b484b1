"""Transactions on a user's known devices: the browsers that the user has signed in with."""

from __future__ import annotations

from svc.store.tx import Tx, placeholders, sql

# The longest time for which browsers keep a cookie. The service deletes devices that have not been used for this long.
DEVICE_DAYS = 400
# The maximum number of devices per user. Real users have fewer devices. The limit prevents automated sign-ins from
# filling the store.
MAX_DEVICES = 10


def is_known_device(user_id: int, digest: str) -> Tx[bool]:
    """Return True if the user has signed in with the browser whose device cookie has this digest."""
    rows = yield sql("select user_id from devices where user_id = $1 and digest = $2", user_id, digest)
    return bool(rows)


def remember_device(user_id: int, digest: str, now: int) -> Tx[None]:
    """Record a sign-in with the browser whose device cookie has this digest.

    If the user then has more than `MAX_DEVICES` devices, delete the least recently used.
    """
    yield sql(
        "insert into devices (user_id, digest, seen_at) values ($1, $2, $3)"
        " on conflict (user_id, digest) do update set seen_at = excluded.seen_at",
        user_id,
        digest,
        now,
    )
    rows = yield sql("select digest from devices where user_id = $1 order by seen_at desc, digest", user_id)
    old = [row["digest"] for row in rows if row["digest"] != digest][MAX_DEVICES - 1 :]
    if old:
        listed = placeholders(len(old), 2)
        yield sql(f"delete from devices where user_id = $1 and digest in ({listed})", user_id, *old)  # noqa: S608  # placeholders only


def forget_devices(user_id: int, but: str = "") -> Tx[None]:
    """Delete the user's known devices, except the browser whose device cookie has the digest `but`."""
    yield sql("delete from devices where user_id = $1 and digest <> $2", user_id, but)
