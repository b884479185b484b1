"""POST /edge/push: the totals of an account's worker, taken in one transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quart import request

from svc.api import push as api
from svc.errors import Unauthorized
from svc.http.credentials import bearer
from svc.http.serve import raw_body
from svc.ids import digest
from svc.model import DROP_REASONS, WorkerPush
from svc.store import accounts, totals, worker_keys
from svc.store.totals import Ingested, PushedHour, PushedPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.http.deps import Deps
    from svc.http.serve import Serve
    from svc.store.tx import Tx


class Push:
    """The handler of /edge/push."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._clock = deps.clock
        serve.open(api.PUSH, self.receive)

    async def receive(self) -> api.PushAnswer:
        """Receive a push; sent twice, it changes nothing. Its body is read for a known worker only."""
        key = digest(bearer(request.headers.get("Authorization")))
        now = self._clock()
        account_id = await self._store.peek(worker_keys.account_of_worker_key(key, now))
        if account_id is None:
            raise Unauthorized
        head, parts, wrong = api.read_push(await raw_body())
        ingested = await self._store.run(_record(account_id, parts, len(wrong), _worker_push(head, now), now))
        refused = [*ingested.refused, *((part_id, "invalid") for part_id in wrong)]
        return api.PushAnswer.model_validate(
            {
                "accepted": tuple(ingested.accepted),
                "refused": tuple({"id": part_id, "code": code} for part_id, code in refused),
                "unknown_targets": tuple(ingested.unknown_targets),
            }
        )


def _record(account_id: str, parts: Sequence[api.PushedPart], wrong: int, push: WorkerPush, now: int) -> Tx[Ingested]:
    ingested = yield from totals.ingest(account_id, [_kept(part) for part in parts], now)
    # The worker counts what it sends as waiting; what is settled here waits no more.
    settled = len(ingested.accepted) + len(ingested.refused) + wrong
    yield from accounts.record_push(account_id, replace(push, queue=max(0, push.queue - settled)))
    return ingested


def _kept(part: api.PushedPart) -> PushedPart:
    return PushedPart(
        id=part.id,
        day=part.day,
        as_of=part.as_of,
        final=part.final,
        hours=tuple(PushedHour(hour.at, hour.rows) for hour in part.hours),
        refused_hours=part.refused_hours,
        days=part.days,
    )


def _worker_push(head: api.PushHead, now: int) -> WorkerPush:
    dropped = {reason: head.dropped.get(reason, 0) for reason in DROP_REASONS}
    return WorkerPush(now, head.bundle, head.schema_, head.queue, head.error, dropped, head.install)
