"""Transactions on limits that the operator has set for individual users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.config import LimitsConfig
    from svc.model import LimitedKind, Plan
    from svc.store.tx import Tx


def limit_of(user_id: int, kind: LimitedKind, default: int) -> Tx[int]:
    """Return the maximum number of the user's objects of this kind.

    `default`: the limit that applies if the operator has set none for the user.

    Call this in the transaction that counts the objects, after the transaction has locked the user.
    """
    rows = yield sql(f"select {kind} as n from user_limits where user_id = $1", user_id)  # noqa: S608  # a LimitedKind
    return default if not rows or rows[0]["n"] is None else int(rows[0]["n"])


def own_limits(user_id: int) -> Tx[dict[LimitedKind, int]]:
    """Return the limits that the operator has set for this user. The service's limits apply to kinds without one."""
    rows = yield sql("select accounts, sites, links, keys from user_limits where user_id = $1", user_id)
    return {kind: value for kind, value in dict(rows[0]).items() if value is not None} if rows else {}  # type: ignore[misc]  # the columns are the kinds


def limits_of(user_id: int, plan: Plan, limits: LimitsConfig) -> Tx[dict[LimitedKind, int]]:
    """Return the user's limits.

    The service's limits apply to kinds for which the operator has set no limit for this user.
    """
    own = yield from own_limits(user_id)
    return {**limits.per_user(plan), **own}


def set_limits(user_id: int, changes: Mapping[LimitedKind, int | None]) -> Tx[bool]:
    """Set limits for this user; None removes a limit. Returns False if nothing changes."""
    before = yield from own_limits(user_id)
    after = {kind: value for kind, value in {**before, **changes}.items() if value is not None}
    if after == before:
        return False
    yield sql("delete from user_limits where user_id = $1", user_id)
    if after:
        yield sql(
            "insert into user_limits (user_id, accounts, sites, links, keys) values ($1, $2, $3, $4, $5)",
            user_id,
            *(after.get(kind) for kind in ("accounts", "sites", "links", "keys")),
        )
    return True
