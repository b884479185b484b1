"""Transactions on what the vault has sealed, for all accounts at once."""

from __future__ import annotations

from svc.store.tx import Tx, sql


def reseal(account_id: str, old: bytes, new: bytes) -> Tx[bool]:
    """The same token, sealed with another key. Returns whether it still was the `old` one."""
    rows = yield sql(
        "update accounts set sealed_token = $3 where id = $1 and sealed_token = $2 returning id", account_id, old, new
    )
    return bool(rows)


def sealed_tokens() -> Tx[dict[str, bytes]]:
    """The sealed working token of each account that has one, by the account's id."""
    rows = yield sql("select id, sealed_token from accounts where sealed_token is not null")
    return {row["id"]: row["sealed_token"] for row in rows}
