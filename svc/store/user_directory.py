"""Transactions for the operator's commands that find users and change their access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.store.conditions import Conditions
from svc.store.tx import Tx, sql
from svc.store.users import confirm_sign_up, user_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import User
    from svc.store.tx import Parameter, Row

UserOrder = Literal["oldest", "newest", "email"]
UserFilter = Literal["disabled", "unconfirmed"]

_COUNTS = (
    "(select count(*) from accounts a where a.user_id = u.id) as accounts,"
    " (select count(*) from sites s where s.user_id = u.id and s.state <> 'deleted') as sites,"
    " (select count(*) from links l where l.user_id = u.id and l.state = 'active') as links,"
    " (select count(*) from keys k where k.user_id = u.id) as keys"
)
# For each order: the `order by` clause, and the condition that a user comes after the last user of the previous page
# ($1: email address, $2: id).
_ORDERS: dict[UserOrder, tuple[str, str]] = {
    "oldest": ("u.id", "u.id > $2 and cast($1 as text) is not null"),
    "newest": ("u.id desc", "u.id < $2 and cast($1 as text) is not null"),
    # SQLite uses the index for this condition, but not for row values with an expression.
    "email": (
        "lower(u.email), u.id",
        "lower(u.email) >= lower(cast($1 as text)) and (lower(u.email) > lower(cast($1 as text)) or u.id > $2)",
    ),
}
_FILTERS: dict[UserFilter, str] = {"disabled": "u.disabled_at is not null", "unconfirmed": "u.email_confirmed = 0"}


@dataclass(frozen=True)
class Entry:
    """A user, and the number of objects that the user has."""

    user: User
    accounts: int
    sites: int
    links: int
    keys: int


def page(
    order: UserOrder,
    after: Entry | None,
    limit: int,
    *,
    filters: Sequence[UserFilter] = (),
    contains: str = "",
) -> Tx[list[Entry]]:
    """Return at most `limit` users who come after `after` in this order. Omit users who are being deleted.

    `contains`: only users whose email address contains this text, ignoring case.
    """
    by, comparison = _ORDERS[order]
    parameters: list[Parameter] = [] if after is None else [after.user.email, after.user.id]
    conditions = Conditions(parameters)
    for condition in ("u.email is not null", *(_FILTERS[each] for each in filters)):
        conditions.add(condition)
    if after is not None:
        conditions.add(comparison)
    if contains:
        conditions.add_contains([contains.lower()], "u.email")
    rows = yield sql(
        f"select u.*, {_COUNTS} from users u where {conditions} order by {by} limit {conditions.parameter(limit)}",  # noqa: S608  # SQL of this module
        *parameters,
    )
    return [_entry(row) for row in rows]


def with_address(email: str) -> Tx[list[Entry]]:
    """Return the user who has confirmed this email address, ignoring case.

    If there is none, return all sign-ups with the address, newest first.
    """
    rows = yield sql(
        f"select u.*, {_COUNTS} from users u where lower(u.email) = lower(cast($1 as text))"  # noqa: S608  # SQL of this module
        " order by u.email_confirmed desc, u.id desc",
        email,
    )
    entries = [_entry(row) for row in rows]
    return entries[:1] if entries and entries[0].user.email_confirmed else entries


def disable(user_id: int, now: int) -> Tx[bool]:
    """Disable a user and end all of the user's sessions. Returns False if the user is already disabled."""
    rows = yield sql(
        "update users set disabled_at = $2 where id = $1 and disabled_at is null returning id", user_id, now
    )
    yield sql("delete from sessions where user_id = $1", user_id)
    return bool(rows)


def enable(user_id: int) -> Tx[bool]:
    """Enable a user. Returns False if the user is not disabled."""
    rows = yield sql(
        "update users set disabled_at = null where id = $1 and disabled_at is not null returning id", user_id
    )
    return bool(rows)


def confirm(user_id: int) -> Tx[bool]:
    """Confirm the address of a sign-up without sending an email; see `users.confirm_sign_up`.

    Returns False if the address is already confirmed, if another user has the address, or if there is no such user.
    """
    rows = yield sql("select email_confirmed from users where id = $1", user_id)
    if not rows or rows[0]["email_confirmed"] == 1:
        return False
    return (yield from confirm_sign_up(user_id)) is not None


def _entry(row: Row) -> Entry:
    return Entry(user_of(row), row["accounts"], row["sites"], row["links"], row["keys"])
