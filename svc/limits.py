"""How often somebody may: a sliding window, exact, for each name. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether it is allowed, how many more are, and in how many seconds the next place becomes free."""

    allowed: bool
    remaining: int
    reset_s: int


# Names that a limit remembers, 150 to 1,000 bytes each. To have one forgotten takes as many requests with other names.
MOST_NAMES = 20_000


class SlidingLimit:
    """At most `quota` in any `window_s` seconds for each name. What is refused does not count."""

    def __init__(self, quota: int, window_s: int = 60, most_names: int = MOST_NAMES) -> None:
        self.quota = quota
        self.window_s = window_s
        self._most_names = most_names
        self._counted: OrderedDict[str, list[int]] = OrderedDict()  # least recently used first

    def count(self, name: str, now: int, keep: int = 0) -> Verdict:
        """Use one place of `name` at `now` (ms), if there is one beside the last `keep`, which are for others."""
        self._forget_idle(now)
        times = self._counted.setdefault(name, [])
        self._counted.move_to_end(name)
        if len(self._counted) > self._most_names:
            self._counted.popitem(last=False)
        if times and times[-1] > now:  # the wall clock was set back: better a fresh window than an hour of refusals
            times.clear()
        del times[: bisect_right(times, now - self.window_s * 1000)]
        quota = self.quota - keep
        allowed = len(times) < quota
        if allowed:
            times.append(now)
        first = times[max(0, len(times) - quota)]  # it has to become old before there is a place again
        wait_ms = first + self.window_s * 1000 - now
        return Verdict(allowed, max(0, quota - len(times)), -(-wait_ms // 1000))

    def give_back(self, name: str) -> None:
        """Free the place that was used last: what it stood for does not count after all."""
        if self._counted.get(name):
            self._counted[name].pop()

    def __len__(self) -> int:
        """How many names are remembered."""
        return len(self._counted)

    def _forget_idle(self, now: int) -> None:
        """Two a call are enough: one call adds one name at the most."""
        for name in list(self._first_two()):
            if not self._counted[name] or self._counted[name][-1] <= now - self.window_s * 1000:
                del self._counted[name]

    def _first_two(self) -> list[str]:
        return [name for name, _ in zip(self._counted, range(2), strict=False)]
