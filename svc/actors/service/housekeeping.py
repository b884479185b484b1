"""Housekeeping: deletes expired rows from the store. Defines when rows expire and how often they are deleted.

A chore that fails does not affect the others. The failure is logged, and the chore runs again after its usual interval.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from svc.clock import DAY_MS
from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.metrics import CHORE_ROWS, CHORE_SECONDS
from svc.store import batches, retention
from svc.store.devices import DEVICE_DAYS
from svc.store.recipients import MAILING_TOKEN_DAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.actors.context import Context
    from svc.config import TimingConfig
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

_MINUTE_S = 60.0
_HOUR_S = 3_600.0
_DAY_S = 86_400.0
# While the store is unavailable, a chore is retried after this time, or after its own interval if that is shorter.
_STORE_WAIT_S = 30.0


@dataclass(frozen=True)
class Chore:
    """A task that deletes expired rows when the service starts, and then every `every_s` seconds.

    A row expires after `kept_days` days. `delete` receives a time (epoch ms) and returns a transaction that deletes one
    batch of the rows older than that time. The transaction returns the number of deleted rows.
    """

    delete: Callable[[int], Tx[int]]
    every_s: float
    kept_days: float = 0

    @property
    def name(self) -> str:
        """The chore's name in the log and the metrics, such as `delete_hours`."""
        return self.delete.__name__


def chores(timing: TimingConfig) -> tuple[Chore, ...]:
    """Return all chores with the retention times from the configuration."""
    return (
        Chore(retention.delete_responses, every_s=10 * _MINUTE_S),
        Chore(retention.delete_sessions, every_s=_HOUR_S),
        Chore(retention.delete_mail_tokens, every_s=_HOUR_S),
        Chore(retention.delete_invitations, every_s=_HOUR_S),
        Chore(retention.delete_email_changes, every_s=_HOUR_S),
        Chore(retention.delete_deletion_results, every_s=_HOUR_S, kept_days=1),
        Chore(retention.delete_worker_keys, every_s=_HOUR_S),
        Chore(retention.delete_mailing_requests, every_s=_HOUR_S, kept_days=1),
        Chore(retention.delete_mailing_tokens, every_s=_DAY_S, kept_days=MAILING_TOKEN_DAYS),
        Chore(retention.delete_devices, every_s=_DAY_S, kept_days=DEVICE_DAYS),
        Chore(retention.delete_sign_ups, every_s=_DAY_S, kept_days=30),
        Chore(retention.delete_hours, every_s=_DAY_S, kept_days=timing.hours_kept_days),
        Chore(retention.delete_refused_hours, every_s=_DAY_S, kept_days=timing.hours_kept_days),
        Chore(retention.delete_final_days, every_s=_DAY_S, kept_days=40),
        Chore(retention.delete_operations, every_s=_DAY_S, kept_days=365),
        Chore(retention.delete_former_accounts, every_s=_DAY_S, kept_days=365),
        Chore(retention.delete_events, every_s=_DAY_S, kept_days=365),
    )


async def run_periodically(context: Context, chore: Chore) -> None:
    """Run a chore periodically until cancelled. If the store is unavailable, retry after `_STORE_WAIT_S`."""
    while True:
        wait_s = chore.every_s
        with contained(log, "chore failed", chore=chore.name):
            try:
                await run_chore(context, chore)
            except StoreUnavailable:
                wait_s = min(wait_s, _STORE_WAIT_S)
        await trio.sleep(wait_s)


async def run_chore(context: Context, chore: Chore) -> None:
    """Delete the chore's expired rows in batches. Raises StoreUnavailable."""
    before = context.clock() - int(chore.kept_days * DAY_MS)
    began_at = trio.current_time()
    deleted = batches.BATCH
    while deleted >= batches.BATCH:
        deleted = await context.store.run(chore.delete(before))
        context.metrics.count(CHORE_ROWS, chore.name, by=deleted)
    context.metrics.observe(CHORE_SECONDS, trio.current_time() - began_at, chore.name)
