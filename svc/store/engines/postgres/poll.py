"""Polls whether a PostgreSQL store is free, which means that no service is using it.

A standby polls the lock instead of waiting for it. While a session waits for the exclusive lock, all later lock
requests wait behind it in the server's queue. The running service could then not open new connections.
"""

from __future__ import annotations

import math
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import trio

from svc.store.engines.migrate import migrations, pending
from svc.store.engines.postgres.copy import schema_version
from svc.store.engines.postgres.locks import try_lock_alone
from svc.store.engines.postgres.loop_thread import LoopThread
from svc.store.engines.postgres.opening import refused
from svc.store.engines.postgres.session import ACQUIRE_S, DRIVER_ERRORS, SERVER_FAILURES, SETTINGS
from svc.store.engines.served import Away

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from svc.store.engines.migrate import Migration

# A standby takes over a store when the store has been free for this time. A running service may lose its connections,
# for example because the PostgreSQL server restarts, but it reconnects within this time. Without the delay, the service
# and the standby would compete for the store after each restart of the server.
_QUIET_S = 2.0
_ANSWER_S = 5.0


class _Poll:
    """The connection that polls. Use this object only on the loop's thread."""

    def __init__(self, url: str, known: list[Migration]) -> None:
        self._url = url
        self._known = known
        self._connection: Any = None
        self._taken_at = -math.inf  # when the store was last found in use or unreachable (monotonic seconds)

    async def is_free(self) -> bool:
        """Return True if the store has been free for `_QUIET_S`, or in all polls so far.

        Raises Away if the server cannot be reached or is a replica. Raises ConfigError for problems that waiting does
        not solve, such as a store that a newer program created.
        """
        try:
            free = await self._try_lock()
        except (*DRIVER_ERRORS, ValueError) as error:
            await self.close()
            self._taken_at = time.monotonic()
            why = refused("opened", error)
            raise (Away(str(why)) if _is_temporary(error) else why) from None
        if not free:
            self._taken_at = time.monotonic()
        return free and time.monotonic() - self._taken_at >= _QUIET_S

    async def _try_lock(self) -> bool:
        if self._connection is None:
            self._connection = await asyncpg.connect(
                self._url, timeout=ACQUIRE_S, command_timeout=_ANSWER_S, server_settings=SETTINGS
            )
            if await self._connection.fetchval("select pg_is_in_recovery()"):
                # This is temporary, because this server may be promoted, or another server in the URL may be the
                # primary.
                raise OSError("the server is a replica")
        # Raise an error for a newer schema now. Otherwise, the error would only appear during the takeover.
        pending(self._known, await schema_version(self._connection))
        return await try_lock_alone(self._connection)

    async def close(self) -> None:
        """Close the connection, if any. Do not wait for the server, which may not respond."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def _is_temporary(error: Exception) -> bool:
    """Return True if the error may be temporary, because it depends on the state of the server.

    A wrong password, for example, is not temporary.
    """
    passing = (asyncpg.PostgresConnectionError, *SERVER_FAILURES)
    return isinstance(error, passing) or not isinstance(error, asyncpg.PostgresError)


@asynccontextmanager
async def poll_postgres(url: str) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Yield a function that checks whether the store at `url` is free. It raises the errors of `is_free`."""
    poll = _Poll(url, migrations("postgres"))
    loop_thread = LoopThread()
    try:
        yield lambda: loop_thread.cross(lambda _: poll.is_free())
    finally:
        with trio.CancelScope(shield=True):  # returns immediately, because it does not wait for the server
            await loop_thread.cross(lambda _: poll.close())
            await trio.to_thread.run_sync(loop_thread.close)
