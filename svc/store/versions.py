"""The version of an account's configuration: raised by every change that its worker has to know.

Whoever raises it has the account's actor woken: nobody who changes sites, links, the link host or the days kept has to
think of it.
"""

from __future__ import annotations

from typing import cast

from svc.errors import NotFound
from svc.store.tx import Changed, Tx, sql


def bump_version(account_id: str) -> Tx[int]:
    """A new version of the account's configuration, for the row that is about to change. Raises NotFound."""
    rows = yield sql(
        "update accounts set config_version = config_version + 1 where id = $1"
        " returning config_version, edge_account_id",
        account_id,
    )
    if not rows:
        raise NotFound
    yield Changed(rows[0]["edge_account_id"])
    return cast("int", rows[0]["config_version"])
