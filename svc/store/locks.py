"""Row locks for transactions that first read or count data, and then change data depending on the result.

On PostgreSQL, a lock lasts until the transaction ends, and reads after the lock see the newest data. SQLite does not
need locks, because it has only one writer. To avoid deadlocks, a transaction that needs both locks acquires the user's
lock before the account's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import Tx, many, sql

if TYPE_CHECKING:
    from collections.abc import Iterable


def lock_user(user_id: int) -> Tx[None]:
    """Lock the user's row. Use this in a transaction that counts the user's objects to enforce a limit."""
    yield sql("update users set plan = plan where id = $1", user_id)


def lock_account(account_id: str) -> Tx[None]:
    """Lock the account's row.

    Use this in a transaction that first reads the account and then changes it, or that adds a row to the account or to
    one of its sites or links. The account, site or link is then not deleted before the transaction ends.
    """
    yield sql("update accounts set name = name where id = $1", account_id)


def lock_accounts(account_ids: Iterable[str]) -> Tx[None]:
    """Lock the rows of several accounts, in the order of their ids."""
    yield many("update accounts set name = name where id = $1", [(each,) for each in sorted(set(account_ids))])
