"""Transactions on the keys that authenticate Workers' pushes. The store has only a digest of each key."""

from __future__ import annotations

from svc.store.tx import Tx, sql


def add_worker_key(account_id: str, key_digest: str) -> Tx[None]:
    """From now on, accept pushes with this key from the account's Worker."""
    yield sql("insert into worker_keys (digest, account_id, valid_until) values ($1, $2, null)", key_digest, account_id)


def retire_worker_keys(account_id: str, but_digest: str, valid_until: int) -> Tx[None]:
    """Let the account's Worker keys expire at `valid_until`, except the current key `but_digest` (rule W7)."""
    yield sql(
        "update worker_keys set valid_until = $3 where account_id = $1 and digest <> $2 and valid_until is null",
        account_id,
        but_digest,
        valid_until,
    )


def account_of_worker_key(key_digest: str, now: int) -> Tx[str | None]:
    """Return the id of the account whose Worker uses this key; None if the key is unknown or expired.

    A Worker's previous key stays valid for a day (rule W7).
    """
    rows = yield sql(
        "select account_id from worker_keys where digest = $1 and (valid_until is null or valid_until > $2)",
        key_digest,
        now,
    )
    return rows[0]["account_id"] if rows else None
