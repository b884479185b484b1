"""The mailbox: a bounded queue of requests to one account's actor.

A caller puts a request into the queue and waits for its result. The account's task serves the requests in order. If the
caller is cancelled, the request is still served and its result is discarded. Every request gets a result, even if the
work crashes or the service shuts down.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import outcome
import trio

from svc.errors import Busy, Stopping
from svc.logs import about

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from svc.store.idempotency import Claim

T = TypeVar("T")


@dataclass(eq=False)
class Ask(Generic[T]):
    """A request to an actor: the work to do, and its result when the work is done.

    Two requests with the same `claim` mean that the client has sent the same HTTP request twice. If `claim` is None, a
    request never counts as a repeat.
    """

    work: Callable[[], Awaitable[T]]
    claim: Claim | None = None
    done: trio.Event = field(default_factory=trio.Event)
    asked_at: float = field(default_factory=time.monotonic)
    about: Mapping[str, str] = field(default_factory=lambda: dict(about()))  # log context of the caller
    result: outcome.Outcome[T] | None = None

    def resolve(self, result: outcome.Outcome[T]) -> None:
        """Set the result and wake the caller. Later calls have no effect."""
        if self.result is None:
            self.result = result
            self.done.set()

    async def response(self) -> T:
        """Wait for the result and return it, or raise the work's exception."""
        await self.done.wait()
        if self.result is None:
            raise AssertionError("a request was marked as done without a result")
        return self.result.unwrap()


class Mailbox:
    """One account's bounded queue. If the queue is full, `put` raises Busy instead of waiting."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._asks: deque[Ask[object]] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._asks)

    def __iter__(self) -> Iterator[Ask[object]]:
        return iter(self._asks)

    def put(self, ask: Ask[T]) -> None:
        """Append `ask`. Raises Busy if the queue is full, and Stopping if the mailbox is closed."""
        if self._closed:
            raise Stopping
        if len(self._asks) >= self._depth:
            raise Busy
        self._asks.append(ask)  # type: ignore[arg-type]  # the queue does not depend on the result type

    def pop(self) -> Ask[object] | None:
        """Remove and return the oldest request, or return None if the queue is empty."""
        return self._asks.popleft() if self._asks else None

    def close(self) -> None:
        """Reject new requests from now on. Queued requests can still be served."""
        self._closed = True

    def refuse_queued(self) -> None:
        """Close the mailbox and resolve every queued request with Stopping."""
        self.close()
        while ask := self.pop():
            ask.resolve(outcome.Error(Stopping()))
