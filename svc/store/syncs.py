"""Transactions for configuration syncs. They record which configuration version a Worker's database has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.errors import NotFound
from svc.store.locks import lock_account
from svc.store.tx import Tx, many, sql, to_json
from svc.store.versions import bump_version
from svc.worker.config_rows import LINK_HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import ErrorNote

# The tables whose rows are synced to Workers. Each row has a version.
_SITES_AND_LINKS = ("sites", "links")
_VERSIONED = (*_SITES_AND_LINKS, "link_hosts")
# The end of the totals that the store has without gaps, for `restored_as_of`. Later pushes do not change a mark that is
# already set, because they do not contain the totals that were lost before.
COMPLETE_UNTIL = "coalesce(restored_as_of, (select as_of from pushed where account_id = accounts.id), 0)"


@dataclass(frozen=True)
class Synced:
    """The expected contents of the Worker's table `config` after a complete sync.

    `rows`: the number of rows with a body (rows without a body mark removed keys). `versions`: the sum of the versions
    of the rows with a body. `refused`: the keys of rows that Cloudflare's firewall refuses. The table may still contain
    older rows with these keys.
    """

    rows: int
    versions: int
    refused: tuple[str, ...]


def synced_rows(account_id: str) -> Tx[Synced | None]:
    """Return the expected contents of the Worker's `config` table, or None while a sync is due.

    The queries must count exactly the rows that `worker/config_rows.py` produces.
    """
    [account] = yield sql(
        "select (select count(*) from accounts where id = $1 and config_version = synced_version) as synced", account_id
    )
    if not account["synced"]:
        return None
    count = versions = 0
    for text in (_HOST_ROWS, _SETTINGS_ROWS, _LINK_ROWS, _SITE_ROWS, _RETIRING_ROWS):
        [row] = yield sql(
            f"select count(*) as n, cast(coalesce(sum(version), 0) as bigint) as versions from ({text}) as kept",  # noqa: S608  # texts of this file
            account_id,
        )
        count, versions = count + int(row["n"]), versions + int(row["versions"])
    refused = yield sql(
        "select 'link:' || code as key from links where account_id = $1 and config_error is not null"
        " union all select 'path:' || host || path from sites where account_id = $1 and config_error is not null"
        " union all select 'path:' || s.host || r.path from retiring_paths r join sites s on s.id = r.site_id"
        " where s.account_id = $1 and s.config_error is not null"
        " union all select 'host' from link_hosts where account_id = $1 and config_error is not null",
        account_id,
    )
    return Synced(count, versions, tuple(sorted({row["key"] for row in refused})))


_HOST_ROWS = "select version from link_hosts where account_id = $1 and config_error is null"
_SETTINGS_ROWS = "select settings_version as version from accounts where id = $1 and settings_version > 0"
_LINK_ROWS = (
    "select version from links"
    " where account_id = $1 and state = 'active' and config_error is null and disabled_at is null"
)
_SITE_ROWS = (
    "select version from sites"
    " where account_id = $1 and state <> 'deleted' and config_error is null and disabled_at is null"
)
_RETIRING_ROWS = (
    "select s.version from retiring_paths r join sites s on s.id = r.site_id"
    " where s.account_id = $1 and r.ended_version is null and s.state <> 'deleted' and s.config_error is null"
    " and s.disabled_at is null"
)


def sync_again_after(account_id: str, version: int) -> Tx[None]:
    """Schedule another sync of all changes after `version`.

    Call this if the Worker's database was restored to `version`.

    Increments the configuration version, because isolates (running instances of the Worker) cache the configuration by
    version. Raises NotFound if the account does not exist.
    """
    yield from bump_version(account_id)
    yield sql(
        "update accounts set synced_version = $2, last_part = null where id = $1 and synced_version > $2",
        account_id,
        version,
    )


def begin_sync(account_id: str, version: int) -> Tx[None]:
    """Record that the configuration up to `version` is about to be written.

    If a Worker's database later has a higher version than the recorded one, the store has lost commits, or was restored
    from a backup.
    """
    yield sql("update accounts set asked_version = $2 where id = $1 and asked_version < $2", account_id, version)


def end_sync(
    account_id: str, after_version: int, version: int, refused: Mapping[str, ErrorNote], live_at: int
) -> Tx[None]:
    """Record that the Worker's database now has `version`, including all changes after `after_version`.

    `refused`: the errors for rows that Cloudflare's firewall refuses, by site id, link id or `LINK_HOST`. `live_at`:
    the time (epoch ms) from which every isolate (a running instance of the Worker) serves all changes not refused.
    """
    yield from lock_account(account_id)
    for table in _VERSIONED:
        yield sql(
            f"update {table} set live_at = $4 where account_id = $1 and version > $2 and version <= $3",  # noqa: S608  # a name of this file
            account_id,
            after_version,
            version,
            live_at,
        )
        yield sql(
            f"update {table} set config_error = null"  # noqa: S608  # as above
            " where account_id = $1 and config_error is not null and version > $2 and version <= $3",
            account_id,
            after_version,
            version,
        )
    for table in _SITES_AND_LINKS if refused else ():
        yield many(
            f"update {table} set config_error = $3 where account_id = $1 and id = $2",  # noqa: S608  # as above
            [(account_id, target, to_json(note)) for target, note in sorted(refused.items())],
        )
    if LINK_HOST in refused:
        yield sql(
            "update link_hosts set config_error = $2 where account_id = $1", account_id, to_json(refused[LINK_HOST])
        )
    yield sql("update accounts set synced_version = $2 where id = $1 and synced_version < $2", account_id, version)


def mark_restored(now: int) -> Tx[int]:
    """Mark all accounts as restored, because their Workers may have data that the backup lacks.

    The service then reads back each Worker's data and performs a health check. Accounts that are still marked from an
    earlier restore stay marked. Returns the number of accounts.
    """
    rows = yield sql("select id from accounts order by id")
    yield many(
        "update accounts set suspected_at = coalesce(suspected_at, $2),"  # noqa: S608  # a name of this file
        f" restored_as_of = {COMPLETE_UNTIL}, last_part = null where id = $1",
        [(row["id"], now) for row in rows],
    )
    return len(rows)


def end_recovery(account_id: str) -> Tx[None]:
    """Record that the Worker's data was read back after a restore, or that this data no longer exists."""
    yield sql("update accounts set restored_as_of = null where id = $1", account_id)


def raise_above_worker(account_id: str, worker_version: int) -> Tx[int]:
    """Give the whole configuration a version above `worker_version`, so that all rows are synced again.

    Use this after a restore, or after the store has lost commits. Also marks the account as restored, so that a push
    during the recovery does not hide missing totals. Returns the new version. Raises NotFound if the account does not
    exist.
    """
    yield from lock_account(account_id)
    rows = yield sql(
        "update accounts set config_version = 1 +"  # noqa: S608  # as above
        " case when config_version > $2 then config_version else cast($2 as bigint) end,"
        f" synced_version = 0, restored_as_of = {COMPLETE_UNTIL} where id = $1 returning config_version",
        account_id,
        worker_version,
    )
    if not rows:
        raise NotFound
    version = int(rows[0]["config_version"])
    for table in _VERSIONED:
        yield sql(f"update {table} set version = $2 where account_id = $1", account_id, version)  # noqa: S608  # as above
    yield sql("update accounts set settings_version = $2 where id = $1 and settings_version > 0", account_id, version)
    return version
