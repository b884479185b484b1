"""What waits for one account: the only concurrency primitive that we own.

A caller asks and waits; the account's task serves one question after the other. Cancelling the caller abandons the
answer, never the work. Every question is resolved on every path: answered, refused, crashed, stopped.
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
    """One question to an actor: what is to be done for it, and the place where its answer will be.

    `claim` makes two questions the same request; None: this one has no other like it.
    """

    work: Callable[[], Awaitable[T]]
    claim: Claim | None = None
    done: trio.Event = field(default_factory=trio.Event)
    asked_at: float = field(default_factory=time.monotonic)
    about: Mapping[str, str] = field(default_factory=lambda: dict(about()))  # of the lines of who asks
    result: outcome.Outcome[T] | None = None

    def resolve(self, result: outcome.Outcome[T]) -> None:
        """Answer it; the first answer wins."""
        if self.result is None:
            self.result = result
            self.done.set()

    async def answer(self) -> T:
        """Wait for the answer; raises what the work raised."""
        await self.done.wait()
        if self.result is None:
            raise AssertionError("a question was marked as done without a result")
        return self.result.unwrap()


class Mailbox:
    """The bounded queue of one account. Full is `Busy`: a caller never waits for room in it."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._asks: deque[Ask[object]] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._asks)

    def __iter__(self) -> Iterator[Ask[object]]:
        return iter(self._asks)

    def put(self, ask: Ask[T]) -> None:
        """Queue `ask`. Raises Busy (full) or Stopping (closed)."""
        if self._closed:
            raise Stopping
        if len(self._asks) >= self._depth:
            raise Busy
        self._asks.append(ask)  # type: ignore[arg-type]  # the queue does not look at the answer's type

    def pop(self) -> Ask[object] | None:
        """Remove and return the oldest question; None when there is none."""
        return self._asks.popleft() if self._asks else None

    def close(self) -> None:
        """Accept nothing new; what is queued can still be served."""
        self._closed = True

    def refuse_rest(self) -> None:
        """Close, and resolve every question that is still queued with Stopping."""
        self.close()
        while ask := self.pop():
            ask.resolve(outcome.Error(Stopping()))
