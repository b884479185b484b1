"""The PostgreSQL engine. It uses asyncpg on a uvloop event loop in a separate thread.

Each transaction is passed to the loop once and runs completely in the loop's thread. A cancelled transaction has no
effect: asyncpg stops the statement on the server, rolls back, and returns the connection to the pool. A transaction
whose commit has been sent can no longer be cancelled. The engine then waits for the commit and returns the result, as
the SQLite engine does.

The isolation level is read committed. The engine never retries a transaction, because a transaction is a generator and
cannot run twice. If two transactions may conflict, either a single statement decides the outcome, or both first lock a
row that they share. Rows are locked in this order: the user, the account, then other rows in key order. A transaction
that nevertheless loses a conflict raises StoreUnavailable.

Only one service may use a store. Each open connection of the service holds a shared advisory lock. When a service
starts, it acquires the lock exclusively for a moment. This attempt fails while another service has a connection. If it
succeeds, the service increments a number in the store, the epoch. Later, it uses a new connection only if the epoch has
not changed. As a result, only the service that started last can write, and transactions need no additional query to
ensure this. After the PostgreSQL server restarts, each new connection either acquires the lock again, or shows that
another service has taken over the store.

A server that hangs or has become unreachable does not close its connections. A check that runs every second detects
such a server. The check has its own connection, so that long statements and a full pool cannot delay it. If a check
gets no response, new transactions are refused immediately. If the next check gets no response either, all connections
are closed, and running transactions end as if the server had been killed. Transactions therefore never use connections
that the server has dropped in the meantime.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from svc.errors import StoreUnavailable
from svc.metrics import STORE_COMMIT, STORE_FAILURES, STORE_READ, STORE_WAIT, STORE_WAITING, Metrics
from svc.store.engines.changes import Changes
from svc.store.engines.condition import Condition
from svc.store.engines.postgres.locks import Replaced
from svc.store.engines.postgres.session import ACQUIRE_S, DRIVER_ERRORS, SERVER_FAILURES, terminate
from svc.store.engines.postgres.statements import drive, end_statement, end_transaction
from svc.store.engines.watch import ANSWER_S
from svc.store.tx import sql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from svc.store.engines.postgres.loop_thread import Crossing, LoopThread
    from svc.store.engines.postgres.pool import Pool
    from svc.store.tx import Tx

T = TypeVar("T")
# After this many checks in a row without a response, the connections are closed. This is about five seconds after the
# server's last response. A single check without a response does not end running transactions, because the server may
# only be busy for a moment.
_UNANSWERED_CHECKS = 2
# At shutdown, connections that are still in use after this time are closed.
_CLOSE_S = 5.0
# Errors for timeouts and for conflicts with other transactions, after which a retry may succeed.
_CONFLICTS = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
)


@dataclass(frozen=True)
class Pools:
    """The connections of a store. Use this object only on the loop's thread."""

    requests: Pool
    checks: Pool  # has a single connection

    async def close(self) -> None:
        """Close each connection when it is released. After `_CLOSE_S`, close all remaining connections."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self.requests.close()
                await self.checks.close()
        except TimeoutError:
            self.cut()

    def cut(self) -> None:
        """Close all connections without waiting for the server."""
        self.requests.cut()
        self.checks.cut()


class PostgresStore:
    """The PostgreSQL implementation of `svc.store.tx.Store`. Use `open_postgres` to open a store."""

    def __init__(self, loop_thread: LoopThread, pools: Pools, metrics: Metrics) -> None:
        self.condition = Condition()
        self._metrics = metrics
        self._waiting = 0  # number of transactions that are waiting for a connection
        metrics.at_scrape(self._show_load)
        self.changes = Changes()
        self._loop_thread = loop_thread
        self._pools = pools
        self._unanswered_checks = 0  # consecutive checks without a response; used only on the loop's thread

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction. If the caller is cancelled, nothing is committed."""
        changes: set[str] = set()
        try:
            return await self._cross(lambda crossing: self._write(tx, crossing, changes))
        finally:  # also after a commit without a response, which may have succeeded
            self.changes.notify(changes)

    async def read(self, tx: Tx[T]) -> T:
        """Run a read-only transaction on one snapshot."""
        return await self._cross(lambda crossing: self._read(tx, crossing))

    async def peek(self, tx: Tx[T]) -> T:
        """Run read-only statements without a transaction.

        This method needs three fewer messages to the server than `read`.
        """
        return await self._cross(lambda crossing: self._peek(tx, crossing))

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction on the connection for checks. The method returns or raises within `ANSWER_S`."""
        await self._cross(lambda crossing: self._check(tx, crossing, writes))

    async def size_bytes(self) -> int:
        """Return the size of the whole database. Tables of other programs are included."""
        return await self.peek(_size())

    async def _cross(self, work: Callable[[Crossing], Coroutine[Any, Any, T]]) -> T:
        try:
            return await self._loop_thread.cross(work)
        except Replaced:
            self.condition.replaced.set()
            raise StoreUnavailable("Another service has taken over. Try again.") from None

    async def _write(self, tx: Tx[T], crossing: Crossing, changes: set[str]) -> T:
        crossing.writes = True
        named: set[str] = set()
        async with self._connection(crossing) as connection, connection.transaction():
            value = await drive(connection, tx, named)
            # If several services could share a store, pg_notify would be called here, because it takes effect with the
            # commit.
            crossing.committing = True
            changes |= named
            return value

    def _show_load(self) -> None:
        self._metrics.set(STORE_WAITING, self._waiting)

    async def _read(self, tx: Tx[T], crossing: Crossing) -> T:
        async with (
            self._connection(crossing) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            return await drive(connection, tx, set())  # read-only, so no listener is notified

    async def _peek(self, tx: Tx[T], crossing: Crossing) -> T:
        async with self._connection(crossing) as connection:
            try:
                return await drive(connection, tx, set())  # only reads, so no listener is notified
            except (asyncio.CancelledError, asyncpg.DataError):
                await end_statement(connection)
                raise

    async def _check(self, tx: Tx[None], crossing: Crossing, writes: bool) -> None:
        crossing.writes = writes
        is_late = False

        def give_up() -> None:
            nonlocal is_late
            is_late = True
            self._pools.checks.cut()

        # Only closing the connection ends a check in time. To cancel a statement, asyncpg would send a request to the
        # server, which may not respond.
        end = asyncio.get_running_loop().call_later(ANSWER_S, give_up)
        try:
            connection = await self._pools.checks.acquire(ANSWER_S)
            try:
                with self._failures(connection, crossing):
                    try:
                        async with connection.transaction(readonly=not writes):
                            await drive(connection, tx, set())
                    except BaseException:
                        await end_transaction(connection)
                        raise
            finally:
                self._pools.checks.release(connection)
        except StoreUnavailable as unavailable:
            self._record_failed_check(unavailable.__cause__, is_late)
            raise
        except DRIVER_ERRORS as error:  # there is no connection
            self._record_failed_check(error, is_late)
            raise StoreUnavailable from error
        finally:
            end.cancel()
        self._unanswered_checks = 0

    def _record_failed_check(self, error: BaseException | None, is_late: bool) -> None:
        """Decide whether to refuse transactions after a failed check. `error`: why the check failed.

        `is_late`: True if the check timed out.
        """
        if isinstance(error, asyncpg.PostgresError) and not isinstance(error, asyncpg.PostgresConnectionError):
            self._unanswered_checks = 0  # the server did respond, although with an error
            return
        # If the server closed or refused the connection, there is no need to refuse transactions, because each of them
        # fails without delay.
        if self._unanswered_checks or is_late or isinstance(error, TimeoutError):
            self._unanswered_checks += 1
        if self._unanswered_checks >= _UNANSWERED_CHECKS:
            self._pools.requests.cut()

    @asynccontextmanager
    async def _connection(self, crossing: Crossing) -> AsyncIterator[Any]:
        if self._unanswered_checks:
            self._metrics.count(STORE_FAILURES, "lost")
            raise StoreUnavailable
        asked_at = time.perf_counter()
        self._waiting += 1
        try:
            connection = await self._pools.requests.acquire(ACQUIRE_S)
        except TimeoutError as error:
            if self._unanswered_checks:
                raise self._failed(StoreUnavailable(), error) from error
            self._metrics.count(STORE_FAILURES, "crowded")
            raise StoreUnavailable("Too many requests are waiting for the service's store. Try again.") from error
        except DRIVER_ERRORS as error:  # without a connection, nothing was done
            raise self._failed(StoreUnavailable(), error) from error
        finally:
            self._waiting -= 1
        began_at = time.perf_counter()
        self._metrics.observe(STORE_WAIT, began_at - asked_at, "write" if crossing.writes else "read")
        try:
            with self._failures(connection, crossing):
                try:
                    yield connection
                except BaseException:
                    await end_transaction(connection)
                    raise
        finally:
            took_s = time.perf_counter() - began_at
            self._metrics.observe(STORE_COMMIT if crossing.writes else STORE_READ, took_s)
            self._pools.requests.release(connection)

    @contextmanager
    def _failures(self, connection: Any, crossing: Crossing) -> Iterator[None]:
        """Return a context manager that raises StoreUnavailable if the database server makes its block fail."""
        try:
            yield
        except _CONFLICTS as error:
            self._metrics.count(STORE_FAILURES, "conflict")
            raise StoreUnavailable(
                "Another change blocked this one for too long. Try again.", retry_after_s=1
            ) from error
        except DRIVER_ERRORS as error:
            unavailable = _unavailable(error, crossing, lost=isinstance(error, TimeoutError) or _is_lost(connection))
            if unavailable is None:
                raise
            if isinstance(error, TimeoutError):
                terminate(connection)
            raise self._failed(unavailable, error) from error

    def _failed(self, unavailable: StoreUnavailable, cause: Exception) -> StoreUnavailable:
        unavailable.__cause__ = cause
        self._metrics.count(STORE_FAILURES, "lost")
        self.condition.failed(unavailable)
        return unavailable


def _size() -> Tx[int]:
    [row] = yield sql("select pg_database_size(current_database()) as size")
    return int(row["size"])


def _unavailable(error: Exception, crossing: Crossing, *, lost: bool) -> StoreUnavailable | None:
    """Return the error to raise if the server failed, or None if the transaction itself caused the error."""
    if crossing.committing and (lost or isinstance(error, asyncpg.OperatorInterventionError)):
        return StoreUnavailable("The service's store failed while saving this change. The change may have been saved.")
    if isinstance(error, asyncpg.DiskFullError):
        return StoreUnavailable("The disk of the service's store is full.")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError) and crossing.writes:
        return StoreUnavailable("The service's store is read-only.")
    return StoreUnavailable() if lost or isinstance(error, SERVER_FAILURES) else None


def _is_lost(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:  # the broken connection has already been returned to the pool
        return True
