"""Reads the Worker's and Cloudflare's numbers for a day's statement of counts (docs/use/ledger.md)."""

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

# `not_kept`: the Worker has deleted the day's data. `not_counted`: the Worker's database did not exist on that day.
Missing = Literal["not_kept", "not_counted"]

# The read of Cloudflare's count is abandoned this many seconds before the deadline, so that there is time to return the
# other numbers.
_SPARE_S = 0.5


@dataclass(frozen=True)
class WorkerSide:
    """The numbers for a day from the Worker's database and from Cloudflare.

    `day`: the Worker's numbers, or None if they are unavailable. `unavailable`: the reason why they are unavailable.
    `requests`: Cloudflare's count of the requests that the Worker received, or None if Cloudflare did not report it.
    """

    day: WorkerDay | None
    unavailable: UnavailableReason | Missing | None = None
    requests: Figure | None = None


async def read(
    context: Context, live: LiveReads, user_id: int, account: Account, day: int, stored: Mapping[str, Stored]
) -> WorkerSide:
    """Return the Worker's and Cloudflare's numbers for a day (epoch day).

    `stored`: the service's own numbers for that day, by target.
    """
    if day_of(context.clock()) - day > KEPT_DAYS:
        return WorkerSide(None, "not_kept")
    # The key includes the stored numbers, because a cached result must not be compared with newer stored numbers.
    key = ("ledger", day, hash(frozenset(stored.items())))
    side = await live.ask(user_id, account, key, partial(_read_side, day, stored))
    return WorkerSide(None, side.reason) if isinstance(side, Unavailable) else side


async def _read_side(day: int, stored: Mapping[str, Stored], access: Access, database_id: str) -> WorkerSide:
    rows = await query(statements(day, stored), access, database_id)
    # Use a thread, because processing a day with thousands of sites and links would block other requests.
    worker = await trio.to_thread.run_sync(partial(read_day, rows, day))
    if worker is None:
        return WorkerSide(None, "not_counted")
    return WorkerSide(worker, requests=await _read_requests(access, day))


async def _read_requests(access: Access, day: int) -> Figure | None:
    """Return Cloudflare's request count for the day.

    If the count is unavailable, return None, so that the other numbers are still shown.
    """
    with trio.move_on_at(trio.current_effective_deadline() - _SPARE_S):
        try:
            return await analytics.script_requests(access, SCRIPT_NAME, day)
        except EdgeError:
            return None
    return None
