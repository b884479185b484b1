"""What waits for one account: the only concurrency primitive that we own.

A caller asks and waits; the account's task takes the calls one after the other. Cancelling the caller abandons the
answer, never the work. A call is resolved on every path: answered, refused, crashed, stopped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import outcome
import trio

from svc.errors import Busy, Stopping

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@dataclass(eq=False)
class Call(Generic[T]):
    """One request and the place where its answer will be."""

    work: Callable[[], Awaitable[T]]
    done: trio.Event = field(default_factory=trio.Event)
    result: outcome.Outcome[T] | None = None

    def resolve(self, result: outcome.Outcome[T]) -> None:
        """The first answer wins."""
        if self.result is None:
            self.result = result
            self.done.set()

    async def answer(self) -> T:
        """Wait for the answer; raises what the work raised."""
        await self.done.wait()
        if self.result is None:
            raise AssertionError("a call was marked as done without a result")
        return self.result.unwrap()


class Mailbox:
    """The bounded queue of one account. Full is `Busy`: a caller never waits for room in it."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._calls: deque[Call[object]] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: Call[T]) -> None:
        """Queue `call`. Raises Busy (full) or Stopping (closed)."""
        if self._closed:
            raise Stopping
        if len(self._calls) >= self._depth:
            raise Busy
        self._calls.append(call)  # type: ignore[arg-type]  # the queue does not look at the answer's type

    def take(self) -> Call[object] | None:
        """The oldest call, or None."""
        return self._calls.popleft() if self._calls else None

    def close(self) -> None:
        """Take nothing new; what is queued can still be served."""
        self._closed = True

    def refuse_rest(self) -> None:
        """After the drain: whoever is still queued hears it now."""
        self.close()
        while call := self.take():
            call.resolve(outcome.Error(Stopping()))
