"""Finds shares by their secret, and limits the number of unknown secrets per network."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from svc.clock import day_of
from svc.http.serving.credentials import admit
from svc.limits import SlidingLimit
from svc.store import shares

if TYPE_CHECKING:
    from svc.clock import Clock
    from svc.store.shares import AvailableShare
    from svc.store.tx import Store

WRONG_SECRETS_PER_MINUTE = 30


class ShareLookups:
    """Finds shares by their secret, and limits the number of unknown secrets per network.

    A secret is counted before the lookup, so that parallel requests cannot exceed the limit. If the share exists, the
    secret is removed from the count. Parallel requests from one network with the same secret are counted once, so that
    many viewers can open a page at the same time.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._unknown = SlidingLimit(WRONG_SECRETS_PER_MINUTE)
        self._under_way: Counter[tuple[str, str]] = Counter()  # by network and digest

    async def find(self, network: str, secret_digest: str) -> AvailableShare | None:
        """Return the share; None if there is none. Raises RateLimited if the network sent too many unknown secrets."""
        now, name = self._clock(), (network, secret_digest)
        if not self._under_way[name]:
            admit(self._unknown, network, now)
        self._under_way[name] += 1
        is_unknown = False
        try:
            found = await self._store.peek(shares.available_share(secret_digest, day_of(now)))
            is_unknown = found is None
            return found
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]
                if not is_unknown:  # a failed or cancelled lookup reveals nothing
                    self._unknown.give_back(network)
