"""Whether a PostgreSQL store is free to be taken, asked again and again on one connection. It changes nothing.

It asks and does not wait in the server's queue for the lock: whoever waits there for a lock alone stands before all
that come later, and the service that has the store would get no new connection.
"""

from __future__ import annotations

import math
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import trio

from svc.store.engines.migrate import migrations, pending
from svc.store.engines.postgres import (
    ACQUIRE_S,
    DRIVER_ERRORS,
    SERVER_FAILURES,
    SETTINGS,
    LoopThread,
    refused,
    try_lock_alone,
)
from svc.store.engines.postgres_copy import schema_version
from svc.store.engines.served import Away

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.store.engines.migrate import Migration

# A service that lost its connections, as when the server was started again, has others within this time: its watch
# looks every second. Without it each restart of the server would be a race.
_QUIET_S = 2.0
_ANSWER_S = 5.0


class _Look:
    """Lives on the loop's thread."""

    def __init__(self, url: str, known: list[Migration]) -> None:
        self._url = url
        self._known = known
        self._connection: Any = None
        self._taken_at = -math.inf  # when it was last seen to be served, or not reached (monotonic seconds)

    async def is_free(self) -> bool:
        """Whether nobody has had the store for `_QUIET_S`, or since the first look.

        Raises Away: not reached, or a replica; ConfigError: of a newer program, or what waiting does not mend.
        """
        try:
            free = await self._asked()
        except (*DRIVER_ERRORS, ValueError) as error:
            await self.close()
            self._taken_at = time.monotonic()
            why = refused("opened", error)
            raise (Away(str(why)) if _may_pass(error) else why) from None
        if not free:
            self._taken_at = time.monotonic()
        return free and time.monotonic() - self._taken_at >= _QUIET_S

    async def _asked(self) -> bool:
        if self._connection is None:
            self._connection = await asyncpg.connect(
                self._url, timeout=ACQUIRE_S, command_timeout=_ANSWER_S, server_settings=SETTINGS
            )
            if await self._connection.fetchval("select pg_is_in_recovery()"):
                # Of several servers in the address another one is the primary, or this one will be.
                raise OSError("the server is a replica")
        # What could not be taken over must not wait until it is needed.
        pending(self._known, await schema_version(self._connection))
        return await try_lock_alone(self._connection)

    async def close(self) -> None:
        """End the connection, if there is one, without a word to the server: it may not listen."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def _may_pass(error: Exception) -> bool:
    """Whether it is the server's state, and no answer to what was asked: a wrong password stays wrong."""
    passing = (asyncpg.PostgresConnectionError, *SERVER_FAILURES)
    return isinstance(error, passing) or not isinstance(error, asyncpg.PostgresError)


@asynccontextmanager
async def look_at_postgres(url: str) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Gives what tells whether the store at `url` is free to be taken; see `_Look.is_free` for what it raises."""
    look = _Look(url, migrations("postgres"))
    loop_thread = LoopThread()
    try:
        yield lambda: loop_thread.cross(lambda _: look.is_free())
    finally:
        with trio.CancelScope(shield=True):  # nothing here waits for the server
            await loop_thread.cross(lambda _: look.close())
            await trio.to_thread.run_sync(loop_thread.close)
