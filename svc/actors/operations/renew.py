"""The renew operation: exchange a one-day bootstrap token for a new working token, and delete the old one.

The account keeps its old working token until the new token has been created and tested. The new token and the response
are stored in one transaction. The Worker, its key, its database and its routes do not change.

    begun (row) ──► token created, tested ──► token stored, done ──► old token and tokens of lost attempts deleted,
         │                                                           then the bootstrap token itself
         │ refused, or a transient failure: failed; created tokens are deleted
         │ a created token may still be valid: failed with `renew_lost`, and the account names the token
         │ the process died: handled in the same way, at the next start
"""

from __future__ import annotations

import logging
import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.checks import health_check
from svc.actors.operations import bootstrap
from svc.errors import EdgeUnavailable, ServiceError, StoreUnavailable
from svc.ids import new_id
from svc.logs import add_log_context
from svc.store import accounts, operations, renewals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import SecretStr

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.actors.operations.bootstrap import Bootstrap
    from svc.edge.access import Access
    from svc.model import Account, Operation

R = TypeVar("R")

log = logging.getLogger(__name__)

# The maximum time that a request spends on deleting the tokens of a failed renewal.
_CLEAN_UP_S = 4.0


async def check(context: Context, account_id: str, bootstrap_token: SecretStr) -> Bootstrap:
    """Check that this bootstrap token can renew the account's working token. Runs in the caller's task.

    Raises NotFound, EdgeUnavailable, Conflict (codes account_not_ready and operation_in_progress) or ServiceError
    (codes invalid_bootstrap and bootstrap_permission_error).
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    operation = await context.store.read(operations.running(account_id))
    if operation is None or operation.kind != "renew":  # a second renewal waits for the first
        await context.store.run(renewals.may_renew(account_id))
    return await bootstrap.check(context, account.edge_account_id, account.user_id, bootstrap_token)


async def renew(context: Context, account_id: str, checked: Bootstrap, commit: Commit[Account, R]) -> R:
    """Replace the account's working token.

    Raises NotFound, Conflict (codes account_not_ready and operation_in_progress) or ServiceError (codes
    invalid_bootstrap, bootstrap_permission_error, permission_catalog, token_rights_mismatch, token_check_failed and
    orphan_not_deleted). If the failure is transient, but tokens may still be valid, the code is renew_lost. After
    EdgeUnavailable, nothing has changed and the caller can retry. If tokens may still be valid, the error's
    `details.revoke_tokens` names them.
    """
    stored_response = await context.stored_response(commit)
    if stored_response is not None:
        return stored_response
    # If a renewal is still recorded as running, it was interrupted, because only this task renews the account's token.
    await _end_interrupted(context, account_id)
    account = await context.store.run(renewals.may_renew(account_id))
    bootstrap.check_unused(context, checked)
    access = checked.access
    try:
        with trio.fail_after(checked.left_s):
            account, operation = await context.store.run(
                renewals.begin_renew(account_id, new_id("op"), context.clock())
            )
            add_log_context(account=account.id, operation=operation.id)
            operation, token = await bootstrap.mint(context, access, account, operation)
    except StoreUnavailable:
        raise  # the operation's row shows which tokens to delete later
    except trio.TooSlowError:
        slow = EdgeUnavailable("Cloudflare took too long; repeat the request.")
        raise await _give_up(context, access, account, slow) from None
    except ServiceError as refusal:
        raise await _give_up(context, access, account, refusal) from None
    made = bootstrap.sealed(context, account, token, checked.own)
    renewed = replace(
        account,
        token_id=made.id,
        token_name=made.name,
        token_expires_at=made.expires_at,
        sealed_token=made.sealed,
        token_made_at=context.clock(),
        token_refused_at=None,
        token_refusals=0,
    )
    state = await health_check.state_with_new_token(context, renewed)
    response = await context.store.run(
        commit(renewals.finish_renew(account, operation.id, made, state, context.clock()))
    )
    # The token is now renewed, and the response is stored. If tokens cannot be deleted in time, the operation still
    # succeeds, and the account shows a warning.
    with trio.move_on_after(context.config.edge.connect_s), suppress(StoreUnavailable):
        await bootstrap.delete(context, checked, account)
    return response


async def end_when_due(context: Context, account: Account, timers: Timers) -> float:
    """End a renewal that was interrupted because its process died.

    A renewal of this process always ends before duties run. An unfinished renewal therefore comes from an earlier
    process.
    """
    del timers
    await _end_interrupted(context, account.id)
    return math.inf


async def _end_interrupted(context: Context, account_id: str) -> None:
    operation = await context.store.read(operations.running(account_id))
    if operation is None or operation.kind != "renew":
        return
    lost = await context.store.read(operations.with_open_token(account_id))
    error = _lost("The renewal was interrupted.", lost or [operation])
    log.warning("renewal interrupted", extra={"account": account_id, "tokens": len(lost)})
    await context.store.run(renewals.fail_renew(account_id, error.to_note(), context.clock()))


async def _give_up(context: Context, access: Access, account: Account, cause: ServiceError) -> ServiceError:
    """End a renewal that cannot continue, and delete the tokens that it created. Return the error to raise.

    If tokens may still be valid, the error names them. If, in addition, the failure is transient, the error's code is
    `renew_lost`.
    """
    operation = await context.store.read(operations.running(account.id))
    if operation is None or operation.kind != "renew":
        return cause  # the renewal was refused before it began
    lost = await bootstrap.clean_up(context, access, account, cause, _CLEAN_UP_S)
    if lost and isinstance(cause, EdgeUnavailable):
        cause = _lost(cause.message, lost)
    elif lost:
        cause = bootstrap.with_token_names(lost, cause)
    await context.store.run(renewals.fail_renew(account.id, cause.to_note(), context.clock()))
    return cause


def _lost(why: str, lost: Sequence[Operation]) -> ServiceError:
    return ServiceError(
        "renew_lost",
        f"{why} The account keeps its previous token. Revoke the named tokens at Cloudflare if they exist, then renew"
        " again.",
        bootstrap.tokens_to_revoke(lost),
    )
