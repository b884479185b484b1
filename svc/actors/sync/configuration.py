"""The configuration sync. It writes changes to sites, links, the link host and the account's settings to the Worker's
database.

Every change increments the account's configuration version. A sync first reads the version in the Worker's database, to
detect whether the store has lost commits (`recovery`). It then writes the rows that are newer than this version, oldest
first. The version in the database is updated last, so a sync can be interrupted or repeated safely.

A single change is synced immediately. If there are many changes in a row, one sync writes the changes of several
seconds.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import trio

from svc.actors.backoff import backoff_s
from svc.actors.checks import account_state
from svc.actors.sync import recovery
from svc.clock import DAY_MS
from svc.edge import d1
from svc.edge.responses import Blocked, DailyLimit
from svc.errors import CannotUnseal, EdgeRefused, EdgeUnavailable
from svc.metrics import SYNC_FAILURES
from svc.model import SERVING
from svc.store import account_health, links, sites, syncs
from svc.worker import config_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.errors import ErrorNote
    from svc.model import Account
    from svc.worker.config_rows import ConfigRow

log = logging.getLogger(__name__)

_LONGEST_WAIT_S = 600.0
_AFTER_MIDNIGHT_S = 60.0
# The number of syncs that can follow each other directly. After that, one sync per `_EVERY_S` is allowed, because each
# sync makes at least two calls.
_BURST = 8
_EVERY_S = 10.0


async def sync_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Write the changes that the Worker's database does not have yet. Retry failures with exponential backoff."""
    if account.state not in SERVING or account.database_id is None:
        return math.inf
    if account.synced_version >= account.config_version and account.restored_as_of is None:
        await _clear_limit_warning(context, account)  # in case the process crashed directly after the last sync
        return math.inf
    if trio.current_time() < timers.sync_at:
        return timers.sync_at
    allowed_at = timers.syncs_paid_until - (_BURST - 1) * _EVERY_S
    if trio.current_time() < allowed_at:
        return allowed_at
    timers.syncs_paid_until = max(timers.syncs_paid_until, trio.current_time()) + _EVERY_S
    try:
        await _sync(context, account, account.database_id)
    except DailyLimit as error:
        context.metrics.count(SYNC_FAILURES)
        # Cloudflare resets the limit at midnight UTC. Allow one more minute.
        wait_s = (DAY_MS - context.clock() % DAY_MS) / 1000 + _AFTER_MIDNIGHT_S
        log.info("sync waits for midnight", extra={"account": account.id, "why": error.message})
        if "daily_limit" not in account.warnings:
            await context.store.run(account_health.warn(account.id, "daily_limit"))
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    except (EdgeRefused, CannotUnseal, EdgeUnavailable) as error:
        context.metrics.count(SYNC_FAILURES)
        await account_state.record_refusal(context, account, error)
        timers.sync_failures += 1
        wait_s = backoff_s(timers.sync_failures, context.config.timing.sync_retry_s, _LONGEST_WAIT_S)
        if isinstance(error, EdgeUnavailable):
            wait_s = max(wait_s, error.retry_after_s or 0)
        log.info("sync delayed", extra={"account": account.id, "why": error.message, "wait_s": wait_s})
        timers.sync_at = trio.current_time() + wait_s
        return timers.sync_at
    timers.sync_failures = 0
    timers.sync_at = 0
    await _clear_limit_warning(context, account)
    return math.inf


async def _clear_limit_warning(context: Context, account: Account) -> None:
    """Clear the warning that Cloudflare's daily row limit was reached. Call this after a complete sync."""
    if "daily_limit" in account.warnings:
        await context.store.run(account_health.remove_warning(account.id, "daily_limit"))


async def _sync(context: Context, account: Account, database_id: str) -> None:
    access = context.access(account)
    meta = await recovery.read_meta(access, database_id)
    if recovery.is_behind(account, meta):
        account = await recovery.catch_up(context, access, account, database_id, meta)
    version = account.config_version
    changed_links = await context.store.read(links.changed_links(account.id, account.synced_version))
    changed_sites = await context.store.read(sites.changed_sites(account.id, account.synced_version))
    rows = config_rows.rows_of(
        changed_sites, changed_links, account.link_host, account.settings, account.synced_version
    )
    await context.store.run(syncs.begin_sync(account.id, version))
    refused = await _write_all(access, database_id, rows, version)
    for target, note in refused.items():
        log.warning("row refused by firewall", extra={"account": account.id, "target": target, "why": note.details})
    live_at = context.clock() + 1000 * context.bundle.live_after_s
    await context.store.run(syncs.end_sync(account.id, account.synced_version, version, refused, live_at))


async def _write_all(access: Access, database_id: str, rows: Sequence[ConfigRow], version: int) -> dict[str, ErrorNote]:
    """Write the rows in batches. The last batch also updates the version.

    Returns the errors for rows that Cloudflare's firewall refused, by site id, link id or link host (`target_of`).
    """
    *batches, last = config_rows.calls_of(rows) or [[]]
    raise_statement = config_rows.raise_version(version)
    refused: dict[str, Blocked] = {}
    written = 0
    for batch in batches:
        written += await _write(access, database_id, batch, refused)
    if not refused:
        try:
            await d1.query(access, database_id, [*config_rows.write_statements(last), raise_statement])
        except Blocked:
            log.info("firewall refused a batch", extra={"edge_account": access.edge_account_id})
        else:
            return {}
    if last:
        written += await _write(access, database_id, last, refused)
    if refused and written == 0 and len(rows) > 1:  # every row was refused, so the reason is not the content of one row
        raise next(iter(refused.values()))
    await d1.query(access, database_id, [raise_statement])
    return {target: blocked.to_note() for target, blocked in refused.items()}


async def _write(access: Access, database_id: str, rows: Sequence[ConfigRow], refused: dict[str, Blocked]) -> int:
    """Write the rows.

    If Cloudflare's firewall refuses the call, the function finds the responsible rows by bisection and adds them to
    `refused`.

    Returns the number of rows that were written. Raises Blocked if a refused row does not belong to a site, a link or
    the link host (`target_of`).
    """
    try:
        await d1.query(access, database_id, config_rows.write_statements(rows))
    except Blocked as blocked:
        if len(rows) > 1:
            half = len(rows) // 2
            first = await _write(access, database_id, rows[:half], refused)
            return first + await _write(access, database_id, rows[half:], refused)
        target = config_rows.target_of(rows[0])
        if target is None:
            raise
        refused[target] = blocked
        return 0
    return len(rows)
