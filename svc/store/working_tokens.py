"""Transactions on an account's working token, and on other tokens of the account that may still be valid.

The other tokens are identified by the operations that requested them (`operations.with_open_token`). If an operation
succeeded, its token was once the account's working token and was replaced later. If it failed, its token may or may not
exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.store import account_health, account_schedule, accounts, operations, states
from svc.store.tx import Changed, Tx, sql, to_json

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import AccountState, AccountWarning

_ABOUT_OTHERS: frozenset[AccountWarning] = frozenset({"orphan_not_deleted", "old_token_not_deleted"})
# Warnings about other tokens. They are omitted from responses that are stored before the service deletes these tokens.
ABOUT_TOKENS: frozenset[AccountWarning] = _ABOUT_OTHERS | {"bootstrap_not_deleted", "token_expires_soon"}

# The states in which an account becomes `revoked` when its working token expires. A running install detects the expiry
# itself.
EXPIRING: tuple[AccountState, ...] = ("connected", "ready", "no_connection", "permission_error", "resource_drift")


@dataclass(frozen=True)
class WorkingToken:
    """A working token as stored. Times are epoch ms.

    `bootstrap_expires_at`: the expiry of the bootstrap token, which the user entered and with which the service created
    the working token.
    """

    id: str
    name: str
    expires_at: int
    sealed: bytes = field(repr=False)
    bootstrap_expires_at: int


def put_token(account_id: str, operation_id: str, token: WorkingToken, now: int) -> Tx[None]:
    """Store the token that an operation created as the account's working token.

    The caller then deletes the previous token.

    Warnings about the bootstrap token and other tokens are stored in the same transaction, so that they remain if the
    process is killed before it has deleted these tokens.
    """
    account = accounts.present((yield from accounts.locked(account_id)))
    if account.token_id is not None:
        yield sql(
            "update operations set token_asked_at = $3 where account_id = $1 and token_id = $2",
            account_id,
            account.token_id,
            now,
        )
    yield sql(
        "update accounts set token_id = $2, token_name = $3, token_expires_at = $4, sealed_token = $5,"
        " token_made_at = $6, token_refused_at = null, token_refusals = 0, bootstrap_expires_at = $7 where id = $1",
        account_id,
        token.id,
        token.name,
        token.expires_at,
        token.sealed,
        now,
        token.bootstrap_expires_at,
    )
    yield from operations.token_settled(operation_id)
    yield from record_others(account_id, verified=False)
    yield from account_health.remove_warning(account_id, "token_expires_soon")
    yield from account_health.warn(account_id, "bootstrap_not_deleted")


def record_others(account_id: str, *, verified: bool) -> Tx[None]:
    """Store the names of the account's other tokens that may still be valid, and warn about them.

    `verified`: True if the service has searched for tokens of failed operations and deleted them. Such a token
    can then exist only if it was created after this search.
    """
    account = yield from accounts.locked(account_id)
    if account is None:
        return
    others = yield from operations.with_open_token(account_id)
    warnings = set(account.warnings) - _ABOUT_OTHERS
    if any(operation.state == "done" for operation in others):
        warnings.add("old_token_not_deleted")
    if not verified and any(operation.state != "done" for operation in others):
        warnings.add("orphan_not_deleted")
    yield sql(
        "update accounts set warnings = $2, revoke_tokens = $3 where id = $1",
        account_id,
        to_json(sorted(warnings)),
        to_json([operation.token_name for operation in others]),
    )


def record_bootstrap_deleted(account_id: str) -> Tx[None]:
    """Record that the bootstrap token was deleted or has expired, so that it cannot create any more tokens.

    If the service has searched for the tokens of earlier attempts, the tokens that it did not find do not exist, and
    their operations are settled. Otherwise the account keeps the names of these tokens.
    """
    account = yield from account_health.remove_warning(account_id, "bootstrap_not_deleted")
    verified = account is None or not _ABOUT_OTHERS & set(account.warnings)
    if verified:
        yield from operations.tokens_settled(account_id)
    yield sql(
        "update accounts set bootstrap_expires_at = null, revoke_tokens = $2 where id = $1",
        account_id,
        to_json(() if account is None or verified else account.revoke_tokens),
    )


def set_expiry(account_id: str, token_id: str | None, expires_at: int, now: int) -> Tx[None]:
    """Store the expiry of the working token (epoch ms), unless the token has been replaced."""
    rows = yield sql(
        "update accounts set token_expires_at = $3 where id = $1 and token_id = $2 returning edge_account_id",
        account_id,
        token_id,
        expires_at,
    )
    for row in rows:
        if expires_at - account_schedule.EXPIRY_WARNING_MS > now:
            yield from account_health.remove_warning(account_id, "token_expires_soon")
        yield Changed(row["edge_account_id"])


def expire(account_id: str, error: ErrorNote, now: int) -> Tx[None]:
    """Set the state `revoked`, because Cloudflare no longer accepts the working token. `error`: the reason."""
    yield from states.move(account_id, EXPIRING, "revoked", error, now)
    yield from account_health.remove_warning(account_id, "token_expires_soon")
