"""How many calls the platform takes: of a token and of this address. Both are kept before a call is sent, so that the
platform never blocks either.

It takes 1,200 calls of a token in five minutes, and blocks one that makes more for the next five; and 200 a second of
an address (platform docs: fundamentals/api/reference/limits). An account-owned token has its number to itself; a user's
tokens share theirs. What is counted is kept in memory: after a restart the window is empty, and a block that this earns
is waited out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from svc.edge.answers import Failed
from svc.errors import EdgeUnavailable
from svc.ids import digest
from svc.limits import SlidingLimit

if TYPE_CHECKING:
    from svc.edge.access import Bearer

# The platform counts a call when it arrives, we when it leaves.
_WINDOW_S = 310
# Of the calls of a token, this part is kept for requests that a person waits for.
_KEPT_ONE_IN = 8


class Pace:
    """At most `calls` of each token in any five minutes; those that nobody waits for leave an eighth of them free.

    Of all tokens `per_second` leave in a second, evenly, so that no second of the platform's has more.
    """

    def __init__(self, calls: int, per_second: int) -> None:
        self._between_s = 1 / per_second
        self._next_at = 0.0
        self._leaving = trio.Lock()
        self._counted = SlidingLimit(calls, _WINDOW_S)
        self._kept = calls // _KEPT_ONE_IN

    async def turn(self) -> None:
        """Wait until the next call may leave, for as long as those who hold a place before it take: milliseconds."""
        async with self._leaving:
            await trio.sleep_until(self._next_at)
            # After a time without a call, or one in which nothing ran, nothing is made up for.
            self._next_at = max(self._next_at + self._between_s, trio.current_time())

    def count(self, bearer: Bearer) -> Failed | None:
        """Count a call that is about to be sent; what it fails with where it would be too many.

        A wait that is not short is not waited for here: who makes calls that nobody waits for has a time of its own for
        the next try.
        """
        name = digest(bearer.token.get_secret_value())
        now_ms = int(trio.current_time() * 1000)
        verdict = self._counted.count(name, now_ms, 0 if bearer.awaited else self._kept)
        if verdict.allowed:
            return None
        text = "The account's calls to the edge platform of these five minutes are used up."
        return Failed(EdgeUnavailable(text, retry_after_s=verdict.reset_s), "always", float(verdict.reset_s))
