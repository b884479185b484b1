"""Idempotency-Key: the same request again gets the first answer again, and nothing is done twice (rules G1 to G5).

The answer is stored in the transaction of the effect: there is no moment at which one is there without the other.
A refusal is kept only if the request had an effect before it was refused: otherwise the same request with the same key
runs again, so that a client can follow the remedy and repeat it. Transient failures are never kept.

A request whose twin is still being worked on waits for it; with another body it is refused meanwhile. A client that
hangs up does not stop what an actor has begun; its repeat finds that answer, because whoever is about to do it again
looks first, in its own transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.clock import DAY_MS
from svc.errors import Conflict, ServiceError
from svc.http.serving.answers import refusal
from svc.store.idempotency import AnsweredMeanwhile, check_room, keep_answer, recall

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
    """A request with a key that is being worked on."""

    body_digest: str
    done: trio.Event


class Idempotency:
    """Owns which requests with a key are being worked on."""

    def __init__(self, store: Store, clock: Clock, most_bytes: int) -> None:
        """`most_bytes`: of a user's large answers, all together."""
        self._store = store
        self._clock = clock
        self._most_bytes = most_bytes
        self._running: dict[tuple[int, str, str, str], _Running] = {}

    async def once(self, claim: Claim | None, work: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
        """Do `work` once for this claim: its answer, or the one that an earlier request got.

        `work` puts `committed` around its transaction. None for a claim: nothing is kept.
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
            if earlier is not None:  # before anything is looked up: what a repeat names may be gone by now
                return _replayed(earlier)
            return await self._first(claim, work)
        finally:
            del self._running[name]
            running.done.set()

    async def _first(self, claim: Claim, work: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
        try:
            return await work()
        except AnsweredMeanwhile:  # an identical request, whose client had disconnected, committed first
            return await self._settled(claim, None)
        except ServiceError as error:
            if error.had_effect:
                return await self._settled(claim, error)
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                # The state that refuses this request may be the effect of its first try, whose client had disconnected.
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
        """The effect, its event and its answer in one transaction; an identical request that was quicker is answered
        instead.

        `replay`: the answer that a repeat gets, where that is not the first one. `event`: what is told in the user's
        events of the effect's value, at a time (epoch ms); None: nothing.
        """

        def told(effect: Tx[T]) -> Tx[T]:
            value = yield from effect
            if event is not None:
                yield event(value, self._clock())
            return value

        def transaction(effect: Tx[T]) -> Tx[StoredAnswer]:
            if claim is None:
                return render((yield from told(effect)))
            earlier = yield from recall(claim, self._clock())
            if earlier is not None:
                effect.close()
                return _replayed(earlier)
            value = yield from told(effect)
            answer = render(value)
            yield from self._keep(claim, replay or answer)
            return answer

        return transaction

    async def _settled(self, claim: Claim, error: ServiceError | None) -> StoredAnswer:
        """The answer that is kept for the claim; where there is none, the refusal is kept, and is raised.

        Raises `error`; AnsweredMeanwhile when the answer that was there has gone.
        """
        answer = await self._store.run(self._settle(claim, error))
        if answer is not None:
            return _replayed(answer)
        raise error or AnsweredMeanwhile(retry_after_s=1)

    def _settle(self, claim: Claim, error: ServiceError | None) -> Tx[StoredAnswer | None]:
        """Keep the refusal, or return the answer that is there already."""
        earlier = yield from recall(claim, self._clock())
        if earlier is None and error is not None:
            yield from self._keep(claim, refusal(error))
        return earlier

    def _keep(self, claim: Claim, answer: StoredAnswer) -> Tx[None]:
        """Raises ServiceError rate_limited, which undoes the effect: there is no room for it."""
        now = self._clock()
        yield from check_room(claim.user_id, len(answer.body), self._most_bytes, now)
        yield from keep_answer(claim, answer, now, _KEPT_MS)


def _replayed(answer: StoredAnswer) -> StoredAnswer:
    return replace(answer, headers={**answer.headers, **REPLAYED})
