"""A pool of PostgreSQL connections with little overhead per transaction.

The driver's own pool starts two timers and a task for each use of a connection, and resets the session. This overhead
takes as much CPU time as executing a statement. The store does not need the reset, because its transactions never
change session settings (`session.SETTINGS`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    # any type, because asyncpg has no types
    Connection = Any


class Pool:
    """At most `size` connections, opened when needed and kept until they break. Use it only on the loop's thread.

    `open_connection` receives a callback, and must call it with the new connection as soon as the connection is open.
    This lets `cut` close a connection that is open but not ready yet.
    """

    def __init__(
        self, open_connection: Callable[[Callable[[Connection], None]], Awaitable[Connection]], size: int
    ) -> None:
        self._open_connection = open_connection
        self._size = size
        self._opened = 0  # number of open connections, including those that are being opened
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []  # the most recently used connection is used first
        # The waiting tasks, longest wait first. Each task gets a connection, or None if it may open a new one.
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._limits: set[asyncio.Timeout] = set()  # timeouts of tasks that are waiting for a connection or opening one

    async def acquire(self, timeout_s: float) -> Connection:
        """Return an open connection. The caller must return it with `release`.

        Raises TimeoutError if no connection is available within `timeout_s` or `cut` is called, and the errors of
        `open_connection`.
        """
        connection = self._take_idle()
        if connection is not None:
            return connection
        async with asyncio.timeout(timeout_s) as limit:
            self._limits.add(limit)
            try:
                while self._opened >= self._size:
                    connection = await self._wait()
                    if connection is not None:
                        return connection
                return await self._open()
            finally:
                self._limits.discard(limit)

    def release(self, connection: Connection) -> None:
        """Make a connection available to other tasks.

        A connection that is broken, or still in a transaction, is closed.
        """
        if not connection.is_closed() and connection.is_in_transaction():
            connection.terminate()
        if connection.is_closed():
            self._remove(connection)
        elif not self._give(connection):
            self._idle.append(connection)

    def cut(self) -> None:
        """Close all connections without waiting for the server.

        Tasks that are waiting for a connection get a TimeoutError.
        """
        for limit in self._limits:
            limit.reschedule(asyncio.get_running_loop().time())
        self._limits.clear()
        for connection in self._connections:
            connection.terminate()
        while self._take_idle() is not None:
            pass

    async def close(self) -> None:
        """Close each connection when it is released, and open no more connections."""
        self._size = 0
        while self._opened:
            connection = self._take_idle() or await self._wait()
            if connection is not None:
                try:
                    await connection.close()
                finally:
                    self._remove(connection)

    async def _open(self) -> Connection:
        self._opened += 1
        opened: list[Connection] = []

        def begin(connection: Connection) -> None:
            opened.append(connection)
            self._connections.add(connection)

        try:
            return await self._open_connection(begin)
        except BaseException:
            for connection in opened:
                connection.terminate()
                self._connections.discard(connection)
            self._opened -= 1
            self._give(None)
            raise

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._remove(connection)
        return None

    def _remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._opened -= 1
        self._give(None)

    async def _wait(self) -> Connection | None:
        """Wait in turn for a connection. Return None if the caller may open a new connection now."""
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            connection = await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):  # `_give` has already removed it
                    self._waiters.remove(waiter)
            elif waiter.result() is None:
                self._give(None)
            else:
                self.release(waiter.result())
            raise
        # the connection was closed after `_give` had passed it on
        if connection is not None and connection.is_closed():
            self._remove(connection)
            return None
        return connection

    def _give(self, connection: Connection | None) -> bool:
        """Give the connection to the task that has waited longest. Return False if no task is waiting."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return True
        return False
