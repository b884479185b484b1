"""Reading what a worker's ledger and the edge platform say of a day, for whoever asks for the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors.live import Unavailable
from svc.clock import day_of
from svc.edge import analytics
from svc.errors import ServiceError
from svc.worker.bundle import SCRIPT_NAME
from svc.worker.ledger import KEPT_DAYS, Stored, WorkerDay, read_day, statements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.actors.live import LiveReads
    from svc.advice import Figure
    from svc.model import Account, UnavailableReason

# not_kept: the worker has deleted the day; not_counted: its database did not exist then.
Missing = Literal["not_kept", "not_counted"]


@dataclass(frozen=True)
class WorkerSide:
    """A day in the worker's database, or why it is not known; and the platform's count of the worker's requests, None
    where it does not tell.
    """

    day: WorkerDay | None
    unavailable: UnavailableReason | Missing | None = None
    requests: Figure | None = None


async def read(
    context: Context, live: LiveReads, user_id: int, account: Account, day: int, stored: Mapping[str, Stored]
) -> WorkerSide:
    """What the account's database and the platform hold of a day (day number), of which `stored` is what the service
    has.
    """
    if day_of(context.clock()) - day > KEPT_DAYS:
        return WorkerSide(None, "not_kept")
    # An answer that was kept is compared with nothing newer: once something else is stored this is another question.
    key = ("ledger", day, hash(frozenset(stored.items())))
    rows = await live.rows(user_id, account, key, statements(day, stored))
    if isinstance(rows, Unavailable):
        return WorkerSide(None, rows.reason)
    try:
        # In a thread: the day may have thousands of targets, and the other requests go on meanwhile.
        worker = await trio.to_thread.run_sync(partial(read_day, rows, day))
    except (ValueError, KeyError, TypeError, RecursionError):  # somebody else wrote into that database
        return WorkerSide(None, "cloudflare")
    if worker is None:
        return WorkerSide(None, "not_counted")
    return WorkerSide(worker, requests=await _requests(context, account, day))


async def _requests(context: Context, account: Account, day: int) -> Figure | None:
    """The platform's own count: it is shown beside the others, and nothing depends on it."""
    with trio.move_on_after(context.config.edge.report_read_s):
        try:
            return await analytics.script_requests(context.access(account).awaited(), SCRIPT_NAME, day)
        except ServiceError:  # of the platform; or the stored token cannot be opened
            return None
    return None
