"""What the worker's own database tells, and the service's record does not: looked at with the health check.

Three things that no call of the service would meet, and no push tells: a worker that is newer than the record, a
configuration that is, and crons that have stopped.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from svc.actors import operations, recovery
from svc.actors.script import is_unknown
from svc.clock import HOUR_MS
from svc.errors import Conflict, EdgeUnavailable
from svc.store import accounts
from svc.store import operations as operation_rows
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.model import Account
    from svc.worker.meta import WorkerMeta

log = logging.getLogger(__name__)

# A worker pushes once an hour, whether it has counted anything or not, and notes when it will be the next time.
_STOPPED_MS = 2 * HOUR_MS


async def look(context: Context, access: Access, account: Account, *, newer: bool) -> None:
    """Look at the account's database, and do what it takes. `newer`: the script is known to be newer than the record.

    A database that cannot be read now tells nothing: the next look will. Raises EdgeRefused.
    """
    if account.database_id is None:
        return
    try:
        meta = await recovery.read_meta(access, account.database_id)
    except EdgeUnavailable as error:
        log.info("worker not looked at", extra={"account": account.id, "why": error.message})
        return
    if newer or await _was_uploaded_later(context, account, meta):
        await _install(context, account)
    elif recovery.is_behind(account, meta):
        await context.store.run(bump_version(account.id))  # which wakes the sync
    await _look_at_crons(context, account, meta)


async def _was_uploaded_later(context: Context, account: Account, meta: WorkerMeta) -> bool:
    """Whether a worker runs that this store does not know of, though its code may be the same.

    Its key is not known either, so none of its pushes is taken.
    """
    # What pushed before our own upload is no sign of anything.
    later = account.installed_at is not None and meta.next_push_at - HOUR_MS > account.installed_at
    return later and meta.tried != account.install_id and await is_unknown(context, meta.tried)


async def _install(context: Context, account: Account) -> None:
    if await context.store.read(operation_rows.running(account.id)) is not None:
        return
    log.warning("the worker is newer than the store", extra={"account": account.id})
    with suppress(Conflict):
        await operations.begin(context, "install", account.id, lambda begun: begun)


async def _look_at_crons(context: Context, account: Account, meta: WorkerMeta) -> None:
    heard_at = max(account.heard_at or 0, meta.next_push_at)
    if heard_at and context.clock() - heard_at > _STOPPED_MS:
        await context.store.run(accounts.warn(account.id, "crons_stopped"))
    elif "crons_stopped" in account.warnings:
        await context.store.run(accounts.unwarn(account.id, "crons_stopped"))
