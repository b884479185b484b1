"""Group commit of pushes: several pushes share one transaction, one flush to disk and one set of statements.

A push is written immediately if no group is being written; otherwise, it joins the next group. The task of one push
writes the whole group. If that push's client disconnects before the commit, nothing is stored, and the task of another
push writes the other pushes of the group. The service responds to a push only after the push's data is on disk.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import outcome
import trio

from svc.errors import StoreUnavailable, Unauthorized
from svc.metrics import PUSH_GROUP, PUSHES_WAITING
from svc.store import totals
from svc.store.pushes import record_pushes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.metrics import Metrics
    from svc.model import WorkerPush
    from svc.store.totals import Ingested
    from svc.store.tx import Store, Tx
    from svc.worker.pushed import PushedPart

# The maximum size of a group. It is large enough to spread the cost of a transaction, but small enough that other
# writers wait only about 50 ms. A push with more than `MAX_ROWS` rows is written alone.
MAX_PUSHES = 32
MAX_ROWS = 5_000


@dataclass(frozen=True)
class ParsedPush:
    """A parsed push: the account, the valid parts, the ids of the invalid parts, and the Worker's status report."""

    account_id: str
    parts: Sequence[PushedPart]
    wrong: Sequence[int]
    report: WorkerPush

    @property
    def rows(self) -> int:
        """The maximum number of rows that the push can store."""
        return sum(len(part.days) + sum(len(hour.rows) for hour in part.hours) for part in self.parts)


@dataclass(eq=False)
class _Waiting:
    push: ParsedPush
    woken: trio.Event = field(default_factory=trio.Event)
    result: outcome.Maybe[Ingested] | None = None
    abandoned: bool = False  # the client has disconnected


class Intake:
    """Stores pushes in groups.

    The number of waiting pushes is bounded, because the server limits the number of running requests.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._waiting: deque[_Waiting] = deque()
        self._writing = False
        metrics.at_scrape(lambda: metrics.set(PUSHES_WAITING, len(self._waiting)))

    async def store(self, push: ParsedPush) -> Ingested:
        """Store a push.

        Raises Unauthorized if the account has been removed, or StoreUnavailable if nothing was stored.
        """
        mine = _Waiting(push)
        self._waiting.append(mine)
        if self._writing:
            try:
                await mine.woken.wait()
            except trio.Cancelled:
                self._abandon(mine)
                raise
        if mine.result is None:
            await self._write()
        if mine.result is None:
            raise RuntimeError("a push was written without a result")
        return mine.result.unwrap()

    def _abandon(self, mine: _Waiting) -> None:
        mine.abandoned = True
        if mine in self._waiting:  # otherwise, the push is in the group that is being written
            self._waiting.remove(mine)
            if mine.woken.is_set():  # this task was about to write the next group when its client disconnected
                self._wake_next()

    def _wake_next(self) -> None:
        self._writing = bool(self._waiting)
        if self._writing:
            self._waiting[0].woken.set()

    async def _write(self) -> None:
        """Write the next group, then wake the task that writes the group after it."""
        self._writing = True
        group = self._next_group()
        try:
            await self._store_all(group)
        finally:
            # After a cancellation, nothing was stored. The client of the first push has disconnected, so requeue only
            # the other pushes.
            undone = [each for each in group[1:] if each.result is None and not each.abandoned]
            self._waiting.extendleft(reversed(undone))
            self._wake_next()
            # Let the next group begin its write before this group's tasks wake up and render their responses.
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            for each in group[1:]:
                if each.result is not None:
                    each.woken.set()

    def _next_group(self) -> list[_Waiting]:
        group = [self._waiting.popleft()]
        rows = group[0].push.rows
        while self._waiting and len(group) < MAX_PUSHES:
            rows += self._waiting[0].push.rows
            if rows > MAX_ROWS:
                break
            group.append(self._waiting.popleft())
        return group

    async def _store_all(self, group: Sequence[_Waiting]) -> None:
        try:
            stored = await self._store.run(_record([each.push for each in group]))
            self._metrics.observe(PUSH_GROUP, len(group))
        except StoreUnavailable as error:
            for each in group:  # use a new exception for each push, because raising an exception extends its traceback
                each.result = outcome.Error(StoreUnavailable(error.message, retry_after_s=error.retry_after_s or 5))
        except Exception as error:  # noqa: BLE001  # raised again in the request of the push
            if len(group) == 1:
                group[0].result = outcome.Error(error)
                return
            for each in group:  # retry one by one, so that one failing push does not make the others fail
                await self._store_all([each])
        else:
            for each, ingested in zip(group, stored, strict=True):
                each.result = outcome.Error(Unauthorized()) if ingested is None else outcome.Value(ingested)


def _record(pushes: Sequence[ParsedPush]) -> Tx[list[Ingested | None]]:
    """Store the pushes. Return the result for each push, or None if the push's account no longer exists."""
    now = max(push.report.at for push in pushes)
    numbers: dict[str, list[int]] = defaultdict(list)
    settled: dict[str, list[int]] = defaultdict(list)
    reports = []
    for push in pushes:
        settled_ids = [*push.wrong, *(part.id for part in push.parts if totals.is_settled(part, now))]
        numbers[push.account_id] += [*push.wrong, *(part.id for part in push.parts)]
        settled[push.account_id] += settled_ids
        # The queue length that a Worker reports includes the parts in this push, so subtract the parts that were
        # accepted or rejected now.
        reports.append((push.account_id, replace(push.report, queue=max(0, push.report.queue - len(settled_ids)))))
    parts = {
        account_id: (min(each), max(settled[account_id], default=None)) for account_id, each in numbers.items() if each
    }
    there = yield from record_pushes(reports, parts)
    known = [(push.account_id, push.parts) for push in pushes if push.account_id in there]
    ingested = iter((yield from totals.ingest_all(known, now)))
    return [next(ingested) if push.account_id in there else None for push in pushes]
