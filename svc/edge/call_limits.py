"""Client-side rate limits for calls to Cloudflare's API, per token and for the whole service.

Cloudflare allows 1,200 calls per token in five minutes. A token that exceeds this limit is blocked for five minutes.
One IP address can send 200 calls per second (docs: fundamentals/api/reference/limits). Each account-owned token has its
own limit, but all tokens of a Cloudflare user share one. The counts are only in memory and start at 0 after a restart,
so Cloudflare may then block a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from svc.edge.responses import Failed
from svc.errors import EdgeUnavailable
from svc.ids import digest
from svc.limits import SlidingLimit

if TYPE_CHECKING:
    from svc.edge.access import Bearer

# The period of the limit, in seconds. It is longer than five minutes, because this module counts a call when it is
# sent, but Cloudflare counts it later, on arrival.
_WINDOW_S = 310
# Of the calls that a token can make, one in `_KEPT_ONE_IN` is reserved for requests that a user is waiting for.
_KEPT_ONE_IN = 8


class CallLimits:
    """Limits on calls: `calls` per token in any five minutes, and `per_second` in total, evenly spaced.

    An eighth of a token's calls is reserved for calls that a user is waiting for. The even spacing ensures that no
    second has more than `per_second` calls, regardless of when Cloudflare's seconds begin.
    """

    def __init__(self, calls: int, per_second: int) -> None:
        self._between_s = 1 / per_second
        self._next_at = 0.0
        self._leaving = trio.Lock()
        self._counted = SlidingLimit(calls, _WINDOW_S)
        self._kept = calls // _KEPT_ONE_IN

    async def wait(self) -> None:
        """Wait until the next call can be sent, usually only a few milliseconds."""
        async with self._leaving:
            await trio.sleep_until(self._next_at)
            # Do not make up for time without calls, because this would cause a burst of calls.
            self._next_at = max(self._next_at + self._between_s, trio.current_time())

    def count(self, bearer: Bearer) -> Failed | None:
        """Count a call before it is sent.

        Return None, or the failure if the call would exceed the token's limit.

        This method does not wait, because callers schedule their own retries.
        """
        name = digest(bearer.token.get_secret_value())
        now_ms = int(trio.current_time() * 1000)
        verdict = self._counted.count(name, now_ms, 0 if bearer.awaited else self._kept)
        if verdict.allowed:
            return None
        text = "The account has reached the limit of Cloudflare API calls in five minutes."
        return Failed(EdgeUnavailable(text, retry_after_s=verdict.reset_s), "always", float(verdict.reset_s))
