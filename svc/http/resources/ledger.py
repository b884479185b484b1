"""/v1/accounts/{account_id}/ledger: the statement of counts for one day (docs/use/ledger.md)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from svc.actors.requests import ledger
from svc.actors.requests.ledger import WorkerSide
from svc.api import ledger as api
from svc.clock import day_of
from svc.errors import Invalid, Issue
from svc.http.serving.visible import visible_or_former
from svc.model import FormerAccount
from svc.store.ledger import stored_day
from svc.worker.ledger import compare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account, Figure
    from svc.worker.ledger import Stored


class Ledger:
    """The handler of the statement of counts."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._context = deps.context
        self._supervisor = deps.supervisor
        endpoints.read(api.SHOW, self.show)

    async def show(self, read: Read[api.LedgerQuery]) -> api.OneLedger:
        """Return an account's event counts for one day, from the Worker's database and from the store."""
        account = await visible_or_former(self._context.store, read.caller, read.id)
        today = day_of(self._context.clock())
        day = today if read.query.day is None else read.query.day
        if day > today:
            raise Invalid([Issue("day", "must not be after today (UTC)")])
        before = await self._context.store.read(stored_day(account.id, day))
        side = await self._worker(read.caller.user.id, account, day, before)
        after = before if side.day is None else await self._context.store.read(stored_day(account.id, day))
        return await trio.to_thread.run_sync(partial(_ledger, day, side, before, after))

    async def _worker(
        self, user_id: int, account: Account | FormerAccount, day: int, stored: Mapping[str, Stored]
    ) -> WorkerSide:
        if isinstance(account, FormerAccount):
            return WorkerSide(None, "not_installed")
        return await ledger.read(self._context, self._supervisor.live_reads, user_id, account, day, stored)


def _ledger(day: int, side: WorkerSide, before: Mapping[str, Stored], after: Mapping[str, Stored]) -> api.OneLedger:
    worker = side.day
    targets = compare(worker, before, after)
    return api.OneLedger(
        ledger=api.Ledger(
            day=day,
            since=None if worker is None else worker.since,
            closed=None if worker is None else worker.closed,
            queued_parts=None if worker is None else worker.queued_parts,
            targets=tuple(api.LedgerTarget.from_model(target) for target in targets),
            dropped=None if worker is None else worker.all_drops,
            agrees=None if worker is None else all(target.agrees for target in targets),
            platform_requests=None if side.requests is None else _requests(side.requests),
            unavailable=side.unavailable,
        )
    )


def _requests(figure: Figure) -> api.PlatformRequests:
    return api.PlatformRequests(estimate=figure.value, at_least=figure.at_least, at_most=figure.at_most)
