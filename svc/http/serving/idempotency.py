"""Idempotency-Key: a repeated request gets the first answer again, and the effect happens only once (rules G1 to G5).

The answer is stored in the same transaction as the effect, so neither exists without the other. An error is stored only
if the request had an effect before it failed. Otherwise a repeat with the same key runs again, so that a client can
follow the remedy and retry. Transient errors are never stored.

A request waits while another request with the same key runs. If their bodies differ, the second request is refused. If
a client disconnects, work that an actor has begun continues. When the client repeats the request, it gets the stored
answer, because every transaction checks for a stored answer before its effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.clock import DAY_MS
from svc.errors import Conflict, ServiceError
from svc.http.serving.answers import refusal
from svc.store.idempotency import AlreadyAnswered, check_storage_limit, keep_answer, recall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.clock import Clock
    from svc.model import Event
    from svc.store.idempotency import Claim, StoredAnswer
    from svc.store.tx import Store, Tx

T = TypeVar("T")

REPLAYED = {"Idempotent-Replayed": "true"}
# How long a key and its answer are kept.
_KEPT_MS = DAY_MS


@dataclass(frozen=True)
class _Running:
    """A request with an Idempotency-Key that is being processed."""

    body_digest: str
    done: trio.Event


class Idempotency:
    """Runs requests once per Idempotency-Key; owns the set of those in progress."""

    def __init__(self, store: Store, clock: Clock, most_bytes: int) -> None:
        """Initialize; `most_bytes` limits the total size of a user's large stored answers."""
        self._store = store
        self._clock = clock
        self._most_bytes = most_bytes
        self._running: dict[tuple[int, str, str, str], _Running] = {}

    async def once(self, claim: Claim | None, work: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
        """Run `work` once for this claim and return its answer, or return the answer that an earlier request got.

        `work` must wrap its transaction with `committed`. If `claim` is None, nothing is stored.
        Raises what `work` raises; Conflict idempotency_conflict.
        """
        if claim is None:
            return await work()
        name = (claim.user_id, claim.method, claim.path, claim.key)
        while (twin := self._running.get(name)) is not None:
            if twin.body_digest != claim.body_digest:
                raise Conflict("idempotency_conflict")
            await twin.done.wait()
        running = self._running[name] = _Running(claim.body_digest, trio.Event())
        try:
            earlier = await self._store.peek(recall(claim, self._clock()))
            if earlier is not None:  # check this first, because the request's object may have been deleted since
                return _replayed(earlier)
            return await self._first(claim, work)
        finally:
            del self._running[name]
            running.done.set()

    async def _first(self, claim: Claim, work: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
        try:
            return await work()
        except AlreadyAnswered:  # an identical request was committed first; its client had disconnected
            return await self._settled(claim, None)
        except ServiceError as error:
            if error.had_effect:
                return await self._settled(claim, error)
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                # The first attempt, whose client had disconnected, may have caused this error through its effect.
                earlier = await self._store.peek(recall(claim, self._clock()))
                if earlier is not None:
                    return _replayed(earlier)
            raise

    def committed(
        self,
        claim: Claim | None,
        render: Callable[[T], StoredAnswer],
        replay: StoredAnswer | None,
        event: Callable[[T, int], Event] | None = None,
    ) -> Callable[[Tx[T]], Tx[StoredAnswer]]:
        """Return a wrapper that commits the effect, its event and its answer in one transaction.

        If an identical request committed first, the transaction returns that answer and drops the effect.
        `replay`: the answer to a repeated request, if it differs from the first answer. `event`: makes the user's event
        from the effect's value and the time (epoch ms); None means no event.
        """

        def with_event(effect: Tx[T]) -> Tx[T]:
            value = yield from effect
            if event is not None:
                yield event(value, self._clock())
            return value

        def transaction(effect: Tx[T]) -> Tx[StoredAnswer]:
            if claim is None:
                return render((yield from with_event(effect)))
            earlier = yield from recall(claim, self._clock())
            if earlier is not None:
                effect.close()
                return _replayed(earlier)
            value = yield from with_event(effect)
            answer = render(value)
            yield from self._keep(claim, replay or answer)
            return answer

        return transaction

    async def _settled(self, claim: Claim, error: ServiceError | None) -> StoredAnswer:
        """Return the answer stored for the claim. If there is none, store `error` as the answer and raise it.

        Raises `error`; AlreadyAnswered if the stored answer has expired since.
        """
        answer = await self._store.run(self._settle(claim, error))
        if answer is not None:
            return _replayed(answer)
        raise error or AlreadyAnswered(retry_after_s=1)

    def _settle(self, claim: Claim, error: ServiceError | None) -> Tx[StoredAnswer | None]:
        """Return the stored answer, or store the error as the answer."""
        earlier = yield from recall(claim, self._clock())
        if earlier is None and error is not None:
            yield from self._keep(claim, refusal(error))
        return earlier

    def _keep(self, claim: Claim, answer: StoredAnswer) -> Tx[None]:
        """Store an answer.

        Raises ServiceError rate_limited if the user's stored answers are too large. The error rolls the effect back.
        """
        now = self._clock()
        yield from check_storage_limit(claim.user_id, len(answer.body), self._most_bytes, now)
        yield from keep_answer(claim, answer, now, _KEPT_MS)


def _replayed(answer: StoredAnswer) -> StoredAnswer:
    return replace(answer, headers={**answer.headers, **REPLAYED})
