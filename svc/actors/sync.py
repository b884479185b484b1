"""Keeping the worker's configuration equal to the service's: sites, links, link host.

Every change raises the account's version. A sync writes what is newer than the worker's database has, oldest first,
and raises the version there last; so one that is cut short or done twice leaves the same rows.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors import health
from svc.clock import DAY_MS
from svc.edge import d1
from svc.edge.answers import DailyLimit
from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable
from svc.model import SERVING
from svc.store import accounts, links, sites
from svc.worker import config_rows

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.model import Account

log = logging.getLogger(__name__)

_LONGEST_WAIT_S = 600.0
_AFTER_MIDNIGHT_S = 60.0
# Of config_rows.write_statements, up to 330 rows: well inside the 30 s that the platform gives one call.
_STATEMENTS_A_CALL = 10


async def sync_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Write what the worker's database does not have yet; after a failure again, with a growing wait."""
    if account.state not in SERVING or account.database_id is None:
        return math.inf
    if account.synced_version >= account.config_version:
        return math.inf
    if trio.current_time() < timers.sync_at:
        return timers.sync_at
    try:
        await _sync(context, account, account.database_id)
    except DailyLimit as error:
        # Nothing is taken before midnight UTC; a minute for the platform to notice.
        wait_s = (DAY_MS - context.clock() % DAY_MS) / 1000 + _AFTER_MIDNIGHT_S
        log.info("sync waits for midnight", extra={"account": account.id, "why": error.message})
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
        if not isinstance(error, EdgeUnavailable):
            await health.note_refusal(context, account, error)
        wait_s = min(_LONGEST_WAIT_S, context.config.timing.sync_retry_s * 2**timers.sync_failures)
        log.info("sync waits", extra={"account": account.id, "why": error.message, "wait_s": wait_s})
        timers.sync_failures += 1
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    timers.sync_failures = 0
    timers.sync_at = 0
    return math.inf


async def _sync(context: Context, account: Account, database_id: str) -> None:
    version = account.config_version
    changed_links = await context.store.read(links.changed_links(account.id, account.synced_version))
    changed_sites = await context.store.read(sites.changed_sites(account.id, account.synced_version))
    rows = config_rows.rows_of(changed_sites, changed_links, account.link_host, account.synced_version)
    statements = config_rows.write_statements(rows, version)
    access = context.access(account)
    for first in range(0, len(statements), _STATEMENTS_A_CALL):
        await d1.query(access, database_id, statements[first : first + _STATEMENTS_A_CALL])
    await context.store.run(accounts.set_synced(account.id, version))
