"""Transactions on accounts and their workers' keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from svc.errors import Conflict, Forbidden, NotFound, ServiceError
from svc.model import Account, AccountState, WorkerPush
from svc.store import operations
from svc.store.link_hosts import link_host_of
from svc.store.tx import Row, Tx, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import JsonObject, Operation


# ---------------------------------------------------------------------------------------------------------- reading


def account_by_id(account_id: str) -> Tx[Account | None]:
    """The account, whoever owns it."""
    rows = yield sql("select * from accounts where id = $1", account_id)
    return (yield from _with_link_host(rows))


def account_by_edge_id(edge_account_id: str) -> Tx[Account | None]:
    """The account that connects this edge account."""
    rows = yield sql("select * from accounts where edge_account_id = $1", edge_account_id)
    return (yield from _with_link_host(rows))


def locked(account_id: str) -> Tx[Account | None]:
    """The account, for a transaction that changes it by what it reads: on PostgreSQL no other comes between."""
    rows = yield sql("update accounts set name = name where id = $1 returning *", account_id)
    return (yield from _with_link_host(rows))


def get_account(user_id: int, account_id: str) -> Tx[Account | None]:
    """A user's own account; another's is None, like one that does not exist."""
    rows = yield sql("select * from accounts where id = $1 and user_id = $2", account_id, user_id)
    return (yield from _with_link_host(rows))


def list_accounts(user_id: int, edge_accounts: Sequence[str] | None = None) -> Tx[list[Account]]:
    """A user's accounts, oldest first; only those in `edge_accounts` when it is given."""
    rows = yield sql("select * from accounts where user_id = $1 order by created_at, id", user_id)
    hosts = yield sql(
        "select h.* from link_hosts h join accounts a on a.id = h.account_id"
        " where a.user_id = $1 and h.state <> 'deleted'",
        user_id,
    )
    by_account = {row["account_id"]: row for row in hosts}
    return [
        _account(row, by_account.get(row["id"]))
        for row in rows
        if edge_accounts is None or row["edge_account_id"] in edge_accounts
    ]


def all_edge_accounts() -> Tx[list[tuple[str, bool]]]:
    """Every edge account id, and whether something of it waits: an operation, a sync, a connect."""
    rows = yield sql(
        "select a.edge_account_id, case when a.synced_version < a.config_version or a.state = 'pending'"
        " or exists (select 1 from operations o where o.account_id = a.id and o.state = 'running')"
        " then 1 else 0 end as urgent from accounts a"
    )
    return [(row["edge_account_id"], bool(row["urgent"])) for row in rows]


def account_of_worker_key(key_digest: str, now: int) -> Tx[Account | None]:
    """The account whose worker holds this key: the current one, or the one before it for a day (rule W7)."""
    rows = yield sql(
        "select account_id from worker_keys where digest = $1 and (valid_until is null or valid_until > $2)",
        key_digest,
        now,
    )
    return (yield from account_by_id(rows[0]["account_id"])) if rows else None


def check_room(user_id: int, per_user: int, total: int, existing: Account | None) -> Tx[None]:
    """Raise Forbidden limit_reached or ServiceError service_full when one more account does not fit."""
    if existing is not None:
        return
    rows = yield sql(
        "select count(*) as n, cast(coalesce(sum(case when user_id = $1 then 1 else 0 end), 0) as bigint) as own"
        " from accounts",
        user_id,
    )
    if rows[0]["own"] >= per_user:
        raise Forbidden("limit_reached", f"The limit of {per_user} accounts is reached.")
    if rows[0]["n"] >= total:
        raise ServiceError("service_full")


# ---------------------------------------------------------------------------------------------------------- connect


def begin_connect(
    *, account_id: str, operation_id: str, user_id: int, edge_account_id: str, name: str, now: int
) -> Tx[tuple[Account, Operation]]:
    """The record and the operation of a connect; one that is pending or was lost goes on under its own id.

    Raises Conflict account_taken, already_connected: somebody was quicker.
    """
    existing = yield from account_by_edge_id(edge_account_id)
    if existing is not None and existing.user_id != user_id:
        raise Conflict("account_taken")
    if existing is not None and existing.sealed_token is not None:
        raise Conflict("already_connected")
    if existing is None:
        yield sql(
            "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version,"
            " created_at) values ($1, $2, $3, $4, 'pending', 0, 0, $5)",
            account_id,
            user_id,
            edge_account_id,
            name,
            now,
        )
    else:
        account_id = existing.id
        yield sql(
            "update accounts set state = 'pending', name = $2, error = null, created_at = $3 where id = $1",
            account_id,
            name,
            now if existing.state == "bootstrap_lost" else existing.created_at,
        )
    operation = yield from operations.running(account_id)
    if operation is None:
        operation = yield from operations.add(operation_id, account_id, edge_account_id, "connect", "token", now)
    else:
        yield from operations.set_step(operation.id, "token", {}, now)
    account = yield from account_by_id(account_id)
    return present(account), operation


def leave_pending(edge_account_id: str, step: str, now: int) -> Tx[None]:
    """A connect met a passing failure: it waits for the user's next try."""
    yield sql(
        "update operations set step = $2, attempts = attempts + 1, updated_at = $3"
        " where edge_account_id = $1 and state = 'running' and kind = 'connect'",
        edge_account_id,
        step,
        now,
    )


def drop_connect(account_id: str) -> Tx[None]:
    """A connect was refused for good before it had a token: nothing of it stays."""
    yield sql("delete from operations where account_id = $1", account_id)
    yield sql("delete from accounts where id = $1 and sealed_token is null", account_id)


def finish_connect(
    *,
    account_id: str,
    operation_id: str,
    install_operation_id: str,
    token_id: str,
    token_name: str,
    token_expires_at: int | None,
    sealed_token: bytes,
    now: int,
) -> Tx[Account]:
    """Store the working token and begin the install. The account is still `pending`: the answer to the connect."""
    yield sql(
        "update accounts set token_id = $2, token_name = $3, token_expires_at = $4, sealed_token = $5, error = null"
        " where id = $1",
        account_id,
        token_id,
        token_name,
        token_expires_at,
        sealed_token,
    )
    yield from operations.finish(operation_id, now)
    account = yield from account_by_id(account_id)
    edge_account_id = present(account).edge_account_id
    yield from operations.add(install_operation_id, account_id, edge_account_id, "install", "database", now)
    return present(account)


def lose_bootstrap(account_id: str, operation_id: str, error: JsonObject, now: int) -> Tx[None]:
    """The connect was cut short: the error names the token to revoke (rule A8)."""
    yield sql(
        "update accounts set state = 'bootstrap_lost', error = $2 where id = $1 and sealed_token is null",
        account_id,
        json.dumps(error),
    )
    yield from operations.fail(operation_id, error, now)


# ---------------------------------------------------------------------------------------------------------- changes


def move(account_id: str, from_states: Sequence[AccountState], to: AccountState, error: JsonObject | None) -> Tx[bool]:
    """Change the state if it still is one of `from_states`; warnings stay. Returns whether it did."""
    account = yield from locked(account_id)
    if account is None or account.state not in from_states:
        return False
    yield sql(
        "update accounts set state = $2, error = $3 where id = $1",
        account_id,
        to,
        _dump(with_warnings(error, _warnings(account.error))),
    )
    return True


def note_crash(edge_account_id: str, note: JsonObject) -> Tx[None]:
    """Show on the account that the service fails on it; another error, which is still true, stays."""
    yield sql(
        "update accounts set error = $2 where edge_account_id = $1 and error is null", edge_account_id, json.dumps(note)
    )


def forget_crash(edge_account_id: str) -> Tx[None]:
    """The service works on the account again."""
    yield sql("update accounts set error = null where edge_account_id = $1 and error like $2", edge_account_id, _CRASH)


def crashed_edge_accounts() -> Tx[list[str]]:
    """The accounts that show that the service fails on them."""
    rows = yield sql("select edge_account_id from accounts where error like $1", _CRASH)
    return [row["edge_account_id"] for row in rows]


# The beginning of the JSON of a note of `internal`.
_CRASH = '{"code": "internal", %'


def warn(account_id: str, warning: str) -> Tx[None]:
    """Add a warning to the account's error object."""
    account = yield from locked(account_id)
    if account is not None:
        noted = with_warnings(account.error, {*_warnings(account.error), warning})
        yield sql("update accounts set error = $2 where id = $1", account_id, _dump(noted))


def set_database(account_id: str, database_id: str) -> Tx[None]:
    """A new database: the worker's configuration is to be written from the start."""
    yield sql("update accounts set database_id = $2, synced_version = 0 where id = $1", account_id, database_id)


def forget_database(account_id: str) -> Tx[None]:
    """The database is gone at the platform."""
    yield sql("update accounts set database_id = null, synced_version = 0 where id = $1", account_id)


def add_worker_key(account_id: str, key_digest: str) -> Tx[None]:
    """Accept pushes with this key from now on."""
    yield sql("insert into worker_keys (digest, account_id, valid_until) values ($1, $2, null)", key_digest, account_id)


def retire_worker_keys(account_id: str, but_digest: str, valid_until: int) -> Tx[None]:
    """The worker runs with the key `but_digest`; the ones before it are accepted until `valid_until` (rule W7)."""
    yield sql(
        "update worker_keys set valid_until = $3 where account_id = $1 and digest <> $2 and valid_until is null",
        account_id,
        but_digest,
        valid_until,
    )


def set_synced(account_id: str, version: int) -> Tx[None]:
    """The worker's database has this version."""
    yield sql("update accounts set synced_version = $2 where id = $1 and synced_version < $2", account_id, version)


def record_push(account_id: str, push: WorkerPush) -> Tx[None]:
    """What the worker said of itself; it ends a silence, and its self-check when it is the upload that we wait for."""
    account = yield from locked(account_id)
    if account is None:
        return
    operation = yield from operations.running(account_id)
    confirmed = push.install == account.install_id
    if operation is not None and operation.step == operations.SELFCHECK and operation.id == push.install:
        yield from operations.finish(operation.id, push.at)
    warnings = _warnings(account.error) - ({"not_confirmed"} if confirmed else set())
    state = "ready" if account.state == "no_connection" else account.state
    yield sql(
        "update accounts set push = $2, state = $3, error = $4 where id = $1",
        account_id,
        json.dumps(vars(push)),
        state,
        _dump(with_warnings(account.error, warnings)),
    )


# ------------------------------------------------------------------------------------------------------------- rows


def with_warnings(error: JsonObject | None, warnings: set[str]) -> JsonObject | None:
    """`error` with these warnings in the place of its own; None when nothing is left to say."""
    noted: JsonObject = {name: value for name, value in (error or {}).items() if name != "warnings"}
    if warnings:
        noted["warnings"] = sorted(warnings)
    return noted or None


def _warnings(error: JsonObject | None) -> set[str]:
    return set(cast("list[str]", (error or {}).get("warnings", [])))


def _with_link_host(rows: list[Row]) -> Tx[Account | None]:
    if not rows:
        return None
    hosts = yield sql("select * from link_hosts where account_id = $1 and state <> 'deleted'", rows[0]["id"])
    return _account(rows[0], hosts[0] if hosts else None)


def present(account: Account | None) -> Account:
    """The account, or NotFound raised."""
    if account is None:
        raise NotFound
    return account


def _account(row: Row, host: Row | None) -> Account:
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
        error=_load(row["error"]),
        database_id=row["database_id"],
        script_etag=row["script_etag"],
        edge_bundle=row["edge_bundle"],
        edge_schema=row["edge_schema"],
        installed_at=row["installed_at"],
        install_id=row["install_id"],
        config_version=row["config_version"],
        synced_version=row["synced_version"],
        push=WorkerPush(**json.loads(row["push"])) if row["push"] else None,
        advice=_load(row["advice"]),
        link_host=link_host_of(host) if host else None,
        created_at=row["created_at"],
    )


def _load(text: Any) -> JsonObject | None:
    return json.loads(text) if text else None


def _dump(value: JsonObject | None) -> str | None:
    return None if value is None else json.dumps(value)
