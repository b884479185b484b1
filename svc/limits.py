"""Rate limits with an exact sliding window per name. No I/O."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """The result of counting a request.

    `allowed`: the request is within the limit. `remaining`: the remaining quota. `reset_s`: the seconds until the next
    slot becomes free.
    """

    allowed: bool
    remaining: int
    reset_s: int


# Maximum number of names in memory; each needs 150 to 1,000 bytes. To evict its own name and so reset its count, a
# client would have to use this many other names.
MAX_NAMES = 20_000


class SlidingLimit:
    """A limit of `quota` requests per name in any window of `window_s` seconds. Rejected requests do not count."""

    def __init__(self, quota: int, window_s: int = 60, most_names: int = MAX_NAMES) -> None:
        self.quota = quota
        self.window_s = window_s
        self._most_names = most_names
        self._counted: OrderedDict[str, list[int]] = OrderedDict()  # least recently used first

    def count(self, name: str, now: int, keep: int = 0) -> Verdict:
        """Count a request from `name` at `now` (epoch ms), unless it would use one of the last `keep` slots.

        These slots are reserved for other requests from the same name, which pass a lower `keep`.
        """
        self._forget_idle(now)
        times = self._counted.setdefault(name, [])
        self._counted.move_to_end(name)
        if len(self._counted) > self._most_names:
            self._counted.popitem(last=False)
        if times and times[-1] > now:  # the clock was set back; start a new window instead of rejecting for an hour
            times.clear()
        del times[: bisect_right(times, now - self.window_s * 1000)]
        quota = self.quota - keep
        allowed = len(times) < quota
        if allowed:
            times.append(now)
        first = times[max(0, len(times) - quota)]  # a slot becomes free when this request is older than the window
        wait_ms = first + self.window_s * 1000 - now
        return Verdict(allowed, max(0, quota - len(times)), -(-wait_ms // 1000))

    def give_back(self, name: str) -> None:
        """Remove the last counted request of `name` from its count."""
        if self._counted.get(name):
            self._counted[name].pop()

    def __len__(self) -> int:
        """Return the number of names in memory."""
        return len(self._counted)

    def _forget_idle(self, now: int) -> None:
        """Remove up to two idle names. Two are sufficient, because each call of `count` adds at most one name."""
        for name in list(self._first_two()):
            if not self._counted[name] or self._counted[name][-1] <= now - self.window_s * 1000:
                del self._counted[name]

    def _first_two(self) -> list[str]:
        return [name for name, _ in zip(self._counted, range(2), strict=False)]
