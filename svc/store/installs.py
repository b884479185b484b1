"""Transactions on the install and the update of the worker: the operation and its account change together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import ServiceError
from svc.model import SERVING
from svc.store import accounts, operations, states, worker_keys
from svc.store.locks import lock_account
from svc.store.tx import Changed, Tx, sql

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import Account, Operation

# From these the worker can be installed or installed again; each has, or had, a working token.
_INSTALLABLE = ("connected", "ready", "no_connection", "permission_error", "resource_drift")


def begin_install(account_id: str, operation_id: str, now: int) -> Tx[Account]:
    """Begin an install; one that only waits for its self-check is replaced.

    Raises Conflict account_not_ready, operation_in_progress; NotFound.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    busy = yield from operations.at_rest(account)
    if account.state not in _INSTALLABLE or account.sealed_token is None:
        raise accounts.not_ready(account, f"The account is {account.state}; the worker cannot be installed now.")
    if busy is not None:
        yield from operations.finish(busy.id, now)
    yield from operations.add(operation_id, account_id, account.edge_account_id, "install", "database", now)
    yield from accounts.unwarn(account_id, "not_confirmed")  # the worker that it is about is replaced
    yield from states.move(account_id, None, "installing", None, now)
    return accounts.present((yield from accounts.account_by_id(account_id)))


def begin_update(account_id: str, operation_id: str, now: int) -> Tx[Account]:
    """Begin an update; the account stays what it is.

    Raises Conflict account_not_ready, operation_in_progress; NotFound.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    if account.state not in SERVING or account.sealed_token is None or account.install_id is None:
        raise accounts.not_ready(account, f"The account is {account.state}; the worker cannot be updated now.")
    yield from operations.add(operation_id, account_id, account.edge_account_id, "update", "database", now)
    yield Changed(account.edge_account_id)
    return account


def installing(account_id: str, now: int) -> Tx[None]:
    """The install has begun its work."""
    yield from states.move(account_id, ("pending",), "installing", None, now)


def begin_upload(operation: Operation, key_digest: str) -> Tx[None]:
    """An upload with the worker key of this digest is about to be sent.

    Whatever becomes of it, its pushes are accepted, and the script that it may leave is known as ours.
    """
    yield from worker_keys.add_worker_key(operation.account_id, key_digest)
    yield from operations.count_uploads(operation.id, 1)


def uploaded(
    operation: Operation,
    *,
    bundle: str,
    schema: int,
    script_etag: str | None,
    key_digest: str,
    keys_until: int,
    now: int,
) -> Tx[None]:
    """The worker is at the platform; the keys of the ones before it are accepted until `keys_until` (rule W7)."""
    yield sql(
        "update accounts set edge_bundle = $2, edge_schema = $3, script_etag = $4, installed_at = $5, install_id = $6"
        " where id = $1",
        operation.account_id,
        bundle,
        schema,
        script_etag,
        now,
        operation.id,
    )
    yield from worker_keys.retire_worker_keys(operation.account_id, key_digest, keys_until)
    yield from operations.count_uploads(operation.id, -1)


def installed(operation: Operation, now: int) -> Tx[None]:
    """Script, database and cron are in place: the account is ready and the worker has to confirm itself."""
    yield sql("update accounts set heard_at = $2 where id = $1", operation.account_id, now)
    yield from states.move(operation.account_id, None, "ready", None, now)
    yield from updated(operation, now)


def updated(operation: Operation, now: int) -> Tx[None]:
    """The new worker is in place, and has to confirm itself."""
    # A cron that was there before runs the new worker at once: its first push may have come already, and the next
    # comes after an hour.
    account = accounts.present((yield from accounts.locked(operation.account_id)))
    if account.push is not None and account.push.install == operation.id:
        yield from operations.finish(operation.id, now)
    else:
        yield from operations.set_step(operation.id, operations.SELFCHECK, now)


def fail_install(operation: Operation, error: ErrorNote, now: int) -> Tx[None]:
    """The install has failed: the account is connected, without a worker that is known to run (rule A12)."""
    yield from lock_account(operation.account_id)
    yield from operations.fail(operation.id, error, now)
    yield from states.move(operation.account_id, None, "connected", error, now)


def fail_update(operation: Operation, error: ErrorNote, now: int) -> Tx[None]:
    """The update has failed: the worker before it runs on, so the account is what it was."""
    yield from operations.fail(operation.id, error, now)


def end_selfcheck(operation: Operation, now: int) -> Tx[None]:
    """The worker did not confirm itself in time: a warning; the state stays (rule A11). It may just have done so."""
    account = yield from accounts.locked(operation.account_id)
    if account is None:
        return
    if account.push is not None and account.push.install == operation.id:
        yield from operations.confirm([(operation.id, account.id)], now)
        return
    yield from operations.fail(operation.id, ServiceError("self_check_timeout").note(), now)
    yield from accounts.warn(operation.account_id, "not_confirmed")
