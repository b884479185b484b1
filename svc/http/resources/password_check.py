"""Password checks: at sign-in, and before actions that require more than a session.

All wrong passwords are counted here. Each attempt is counted immediately before its check, so that parallel attempts
cannot exceed the limit. If the password is correct, the attempt is removed from the count. Attempts that wait for their
check are not counted yet, so several people can enter the same correct password at the same time.
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
    from svc.http.resources.auth_events import AuthEvents
    from svc.model import User
    from svc.security.ip_networks import IpAddress
    from svc.store.tx import Store

T = TypeVar("T")

# The default for the maximum number of hashes that are computed at the same time. Each argon2id hash takes 50 ms of a
# core and 64 MiB.
_CONCURRENT_HASHES = 2


class PasswordCheck:
    """Checks and hashes passwords. Limits the number of wrong attempts and of concurrent hashes."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wrong_per_hour: int,
        auth_events: AuthEvents,
        concurrent_hashes: int = _CONCURRENT_HASHES,
    ) -> None:
        self._store = store
        self._auth_events = auth_events
        self._clock = clock
        self._wrong = SlidingLimit(wrong_per_hour, window_s=3600)
        self._slots = trio.CapacityLimiter(concurrent_hashes)
        self._threads = trio.CapacityLimiter(concurrent_hashes)

    async def check(self, user: User, password: SecretStr, client: IpAddress | None) -> str:
        """Check the password of a user who is signed in, and return its stored hash.

        In the transaction that the password authorizes, the caller must verify that the user still has this hash
        (`users.still_has_password`). `client`: the client's IP address, for the user's events.

        Attempts are counted per user and separately from sign-in attempts. Strangers who guess passwords at sign-in
        therefore cannot lock out a signed-in user. Raises Forbidden (code invalid_password), Unauthorized if the user
        was deleted, or ServiceError (code rate_limited) after too many wrong attempts.
        """
        stored = await self._store.peek(users.password_hash_of(user.id))
        if stored is None:  # the user was deleted after the session was checked
            raise Unauthorized
        if not await self.is_correct(f"user {user.id}", stored, password, user, via="session", client=client):
            raise Forbidden("invalid_password")
        return stored

    async def is_correct(
        self,
        counted_as: str,
        stored: str | None,
        password: SecretStr,
        user: User | None,
        *,
        via: str,
        client: IpAddress | None,
    ) -> bool:
        """Return True if the password matches the stored hash.

        `counted_as`: the key under which attempts are counted. `stored`: the hash, or None if there is no hash; the
        check takes the same time in both cases. `user`: the user with this hash, or None. `via`, `client`: the type of
        credential and the client's IP address, for the user's events.

        At most two wrong attempts per hour are recorded as events: the first attempt, and the attempt that reaches the
        limit. Guessing therefore cannot fill the store. Raises ServiceError with the code rate_limited after too many
        wrong attempts.
        """
        async with self._slots:
            verdict = admit(self._wrong, counted_as, self._clock())
            matches = await self._in_thread(verify_password, stored, password.get_secret_value())
            if matches:
                self._wrong.give_back(counted_as)
        if matches:
            return True
        if verdict.remaining in (0, self._wrong.quota - 1):
            outcome: Code = "invalid_password" if verdict.remaining else "rate_limited"
            await self._store.run(self._auth_events.wrong_password(user, via, client, outcome))
        return False

    async def hash(self, password: SecretStr) -> str:
        """Return the password hash to store."""
        async with self._slots:
            return await self._in_thread(hash_password, password.get_secret_value())

    async def digest(self, body: bytes, name: str) -> str:
        """Return a digest of a body that contains a password.

        The digest is as hard to brute-force as the password hash.

        `name`: identifies the request and is part of the digest.
        """
        async with self._slots:
            return await self._in_thread(slow_digest, body, name.encode())

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await trio.to_thread.run_sync(work, *arguments, limiter=self._threads)
