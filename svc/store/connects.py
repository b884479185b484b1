"""Transactions for connect operations. Each transaction changes an account together with its operation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, ServiceError, Unauthorized
from svc.store import accounts, operations, states, users, working_tokens
from svc.store.locks import lock_account, lock_user
from svc.store.tx import Tx, sql
from svc.store.user_limits import limit_of

if TYPE_CHECKING:
    from svc.config import LimitsConfig
    from svc.errors import ErrorNote
    from svc.model import Account, Location, Operation
    from svc.store.working_tokens import WorkingToken


def may_connect(user_id: int, edge_account_id: str, limits: LimitsConfig) -> Tx[Account | None]:
    """Check that the user may connect this Cloudflare account. Return the existing account; None if there is none.

    Raises Conflict account_taken if another user has connected it, or already_connected if this user has. Raises
    Forbidden limit_reached or ServiceError service_full if a new account would exceed a limit.
    """
    existing = yield from accounts.account_by_edge_id(edge_account_id)
    if existing is not None:
        if existing.user_id != user_id:
            raise Conflict("account_taken")
        if existing.sealed_token is not None:
            raise Conflict("already_connected")
        return existing
    rows = yield sql(
        "select count(*) as n, cast(coalesce(sum(case when user_id = $1 then 1 else 0 end), 0) as bigint) as own"
        " from accounts",
        user_id,
    )
    limit = yield from limit_of(user_id, "accounts", limits.accounts)
    if rows[0]["own"] >= limit:
        raise Forbidden("limit_reached", f"The limit of {limit} accounts has been reached.")
    if rows[0]["n"] >= limits.accounts_total:
        raise ServiceError("service_full")
    return None


def begin_connect(
    *,
    account_id: str,
    operation_id: str,
    user_id: int,
    edge_account_id: str,
    name: str,
    location: Location | None = None,
    limits: LimitsConfig,
    now: int,
) -> Tx[tuple[Account, Operation]]:
    """Begin a connect operation, or continue a pending or interrupted connect operation.

    Return the account and the operation.

    Raises the same errors as `may_connect`, and Unauthorized if the user is being deleted.
    """
    yield from lock_user(user_id)
    if (yield from users.get_user(user_id)) is None:
        raise Unauthorized
    existing = yield from may_connect(user_id, edge_account_id, limits)
    if existing is None:
        yield from accounts.add_account(
            account_id=account_id, user_id=user_id, edge_account_id=edge_account_id, name=name, now=now
        )
    else:
        account_id = existing.id
        yield from states.move(account_id, None, "pending", None, now)
        yield sql(
            "update accounts set name = $2, created_at = $3 where id = $1",
            account_id,
            name,
            now if existing.state == "bootstrap_lost" else existing.created_at,
        )
    yield sql("update accounts set location = $2 where id = $1", account_id, location)
    operation = yield from operations.running(account_id)
    if operation is None:
        operation = yield from operations.add(operation_id, account_id, edge_account_id, "connect", "token", now)
    elif operation.token_asked_at is not None:
        operation = yield from operations.replace_running(operation, operation_id, now)
    else:
        yield from operations.set_step(operation.id, "token", now)
    account = yield from accounts.account_by_id(account_id)
    return accounts.present(account), operation


def pause_connect(edge_account_id: str, step: str, now: int, error: ErrorNote | None = None) -> Tx[None]:
    """Keep a connect operation after a failure, so that the user's next request can continue it.

    Store `error` on the account.
    """
    account = yield from accounts.account_by_edge_id(edge_account_id)
    if account is not None and error is not None:
        yield from states.move(account.id, ("pending",), "pending", error, now)
    yield sql(
        "update operations set step = $2, attempts = attempts + 1, updated_at = $3"
        " where edge_account_id = $1 and state = 'running' and kind = 'connect'",
        edge_account_id,
        step,
        now,
    )


def drop_connect(account_id: str, error: ErrorNote, now: int) -> Tx[None]:
    """Delete a connect operation that cannot succeed, and its account with its notes and shares.

    The events in the audit log are kept. Call this only if no token that the operation created at Cloudflare can still
    be valid.
    """
    yield from lock_account(account_id)
    operation = yield from operations.running(account_id)
    if operation is not None:
        yield from operations.fail(operation.id, error, now)
    yield sql("delete from operations where account_id = $1", account_id)
    if (yield sql("delete from accounts where id = $1 and sealed_token is null returning id", account_id)):
        yield sql("delete from notes where target = $1", account_id)
        yield sql("delete from shares where target = $1", account_id)


def finish_connect(
    account_id: str, operation_id: str, token: WorkingToken, install_operation_id: str, now: int
) -> Tx[Account]:
    """Store the working token and begin the install. Returns the account, still `pending`, for the response.

    The returned account omits the warnings about the bootstrap token and the tokens of failed attempts, because the
    service deletes these tokens directly after this transaction.
    """
    yield from working_tokens.put_token(account_id, operation_id, token, now)
    yield sql("update accounts set error = null where id = $1", account_id)
    yield from operations.finish(operation_id, now)
    account = accounts.present((yield from accounts.account_by_id(account_id)))
    yield from operations.add(install_operation_id, account_id, account.edge_account_id, "install", "database", now)
    return replace(account, warnings=(), revoke_tokens=())


def fail_connect(account_id: str, error: ErrorNote, now: int) -> Tx[None]:
    """End a connect operation whose tokens may still be valid. Keep the account, which lists the tokens (rule A8)."""
    account = yield from accounts.locked(account_id)
    if account is not None and account.sealed_token is None:
        yield from states.move(account_id, None, "bootstrap_lost", error, now)
    operation = yield from operations.running(account_id)
    if operation is not None:
        yield from operations.fail(operation.id, error, now)
