"""Reading what a worker's ledger and the edge platform say of a day, for whoever asks for the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import trio

from svc.actors.requests.live_reads import Unavailable, query
from svc.clock import day_of
from svc.edge import analytics
from svc.errors import EdgeError
from svc.worker.bundle import SCRIPT_NAME
from svc.worker.ledger import KEPT_DAYS, Stored, WorkerDay, read_day, statements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.actors.requests.live_reads import LiveReads
    from svc.edge.access import Access
    from svc.model import Account, Figure, UnavailableReason

# not_kept: the worker has deleted the day; not_counted: its database did not exist then.
Missing = Literal["not_kept", "not_counted"]

# So long before the time of a read is over nobody waits for the platform's count any more: the rest is there.
_SPARE_S = 0.5


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
    found = await live.ask(user_id, account, key, partial(_side, day, stored))
    return WorkerSide(None, found.reason) if isinstance(found, Unavailable) else found


async def _side(day: int, stored: Mapping[str, Stored], access: Access, database_id: str) -> WorkerSide:
    rows = await query(statements(day, stored), access, database_id)
    # In a thread: the day may have thousands of targets, and the other requests go on meanwhile.
    worker = await trio.to_thread.run_sync(partial(read_day, rows, day))
    if worker is None:
        return WorkerSide(None, "not_counted")
    return WorkerSide(worker, requests=await _requests(access, day))


async def _requests(access: Access, day: int) -> Figure | None:
    """The platform's own count: it is shown beside the others, and nothing depends on it."""
    with trio.move_on_at(trio.current_effective_deadline() - _SPARE_S):
        try:
            return await analytics.script_requests(access, SCRIPT_NAME, day)
        except EdgeError:
            return None
    return None
