"""The version of an account's configuration.

Every change that must be synced to the account's Worker increments the version.

Incrementing the version also wakes the account's actor. Transactions that change sites, links, the link host or the
account's settings therefore do not need to wake the actor separately.
"""

from __future__ import annotations

from typing import cast

from svc.errors import NotFound
from svc.store.tx import Changed, Tx, sql


def bump_version(account_id: str) -> Tx[int]:
    """Increment and return the version of the account's configuration, and lock the account.

    Raises NotFound if the account does not exist.
    """
    rows = yield sql(
        "update accounts set config_version = config_version + 1 where id = $1"
        " returning config_version, edge_account_id",
        account_id,
    )
    if not rows:
        raise NotFound
    yield Changed(rows[0]["edge_account_id"])
    return cast("int", rows[0]["config_version"])
