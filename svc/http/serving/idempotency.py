"""Idempotency-Key: if a client repeats a request, the service returns the first response again, with no second effect.

Rules G1 to G5 in docs/develop/conformance.md describe this.

The response is stored in the same transaction as the effect, so neither exists without the other. An error is stored
only if the request had an effect before it failed. Otherwise, a repeated request with the same key is processed again,
so that a client can correct the problem and retry. Transient errors are never stored.

A request waits while another request with the same key is running. If their bodies differ, the second request is
rejected. If a client disconnects while an actor is doing the work, the actor continues. The client can then repeat the
request and gets the stored response, because every transaction checks for a stored response before its effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.clock import DAY_MS
from svc.errors import Conflict, ServiceError
from svc.http.serving.responses import refusal
from svc.store.idempotency import AlreadyAnswered, check_storage_limit, keep_response, recall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from svc.clock import Clock
    from svc.model import Event
    from svc.store.idempotency import Claim, StoredResponse
    from svc.store.tx import Store, Tx

T = TypeVar("T")

REPLAYED = {"Idempotent-Replayed": "true"}
# The time for which a key and its response are kept.
_KEPT_MS = DAY_MS


@dataclass(frozen=True)
class _Running:
    """A request with an Idempotency-Key that is being processed."""

    body_digest: str
    done: trio.Event


class Idempotency:
    """Runs each request once per Idempotency-Key, and keeps track of running requests."""

    def __init__(self, store: Store, clock: Clock, most_bytes: int) -> None:
        """Create an instance. `most_bytes`: the maximum total size of a user's large stored responses."""
        self._store = store
        self._clock = clock
        self._most_bytes = most_bytes
        self._running: dict[tuple[int, str, str, str], _Running] = {}

    async def once(self, claim: Claim | None, work: Callable[[], Awaitable[StoredResponse]]) -> StoredResponse:
        """Run `work` once for this claim and return its response, or return the response to an earlier request.

        `work` must wrap its transaction with `committed`. If `claim` is None, nothing is stored. Raises Conflict with
        the code idempotency_conflict if the key was used for a different request, and the errors of `work`.
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
            if earlier is not None:  # check this first, because the object may have been deleted since then
                return _replayed(earlier)
            return await self._first(claim, work)
        finally:
            del self._running[name]
            running.done.set()

    async def _first(self, claim: Claim, work: Callable[[], Awaitable[StoredResponse]]) -> StoredResponse:
        try:
            return await work()
        # An identical request, whose client had disconnected, was committed in the meantime. Return its response.
        except AlreadyAnswered:
            return await self._settled(claim, None)
        except ServiceError as error:
            if error.had_effect:
                return await self._settled(claim, error)
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                # An earlier attempt, whose client disconnected, may have succeeded and caused this error. For example,
                # the object no longer exists after it was deleted.
                earlier = await self._store.peek(recall(claim, self._clock()))
                if earlier is not None:
                    return _replayed(earlier)
            raise

    def committed(
        self,
        claim: Claim | None,
        render: Callable[[T], StoredResponse],
        replay: StoredResponse | None,
        events: Callable[[T, int], Sequence[Event]] | None = None,
    ) -> Callable[[Tx[T]], Tx[StoredResponse]]:
        """Return a wrapper that commits the effect, its events and its response in one transaction.

        If an identical request was committed first, the transaction skips the effect and returns that request's
        response. `replay`: the response to a repeated request, or None if it is the same as the first response.

        `events`: creates the user's events from the effect's value and the time (epoch ms), or is None for no events.
        """

        def with_events(effect: Tx[T]) -> Tx[T]:
            value = yield from effect
            if events is not None:
                for event in events(value, self._clock()):  # noqa: UP028  # the iterator of a list cannot receive rows
                    yield event
            return value

        def transaction(effect: Tx[T]) -> Tx[StoredResponse]:
            if claim is None:
                return render((yield from with_events(effect)))
            earlier = yield from recall(claim, self._clock())
            if earlier is not None:
                effect.close()
                return _replayed(earlier)
            value = yield from with_events(effect)
            response = render(value)
            yield from self._keep(claim, replay or response)
            return response

        return transaction

    async def _settled(self, claim: Claim, error: ServiceError | None) -> StoredResponse:
        """Return the response stored for the claim. If there is none, store `error` as the response and raise it.

        If `error` is None and the stored response has expired in the meantime, raises AlreadyAnswered.
        """
        response = await self._store.run(self._settle(claim, error))
        if response is not None:
            return _replayed(response)
        raise error or AlreadyAnswered(retry_after_s=1)

    def _settle(self, claim: Claim, error: ServiceError | None) -> Tx[StoredResponse | None]:
        """Return the stored response. If there is none, store the error as the response and return None."""
        earlier = yield from recall(claim, self._clock())
        if earlier is None and error is not None:
            yield from self._keep(claim, refusal(error))
        return earlier

    def _keep(self, claim: Claim, response: StoredResponse) -> Tx[None]:
        """Store a response.

        If the user's stored responses become too large, raises ServiceError with the code rate_limited, which rolls
        back the effect of the request.
        """
        now = self._clock()
        yield from check_storage_limit(claim.user_id, len(response.body), self._most_bytes, now)
        yield from keep_response(claim, response, now, _KEPT_MS)


def _replayed(response: StoredResponse) -> StoredResponse:
    return replace(response, headers={**response.headers, **REPLAYED})
