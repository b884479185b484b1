"""Transactions for renewals of working tokens. Each transaction changes an account together with its operation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.store import accounts, operations, states, working_tokens
from svc.store.locks import lock_account

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import Account, AccountState, Operation
    from svc.store.tx import Tx
    from svc.store.working_tokens import WorkingToken

# The states in which a token can be renewed, because the account has or once had a working token.
_RENEWABLE: tuple[AccountState, ...] = (
    "connected",
    "ready",
    "no_connection",
    "permission_error",
    "revoked",
    "resource_drift",
)


def may_renew(account_id: str) -> Tx[Account]:
    """Return the account if its token can be renewed.

    Raises NotFound if the account does not exist. Raises Conflict operation_in_progress if an operation is being
    carried out, or account_not_ready if the account has no token to renew.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    yield from operations.at_rest(account)
    if account.state not in _RENEWABLE:
        raise accounts.not_ready(account, f"The account is {account.state}; it has no token to renew.")
    return account


def begin_renew(account_id: str, operation_id: str, now: int) -> Tx[tuple[Account, Operation]]:
    """Begin a renewal. A running self-check is paused until the renewal ends. Raises the same errors as `may_renew`."""
    account = yield from may_renew(account_id)
    waits = yield from operations.running(account_id)
    if waits is not None:
        yield from operations.pause_selfcheck(waits.id)
    operation = yield from operations.add(operation_id, account_id, account.edge_account_id, "renew", "token", now)
    return account, operation


def finish_renew(
    before: Account, operation_id: str, token: WorkingToken, state: tuple[AccountState, ErrorNote | None], now: int
) -> Tx[Account]:
    """Replace the old token with the new one. Returns the account for the response.

    `state`: the account's state and error according to the checks with the new token. They are stored only if the
    account's state has not changed since `before` was read. The returned account omits the warnings about the old token
    and the bootstrap token, because the service deletes both directly after this transaction.
    """
    yield from working_tokens.put_token(before.id, operation_id, token, now)
    yield from operations.finish(operation_id, now)
    yield from operations.resume_selfcheck(before.id, now)
    yield from states.move(before.id, (before.state,), *state, now)
    account = accounts.present((yield from accounts.account_by_id(before.id)))
    warnings = tuple(warning for warning in account.warnings if warning not in working_tokens.ABOUT_TOKENS)
    return replace(account, warnings=warnings, revoke_tokens=())


def fail_renew(account_id: str, error: ErrorNote, now: int) -> Tx[None]:
    """End a failed renewal. The account keeps its token, and lists the tokens that the renewal may have created."""
    yield from lock_account(account_id)  # so that the resumed self-check does not miss a concurrent push
    operation = yield from operations.running(account_id)
    if operation is not None and operation.kind == "renew":
        yield from operations.fail(operation.id, error, now)
        yield from operations.resume_selfcheck(account_id, now)
        yield from working_tokens.record_others(account_id, verified=False)
