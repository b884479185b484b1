"""Whether a password is a user's: at the sign-in, and before what a session alone may not do.

Wrong passwords are counted, in one place for all who ask. Each try is counted before it is made, so that many at once
do not slip through; a right one is given back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import trio

from svc.errors import Forbidden, Unauthorized
from svc.http.serving.credentials import admit
from svc.limits import SlidingLimit
from svc.security.passwords import hash_password, slow_digest, verify_password
from svc.store import users

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr

    from svc.clock import Clock
    from svc.errors import Code
    from svc.http.resources.sign_in_trail import Trail
    from svc.http.serving.credentials import IpAddress
    from svc.model import User
    from svc.store.tx import Store

T = TypeVar("T")

# argon2id takes 50 ms of a core and 64 MiB each.
_HASHES_AT_ONCE = 2


class PasswordCheck:
    """Owns the count of wrong passwords, and how many passwords are hashed at once."""

    def __init__(self, store: Store, clock: Clock, wrong_per_hour: int, trail: Trail) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._wrong = SlidingLimit(wrong_per_hour, window_s=3600)
        self._hashing = trio.CapacityLimiter(_HASHES_AT_ONCE)

    async def check(self, user: User, password: SecretStr, client: IpAddress | None) -> str:
        """Return if it is the password of this user, who is signed in.

        `client`: the address of the request, for the user's events.
        Returns its stored hash: what is done for the password happens later, and only while it still is the user's
        (`users.still_has_password`, in the same transaction).
        Counted by the user and not by the address: whoever has a session is no stranger, and what strangers guess at
        the sign-in does not keep them from their own account.
        Raises Forbidden invalid_password; Unauthorized, the user is gone; ServiceError rate_limited.
        """
        stored = await self._store.peek(users.password_hash_of(user.id))
        if stored is None:  # deleted since the session was looked at
            raise Unauthorized
        if not await self.is_right(f"user {user.id}", stored, password, user, via="session", client=client):
            raise Forbidden("invalid_password")
        return stored

    async def is_right(
        self,
        counted_as: str,
        stored: str | None,
        password: SecretStr,
        user: User | None,
        *,
        via: str,
        client: IpAddress | None,
    ) -> bool:
        """Whether it belongs to the stored hash; None: there is none. `user`: whose it would be, None: nobody's; `via`,
        `client`: the credential that comes with the try and its address, for the user's events.

        Of wrong ones two an hour are told there, so that nobody fills the store by guessing: the first, and the one
        after which no more are looked at. Raises ServiceError rate_limited.
        """
        verdict = admit(self._wrong, counted_as, self._clock())
        right = await self._in_thread(verify_password, stored, password.get_secret_value())
        if right:
            self._wrong.give_back(counted_as)
        elif verdict.remaining in (0, self._wrong.quota - 1):
            outcome: Code = "invalid_password" if verdict.remaining else "rate_limited"
            await self._store.run(self._trail.refused(user, via, client, outcome))
        return right

    async def hash(self, password: SecretStr) -> str:
        """What is stored of it."""
        return await self._in_thread(hash_password, password.get_secret_value())

    async def digest(self, body: bytes, name: str) -> str:
        """A digest of a body that holds a password, for the request of this name: as hard to guess from as its hash."""
        return await self._in_thread(slow_digest, body, name.encode())

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await trio.to_thread.run_sync(work, *arguments, limiter=self._hashing)
