"""A fair limiter for concurrent calls. An account with slow calls delays only its own calls.

Slots are assigned round-robin: the account that was served longest ago is next. Each account and each user can use only
a limited number of slots, however many of their calls are waiting.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

K = TypeVar("K", str, int)


@dataclass(eq=False)
class SlotRequest:
    """A call that is waiting for a slot or has one.

    If `user_id` is None, the call does not count toward a user's slots.
    """

    edge_account_id: str
    user_id: int | None
    granted: trio.Event = field(default_factory=trio.Event)


class FairLimiter:
    """A limiter with `total` slots, of which each account can use `per_account` and each user `per_user`."""

    def __init__(self, total: int, *, per_account: int, per_user: int) -> None:
        self._total = total
        self._free = total
        self._per_account = per_account
        self._per_user = per_user
        self._of_account: Counter[str] = Counter()
        self._of_user: Counter[int] = Counter()
        # Calls by account. The account that was served longest ago comes first. Accounts without waiting calls are
        # removed.
        self._waiting: OrderedDict[str, deque[SlotRequest]] = OrderedDict()

    @property
    def held(self) -> int:
        """The number of slots in use."""
        return self._total - self._free

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return sum(len(requests) for requests in self._waiting.values())

    @asynccontextmanager
    async def slot(self, edge_account_id: str, user_id: int | None) -> AsyncIterator[None]:
        """Return a context manager that waits for a slot and holds it until the block ends.

        The caller can cancel the wait.
        """
        request = SlotRequest(edge_account_id, user_id)
        self.enqueue(request)
        try:
            await request.granted.wait()
            yield
        finally:
            self.release(request)

    def enqueue(self, request: SlotRequest) -> None:
        """Queue a call.

        `request.granted` is set when the call gets a slot, which happens immediately if a slot is free.
        """
        self._waiting.setdefault(request.edge_account_id, deque()).append(request)
        self._give()

    def release(self, request: SlotRequest) -> None:
        """Release the call's slot, or remove the call from the queue."""
        if request.granted.is_set():
            self._free += 1
            self._count(request, -1)
        else:
            self._dequeue(request)
        self._give()

    def _give(self) -> None:
        while self._free and (request := self._next()) is not None:
            self._dequeue(request)
            self._free -= 1
            self._count(request, 1)
            request.granted.set()

    def _next(self) -> SlotRequest | None:
        for edge_account_id, requests in self._waiting.items():
            request = requests[0]
            user_has_slot = request.user_id is None or self._of_user[request.user_id] < self._per_user
            if user_has_slot and self._of_account[edge_account_id] < self._per_account:
                return request
        return None

    def _dequeue(self, request: SlotRequest) -> None:
        """Remove a call from the queue, and move its account to the end."""
        requests = self._waiting.pop(request.edge_account_id)
        requests.remove(request)
        if requests:
            self._waiting[request.edge_account_id] = requests

    def _count(self, request: SlotRequest, change: int) -> None:
        _add(self._of_account, request.edge_account_id, change)
        if request.user_id is not None:
            _add(self._of_user, request.user_id, change)


def _add(counts: Counter[K], key: K, change: int) -> None:
    """Change a count, and remove the key if the count is 0.

    If zero counts stayed, memory usage would grow with the number of accounts ever seen.
    """
    counts[key] += change
    if not counts[key]:
        del counts[key]
