"""Row locks, for transactions that change data based on what they have read or counted.

On PostgreSQL, the lock lasts until the transaction ends, and later reads see the newest data. SQLite has only one
writer anyway. A transaction that needs both locks takes the user's before the account's, to avoid deadlocks.
"""

from __future__ import annotations

from svc.store.tx import Tx, sql


def lock_user(user_id: int) -> Tx[None]:
    """Lock the user's row, for a transaction that counts what the user has."""
    yield sql("update users set plan = plan where id = $1", user_id)


def lock_account(account_id: str) -> Tx[None]:
    """Lock the account's row, for a transaction that changes the account based on what it reads."""
    yield sql("update accounts set name = name where id = $1", account_id)
