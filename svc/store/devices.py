"""Transactions on the browsers that a user has signed in from."""

from __future__ import annotations

from svc.store.tx import Tx, placeholders, sql

# The longest that browsers keep a cookie; a browser that was not used for as long is forgotten.
DEVICE_DAYS = 400
# Of one user. More browsers than a person has, few enough that a robot's sign-ins do not fill the store.
MOST_DEVICES = 10


def knows_device(user_id: int, digest: str) -> Tx[bool]:
    """Whether the user has signed in from the browser whose cookie has this digest."""
    rows = yield sql("select user_id from devices where user_id = $1 and digest = $2", user_id, digest)
    return bool(rows)


def remember_device(user_id: int, digest: str, now: int) -> Tx[None]:
    """The user signed in from it; the ones that were not used for longest give way."""
    yield sql(
        "insert into devices (user_id, digest, seen_at) values ($1, $2, $3)"
        " on conflict (user_id, digest) do update set seen_at = excluded.seen_at",
        user_id,
        digest,
        now,
    )
    rows = yield sql("select digest from devices where user_id = $1 order by seen_at desc, digest", user_id)
    old = [row["digest"] for row in rows if row["digest"] != digest][MOST_DEVICES - 1 :]
    if old:
        listed = placeholders(len(old), 2)
        yield sql(f"delete from devices where user_id = $1 and digest in ({listed})", user_id, *old)  # noqa: S608  # placeholders only


def forget_devices(user_id: int, but: str = "") -> Tx[None]:
    """None of the user's browsers is known any more, but for the one whose cookie has this digest."""
    yield sql("delete from devices where user_id = $1 and digest <> $2", user_id, but)
