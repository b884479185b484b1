"""Transactions on accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.clock import DAY_MS
from svc.errors import CATALOGUE, Conflict, NotFound
from svc.model import Account, AccountWarning, Retention, WorkerPush
from svc.store import operations, states
from svc.store.advice import advice_from_json
from svc.store.link_hosts import LINK_HOST_COLUMNS, link_host_of
from svc.store.locks import lock_account
from svc.store.tx import (
    UNCHANGED,
    Changed,
    Row,
    Tx,
    from_json,
    from_json_as,
    many,
    note_from_json,
    sql,
    to_json,
)
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.config import TimingConfig
    from svc.errors import Code, ErrorNote
    from svc.model import AccountState, EdgePlan, MonthsKept


# How long before the expiry of a working token the account shows a warning.
EXPIRY_WARNING_MS = 14 * DAY_MS
# The error code of a request that the account's state does not allow, by state.
_ERRORS: Mapping[AccountState, Code] = {
    "bootstrap_lost": "bootstrap_lost",
    "permission_error": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "no_connection": "worker_silent",
}
# For each state that refuses requests but is not an error: the remedy.
_REMEDIES: Mapping[AccountState, str] = {
    "pending": "Wait until the account is connected. If it stays `pending`, repeat the request POST /v1/accounts.",
    "connected": "Install the Worker: POST /v1/accounts/{id}/install.",
    "installing": "Wait until the account's state is `ready`.",
}

# ---------------------------------------------------------------------------------------------------------- reading


def account_by_id(account_id: str) -> Tx[Account | None]:
    """Return the account with this id, regardless of its user; None if it does not exist."""
    return _first((yield sql(f"{_ACCOUNTS} where a.id = $1", account_id)))


def account_by_edge_id(edge_account_id: str) -> Tx[Account | None]:
    """Return the connected account for this Cloudflare account id; None if there is none."""
    return _first((yield sql(f"{_ACCOUNTS} where a.edge_account_id = $1", edge_account_id)))


def locked(account_id: str) -> Tx[Account | None]:
    """Lock the account and return it.

    Use this in a transaction that reads the account and then changes it; see `locks`.
    """
    yield from lock_account(account_id)
    return (yield from account_by_id(account_id))


def get_account(user_id: int, account_id: str) -> Tx[Account | None]:
    """Return an account of this user; None if it does not exist or belongs to another user."""
    return _first((yield sql(f"{_ACCOUNTS} where a.id = $1 and a.user_id = $2", account_id, user_id)))


def list_accounts(user_id: int, edge_accounts: Sequence[str] | None = None) -> Tx[list[Account]]:
    """Return a user's accounts, oldest first. `edge_accounts`: include only these Cloudflare account ids; None: all."""
    rows = yield sql(f"{_ACCOUNTS} where a.user_id = $1 order by a.created_at, a.id", user_id)
    return [_account(row) for row in rows if edge_accounts is None or row["edge_account_id"] in edge_accounts]


def unsynced() -> Tx[dict[str, int]]:
    """Return the configuration versions of the accounts that need a sync, by Cloudflare account id.

    These are accounts whose Worker has not received all changes yet, or may have newer data than a restored store.
    """
    rows = yield sql(
        "select edge_account_id, config_version from accounts"
        " where (synced_version < config_version or restored_as_of is not null) and database_id is not null"
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

    Some work is due now: operations, syncs, reading back a Worker's data after a restore, and creating or removing
    routes. Other work is due later: emails, requests to link hosts, the timeout for Workers that stop pushing, and the
    expiry of bootstrap tokens, working tokens and old site paths.
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


# ---------------------------------------------------------------------------------------------------------- changes


def add_account(*, account_id: str, user_id: int, edge_account_id: str, name: str, now: int) -> Tx[None]:
    """Add an account that is about to be connected."""
    yield from states.begin(account_id, user_id, edge_account_id, name, now)


def change_account(
    account_id: str,
    now: int,
    *,
    name: str | None = None,
    plan: EdgePlan | None = None,
    days_kept: int | None = None,
    months_kept: MonthsKept | None = None,
) -> Tx[Account]:
    """Change the fields that are not None, and return the account. Raises NotFound.

    A change of the plan deletes the advice and makes new advice due immediately. A change of `days_kept` or
    `months_kept` increments the configuration version, so the next sync writes the new values to the Worker's database.
    """
    account = present((yield from locked(account_id)))
    before = account.retention
    days = before.days if days_kept is None else days_kept
    months = before.months if months_kept is None else months_kept
    keeps_retention = (days, months) == (before.days, before.months)
    if name in (None, account.name) and plan in (None, account.plan) and keeps_retention:
        yield UNCHANGED
    if name is not None:
        yield sql("update accounts set name = $2 where id = $1", account_id, name)
    if plan is not None and plan != account.plan:
        yield sql(
            "update accounts set plan = $2, advice = null, advice_due_at = $3 where id = $1", account_id, plan, now
        )
        yield Changed(account.edge_account_id)
    if not keeps_retention:
        version = yield from bump_version(account_id)
        yield sql(
            "update accounts set days_kept = $2, months_kept = $3, days_kept_version = $4 where id = $1",
            account_id,
            days,
            None if months == "forever" else months,
            version,
        )
    return present((yield from account_by_id(account_id)))


def suspect(account_id: str, now: int) -> Tx[None]:
    """Make a health check of the account due, for example because Cloudflare refused a call."""
    rows = yield sql(
        "update accounts set suspected_at = $2 where id = $1 and suspected_at is null returning edge_account_id",
        account_id,
        now,
    )
    for row in rows:
        yield Changed(row["edge_account_id"])


def record_health_check(account_id: str, suspected_at: int | None, well_at: int | None) -> Tx[None]:
    """Record that a health check has ended. If the check became due at `suspected_at`, it is no longer due.

    `well_at`: the time of the check if it found no problems, otherwise None.
    """
    if suspected_at is not None:
        yield sql(
            "update accounts set suspected_at = null where id = $1 and suspected_at = $2", account_id, suspected_at
        )
    yield sql("update accounts set well_at = $2 where id = $1", account_id, well_at)


def token_refused(account_id: str, now: int) -> Tx[tuple[int, int]]:
    """Record that Cloudflare refused the working token in a health check.

    Returns the time of the first consecutive refusal (epoch ms) and the number of consecutive refusals.
    """
    rows = yield sql(
        "update accounts set token_refused_at = coalesce(token_refused_at, $2), token_refusals = token_refusals + 1"
        " where id = $1 returning token_refused_at, token_refusals",
        account_id,
        now,
    )
    return (rows[0]["token_refused_at"], rows[0]["token_refusals"]) if rows else (now, 0)


def token_accepted(account_id: str) -> Tx[None]:
    """Record that Cloudflare accepted the working token in a health check."""
    yield sql("update accounts set token_refused_at = null, token_refusals = 0 where id = $1", account_id)


def record_crash(edge_account_id: str, note: ErrorNote) -> Tx[None]:
    """Store the error `note` on the account after repeated crashes, unless the account already shows an error."""
    yield sql(
        "update accounts set error = $2 where edge_account_id = $1 and error is null", edge_account_id, to_json(note)
    )


def clear_crash(edge_account_id: str) -> Tx[None]:
    """Remove the error that `record_crash` stored. Call this when work on the account succeeds again."""
    rows = yield sql("select error from accounts where edge_account_id = $1 and error is not null", edge_account_id)
    for row in rows:
        if _is_crash_note(row["error"]):
            # Remove only the error that was read. An error that was stored since then still applies.
            yield sql(
                "update accounts set error = null where edge_account_id = $1 and error = $2",
                edge_account_id,
                row["error"],
            )


def crashed_edge_accounts() -> Tx[list[str]]:
    """Return the Cloudflare account ids of the accounts that have an error stored by `record_crash`."""
    rows = yield sql("select edge_account_id, error from accounts where error is not null")
    return [row["edge_account_id"] for row in rows if _is_crash_note(row["error"])]


def _is_crash_note(note: str) -> bool:
    """Return True if `record_crash` stored this error.

    This compares the code in the JSON text, because `note_from_json` also maps unknown codes to `internal`.
    """
    return bool(from_json(note)["code"] == "internal")


def warn(account_id: str, warning: AccountWarning) -> Tx[None]:
    """Add a warning to the account."""
    account = yield from locked(account_id)
    if account is not None:
        yield from _set_warnings(account, {*account.warnings, warning})


def remove_warning(account_id: str, warning: AccountWarning) -> Tx[Account | None]:
    """Remove a warning from the account. Returns the account as it was before the removal."""
    account = yield from locked(account_id)
    if account is not None and warning in account.warnings:
        yield from _set_warnings(account, {*account.warnings} - {warning})
    return account


def _set_warnings(account: Account, warnings: set[AccountWarning]) -> Tx[None]:
    yield sql("update accounts set warnings = $2 where id = $1", account.id, to_json(sorted(warnings)))


def record_database_creation(account_id: str, now: int) -> Tx[None]:
    """Record that no database has the service's name, and that the service is about to create one.

    The service can then recognize a database with this name as its own.
    """
    yield sql("update accounts set database_sought_at = $2 where id = $1", account_id, now)


def set_database(account_id: str, database_id: str) -> Tx[None]:
    """Record a new database. The next sync writes the whole configuration to it."""
    yield sql(
        "update accounts set database_id = $2, database_sought_at = null, synced_version = 0 where id = $1",
        account_id,
        database_id,
    )


def forget_database(account_id: str) -> Tx[None]:
    """Record that the database no longer exists at Cloudflare."""
    yield sql("update accounts set database_id = null, synced_version = 0 where id = $1", account_id)


def record_pushes(
    pushes: Sequence[tuple[str, WorkerPush]], parts: Mapping[str, tuple[int, int | None]] | None = None
) -> Tx[set[str]]:
    """Record the status that Workers reported in pushes. Return the ids of the accounts that exist.

    `pushes`: (account id, status) pairs. If an account has several, the last one is used.

    A push ends the account's `no_connection` state, and the self-check of the upload that installed the Worker. If the
    status contains a cron error, a health check becomes due.

    `parts`: for each account that sent parts (the totals of one day), the numbers of the first and the last part that
    the transaction accepts or rejects. If the store does not have the parts before the first one, it has lost commits.
    The service then reads these totals from the Worker's database, as after a restore.
    """
    latest = dict(pushes)
    numbers = parts or {}
    yield many(
        "update accounts set push = $2, heard_at = $3,"
        " suspected_at = case when $4 > last_part + 1 then coalesce(suspected_at, $3) else suspected_at end,"
        " restored_as_of = case when $4 > last_part + 1 then coalesce(restored_as_of,"
        " (select as_of from pushed where account_id = accounts.id), 0) else restored_as_of end,"
        " last_part = case when $5 <= last_part then last_part else coalesce($5, last_part) end where id = $1",
        [
            (account_id, to_json(push), push.at, *numbers.get(account_id, (None, None)))
            for account_id, push in sorted(latest.items())
        ],
    )
    rows = yield sql(
        "select id, edge_account_id, state, install_id, warnings, restored_as_of from accounts where id = any($1)"
        " order by id",
        tuple(sorted(latest)),
    )
    installs = set()
    for row in rows:
        warnings = from_json(row["warnings"])
        reported = {push.install for account_id, push in pushes if account_id == row["id"]}
        installs |= {(install, row["id"]) for install in reported}
        if row["restored_as_of"] is not None:
            yield Changed(row["edge_account_id"])
        if row["state"] == "no_connection":
            yield from states.move(row["id"], ("no_connection",), "ready", None, latest[row["id"]].at)
        if "crons_stopped" in warnings:
            yield from remove_warning(row["id"], "crons_stopped")
        if latest[row["id"]].error_kind == "cron":  # a health check could not find the cause of a failed push
            yield from suspect(row["id"], latest[row["id"]].at)
        if row["install_id"] in reported and "not_confirmed" in warnings:
            yield from remove_warning(row["id"], "not_confirmed")
    if installs:
        yield from operations.confirm(sorted(installs), max(push.at for push in latest.values()))
    return {row["id"] for row in rows}


def record_silence(account_id: str, heard_at: int | None, error: ErrorNote, now: int) -> Tx[None]:
    """Set the state `no_connection`, unless the Worker has pushed since `heard_at` (epoch ms)."""
    account = yield from locked(account_id)
    if account is not None and account.heard_at == heard_at:
        yield from states.move(account_id, ("ready",), "no_connection", error, now)


# ------------------------------------------------------------------------------------------------------------- rows


# Selects accounts with their link hosts. The link host's columns have a prefix, and are null if an account has no link
# host.
_ACCOUNTS = (
    f"select a.*, {', '.join(f'h.{name} as host_{name}' for name in LINK_HOST_COLUMNS)}"  # noqa: S608  # constant names
    " from accounts a left join link_hosts h on h.account_id = a.id"
)


def _first(rows: list[Row]) -> Account | None:
    return _account(rows[0]) if rows else None


def present(account: Account | None) -> Account:
    """Return `account`. Raises NotFound if it is None."""
    if account is None:
        raise NotFound
    return account


def not_ready(account: Account, message: str) -> Conflict:
    """Return the error for a request that the account's state does not allow, with the remedy for this account.

    `details.reason` is the code of the account's error. The details of the account's error are included, because the
    remedy refers to them.
    """
    error = account.error
    code = _ERRORS.get(account.state) if error is None else error.code
    remedy = _REMEDIES.get(account.state) if code is None else CATALOGUE[code].remedy
    details: dict[str, object] = {} if error is None else {"reason": error.code, **(error.details or {})}
    return Conflict("account_not_ready", message, {**details, **({"remedy": remedy} if remedy else {})})


def _account(row: Row) -> Account:
    has_host = row["host_host"] is not None
    return Account(
        id=row["id"],
        user_id=row["user_id"],
        edge_account_id=row["edge_account_id"],
        name=row["name"],
        plan=row["plan"],
        state=row["state"],
        token_id=row["token_id"],
        token_name=row["token_name"],
        token_expires_at=row["token_expires_at"],
        sealed_token=row["sealed_token"],
        token_made_at=row["token_made_at"],
        token_refused_at=row["token_refused_at"],
        token_refusals=row["token_refusals"],
        suspected_at=row["suspected_at"],
        well_at=row["well_at"],
        error=note_from_json(row["error"]),
        warnings=tuple(from_json(row["warnings"])),
        revoke_tokens=tuple(from_json(row["revoke_tokens"])),
        bootstrap_expires_at=row["bootstrap_expires_at"],
        location=row["location"],
        database_id=row["database_id"],
        database_sought_at=row["database_sought_at"],
        script_etag=row["script_etag"],
        edge_bundle=row["edge_bundle"],
        edge_schema=row["edge_schema"],
        edge_link_format=row["edge_link_format"],
        installed_at=row["installed_at"],
        install_id=row["install_id"],
        heard_at=row["heard_at"],
        retention=Retention(row["days_kept"], row["months_kept"] or "forever", row["days_kept_version"]),
        config_version=row["config_version"],
        synced_version=row["synced_version"],
        asked_version=row["asked_version"],
        restored_as_of=row["restored_as_of"],
        push=from_json_as(WorkerPush, row["push"]),
        advice=advice_from_json(row["advice"]),
        advice_due_at=row["advice_due_at"],
        notified=from_json(row["told"]),
        notice_due_at=row["notice_due_at"],
        link_host=link_host_of({name: row[f"host_{name}"] for name in LINK_HOST_COLUMNS}) if has_host else None,
        created_at=row["created_at"],
    )
