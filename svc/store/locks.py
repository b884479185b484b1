"""Locks on rows, for a transaction that changes what it has read or counted: no other comes between.

SQLite has one writer anyway. On PostgreSQL the lock lasts until the transaction ends, and what is read after it is the
newest. Where a transaction takes both, the user comes before the account: two that wait for each other would fail.
"""

from __future__ import annotations

from svc.store.tx import Tx, sql


def lock_user(user_id: int) -> Tx[None]:
    """Transactions that count what this user has follow one another from here on."""
    yield sql("update users set plan = plan where id = $1", user_id)


def lock_account(account_id: str) -> Tx[None]:
    """Transactions that change this account by what they read of it follow one another from here on."""
    yield sql("update accounts set name = name where id = $1", account_id)
