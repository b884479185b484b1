"""Transactions on all secrets that the vault has encrypted: working tokens, and the secrets of shares.

Each secret is encrypted for its owner, which is an account or a share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.tx import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.store.tx import Tx

# By table: the column with the encrypted secret. The id of each row is the owner's id.
COLUMNS: Mapping[str, str] = {"accounts": "sealed_token", "shares": "sealed_secret"}


def sealed_secrets() -> Tx[dict[str, bytes]]:
    """Return all encrypted secrets by owner id."""
    found: dict[str, bytes] = {}
    for table, column in COLUMNS.items():
        rows = yield sql(f"select id, {column} as sealed from {table} where {column} is not null")  # noqa: S608  # names of this file
        found |= {row["id"]: row["sealed"] for row in rows}
    return found


def reseal(owner_id: str, old: bytes, new: bytes) -> Tx[bool]:
    """Replace the encrypted secret `old` with `new`, which is the same secret encrypted with another key.

    Returns False if the owner's encrypted secret is no longer `old`.
    """
    for table, column in COLUMNS.items():
        rows = yield sql(
            f"update {table} set {column} = $3 where id = $1 and {column} = $2 returning id",  # noqa: S608  # names of this file
            owner_id,
            old,
            new,
        )
        if rows:
            return True
    return False
