"""POST /edge/push: the totals of an account's worker, taken in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import request

from svc.api import push as api
from svc.errors import ServiceError, Unauthorized
from svc.http.credentials import bearer
from svc.http.intake import Intake, TakenPush
from svc.http.serve import raw_body
from svc.ids import digest
from svc.limits import SlidingLimit
from svc.model import WorkerPush
from svc.store import worker_keys
from svc.store.totals import PushedHour, PushedPart

if TYPE_CHECKING:
    from svc.http.deps import Deps
    from svc.http.serve import Serve


class Push:
    """The handler of /edge/push."""

    def __init__(self, deps: Deps, serve: Serve) -> None:
        self._store = deps.store
        self._clock = deps.clock
        self._intake = Intake(deps.store)
        self._limit = SlidingLimit(deps.config.limits.pushes_per_minute, most_names=deps.config.limits.accounts_total)
        self._without_delay = serve.without_delay
        serve.open(api.PUSH, self.receive)

    async def receive(self) -> api.PushAnswer:
        """Receive a push; sent twice, it changes nothing. Its body is read for a known worker only."""
        key = digest(bearer(request.headers.get("Authorization")))
        now = self._clock()
        account_id = await self._store.peek(worker_keys.account_of_worker_key(key, now))
        if account_id is None:
            raise Unauthorized
        verdict = self._limit.count(account_id, now)
        if not verdict.allowed:
            raise ServiceError("rate_limited", retry_after_s=verdict.reset_s)
        head, parts, wrong = await self._without_delay(api.read_push, await raw_body())
        report = _worker_push(head, now)
        ingested = await self._intake.take(TakenPush(account_id, [_kept(part) for part in parts], len(wrong), report))
        refused = [*ingested.refused, *((part_id, "invalid") for part_id in wrong)]
        return api.PushAnswer.model_validate(
            {
                "accepted": tuple(ingested.accepted),
                "refused": tuple({"id": part_id, "code": code} for part_id, code in refused),
                "unknown_targets": tuple(ingested.unknown_targets),
            }
        )


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
    return WorkerPush(now, head.bundle, head.schema_, head.queue, head.error, head.dropped.model_dump(), head.install)
