"""Client-side rate limits for Cloudflare's API, per token and for the service's IP address.

Cloudflare allows 1,200 calls per token in five minutes, and then blocks the token for five minutes. It allows 200 calls
per second from one IP address (docs: fundamentals/api/reference/limits). Cloudflare counts each account-owned token
separately, but all of a user's tokens together. This module's counts are only in memory. After a restart they begin at
0, so Cloudflare may block a token.
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

# Longer than five minutes, because Cloudflare counts a call when it arrives, and this module when it is sent.
_WINDOW_S = 310
# The fraction of a token's calls that is reserved for requests that a user is waiting for.
_KEPT_ONE_IN = 8


class CallLimits:
    """Limits on calls: `calls` per token in any five minutes, and `per_second` in total, evenly spaced.

    An eighth of a token's calls is reserved for calls that a user is waiting for. Because calls are evenly spaced, no
    second has more than `per_second` calls, regardless of when Cloudflare's seconds begin.
    """

    def __init__(self, calls: int, per_second: int) -> None:
        self._between_s = 1 / per_second
        self._next_at = 0.0
        self._leaving = trio.Lock()
        self._counted = SlidingLimit(calls, _WINDOW_S)
        self._kept = calls // _KEPT_ONE_IN

    async def wait(self) -> None:
        """Wait until the next call can be sent, usually for milliseconds."""
        async with self._leaving:
            await trio.sleep_until(self._next_at)
            # After a pause, do not send the missed calls faster, because that would be a burst.
            self._next_at = max(self._next_at + self._between_s, trio.current_time())

    def count(self, bearer: Bearer) -> Failed | None:
        """Count a call before it is sent. Return the failure if the call would exceed the token's limit, else None.

        This method does not wait, because callers schedule their own retries.
        """
        name = digest(bearer.token.get_secret_value())
        now_ms = int(trio.current_time() * 1000)
        verdict = self._counted.count(name, now_ms, 0 if bearer.awaited else self._kept)
        if verdict.allowed:
            return None
        text = "The account has reached the limit of Cloudflare API calls in five minutes."
        return Failed(EdgeUnavailable(text, retry_after_s=verdict.reset_s), "always", float(verdict.reset_s))
