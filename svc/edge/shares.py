"""Fair shares of the calls that are under way at once, so that a slow account holds up nobody but itself.

Places are given in turn: the account that was served longest ago comes first. No account and no user holds more than
its own part of them, however many calls it has waiting.
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
class Turn:
    """One call that waits for its place, or has it. `user_id` None: counted for no user."""

    edge_account_id: str
    user_id: int | None
    given: trio.Event = field(default_factory=trio.Event)


class Shares:
    """At most `total` places, of which an account holds at most `per_account` and a user at most `per_user`."""

    def __init__(self, total: int, *, per_account: int, per_user: int) -> None:
        self._total = total
        self._free = total
        self._per_account = per_account
        self._per_user = per_user
        self._of_account: Counter[str] = Counter()
        self._of_user: Counter[int] = Counter()
        # The account that was served longest ago first; no account is in it without a turn that waits.
        self._waiting: OrderedDict[str, deque[Turn]] = OrderedDict()

    @property
    def held(self) -> int:
        """How many places are taken."""
        return self._total - self._free

    @property
    def waiting(self) -> int:
        """How many turns wait for a place."""
        return sum(len(turns) for turns in self._waiting.values())

    @asynccontextmanager
    async def place(self, edge_account_id: str, user_id: int | None) -> AsyncIterator[None]:
        """Wait for a place and hold it for the block. Cancelled while it waits: its turn is given up."""
        turn = Turn(edge_account_id, user_id)
        self.ask(turn)
        try:
            await turn.given.wait()
            yield
        finally:
            self.leave(turn)

    def ask(self, turn: Turn) -> None:
        """Queue a turn; `turn.given` is set when it has its place, at once where one is free."""
        self._waiting.setdefault(turn.edge_account_id, deque()).append(turn)
        self._give()

    def leave(self, turn: Turn) -> None:
        """Give the place back, or the wait for it up."""
        if turn.given.is_set():
            self._free += 1
            self._count(turn, -1)
        else:
            self._dequeue(turn)
        self._give()

    def _give(self) -> None:
        while self._free and (turn := self._next()) is not None:
            self._dequeue(turn)
            self._free -= 1
            self._count(turn, 1)
            turn.given.set()

    def _next(self) -> Turn | None:
        for edge_account_id, turns in self._waiting.items():
            turn = turns[0]
            room = turn.user_id is None or self._of_user[turn.user_id] < self._per_user
            if room and self._of_account[edge_account_id] < self._per_account:
                return turn
        return None

    def _dequeue(self, turn: Turn) -> None:
        """Out of the queue, and its account to the queue's end."""
        turns = self._waiting.pop(turn.edge_account_id)
        turns.remove(turn)
        if turns:
            self._waiting[turn.edge_account_id] = turns

    def _count(self, turn: Turn, change: int) -> None:
        _add(self._of_account, turn.edge_account_id, change)
        if turn.user_id is not None:
            _add(self._of_user, turn.user_id, change)


def _add(counts: Counter[K], key: K, change: int) -> None:
    """Count up or down; what is at 0 is forgotten, so that the memory does not grow with the accounts ever seen."""
    counts[key] += change
    if not counts[key]:
        del counts[key]
