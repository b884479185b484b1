"""Renewing the working token: a one-day bootstrap token in, a new working token out, the old one deleted.

The account goes on with the token that it has until the new one is made, tried and stored, in one transaction with the
answer. The worker, its key, database and routes are not touched.

    begun (row) ──► token made, tried ──► token stored, done ──► old token and lost tries' deleted, then the bootstrap
         │                                                       token itself
         │ refused, or a transient failure: failed; what it made is deleted
         │ what it made may be alive: failed, `renew_lost`, and the account names it
         │ the process died: the same, at the next start
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
from svc.logs import tell_lines
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

# Of a renewal that has failed: for deleting what it made, within the request.
_CLEAN_UP_S = 4.0


async def check(context: Context, account_id: str, bootstrap_token: SecretStr) -> Bootstrap:
    """Look whether the account's token can be renewed, and with that bootstrap token. Runs in the caller's task.

    Raises NotFound; Conflict account_not_ready, operation_in_progress; ServiceError invalid_bootstrap,
    bootstrap_permission_error; EdgeUnavailable.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    operation = await context.store.read(operations.running(account_id))
    if operation is None or operation.kind != "renew":  # behind another renewal this one waits
        await context.store.run(renewals.may_renew(account_id))
    return await bootstrap.check(context, account.edge_account_id, account.user_id, bootstrap_token)


async def renew(context: Context, account_id: str, checked: Bootstrap, commit: Commit[Account, R]) -> R:
    """Replace the account's working token.

    Raises NotFound; Conflict account_not_ready, operation_in_progress; ServiceError invalid_bootstrap,
    bootstrap_permission_error, permission_catalog, token_rights_mismatch, token_check_failed, orphan_not_deleted;
    renew_lost (a token may be alive; `details.revoke_token` names it); EdgeUnavailable (nothing has changed: ask
    again). A refusal that leaves tokens which may be alive names them in `details.revoke_tokens`.
    """
    answered = await context.answered(commit)
    if answered is not None:
        return answered
    await _end_cut_short(context, account_id)  # nothing else renews now: this runs in the account's own task
    account = await context.store.run(renewals.may_renew(account_id))
    bootstrap.check_unused(context, checked)
    access = checked.access
    try:
        with trio.fail_after(checked.left_s):
            account, operation = await context.store.run(
                renewals.begin_renew(account_id, new_id("op"), context.clock())
            )
            tell_lines(account=account.id, operation=operation.id)
            operation, token = await bootstrap.mint(context, access, account, operation)
    except StoreUnavailable:
        raise  # the row says what is to be cleaned up
    except trio.TooSlowError:
        slow = EdgeUnavailable("The edge platform took too long; repeat the request.")
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
    found = await health_check.found_with_new_token(context, renewed)
    answer = await context.store.run(commit(renewals.finish_renew(account, operation.id, made, found, context.clock())))
    # What it does not come to stays as a warning: the token is renewed, and the answer is stored.
    with trio.move_on_after(context.config.edge.connect_s), suppress(StoreUnavailable):
        await bootstrap.delete(context, checked, account)
    return answer


async def end_when_due(context: Context, account: Account, timers: Timers) -> float:
    """End a renewal whose process died; one that is alive has ended before any duty is looked at."""
    del timers
    await _end_cut_short(context, account.id)
    return math.inf


async def _end_cut_short(context: Context, account_id: str) -> None:
    operation = await context.store.read(operations.running(account_id))
    if operation is None or operation.kind != "renew":
        return
    lost = await context.store.read(operations.with_open_token(account_id))
    error = _lost("The renewal was cut short.", lost or [operation])
    log.warning("renewal cut short", extra={"account": account_id, "tokens": len(lost)})
    await context.store.run(renewals.fail_renew(account_id, error.note(), context.clock()))


async def _give_up(context: Context, access: Access, account: Account, cause: ServiceError) -> ServiceError:
    """End a renewal that cannot go on, and delete what it made.

    Returns the refusal, which names the tokens that may be alive; after a transient failure that is `renew_lost`.
    """
    operation = await context.store.read(operations.running(account.id))
    if operation is None or operation.kind != "renew":
        return cause  # it was refused before it began
    lost = await bootstrap.clean_up(context, access, account, cause, _CLEAN_UP_S)
    if lost and isinstance(cause, EdgeUnavailable):
        cause = _lost(cause.message, lost)
    elif lost:
        cause = bootstrap.naming(lost, cause)
    await context.store.run(renewals.fail_renew(account.id, cause.note(), context.clock()))
    return cause


def _lost(why: str, lost: Sequence[Operation]) -> ServiceError:
    return ServiceError(
        "renew_lost",
        f"{why} The account goes on with the token that it had. Revoke the named tokens at the edge platform, if they"
        " are there; renew again.",
        bootstrap.to_revoke(lost),
    )
