"""Transactions that read accounts and change their settings.

`account_health` has the transactions on health checks and warnings, `account_schedule` those on work that is due, and
`pushes` those on pushes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import CATALOGUE, Conflict, NotFound
from svc.model import Account, WorkerPush, WorkerSettings
from svc.store import states
from svc.store.advice import advice_from_json
from svc.store.link_hosts import LINK_HOST_COLUMNS, link_host_of
from svc.store.locks import lock_account
from svc.store.tx import UNCHANGED, Row, Tx, from_json, from_json_as, note_from_json, sql
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.errors import Code
    from svc.model import AccountState, EdgePlan, MonthsKept

# The error code of a request that the account's state does not allow, by state.
_ERRORS: Mapping[AccountState, Code] = {
    "bootstrap_lost": "bootstrap_lost",
    "permission_error": "permission_error",
    "revoked": "revoked",
    "resource_drift": "resource_drift",
    "no_connection": "worker_silent",
}
# The remedies for states in which requests are rejected although the account has no error.
_REMEDIES: Mapping[AccountState, str] = {
    "pending": "Wait until the account is connected. If it stays `pending`, repeat the request POST /v1/accounts.",
    "connected": "Install the Worker: POST /v1/accounts/{id}/install.",
    "installing": "Wait until the account's state is `ready`.",
}


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
    """Change the fields that are not None, and return the account. Raises NotFound if it does not exist.

    A change of `plan`, `days_kept` or `months_kept` increments the configuration version, so the next sync writes the
    new values to the Worker's database. A change of the plan also deletes the advice, and makes new advice due
    immediately.
    """
    account = present((yield from locked(account_id)))
    before = account.settings
    after = replace(
        before,
        days=before.days if days_kept is None else days_kept,
        months=before.months if months_kept is None else months_kept,
        plan=before.plan if plan is None else plan,
    )
    if name in (None, account.name) and after == before:
        yield UNCHANGED
    if name is not None:
        yield sql("update accounts set name = $2 where id = $1", account_id, name)
    if after.plan != before.plan:
        yield sql("update accounts set advice = null, advice_due_at = $2 where id = $1", account_id, now)
    if after != before:
        version = yield from bump_version(account_id)
        yield sql(
            "update accounts set days_kept = $2, months_kept = $3, plan = $4, settings_version = $5 where id = $1",
            account_id,
            after.days,
            None if after.months == "forever" else after.months,
            after.plan,
            version,
        )
    return present((yield from account_by_id(account_id)))


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


# Selects accounts with their link hosts. The link host's columns have a prefix, and are null if an account has no link
# host.
_ACCOUNTS = (
    f"select a.*, {', '.join(f'h.{name} as host_{name}' for name in LINK_HOST_COLUMNS)}"  # noqa: S608  # constant names
    " from accounts a left join link_hosts h on h.account_id = a.id"
)


def _first(rows: list[Row]) -> Account | None:
    return _account(rows[0]) if rows else None


def _account(row: Row) -> Account:
    has_host = row["host_host"] is not None
    return Account(
        id=row["id"],
        user_id=row["user_id"],
        edge_account_id=row["edge_account_id"],
        name=row["name"],
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
        settings=WorkerSettings(
            row["days_kept"], row["months_kept"] or "forever", row["settings_version"], row["plan"]
        ),
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
