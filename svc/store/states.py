"""Changes an account's state. No other module writes the state, so each change is recorded in the user's audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.events import by_service
from svc.store.tx import Tx, placeholders, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import ErrorNote
    from svc.model import AccountState


def begin(account_id: str, user_id: int, edge_account_id: str, name: str, now: int) -> Tx[None]:
    """Add a new account in the state `pending`."""
    yield sql(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version,"
        " created_at) values ($1, $2, $3, $4, 'pending', 0, 0, $5)",
        account_id,
        user_id,
        edge_account_id,
        name,
        now,
    )
    yield by_service(user_id, account_id, edge_account_id, "account.state", "pending", now)


def move(
    account_id: str, from_states: Sequence[AccountState] | None, to: AccountState, error: ErrorNote | None, now: int
) -> Tx[bool]:
    """Set the account's state and error if its state is one of `from_states` (None means any state).

    Returns True if the state was one of `from_states`. If the account already has the new state, only its error is set,
    and no event is written.
    """
    among = "" if from_states is None else f" and state in ({placeholders(len(from_states), first=4)})"
    parameters = (account_id, to, to_json(error), *(from_states or ()))
    rows = yield sql(
        "update accounts set state = $2, error = $3 where id = $1 and state <> $2"  # noqa: S608  # placeholders only
        f"{among} returning user_id, edge_account_id",
        *parameters,
    )
    for row in rows:
        yield by_service(row["user_id"], account_id, row["edge_account_id"], "account.state", to, now)
    if rows:
        return True
    same = yield sql(
        f"update accounts set error = $3 where id = $1 and state = $2{among} returning id",  # noqa: S608  # the same
        *parameters,
    )
    return bool(same)
