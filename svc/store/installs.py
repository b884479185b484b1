"""Transactions on installs and updates of the Worker. Each transaction changes the operation together with its account.

An install or update ends with a self-check: the service waits for the Worker's first push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import ServiceError
from svc.model import SERVING
from svc.store import account_health, accounts, operations, states, worker_keys
from svc.store.locks import lock_account
from svc.store.tx import Changed, Tx, sql

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import Account, Operation

# The states in which the Worker can be installed or reinstalled. An account in one of these states has, or once had, a
# working token.
_INSTALLABLE = ("connected", "ready", "no_connection", "permission_error", "resource_drift")


def begin_install(account_id: str, operation_id: str, now: int) -> Tx[Account]:
    """Begin an install. It replaces a running install or update that is only waiting for the Worker's first push.

    Raises NotFound if the account does not exist. Raises Conflict account_not_ready if the account's state does not
    allow an install, or operation_in_progress if another operation is being carried out.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    busy = yield from operations.at_rest(account)
    if account.state not in _INSTALLABLE or account.sealed_token is None:
        raise accounts.not_ready(account, f"The account is {account.state}; the Worker cannot be installed now.")
    if busy is not None:
        yield from operations.finish(busy.id, now)
    yield from operations.add(operation_id, account_id, account.edge_account_id, "install", "database", now)
    # Remove the warning about the Worker that this install replaces.
    yield from account_health.remove_warning(account_id, "not_confirmed")
    yield from states.move(account_id, None, "installing", None, now)
    return accounts.present((yield from accounts.account_by_id(account_id)))


def begin_update(account_id: str, operation_id: str, now: int) -> Tx[Account]:
    """Begin an update. The account's state does not change.

    Raises NotFound if the account does not exist. Raises Conflict account_not_ready if the account's state does not
    allow an update, or operation_in_progress if another operation is running.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    if account.state not in SERVING or account.sealed_token is None or account.install_id is None:
        raise accounts.not_ready(account, f"The account is {account.state}; the Worker cannot be updated now.")
    yield from operations.add(operation_id, account_id, account.edge_account_id, "update", "database", now)
    yield Changed(account.edge_account_id)
    return account


def installing(account_id: str, now: int) -> Tx[None]:
    """Set the state of a pending account to `installing`."""
    yield from states.move(account_id, ("pending",), "installing", None, now)


def begin_upload(operation: Operation, key_digest: str) -> Tx[None]:
    """Record that the Worker is about to be uploaded, with the key that has this digest.

    The service then accepts the Worker's pushes and recognizes the script as its own, even if the response to the
    upload is lost.
    """
    yield from worker_keys.add_worker_key(operation.account_id, key_digest, operation.id)
    yield from operations.count_uploads(operation.id, 1)


def uploaded(
    operation: Operation,
    *,
    bundle: str,
    schema: int,
    link_format: int,
    script_etag: str | None,
    keys_until: int,
    now: int,
) -> Tx[None]:
    """Record that the Worker was uploaded.

    The keys of earlier installs are accepted until `keys_until` (epoch ms, rule W7).
    """
    yield sql(
        "update accounts set edge_bundle = $2, edge_schema = $3, edge_link_format = $4, script_etag = $5,"
        " installed_at = $6, install_id = $7 where id = $1",
        operation.account_id,
        bundle,
        schema,
        link_format,
        script_etag,
        now,
        operation.id,
    )
    yield from worker_keys.retire_worker_keys(operation.account_id, operation.id, keys_until)
    yield from operations.count_uploads(operation.id, -1)


def installed(operation: Operation, now: int) -> Tx[None]:
    """Record that the Worker is installed. The account becomes ready, and the self-check begins."""
    yield sql("update accounts set heard_at = $2 where id = $1", operation.account_id, now)
    yield from states.move(operation.account_id, None, "ready", None, now)
    yield from updated(operation, now)


def updated(operation: Operation, now: int) -> Tx[None]:
    """Record that the new Worker is installed. Its self-check begins."""
    # The first push of the new Worker may already have arrived. In this case, the self-check must not wait an hour for
    # the next push.
    account = accounts.present((yield from accounts.locked(operation.account_id)))
    if account.push is not None and account.push.install == operation.id:
        yield from operations.finish(operation.id, now)
    else:
        yield from operations.set_step(operation.id, operations.SELFCHECK, now)


def fail_install(operation: Operation, error: ErrorNote, now: int) -> Tx[None]:
    """Record that the install failed. The account becomes `connected`, without a confirmed Worker (rule A12)."""
    yield from lock_account(operation.account_id)
    yield from operations.fail(operation.id, error, now)
    yield from states.move(operation.account_id, None, "connected", error, now)


def fail_update(operation: Operation, error: ErrorNote, now: int) -> Tx[None]:
    """Record that the update failed. The previous Worker keeps running, so the account's state does not change."""
    yield from operations.fail(operation.id, error, now)


def end_selfcheck(operation: Operation, now: int) -> Tx[None]:
    """End a self-check that has timed out. The account gets a warning and keeps its state (rule A11).

    If the Worker has pushed in the meantime, the self-check succeeds instead.
    """
    account = yield from accounts.locked(operation.account_id)
    if account is None:
        return
    if account.push is not None and account.push.install == operation.id:
        yield from operations.confirm([(operation.id, account.id)], now)
        return
    yield from operations.fail(operation.id, ServiceError("self_check_timeout").to_note(), now)
    yield from account_health.warn(operation.account_id, "not_confirmed")


def record_database_creation(account_id: str, now: int) -> Tx[None]:
    """Record that the account has no database with the Worker's name, and that the service is about to create one.

    The service can then recognize a database with this name as its own.
    """
    yield sql("update accounts set database_sought_at = $2 where id = $1", account_id, now)


def set_database(account_id: str, database_id: str) -> Tx[None]:
    """Record a new database. The next sync writes the whole configuration to it.

    In this database, the Worker numbers the parts of its pushes from 1 again.
    """
    yield sql(
        "update accounts set database_id = $2, database_sought_at = null, synced_version = 0, last_part = 0"
        " where id = $1",
        account_id,
        database_id,
    )


def forget_database(account_id: str) -> Tx[None]:
    """Record that the database no longer exists at Cloudflare."""
    yield sql("update accounts set database_id = null, synced_version = 0 where id = $1", account_id)
