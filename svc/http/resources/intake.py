"""Pushes that come at once are taken in together: one transaction, one flush of the disk, one set of statements.

Nobody waits for company: a push that comes while nothing is written is written at once, and those that come meanwhile
are the next group. The task of one of them writes the group. Where its client leaves before the transaction has begun
to count, nothing was kept, and another one's task writes it; so each push is answered when it is durable, and not
before.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import outcome
import trio

from svc.errors import StoreUnavailable, Unauthorized
from svc.metrics import PUSH_GROUP, PUSHES_WAITING
from svc.store import accounts, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.metrics import Metrics
    from svc.model import WorkerPush
    from svc.store.totals import Ingested
    from svc.store.tx import Store, Tx
    from svc.worker.pushed import PushedPart

# In one transaction: enough to share what a transaction costs, few enough that other writers wait for some 50 ms. A
# push that has more rows goes alone.
MOST_PUSHES = 32
MOST_ROWS = 5_000


@dataclass(frozen=True)
class TakenPush:
    """A push that has been read: whose, its parts that are well-formed, the numbers of others, the worker's report."""

    account_id: str
    parts: Sequence[PushedPart]
    wrong: Sequence[int]
    report: WorkerPush

    @property
    def rows(self) -> int:
        """How many rows it may store."""
        return sum(len(part.days) + sum(len(hour.rows) for hour in part.hours) for part in self.parts)


@dataclass(eq=False)
class _Waiting:
    push: TakenPush
    called: trio.Event = field(default_factory=trio.Event)
    result: outcome.Maybe[Ingested] | None = None
    left: bool = False  # its client has


class Intake:
    """See above. Every push that waits has a request that waits for it, so their number is bounded by the server."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._waiting: deque[_Waiting] = deque()
        self._writing = False
        metrics.at_scrape(lambda: metrics.set(PUSHES_WAITING, len(self._waiting)))

    async def take(self, push: TakenPush) -> Ingested:
        """Store a push. Raises Unauthorized: its account has gone meanwhile; StoreUnavailable: nothing was stored."""
        mine = _Waiting(push)
        self._waiting.append(mine)
        if self._writing:
            try:
                await mine.called.wait()
            except trio.Cancelled:
                self._leave(mine)
                raise
        if mine.result is None:
            await self._write()
        if mine.result is None:
            raise RuntimeError("a push was written without a result")
        return mine.result.unwrap()

    def _leave(self, mine: _Waiting) -> None:
        mine.left = True
        if mine in self._waiting:  # and not in the group that is being written
            self._waiting.remove(mine)
            if mine.called.is_set():  # to write, at the moment at which its client left
                self._call_next()

    def _call_next(self) -> None:
        self._writing = bool(self._waiting)
        if self._writing:
            self._waiting[0].called.set()

    async def _write(self) -> None:
        """Write the first that waits and what fits beside it, then call the next."""
        self._writing = True
        group = self._next_group()
        try:
            await self._store_all(group)
        finally:
            # Cancelled: nothing was kept. The first of the group has left, the others are written by another's task.
            undone = [each for each in group[1:] if each.result is None and not each.left]
            self._waiting.extendleft(reversed(undone))
            self._call_next()
            # The next begins to write before those who are done are told: they make their answers meanwhile.
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            for each in group[1:]:
                if each.result is not None:
                    each.called.set()

    def _next_group(self) -> list[_Waiting]:
        group = [self._waiting.popleft()]
        rows = group[0].push.rows
        while self._waiting and len(group) < MOST_PUSHES:
            rows += self._waiting[0].push.rows
            if rows > MOST_ROWS:
                break
            group.append(self._waiting.popleft())
        return group

    async def _store_all(self, group: Sequence[_Waiting]) -> None:
        try:
            stored = await self._store.run(_record([each.push for each in group]))
            self._metrics.observe(PUSH_GROUP, len(group))
        except StoreUnavailable as error:
            for each in group:  # one each: a traceback grows in every task that raises it
                each.result = outcome.Error(StoreUnavailable(error.message, retry_after_s=error.retry_after_s or 5))
        except Exception as error:  # noqa: BLE001  # each is raised again in the request whose push it was
            if len(group) == 1:
                group[0].result = outcome.Error(error)
                return
            for each in group:  # what is wrong with one of them does not fail the others
                await self._store_all([each])
        else:
            for each, ingested in zip(group, stored, strict=True):
                each.result = outcome.Error(Unauthorized()) if ingested is None else outcome.Value(ingested)


def _record(pushes: Sequence[TakenPush]) -> Tx[list[Ingested | None]]:
    """Store pushes; None for one whose account there is no more."""
    now = max(push.report.at for push in pushes)
    numbers: dict[str, list[int]] = defaultdict(list)
    settled: dict[str, list[int]] = defaultdict(list)
    reports = []
    for push in pushes:
        gone = [*push.wrong, *(part.id for part in push.parts if totals.is_settled(part, now))]
        numbers[push.account_id] += [*push.wrong, *(part.id for part in push.parts)]
        settled[push.account_id] += gone
        # The worker counts what it sends as waiting; what is settled here waits no more.
        reports.append((push.account_id, replace(push.report, queue=max(0, push.report.queue - len(gone)))))
    parts = {
        account_id: (min(each), max(settled[account_id], default=None)) for account_id, each in numbers.items() if each
    }
    there = yield from accounts.record_pushes(reports, parts)
    known = [(push.account_id, push.parts) for push in pushes if push.account_id in there]
    ingested = iter((yield from totals.ingest_all(known, now)))
    return [next(ingested) if push.account_id in there else None for push in pushes]
