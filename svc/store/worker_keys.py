"""Transactions on the keys that authenticate Workers' pushes. The store has only a digest of each key."""

from __future__ import annotations

from svc.store.tx import Tx, sql


def add_worker_key(account_id: str, key_digest: str, install_id: str) -> Tx[None]:
    """From now on, accept pushes with this key from the account's Worker.

    `install_id`: the operation that uploads the Worker with this key.
    """
    yield sql(
        "insert into worker_keys (digest, account_id, install_id) values ($1, $2, $3)",
        key_digest,
        account_id,
        install_id,
    )


def retire_worker_keys(account_id: str, install_id: str, valid_until: int) -> Tx[None]:
    """Let the account's Worker keys expire at `valid_until`, except those of the current install (rule W7).

    The keys of all attempts of this install stay valid, because Cloudflare may apply the upload of an attempt that got
    no response after the upload of a later attempt.
    """
    yield sql(
        "update worker_keys set valid_until = $3"
        " where account_id = $1 and coalesce(install_id, '') <> $2 and valid_until is null",
        account_id,
        install_id,
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
