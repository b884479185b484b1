"""Operations: long-running work on a Cloudflare account.

An account has at most one running operation. Each operation has a row in the store.

There are two kinds:

- A *recorded* operation (install, update) needs only the data in its row. The service responds to the request when the
  row is stored, and `run` does the work. If the process is killed, the service continues the operation at its next
  start.
- An *asked* operation (connect, renew) needs a token that exists only in the HTTP request, so it cannot be continued.
  Its row only shows which tokens have to be cleaned up.

A disconnect is recorded, but runs within its request, because the response lists the remaining resources. It is
continued from its row only if it was interrupted.

install, update      the recorded operations
connect, renew       the asked operations; `bootstrap` uses their token
disconnect           removes the service's resources from Cloudflare; `last_totals` stores the last counts
run                  performs the steps of recorded operations, with retries
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from svc.actors.operations import install, run, update
from svc.errors import Conflict
from svc.ids import new_id
from svc.logs import log_context
from svc.store import accounts, operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.actors.operations.run import Work
    from svc.model import Account, OperationKind

R = TypeVar("R")

# The recorded operations that `begin` can start. Rows of other kinds belong to other modules, or to another version of
# the service.
WORK: Mapping[OperationKind, Work] = {"install": install.WORK, "update": update.WORK}


async def begin(context: Context, kind: OperationKind, account_id: str, commit: Commit[Account, R]) -> R:
    """Record an operation and return the result of `commit`'s transaction. Later, `resume_when_due` does the work.

    Raises NotFound, ServiceError (code not_configured) or Conflict (codes account_not_ready, operation_in_progress and
    schema_newer). Raises KeyError if `kind` is not in `WORK`.
    """
    work = WORK[kind]
    context.check_push_url()
    account = await context.store.read(accounts.account_by_id(account_id))
    if account is not None and (account.edge_schema or 0) > context.bundle.schema:
        # Check this before the operation begins, so that a refused operation does not change the account.
        raise Conflict("schema_newer", details={"schema": account.edge_schema, "known": context.bundle.schema})
    return await context.store.run(commit(work.begin(account_id, new_id("op"), context.clock())))


async def resume_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Continue the account's running recorded operation, if any."""
    operation = await context.store.read(operations.running(account.id))
    if operation is None or operation.kind not in WORK:
        return math.inf
    with log_context(operation=operation.id):
        return await run.resume(context, WORK[operation.kind], operation, timers)
