"""Transactions on the sync: what the worker's database has of an account's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import NotFound
from svc.store.locks import lock_account
from svc.store.tx import Tx, many, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import ErrorNote

# The tables whose rows are configuration, each with its version.
_SITES_AND_LINKS = ("sites", "links")


def begin_sync(account_id: str, version: int) -> Tx[None]:
    """The configuration up to `version` is about to be written: a worker that has more was written by a later store."""
    yield sql("update accounts set asked_version = $2 where id = $1 and asked_version < $2", account_id, version)


def end_sync(account_id: str, after_version: int, version: int, refused: Mapping[str, ErrorNote]) -> Tx[None]:
    """The worker's database has `version`; what was written after `after_version` is there.

    `refused`: why it is not, by the id of a site or link whose rows the platform does not take.
    """
    for table in _SITES_AND_LINKS:
        yield sql(
            f"update {table} set config_error = null"  # noqa: S608  # a name of this file
            " where account_id = $1 and config_error is not null and version > $2 and version <= $3",
            account_id,
            after_version,
            version,
        )
        if refused:
            yield many(
                f"update {table} set config_error = $3 where account_id = $1 and id = $2",  # noqa: S608  # as above
                [(account_id, target, to_json(note)) for target, note in sorted(refused.items())],
            )
    yield sql("update accounts set synced_version = $2 where id = $1 and synced_version < $2", account_id, version)


def overtake(account_id: str, worker_version: int) -> Tx[int]:
    """Give the whole configuration a version above the worker's, so that all of it is written anew.

    For a store that was restored from a backup, or lost commits. Returns the version. Raises NotFound.
    """
    yield from lock_account(account_id)
    rows = yield sql(
        "update accounts set config_version = 1 +"
        " case when config_version > $2 then config_version else cast($2 as bigint) end,"
        " synced_version = 0 where id = $1 returning config_version",
        account_id,
        worker_version,
    )
    if not rows:
        raise NotFound
    version = int(rows[0]["config_version"])
    for table in (*_SITES_AND_LINKS, "link_hosts"):
        yield sql(f"update {table} set version = $2 where account_id = $1", account_id, version)  # noqa: S608  # as above
    return version
