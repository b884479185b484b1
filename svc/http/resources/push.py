"""POST /edge/push: the totals that an account's Worker pushes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from svc.api import push as api
from svc.errors import Unauthorized
from svc.http.resources.intake import Intake, ParsedPush
from svc.http.serving.credentials import admit, bearer
from svc.ids import digest
from svc.limits import SlidingLimit
from svc.logs import add_log_context
from svc.metrics import PUSH_LAG, PUSH_PARTS, PUSHES
from svc.model import WorkerPush
from svc.store import worker_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.http.serving.bodies import Bodies
    from svc.http.serving.deps import Deps
    from svc.http.serving.direct import Incoming
    from svc.http.serving.endpoints import Endpoints
    from svc.model import WorkerErrorKind
    from svc.store.totals import Ingested
    from svc.worker.pushed import PushedPart


class Push:
    """The handler of /edge/push."""

    def __init__(self, deps: Deps, endpoints: Endpoints, bodies: Bodies) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._metrics = deps.context.metrics
        self._intake = Intake(deps.context.store, deps.context.metrics)
        limits = deps.context.config.limits
        self._limit = SlidingLimit(limits.pushes_per_minute, most_names=limits.accounts_total)
        self._without_delay = bodies.without_delay
        endpoints.direct(api.PUSH, self.receive)

    async def receive(self, request: Incoming) -> api.PushResponse:
        """Store a push. A repeated push has no effect. The Worker's key is checked before the body is read."""
        key = digest(bearer(request.header(b"authorization")))
        now = self._clock()
        account_id = await self._store.peek(worker_keys.account_of_worker_key(key, now))
        if account_id is None:
            raise Unauthorized
        add_log_context(account=account_id)
        admit(self._limit, account_id, now)
        head, parts, wrong = await self._without_delay(api.read_push, await request.body())
        report = _worker_push(head, now)
        ingested = await self._intake.store(ParsedPush(account_id, parts, wrong, report))
        refused = [*ingested.refused, *((part_id, "invalid") for part_id in wrong)]
        self._count(parts, ingested, len(wrong), now)
        return api.PushResponse.model_validate(
            {
                "accepted": tuple(ingested.accepted),
                "refused": tuple({"id": part_id, "code": code} for part_id, code in refused),
                "unknown_targets": tuple(ingested.unknown_targets),
            }
        )

    def _count(self, parts: Sequence[PushedPart], ingested: Ingested, wrong: int, now: int) -> None:
        """Count a push and the outcome of its parts in the metrics. `wrong`: the number of malformed parts."""
        outcomes: Counter[str] = Counter(code for _, code in ingested.refused)
        outcomes["invalid"] += wrong
        refused = outcomes.total()
        outcomes["accepted"] = len(ingested.accepted)
        outcomes["early"] = len(parts) + wrong - outcomes.total()
        for outcome, number in outcomes.items():
            if number:
                self._metrics.count(PUSH_PARTS, outcome, by=number)
        complete = not refused and not outcomes["early"]
        self._metrics.count(PUSHES, "accepted" if complete else "partial" if ingested.accepted else "refused")
        if ingested.accepted:
            kept = set(ingested.accepted)
            newest = max(part.as_of for part in parts if part.id in kept)
            self._metrics.observe(PUSH_LAG, max(0, now - newest) / 1000)


def _worker_push(head: api.PushHead, now: int) -> WorkerPush:
    return WorkerPush(
        now,
        head.bundle,
        head.schema_,
        head.queue,
        head.error,
        head.dropped.model_dump(),
        head.install,
        _error_kind(head),
    )


def _error_kind(head: api.PushHead) -> WorkerErrorKind | None:
    if head.error is None:
        return None
    # Old Workers do not send the `error_kind` field. They send the kind only as a prefix of the error's text.
    kind = head.error_kind or head.error.partition(":")[0]
    return "push" if kind == "push" else "cron"
