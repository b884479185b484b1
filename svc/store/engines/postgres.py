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
starts, it acquires the lock exclusively for a moment, which fails while another service has a connection. It then
increments a number in the store, the epoch. Later, the service uses a new connection only if the epoch has not changed.
As a result, only the service that started last can write, and transactions need no additional query to ensure this.
After the PostgreSQL server restarts, each new connection either acquires the lock again, or shows that another service
has taken over the store.

A server that hangs or has become unreachable does not close its connections. A check every second detects this. The
check has its own connection, so that long statements and a full pool cannot delay it. If a check gets no response, new
transactions are refused immediately. If the next check gets no response either, all connections are closed, and running
transactions end as if the server had been killed. Transactions therefore never use connections that the server has
dropped in the meantime.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
import outcome
import trio
import uvloop

from svc.config import ConfigError
from svc.errors import StoreUnavailable
from svc.metrics import STORE_COMMIT, STORE_FAILURES, STORE_READ, STORE_WAIT, STORE_WAITING, Metrics
from svc.store.engines.changes import Changes
from svc.store.engines.condition import Condition
from svc.store.engines.migrate import copy_before, migrations, pending, require_current_schema
from svc.store.engines.postgres_copy import copy_to_file, schema_version
from svc.store.engines.postgres_pool import Pool
from svc.store.engines.served import Served
from svc.store.engines.sqlite_tables import check_tables
from svc.store.engines.watch import ANSWER_S
from svc.store.events import with_events
from svc.store.tx import Changed, sql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from svc.store.engines.migrate import Migration
    from svc.store.tx import Row, Statement, Tx

T = TypeVar("T")

# The advisory lock for migrations. Its number is arbitrary, but must be the same in every version.
_MIGRATION_LOCK = 727_301
# The advisory lock of the running service. Its second key identifies the schema, because a database can contain several
# stores.
_SERVING_LOCK = 727_302
# The number of attempts to acquire the lock at startup. The connections of a killed service take a moment to close.
_LOCK_TRIES = 10
_LOCK_WAIT_S = 0.2
# The maximum wait for a free connection.
ACQUIRE_S = 10.0
# TCP keepalive settings. If the service's host disappears, the PostgreSQL server closes the host's connections and
# releases their locks after ten seconds instead of hours. The first three settings apply to an idle connection. The
# last setting applies to a connection with unacknowledged data. Unix sockets ignore them. The client side of the
# connection uses the same values.
_KEEPALIVE_IDLE_S = 4
_KEEPALIVE_INTERVAL_S = 2
_KEEPALIVE_COUNT = 3
_UNACKNOWLEDGED_S = 10
_SESSION = {
    "application_name": "svc",
    "tcp_keepalives_idle": str(_KEEPALIVE_IDLE_S),
    "tcp_keepalives_interval": str(_KEEPALIVE_INTERVAL_S),
    "tcp_keepalives_count": str(_KEEPALIVE_COUNT),
    "tcp_user_timeout": f"{_UNACKNOWLEDGED_S}s",
}
SETTINGS = {
    **_SESSION,
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
}
# Settings for operations on the whole store, such as a copy. The lock timeout is longer than the time after which the
# server releases the locks of a host that has disappeared.
_SETTINGS_ALONE = {
    **_SESSION,
    "lock_timeout": "30s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
# The client's timeout for a statement. It is longer than the server's timeouts, so exceeding it means that the server
# cannot be reached. The timeout is mainly for commands. A service detects an unreachable server sooner, with its
# checks.
_ANSWER_S = 40.0
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
# Errors that are caused by the server and not by the transaction.
SERVER_FAILURES = (
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class _Replaced(Exception):
    """Raised if another service has taken over the store."""


class Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection that the kernel closes when the server's host disappears, even during a long statement."""

    def __init__(self, protocol: Any, transport: asyncio.BaseTransport, *arguments: Any) -> None:
        super().__init__(protocol, transport, *arguments)
        _limit_silence(transport.get_extra_info("socket"))

    def get_reset_query(self) -> str:
        """Return an empty query. A reset then ends a transaction, but keeps the session that holds the store's lock."""
        return ""


def _limit_silence(own: socket.socket) -> None:
    if own.family not in (socket.AF_INET, socket.AF_INET6):
        return
    own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", _KEEPALIVE_COUNT),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_S * 1000),
    ):
        if hasattr(socket, name):  # some systems lack the option
            own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@dataclass(frozen=True)
class _Pools:
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


class _Crossing:
    """The state of one transaction while the loop's thread runs it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.writes = False
        self.committing = False

    def stop(self) -> None:
        """Cancel the transaction, unless its commit has been sent."""
        if self.task is not None and not self.committing:
            self.task.cancel()


class PostgresStore:
    """The PostgreSQL implementation of `svc.store.tx.Store`. Use `open_postgres` to open a store."""

    def __init__(self, loop_thread: LoopThread, pools: _Pools, metrics: Metrics) -> None:
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

        This needs three fewer messages to the server than `read`.
        """
        return await self._cross(lambda crossing: self._peek(tx, crossing))

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction on the connection for checks. This returns or raises within `ANSWER_S`."""
        await self._cross(lambda crossing: self._check(tx, crossing, writes))

    async def size_bytes(self) -> int:
        """Return the size of the whole database. Tables of other programs are included."""
        return await self.peek(_size())

    async def _cross(self, work: Callable[[_Crossing], Coroutine[Any, Any, T]]) -> T:
        try:
            return await self._loop_thread.cross(work)
        except _Replaced:
            self.condition.replaced.set()
            raise StoreUnavailable("Another service has taken over. Try again.") from None

    async def _write(self, tx: Tx[T], crossing: _Crossing, changes: set[str]) -> T:
        crossing.writes = True
        named: set[str] = set()
        async with self._connection(crossing) as connection, connection.transaction():
            value = await _drive(connection, tx, named)
            # If several services could share a store, pg_notify would be called here, because it takes effect with the
            # commit.
            crossing.committing = True
            changes |= named
            return value

    def _show_load(self) -> None:
        self._metrics.set(STORE_WAITING, self._waiting)

    async def _read(self, tx: Tx[T], crossing: _Crossing) -> T:
        async with (
            self._connection(crossing) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            return await _drive(connection, tx, set())  # read-only, so no listener is notified

    async def _peek(self, tx: Tx[T], crossing: _Crossing) -> T:
        async with self._connection(crossing) as connection:
            try:
                return await _drive(connection, tx, set())  # only reads, so no listener is notified
            except (asyncio.CancelledError, asyncpg.DataError):
                await _end_statement(connection)
                raise

    async def _check(self, tx: Tx[None], crossing: _Crossing, writes: bool) -> None:
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
                            await _drive(connection, tx, set())
                    except BaseException:
                        await _end_transaction(connection)
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
    async def _connection(self, crossing: _Crossing) -> AsyncIterator[Any]:
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
                    await _end_transaction(connection)
                    raise
        finally:
            took_s = time.perf_counter() - began_at
            self._metrics.observe(STORE_COMMIT if crossing.writes else STORE_READ, took_s)
            self._pools.requests.release(connection)

    @contextmanager
    def _failures(self, connection: Any, crossing: _Crossing) -> Iterator[None]:
        """Return a context manager that raises StoreUnavailable if its block fails because of the server."""
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
                _terminate(connection)
            raise self._failed(unavailable, error) from error

    def _failed(self, unavailable: StoreUnavailable, cause: Exception) -> StoreUnavailable:
        unavailable.__cause__ = cause
        self._metrics.count(STORE_FAILURES, "lost")
        self.condition.failed(unavailable)
        return unavailable


def _size() -> Tx[int]:
    [row] = yield sql("select pg_database_size(current_database()) as size")
    return int(row["size"])


def _unavailable(error: Exception, crossing: _Crossing, *, lost: bool) -> StoreUnavailable | None:
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


def _terminate(connection: Any) -> None:
    """Close a connection to a server that does not respond. A rollback would wait for the server again."""
    with contextlib.suppress(*DRIVER_ERRORS):  # the pool has already dropped the broken connection
        connection.terminate()


async def _drive(connection: Any, tx: Tx[T], changes: set[str]) -> T:
    with contextlib.closing(with_events(tx)) as steps:
        try:
            step = next(steps)
            while True:
                if isinstance(step, Changed):
                    changes.add(step.edge_account_id)
                    step = steps.send([])
                else:
                    step = steps.send(await _execute(connection, step))
        except StopIteration as done:
            value: T = done.value
            return value


async def _end_transaction(connection: Any) -> None:
    """Make a connection usable again after a transaction failed or was cancelled.

    If BEGIN is cancelled, the transaction stays open. asyncpg would nest the next transaction in it, so the next
    transaction would never be committed. If ROLLBACK is cancelled, asyncpg wrongly considers the transaction ended.
    """
    if connection.is_closed():
        return
    try:
        if connection.is_in_transaction():
            await connection.execute("rollback")
        await connection.reset()
    except DRIVER_ERRORS:  # the connection is broken, so the caller gets the transaction's own error
        connection.terminate()
    except BaseException:
        connection.terminate()
        raise


async def _end_statement(connection: Any) -> None:
    """End an interrupted statement.

    asyncpg sends a statement in two parts. The server stays in the statement's implicit transaction if the statement is
    cancelled between the two parts, or if a parameter cannot be encoded. asyncpg does not detect this, and the next
    transaction on the connection would fail.
    """
    with contextlib.suppress(*DRIVER_ERRORS):  # the pool drops a broken connection
        await connection.execute("select 1")


async def _execute(connection: Any, statement: Statement) -> list[Row]:
    try:
        if not statement.responses:
            if statement.runs:
                await _execute_many(connection, statement)
            return []
        return [dict(row) for row in await connection.fetch(statement.text, *statement.runs[0])]
    except asyncpg.PostgresError as error:
        error.add_note(f"in: {statement.text}")
        raise
    except TimeoutError:
        _terminate(connection)
        raise


async def _execute_many(connection: Any, statement: Statement) -> None:
    """Run a statement once for each tuple of parameters.

    The rows of an insert are sent as one statement with an array per column. This halves the server's CPU time.
    """
    types = tuple(_ARRAYS.get(type(value)) for value in statement.runs[0])
    text = _with_arrays(statement.text, types)
    if text is None:
        await connection.executemany(statement.text, statement.runs)
    else:
        await connection.execute(text, *(list(column) for column in zip(*statement.runs, strict=True)))


_ARRAYS: dict[type, str] = {str: "text[]", int: "bigint[]"}


@functools.lru_cache(maxsize=100)
def _with_arrays(text: str, types: tuple[str | None, ...]) -> str | None:
    """Rewrite an insert statement so that its values come from one array per column (`unnest`).

    Return None if the text is not such a statement.
    """
    values = "values (" + ", ".join(f"${number}" for number in range(1, len(types) + 1)) + ")"
    before, found, after = text.partition(values)
    if not found or not before.startswith("insert into ") or "$" in after or None in types:
        return None
    arrays = ", ".join(f"${number}::{name}" for number, name in enumerate(types, 1))
    return f"{before}select * from unnest({arrays}){after}"  # noqa: S608  # SQL of this package and placeholders


def _not_cancelled() -> None:
    raise RuntimeError("the transaction was cancelled, but not by its caller")


class LoopThread:
    """An asyncio loop in a separate thread, on which Trio tasks can run coroutines."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._token = trio.lowlevel.current_trio_token()
        # Functions that wake the callers of tasks that ended in this iteration of the loop.
        self._ended: list[Callable[[], None]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres loop", daemon=True)
        self._thread.start()

    async def cross(self, work: Callable[[_Crossing], Coroutine[Any, Any, T]]) -> T:
        """Run `work` on the loop and return its result.

        If the caller is cancelled, the method cancels `work` and waits until it ends.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")
        waiter = trio.lowlevel.current_task()
        crossing = _Crossing()
        raise_cancel: Callable[[], Any] = _not_cancelled

        def wake(result: outcome.Maybe[T] | None) -> None:
            trio.lowlevel.reschedule(waiter, outcome.capture(raise_cancel) if result is None else result)

        def done(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            # This callback has to set the result. If a task is cancelled before its first step, its code does not
            # run.
            result = None if task.cancelled() else outcome.capture(task.result)
            if not self._ended:
                self._loop.call_soon(self._wake_callers)
            self._ended.append(functools.partial(wake, result))

        def start() -> None:
            task = crossing.task = self._loop.create_task(work(crossing))
            self._tasks.add(task)  # needed because the loop itself has only weak references to tasks
            task.add_done_callback(done)

        def abort(raiser: Callable[[], Any]) -> trio.lowlevel.Abort:
            nonlocal raise_cancel
            raise_cancel = raiser
            self._loop.call_soon_threadsafe(crossing.stop)
            return trio.lowlevel.Abort.FAILED

        self._loop.call_soon_threadsafe(start)
        value: T = await trio.lowlevel.wait_task_rescheduled(abort)
        return value

    def _wake_callers(self) -> None:
        """Wake all callers whose tasks have ended since the loop's last iteration.

        A single message to Trio's thread wakes them all. Each message hands over the GIL (Python's global lock), which
        takes longer than a small statement.
        """
        ended, self._ended = self._ended, []

        def wake() -> None:
            for each in ended:
                each()

        with contextlib.suppress(trio.RunFinishedError):  # no task is waiting any longer
            self._token.run_sync_soon(wake)

    def close(self) -> None:
        """Stop the loop and its thread. Blocks."""
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@asynccontextmanager
async def open_postgres(
    url: str,
    pool_size: int,
    *,
    serving: bool = False,
    as_is: bool = False,
    metrics: Metrics | None = None,
    copies: Path | None = None,
    known: list[Migration] | None = None,
) -> AsyncIterator[PostgresStore]:
    """Open the store in the database at `url`. Create or migrate the store as `store.open_store` describes.

    `copies`: the folder for the copy that is made before a migration, or None for no copy. `known`: the migrations, by
    default those of this program. Raises Served or NotReady. Raises ConfigError if the store cannot be reached or
    copied, or if a newer program created it.
    """
    known = known or migrations("postgres")
    loop_thread = LoopThread()
    try:
        try:
            pools = await loop_thread.cross(lambda _: _open(url, pool_size, serving, as_is, copies, known))
        except _Replaced:
            raise Served("Another svc serve took this PostgreSQL store at the same moment.") from None
        except (*DRIVER_ERRORS, ValueError) as error:
            raise refused("opened", error) from None
        try:
            yield PostgresStore(loop_thread, pools, metrics or Metrics())
        finally:
            with trio.CancelScope(shield=True):  # takes at most _CLOSE_S
                await loop_thread.cross(lambda _: pools.close())
    finally:
        with trio.CancelScope(shield=True):  # returns immediately, because the loop is idle
            await trio.to_thread.run_sync(loop_thread.close)


_LOCKED = (
    "Another svc process has locked this PostgreSQL store (a restore, a schema migration or a backup) and does not"
    " finish. Wait for it or end its process, then try again."
)


def refused(what: str, error: Exception) -> ConfigError:
    """Return the ConfigError for an error of the driver.

    `what`: completes the message "The PostgreSQL store cannot be …".
    """
    if isinstance(error, asyncpg.LockNotAvailableError):
        return ConfigError(_LOCKED)
    # Do not show the URL, because it may contain a password.
    return ConfigError(f"The PostgreSQL store cannot be {what}: {type(error).__name__}: {error}")


async def connect_alone(url: str) -> asyncpg.Connection:
    """Open a separate connection for an operation on the whole store, such as a copy."""
    return await asyncpg.connect(url, timeout=ACQUIRE_S, server_settings=_SETTINGS_ALONE, connection_class=Connection)


async def _open(
    url: str, pool_size: int, serving: bool, as_is: bool, copies: Path | None, known: list[Migration]
) -> _Pools:
    epoch = await _prepare(url, serving, as_is, copies, known)

    async def hold(connection: asyncpg.Connection) -> None:
        """Acquire the service's shared lock on this connection.

        If another service has taken over the store, raises _Replaced.
        """
        await connection.fetchval(
            "select pg_advisory_lock_shared($1, hashtext(current_schema()))", _SERVING_LOCK, timeout=ACQUIRE_S
        )
        if await connection.fetchval("select epoch from serving") != epoch:
            raise _Replaced

    async def open_connection(opened: Callable[[asyncpg.Connection], None]) -> asyncpg.Connection:
        connection = await asyncpg.connect(
            url, server_settings=SETTINGS, timeout=ACQUIRE_S, command_timeout=_ANSWER_S, connection_class=Connection
        )
        opened(connection)
        if serving:
            await hold(connection)
        return connection

    pools = _Pools(Pool(open_connection, pool_size), Pool(open_connection, 1))
    pools.requests.release(await pools.requests.acquire(ACQUIRE_S))
    return pools


async def _prepare(url: str, serving: bool, as_is: bool, copies: Path | None, known: list[Migration]) -> int:
    """Migrate the schema and, for a service, increment the store's epoch. Return the epoch.

    This is one transaction. If two services start at the same time, one waits here for the other.
    """
    connection = await connect_alone(url)
    try:
        async with connection.transaction():
            await lock_migrations(connection)
            if serving:
                await lock_alone(connection)
            if as_is or not serving:
                require_current_schema(known, await schema_version(connection), may_create=not as_is)
            version = await schema_version(connection)
            if 0 < version <= known[-1].number:
                check_tables(version, await _columns_by_table(connection))
            if copies is not None:
                await _copy_before(url, connection, copies, known)
            await migrate(connection, known)
            count = "update serving set epoch = epoch + 1 returning epoch" if serving else "select epoch from serving"
            return int(await connection.fetchval(count))
    finally:
        await connection.close()


async def _columns_by_table(connection: asyncpg.Connection) -> dict[str, set[str]]:
    """Return the column names of the store's tables, by table."""
    columns: dict[str, set[str]] = {}
    for table, column in await connection.fetch(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0"
        " and not a.attisdropped"
    ):
        columns.setdefault(table, set()).add(column)
    return columns


async def lock_migrations(connection: asyncpg.Connection) -> None:
    """Block other schema migrations until the end of the transaction."""
    await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)


async def lock_alone(connection: asyncpg.Connection) -> None:
    """Lock the store exclusively until the end of the transaction. If another service holds the lock, raises Served."""
    for _ in range(_LOCK_TRIES):
        if await try_lock_alone(connection):
            return
        await asyncio.sleep(_LOCK_WAIT_S)
    raise Served("Another svc serve uses this PostgreSQL store. Only one service can use a store.")


async def try_lock_alone(connection: asyncpg.Connection) -> bool:
    """Lock the store exclusively until the end of the transaction. If another process holds the lock, return False."""
    return bool(
        await connection.fetchval("select pg_try_advisory_xact_lock($1, hashtext(current_schema()))", _SERVING_LOCK)
    )


async def _copy_before(url: str, connection: asyncpg.Connection, folder: Path, known: list[Migration]) -> None:
    """Copy the store into `folder` if it is about to be migrated. If it cannot be copied, raises ConfigError."""
    version = await schema_version(connection)
    names = await connection.fetchrow("select current_database() as database, current_schema() as schema")
    store = folder / f"{names['database']}-{names['schema']}"
    if not pending(known, version, store) or not version:
        return
    target = copy_before(store, version)
    try:
        part = _temporary_file(target)
        other = await connect_alone(url)  # this connection reads a snapshot in its own transaction
        try:
            await copy_to_file(other, part)
        finally:
            await other.close()
        part.replace(target)
    except OSError as error:
        raise ConfigError(
            f"The store cannot be copied to {target} before its schema is migrated: {error.strerror or error}."
            " Set [store] copies to another folder, or to an empty value if you have made a backup yourself."
        ) from None


def _temporary_file(target: Path) -> Path:
    """Return the path of the temporary file for `target`. Create the folder, and delete an earlier temporary file."""
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.unlink(missing_ok=True)
    return part


async def migrate(connection: asyncpg.Connection, known: list[Migration]) -> None:
    """Apply the pending migrations in the caller's transaction. If the schema is newer, raises ConfigError."""
    await connection.execute("create table if not exists schema_version (number bigint primary key)")
    version = await connection.fetchval("select coalesce(max(number), 0) from schema_version")
    for step in pending(known, version):
        for statement in step.statements:
            await connection.execute(statement)
        await connection.execute("insert into schema_version (number) values ($1)", step.number)
