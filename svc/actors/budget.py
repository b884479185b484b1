"""The budget of report reads: a sliding minute per user, shared by all of the user's accounts. Pure."""

from __future__ import annotations

from collections import deque

_WINDOW_MS = 60_000


class ReadBudget:
    """At most `per_minute` reads in any 60 seconds, for each user."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._spent: dict[int, deque[int]] = {}

    def take(self, user_id: int, now: int) -> bool:
        """Spend one read at `now` (epoch ms). False: nothing is left in this minute, and nothing was spent."""
        self._forget_idle(now)
        times = self._spent.setdefault(user_id, deque())
        while times and times[0] <= now - _WINDOW_MS:
            times.popleft()
        if len(times) >= self._per_minute:
            return False
        times.append(now)
        return True

    def _forget_idle(self, now: int) -> None:
        """Users are in the order of their first read, so the idle ones gather at the front: look at two a call."""
        for user_id in list(self._spent)[:2] if len(self._spent) > _KEPT_USERS else ():
            if self._spent[user_id][-1] <= now - _WINDOW_MS:
                del self._spent[user_id]
            else:
                self._spent[user_id] = self._spent.pop(user_id)


# Below this the memory is not worth the work of forgetting.
_KEPT_USERS = 1_000
