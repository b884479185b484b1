"""Idempotency-Key: the same request again gets the first answer again, and nothing is done twice (rules G1 to G5).

The answer is stored in the transaction of the effect: there is no moment at which one is there without the other.
A request whose twin is still being worked on waits for it. A client that hangs up does not stop what an actor has
begun; its repeat finds that answer, because whoever is about to do it again looks first, in its own transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.errors import ServiceError
from svc.http.wire import JSON_TYPE, dump
from svc.store.idempotency import Answer, AnsweredMeanwhile, Claim, recall, remember

if TYPE_CHECKING:
    from svc.clock import Clock
    from svc.store.tx import Store, Tx

T = TypeVar("T")

Work = Callable[[Callable[["Tx[T]"], "Tx[T]"]], Awaitable[T]]

log = logging.getLogger(__name__)

REPLAYED = {"Idempotent-Replayed": "true"}
# Refusals that pass by themselves: nothing was done, and the same request is meant to be sent again.
_NEVER_KEPT = ("operation_in_progress", "unauthorized", "scope_required", "session_required", "email_unconfirmed")


class Idempotency:
    """Owns which requests with a key are being worked on."""

    def __init__(self, store: Store, clock: Clock, ttl_s: float) -> None:
        self._store = store
        self._clock = clock
        self._ttl_ms = int(ttl_s * 1000)
        self._running: dict[tuple[int, str, str, str], trio.Event] = {}

    async def once(
        self,
        claim: Claim | None,
        work: Work[T],
        render: Callable[[T], Answer],
        replay: Callable[[T], Answer] | None = None,
    ) -> Answer:
        """Do `work` once for this claim and answer `render` of what it returns.

        `work` gets a function that it puts around the transaction of its effect. `replay` makes the answer that a
        repeat gets, where that is not the first one. None for a claim: nothing is kept.
        Raises what `work` raises; Conflict idempotency_conflict.
        """
        if claim is None:
            return render(await work(_as_it_is))
        name = (claim.user_id, claim.method, claim.path, claim.key)
        while (twin := self._running.get(name)) is not None:
            await twin.wait()
        done = self._running[name] = trio.Event()
        try:
            return await self._first_or_replay(claim, work, render, replay or render)
        except AnsweredMeanwhile:  # an identical request, whose client had disconnected, committed first
            return await self._first_or_replay(claim, work, render, replay or render)
        finally:
            del self._running[name]
            done.set()

    async def recall(self, claim: Claim) -> Answer | None:
        """The answer that a repeat gets; None for a first request. Raises Conflict idempotency_conflict."""
        earlier = await self._store.peek(recall(claim, self._clock()))
        return None if earlier is None else _replayed(earlier)

    async def _first_or_replay(
        self, claim: Claim, work: Work[T], render: Callable[[T], Answer], replay: Callable[[T], Answer]
    ) -> Answer:
        earlier = await self.recall(claim)
        if earlier is not None:
            return earlier
        answers: list[Answer] = []

        def remembered(effect: Tx[T]) -> Tx[T]:
            """The effect and its answer in one transaction; a twin that was quicker ends it."""
            answered = yield from recall(claim, self._clock())
            if answered is not None:
                raise Answered(_replayed(answered))
            value = yield from effect
            yield from remember(claim, replay(value), self._clock(), self._ttl_ms)
            answers[:] = [render(value)]
            return value

        try:
            value = await work(remembered)
        except Answered as found:
            return found.answer
        except ServiceError as error:
            if not _kept(error):
                raise
            answered = await self._store.run(_settle(claim, refusal(error), self._clock(), self._ttl_ms))
            if answered is not None:
                return _replayed(answered)
            raise
        if not answers:  # the work had no transaction of its own to put it in
            answered = await self._store.run(_settle(claim, replay(value), self._clock(), self._ttl_ms))
            return _replayed(answered) if answered is not None else render(value)
        return answers[0]


class Answered(ServiceError):
    """Ends a repeat wherever it is, also in a transaction that was about to do it again: here is the first answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("idempotency_conflict")
        self.answer = answer


def refusal(error: ServiceError) -> Answer:
    """The answer that an error is."""
    return Answer(error.status, dump(error.body()), JSON_TYPE, {})


def _kept(error: ServiceError) -> bool:
    return error.status < 500 and error.status != 429 and error.code not in _NEVER_KEPT


def _settle(claim: Claim, answer: Answer, now: int, ttl_ms: int) -> Tx[Answer | None]:
    """Keep `answer`, or return the one that is there already."""
    earlier = yield from recall(claim, now)
    if earlier is None:
        yield from remember(claim, answer, now, ttl_ms)
    return earlier


def _as_it_is(effect: Tx[T]) -> Tx[T]:
    return effect


def _replayed(answer: Answer) -> Answer:
    return Answer(answer.status, answer.body, answer.content_type, {**answer.headers, **REPLAYED})
