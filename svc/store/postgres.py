"""The PostgreSQL engine: asyncpg on an asyncio loop in a thread of its own; a transaction crosses over once.

The loop's thread drives the whole transaction, so cancelling it is all or nothing: asyncio's cancellation reaches
asyncpg, which stops the statement at the server, rolls back and gives the connection back to the pool. Once the
commit is sent a cancel comes too late: the commit is waited for and its result returned, as on SQLite.

Isolation is read committed. A generator cannot be run twice, so nothing is retried here; transactions that must not
overlap let a statement decide or lock the row that they share first (user, then account, then the rest in the order
of their keys), and one that still loses is answered with Busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
import outcome
import trio

from svc.config import ConfigError
from svc.errors import Busy
from svc.store.migrate import migrations, pending

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from svc.store.tx import Row, Statement, Tx

T = TypeVar("T")

# One service at a time migrates (an arbitrary number, the same in every version).
_MIGRATION_LOCK = 727_301
# One service at a time serves; held by a connection of its own, so the server lets go of it, whatever happens.
_SERVING_LOCK = 727_302
# Waiting for a free connection, for a row that another transaction holds, for one statement.
_ACQUIRE_S = 10.0
_SETTINGS = {
    "application_name": "svc",
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
}
# Closing waits for borrowed connections this long, then cuts them.
_CLOSE_S = 5.0
# The transaction was undone because of others: the same again may well succeed.
_LOST_TO_OTHERS = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)
# No connection, so nothing was begun.
_NOT_REACHED = (OSError, asyncpg.TooManyConnectionsError, asyncpg.CannotConnectNowError)


class _Call:
    """One crossing, seen from the loop's thread."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.committing = False

    def stop(self) -> None:
        """Cancel it, unless its commit is under way."""
        if self.task is not None and not self.committing:
            self.task.cancel()


class PostgresStore:
    """See `svc.store.tx.Store`. Open one with `open_postgres`."""

    def __init__(self, crossing: Crossing, pool: asyncpg.Pool) -> None:
        self._crossing = crossing
        self._pool = pool

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction. Cancelled means that nothing of it was kept."""
        return await self._crossing.cross(lambda call: self._write(tx, call))

    async def read(self, tx: Tx[T]) -> T:
        """Run a transaction that cannot write, on one snapshot."""
        return await self._crossing.cross(lambda call: self._read(tx, call))

    async def _write(self, tx: Tx[T], call: _Call) -> T:
        async with self._connection(call) as connection, connection.transaction():
            value = await _drive(connection, tx)
            call.committing = True
            return value

    async def _read(self, tx: Tx[T], call: _Call) -> T:
        async with (
            self._connection(call) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            return await _drive(connection, tx)

    @asynccontextmanager
    async def _connection(self, call: _Call) -> AsyncIterator[Any]:
        try:
            connection = await self._pool.acquire(timeout=_ACQUIRE_S)
        except _NOT_REACHED as error:
            raise Busy from error
        try:
            yield connection
        except _LOST_TO_OTHERS as error:
            raise Busy(retry_after_s=1) from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            if _is_lost(connection) and not call.committing:  # during a commit nobody knows what was kept
                raise Busy from error
            raise
        finally:
            await self._pool.release(connection)


def _is_lost(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:  # it broke, and the pool has taken it back already
        return True


async def _drive(connection: Any, tx: Tx[T]) -> T:
    with contextlib.closing(tx):
        try:
            statement = next(tx)
            while True:
                statement = tx.send(await _execute(connection, statement))
        except StopIteration as done:
            value: T = done.value
            return value


async def _execute(connection: Any, statement: Statement) -> list[Row]:
    try:
        if not statement.answers:
            await connection.executemany(statement.text, statement.runs)
            return []
        return [dict(row) for row in await connection.fetch(statement.text, *statement.runs[0])]
    except asyncpg.PostgresError as error:
        error.add_note(f"in: {statement.text}")
        raise


def _not_cancelled() -> None:
    raise RuntimeError("the transaction was cancelled, but not by its caller")


class Crossing:
    """An asyncio loop in a thread, and the way into it from Trio."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres loop", daemon=True)
        self._thread.start()

    async def cross(self, work: Callable[[_Call], Coroutine[Any, Any, T]]) -> T:
        """Run `work` on the loop and wait for it. A cancel here cancels it there, and waits until it has ended."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")
        waiter = trio.lowlevel.current_task()
        token = trio.lowlevel.current_trio_token()
        call = _Call()
        raise_cancel: Callable[[], Any] = _not_cancelled

        def wake(result: outcome.Maybe[T] | None) -> None:
            trio.lowlevel.reschedule(waiter, outcome.capture(raise_cancel) if result is None else result)

        def done(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            # A task that was cancelled before its first step has run none of its code: only this hears of it.
            result = None if task.cancelled() else outcome.capture(task.result)
            with contextlib.suppress(trio.RunFinishedError):  # nobody is left to hear it
                token.run_sync_soon(wake, result)

        def start() -> None:
            task = call.task = self._loop.create_task(work(call))
            self._tasks.add(task)  # the loop itself keeps no task alive
            task.add_done_callback(done)

        def abort(raiser: Callable[[], Any]) -> trio.lowlevel.Abort:
            nonlocal raise_cancel
            raise_cancel = raiser
            self._loop.call_soon_threadsafe(call.stop)
            return trio.lowlevel.Abort.FAILED

        self._loop.call_soon_threadsafe(start)
        value: T = await trio.lowlevel.wait_task_rescheduled(abort)
        return value

    def close(self) -> None:
        """Stop the loop and its thread. Blocks."""
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@asynccontextmanager
async def open_postgres(url: str, pool_size: int, *, serving: bool = False) -> AsyncIterator[PostgresStore]:
    """The store in the database at `url`, migrated. Raises ConfigError: not reached, of a newer program, or served."""
    crossing = Crossing()
    try:
        try:
            pool, alone = await crossing.cross(lambda _: _open(url, pool_size, serving))
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            # The address is not shown: it may hold a password.
            raise ConfigError(f"The PostgreSQL store cannot be opened: {type(error).__name__}: {error}") from None
        try:
            yield PostgresStore(crossing, pool)
        finally:
            with trio.CancelScope(shield=True):  # bounded by _CLOSE_S
                await crossing.cross(lambda _: _close(pool, alone))
    finally:
        with trio.CancelScope(shield=True):  # the loop has nothing left to do
            await trio.to_thread.run_sync(crossing.close)


async def _open(url: str, pool_size: int, serving: bool) -> tuple[asyncpg.Pool, asyncpg.Connection | None]:
    """The pool; and, for the service, the connection that says that it is the only one."""
    connection = await asyncpg.connect(url, timeout=_ACQUIRE_S)
    try:
        if serving and not await connection.fetchval("select pg_try_advisory_lock($1)", _SERVING_LOCK):
            raise ConfigError("Another svc serve uses this PostgreSQL store; one service a store.")
        await _migrate(connection)
        pool = await asyncpg.create_pool(
            url, min_size=1, max_size=pool_size, server_settings=_SETTINGS, timeout=_ACQUIRE_S
        )
    except BaseException:
        await connection.close()
        raise
    if serving:
        return pool, connection
    await connection.close()
    return pool, None


async def _close(pool: asyncpg.Pool, alone: asyncpg.Connection | None) -> None:
    try:
        await asyncio.wait_for(pool.close(), _CLOSE_S)
    except TimeoutError:
        pool.terminate()
    if alone is not None:
        alone.terminate()


async def _migrate(connection: asyncpg.Connection) -> None:
    """Bring the schema up to date, all steps or none; two services that start at once do it once."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
        await connection.execute("create table if not exists schema_version (number bigint primary key)")
        version = await connection.fetchval("select coalesce(max(number), 0) from schema_version")
        for step in pending(migrations("postgres"), version):
            for statement in step.statements:
                await connection.execute(statement)
            await connection.execute("insert into schema_version (number) values ($1)", step.number)
