"""Transactions that find the work that is due for accounts: syncs, operations, health checks, emails and expiries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import DAY_MS
from svc.store.tx import Row, Tx, from_json, sql

if TYPE_CHECKING:
    from svc.config import TimingConfig
    from svc.model import AccountState

# An account shows a warning if its working token expires within this time.
EXPIRY_WARNING_MS = 14 * DAY_MS


def unsynced() -> Tx[dict[str, int]]:
    """Return the configuration versions of the accounts that need a sync, by Cloudflare account id.

    An account needs a sync if its Worker has not received all changes yet, or if the store was restored and the Worker
    may have newer data. Accounts in states other than SERVING are not synced, and are not included.
    """
    rows = yield sql(
        "select edge_account_id, config_version from accounts where state in ('ready', 'no_connection')"
        " and (synced_version < config_version or restored_as_of is not null) and database_id is not null"
    )
    return {row["edge_account_id"]: row["config_version"] for row in rows}


@dataclass(frozen=True, slots=True)
class Due:
    """The time when work for an account is due, and the data from which its health checks are scheduled.

    `at`: when work is due (epoch ms); 0 means now, None means never. The other fields are for
    `actors/checks/schedule.py`.
    """

    edge_account_id: str
    at: int | None
    advice_at: int | None
    state: AccountState
    heard_at: int | None
    suspected_at: int | None
    well_at: int | None


def due_times(timing: TimingConfig) -> Tx[list[Due]]:
    """Return the time when work is due for each account.

    The service builds its schedule from these times when it starts.

    Some work is due now: operations, syncs, requested health checks, reading back a Worker's data after a restore, and
    creating or removing routes. Other work is due later: emails, requests to link hosts, the timeout for Workers that
    stop pushing, and the expiry of bootstrap tokens, working tokens and old site paths.
    """
    rows = yield sql(
        "select a.edge_account_id, a.state, a.heard_at, a.suspected_at, a.well_at, a.advice_due_at,"
        " a.bootstrap_expires_at, a.token_expires_at, a.warnings, a.notice_due_at,"
        " case when a.state = 'pending' or a.synced_version < a.config_version or a.suspected_at is not null"
        " or a.restored_as_of is not null"
        " or exists (select 1 from operations o where o.account_id = a.id and o.state = 'running')"
        " or a.state in ('ready', 'no_connection') and ("
        " exists (select 1 from unwanted_routes u where u.account_id = a.id)"
        " or exists (select 1 from link_hosts h where h.account_id = a.id and h.state <> 'active')"
        " or exists (select 1 from sites s where s.account_id = a.id"
        " and s.state in ('route_pending', 'route_conflict'))"
        " or exists (select 1 from retiring_paths r join sites s on s.id = r.site_id"
        " where s.account_id = a.id and r.ended_version is null and r.route_id is null))"
        " then 1 else 0 end as urgent,"
        " (select min(r.until) from retiring_paths r join sites s on s.id = r.site_id"
        " where s.account_id = a.id and r.ended_version is null) as path_ends_at,"
        " (select h.visit_at from link_hosts h where h.account_id = a.id and h.state = 'active'"
        " and a.state in ('ready', 'no_connection')) as visit_at from accounts a"
    )
    return [
        Due(
            row["edge_account_id"],
            0 if row["urgent"] else _due_at(row, timing),
            row["advice_due_at"],
            row["state"],
            row["heard_at"],
            row["suspected_at"],
            row["well_at"],
        )
        for row in rows
    ]


def newly_silent(after: int, until: int) -> Tx[list[str]]:
    """Return the Cloudflare account ids of ready accounts whose last push arrived in (after, until] (epoch ms)."""
    rows = yield sql(
        "select edge_account_id from accounts where state = 'ready' and heard_at > $1 and heard_at <= $2", after, until
    )
    return [row["edge_account_id"] for row in rows]


def _due_at(row: Row, timing: TimingConfig) -> int | None:
    times = [row["bootstrap_expires_at"], row["notice_due_at"], row["path_ends_at"], row["visit_at"]]
    if row["state"] == "ready" and row["heard_at"] is not None:
        times.append(row["heard_at"] + int(timing.silent_after_s * 1000))
    if row["token_expires_at"] is not None and row["state"] != "revoked":
        warned = "token_expires_soon" in from_json(row["warnings"])
        times.append(row["token_expires_at"] - (0 if warned else EXPIRY_WARNING_MS))
    return min((time for time in times if time is not None), default=None)
