"""Operations: the long pieces of work on an edge account, one at a time, each of them a row.

There are two families. A *recorded* operation (an install, an update) runs from its row alone: whoever asks for it gets
an answer when the row is there, `run` does the work, and a process killed anywhere continues it at its next start. An
*asked* operation (a connect) needs a secret that lives only in the call, so that nothing can continue it; its row says
only what has to be cleaned up. A disconnect is recorded, too, but is carried out in the request that asks for it,
because its answer tells what is left; only one that was cut short goes on from its row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from svc.actors.operations import install, run, update
from svc.errors import Conflict
from svc.ids import new_id
from svc.logs import lines_about
from svc.store import accounts, operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.actors.operations.run import Work
    from svc.model import Account, OperationKind

R = TypeVar("R")

# The recorded operations whose work follows their answer. A kind that is not here cannot be begun by `begin`; a row of
# one was written by another version of the service, which knows what to do with it.
WORK: Mapping[OperationKind, Work] = {"install": install.WORK, "update": update.WORK}


async def begin(context: Context, kind: OperationKind, account_id: str, commit: Commit[Account, R]) -> R:
    """Record that an operation is to run, and answer; the duty below does the work.

    Raises NotFound; ServiceError not_configured; Conflict account_not_ready, operation_in_progress, schema_newer;
    KeyError: no recorded operation is of this kind.
    """
    work = WORK[kind]
    context.check_push_url()
    account = await context.store.read(accounts.account_by_id(account_id))
    if account is not None and (account.edge_schema or 0) > context.bundle.schema:
        # Known before anything is begun, so that the account goes on as it is.
        raise Conflict("schema_newer", details={"schema": account.edge_schema, "known": context.bundle.schema})
    return await context.store.run(commit(work.begin(account_id, new_id("op"), context.clock())))


async def resume_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Continue the account's recorded operation."""
    operation = await context.store.read(operations.running(account.id))
    if operation is None or operation.kind not in WORK:
        return math.inf
    with lines_about(operation=operation.id):
        return await run.resume(context, WORK[operation.kind], operation, timers)
