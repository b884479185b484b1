"""The PostgreSQL engine: asyncpg on a separate thread's uvloop; a transaction crosses over once.

The loop's thread drives the whole transaction, so cancelling it is all or nothing: asyncio's cancellation reaches
asyncpg, which stops the statement at the server, rolls back and gives the connection back to the pool. Once the
commit is sent a cancel comes too late: the commit is waited for and its result returned, as on SQLite.

Isolation is read committed. A generator cannot be run twice, so nothing is retried here; transactions that must not
overlap let a statement decide or lock the row that they share first (user, then account, then the rest in the order
of their keys), and one that still loses is answered with StoreUnavailable.

One service a store: each connection of a service holds an advisory lock, shared, for as long as it lives. A service
begins by taking that lock alone for a moment, which fails while another one has a connection, and counts the store's
epoch on. A new connection is used only when the epoch is still the service's own. So what is written is written by the
service that began last, without a question more in any transaction; after a restart of the server the next connection
holds the lock again, or learns that another service was quicker.

A server that stops answering closes no connection: the network may be cut, or the server frozen. A check every second
finds that out. It has a connection reserved for it, so long statements and a full pool cannot delay it. While the last
check is unanswered, transactions are refused immediately. After the second unanswered check in a row, every connection
is closed: transactions under way end as they do when the server is killed, and the first transactions after the
server's return do not meet connections that it has forgotten.
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
from svc.store.engines.migrate import copy_before, migrations, pending, refuse_to_change
from svc.store.engines.postgres_copy import pour_out, schema_version
from svc.store.engines.postgres_pool import Pool
from svc.store.engines.served import Served
from svc.store.engines.sqlite_tables import check_tables
from svc.store.engines.watch import ANSWER_S
from svc.store.events import recorded
from svc.store.tx import Changed, sql

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from svc.store.engines.migrate import Migration
    from svc.store.tx import Row, Statement, Tx

T = TypeVar("T")

# One service at a time migrates (an arbitrary number, the same in every version).
_MIGRATION_LOCK = 727_301
# One service at a time serves a store; the lock's second half is the schema, of which a database has many.
_SERVING_LOCK = 727_302
# The connections of a service that was killed end a moment after it.
_LOCK_TRIES = 10
_LOCK_WAIT_S = 0.2
# Waiting for a free connection, for a row that another transaction holds, for one statement.
ACQUIRE_S = 10.0
# A machine that has gone, without a word to the server, keeps its locks for ten seconds, not for hours: the first three
# are for a connection that rests, the last for one with an answer on its way. A Unix socket ignores them. The service's
# own end of the connection has the same limits.
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
# What is done to the whole store may take long, but waits for others only until a machine that has gone lets go.
_SETTINGS_ALONE = {
    **_SESSION,
    "lock_timeout": "30s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
# A server that has not answered by now, though its own limits are shorter, is not reached any more. A service finds
# that out sooner, by its checks; this limit is for commands.
_ANSWER_S = 40.0
# Unanswered checks in a row after which the connections are closed, about five seconds after the server's last answer.
# One may be a server that was busy for a moment: what is under way then is better waited for.
_UNANSWERED_CHECKS = 2
# Closing waits for borrowed connections this long, then cuts them.
_CLOSE_S = 5.0
# The transaction was undone because of others, or took too long: the same again may well succeed.
_LOST_TO_OTHERS = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
)
# Failures of the server, and not of the transaction that met them.
SERVER_FAILURES = (
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class _Replaced(Exception):
    """Another service has taken the store since ours did."""


class Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection that the system closes when the other machine is gone, also while it waits for a long statement."""

    def __init__(self, protocol: Any, transport: asyncio.BaseTransport, *arguments: Any) -> None:
        super().__init__(protocol, transport, *arguments)
        _limit_silence(transport.get_extra_info("socket"))

    def get_reset_query(self) -> str:
        """No query: a reset ends a transaction, but keeps the session, which holds the store's lock."""
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
        if hasattr(socket, name):  # not on every system
            own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@dataclass(frozen=True)
class _Pools:
    """The connections of a store. Belongs to the loop's thread."""

    requests: Pool
    checks: Pool  # of one connection

    async def close(self) -> None:
        """Close all connections: each once it is released, all after `_CLOSE_S`."""
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
    """One crossing, seen from the loop's thread."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.writes = False
        self.committing = False

    def stop(self) -> None:
        """Cancel it, unless its commit is under way."""
        if self.task is not None and not self.committing:
            self.task.cancel()


class PostgresStore:
    """See `svc.store.tx.Store`. Open one with `open_postgres`."""

    def __init__(self, loop_thread: LoopThread, pools: _Pools, metrics: Metrics) -> None:
        self.condition = Condition()
        self._metrics = metrics
        self._waiting = 0  # for a connection
        metrics.at_scrape(self._show_load)
        self.changes = Changes()
        self._loop_thread = loop_thread
        self._pools = pools
        self._unanswered_checks = 0  # in a row; used on the loop's thread

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction. Cancelled means that nothing of it was kept."""
        changes: set[str] = set()
        try:
            return await self._cross(lambda crossing: self._write(tx, crossing, changes))
        finally:  # a commit whose answer was lost has left its changes here, too: they may have been made
            self.changes.tell(changes)

    async def read(self, tx: Tx[T]) -> T:
        """Run a transaction that cannot write, on one snapshot."""
        return await self._cross(lambda crossing: self._read(tx, crossing))

    async def peek(self, tx: Tx[T]) -> T:
        """Run statements that read, each by itself: three messages to the server less than `read`."""
        return await self._cross(lambda crossing: self._peek(tx, crossing))

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction on the connection for checks. Returns or raises within `ANSWER_S`."""
        await self._cross(lambda crossing: self._check(tx, crossing, writes))

    async def size_bytes(self) -> int:
        """The database, with what others may have in it."""
        return await self.peek(_size())

    async def _cross(self, work: Callable[[_Crossing], Coroutine[Any, Any, T]]) -> T:
        try:
            return await self._loop_thread.cross(work)
        except _Replaced:
            self.condition.replaced.set()
            raise StoreUnavailable("Another service has taken over; try again.") from None

    async def _write(self, tx: Tx[T], crossing: _Crossing, changes: set[str]) -> T:
        crossing.writes = True
        named: set[str] = set()
        async with self._connection(crossing) as connection, connection.transaction():
            value = await _drive(connection, tx, named)
            # With several services on one database this is the place of pg_notify, which others hear at the commit.
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
            return await _drive(connection, tx, set())  # it can change nothing

    async def _peek(self, tx: Tx[T], crossing: _Crossing) -> T:
        async with self._connection(crossing) as connection:
            try:
                return await _drive(connection, tx, set())  # it can change nothing
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

        # The driver ends a statement by asking the server, so only closing the connection ends a check in time.
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
            self._note_check(unavailable.__cause__, is_late)
            raise
        except DRIVER_ERRORS as error:  # no connection
            self._note_check(error, is_late)
            raise StoreUnavailable from error
        finally:
            end.cancel()
        self._unanswered_checks = 0

    def _note_check(self, error: BaseException | None, is_late: bool) -> None:
        """Decide by the cause of a check's failure whether transactions are refused."""
        if isinstance(error, asyncpg.PostgresError) and not isinstance(error, asyncpg.PostgresConnectionError):
            self._unanswered_checks = 0  # a server that says why has answered
            return
        # A connection that is closed or refused fails in each transaction without delay, and works as soon as it can.
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
            raise StoreUnavailable("Too much waits for the service's store; try again.") from error
        except DRIVER_ERRORS as error:  # no connection, so nothing was begun
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
        """Raise StoreUnavailable for what is no fault of the transaction."""
        try:
            yield
        except _LOST_TO_OTHERS as error:
            self._metrics.count(STORE_FAILURES, "conflict")
            raise StoreUnavailable("Another change was in the way for too long; try again.", retry_after_s=1) from error
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
    """What a failed transaction is told when the server failed; None: the error is the transaction's own."""
    if crossing.committing and (lost or isinstance(error, asyncpg.OperatorInterventionError)):
        return StoreUnavailable("The service's store went away while it kept this change; it may have been made.")
    if isinstance(error, asyncpg.DiskFullError):
        return StoreUnavailable("The disk of the service's store is full.")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError) and crossing.writes:
        return StoreUnavailable("The service's store is read-only.")
    return StoreUnavailable() if lost or isinstance(error, SERVER_FAILURES) else None


def _is_lost(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:  # it broke, and the pool has taken it back already
        return True


def _terminate(connection: Any) -> None:
    """Close a connection whose server does not answer: to roll back or give it back would wait for the server again."""
    with contextlib.suppress(*DRIVER_ERRORS):  # it broke: the pool has let go of it
        connection.terminate()


async def _drive(connection: Any, tx: Tx[T], changes: set[str]) -> T:
    with contextlib.closing(recorded(tx)) as steps:
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
    """Make a connection fit for the next transaction after one that failed or was cancelled.

    A cancel that meets the statement that begins a transaction leaves the transaction open, and the driver would treat
    the next one as nested in it: it would end without a commit.
    """
    try:
        await connection.reset()
    except DRIVER_ERRORS:  # it broke, and the error of the transaction says why
        connection.terminate()
    except BaseException:
        connection.terminate()
        raise


async def _end_statement(connection: Any) -> None:
    """End the statement that broke off.

    The driver sends one in two parts. Who is cancelled between them, or gives what cannot be sent, leaves the server
    within the statement's own transaction, of which the driver knows nothing: the next that begins one is refused.
    """
    with contextlib.suppress(*DRIVER_ERRORS):  # it broke: the pool lets go of it
        await connection.execute("select 1")


async def _execute(connection: Any, statement: Statement) -> list[Row]:
    try:
        if not statement.answers:
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
    """Many rows of one insert go as one statement, their columns as arrays: the server takes them in half the time."""
    types = tuple(_ARRAYS.get(type(value)) for value in statement.runs[0])
    text = _with_arrays(statement.text, types)
    if text is None:
        await connection.executemany(statement.text, statement.runs)
    else:
        await connection.execute(text, *(list(column) for column in zip(*statement.runs, strict=True)))


_ARRAYS: dict[type, str] = {str: "text[]", int: "bigint[]"}


@functools.lru_cache(maxsize=100)
def _with_arrays(text: str, types: tuple[str | None, ...]) -> str | None:
    """`insert … values ($1, $2) …` with `select * from unnest(…)` in the place of its values; None: it is none."""
    values = "values (" + ", ".join(f"${number}" for number in range(1, len(types) + 1)) + ")"
    before, found, after = text.partition(values)
    if not found or not before.startswith("insert into ") or "$" in after or None in types:
        return None
    arrays = ", ".join(f"${number}::{name}" for number, name in enumerate(types, 1))
    return f"{before}select * from unnest({arrays}){after}"  # noqa: S608  # texts of the store and placeholders


def _not_cancelled() -> None:
    raise RuntimeError("the transaction was cancelled, but not by its caller")


class LoopThread:
    """An asyncio loop in a thread, and the way into it from Trio."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres loop", daemon=True)
        self._thread.start()

    async def cross(self, work: Callable[[_Crossing], Coroutine[Any, Any, T]]) -> T:
        """Run `work` on the loop and wait for it. A cancel here cancels it there, and waits until it has ended."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")
        waiter = trio.lowlevel.current_task()
        token = trio.lowlevel.current_trio_token()
        crossing = _Crossing()
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
            task = crossing.task = self._loop.create_task(work(crossing))
            self._tasks.add(task)  # the loop itself keeps no task alive
            task.add_done_callback(done)

        def abort(raiser: Callable[[], Any]) -> trio.lowlevel.Abort:
            nonlocal raise_cancel
            raise_cancel = raiser
            self._loop.call_soon_threadsafe(crossing.stop)
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
    """The store in the database at `url`, made or brought up to date as `store.open_store` says.

    `copies`: the folder in which it is copied before; None: it is not. `known`: the migrations; None: this program's.
    Raises Served; NotReady; ConfigError: not reached, of a newer program, or it cannot be copied.
    """
    known = known or migrations("postgres")
    loop_thread = LoopThread()
    try:
        try:
            pools = await loop_thread.cross(lambda _: _open(url, pool_size, serving, as_is, copies, known))
        except _Replaced:
            raise Served("Another svc serve was quicker to take this PostgreSQL store.") from None
        except (*DRIVER_ERRORS, ValueError) as error:
            raise refused("opened", error) from None
        try:
            yield PostgresStore(loop_thread, pools, metrics or Metrics())
        finally:
            with trio.CancelScope(shield=True):  # bounded by _CLOSE_S
                await loop_thread.cross(lambda _: pools.close())
    finally:
        with trio.CancelScope(shield=True):  # the loop has nothing left to do
            await trio.to_thread.run_sync(loop_thread.close)


_IN_HAND = (
    "Another svc has the whole of this PostgreSQL store in hand (a restore, an update of its schema, a backup) and does"
    " not come to its end: wait for it, or end its process, then try again."
)


def refused(what: str, error: Exception) -> ConfigError:
    """Why the store cannot be `what`, for people."""
    if isinstance(error, asyncpg.LockNotAvailableError):
        return ConfigError(_IN_HAND)
    # The address is not shown: it may hold a password.
    return ConfigError(f"The PostgreSQL store cannot be {what}: {type(error).__name__}: {error}")


async def connect_alone(url: str) -> asyncpg.Connection:
    """A connection of its own, for what is done to the whole store."""
    return await asyncpg.connect(url, timeout=ACQUIRE_S, server_settings=_SETTINGS_ALONE, connection_class=Connection)


async def _open(
    url: str, pool_size: int, serving: bool, as_is: bool, copies: Path | None, known: list[Migration]
) -> _Pools:
    epoch = await _prepare(url, serving, as_is, copies, known)

    async def hold(connection: asyncpg.Connection) -> None:
        """Hold the store's lock with this connection. Raises _Replaced: the store is another service's by now."""
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
    """Bring the schema up to date and take the store, for a service. Returns the epoch that then begins.

    All or nothing; two services that start at once do it one after the other.
    """
    connection = await connect_alone(url)
    try:
        async with connection.transaction():
            await lock_migrations(connection)
            if serving:
                await lock_alone(connection)
            if as_is or not serving:
                refuse_to_change(known, await schema_version(connection), may_make=not as_is)
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
    """The columns of each table of the store."""
    found: dict[str, set[str]] = {}
    for table, column in await connection.fetch(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid"
        " where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0"
        " and not a.attisdropped"
    ):
        found.setdefault(table, set()).add(column)
    return found


async def lock_migrations(connection: asyncpg.Connection) -> None:
    """Let nobody else change the schema until the end of the transaction."""
    await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)


async def lock_alone(connection: asyncpg.Connection) -> None:
    """Hold the store's lock alone until the end of the transaction. Raises Served: another service holds it."""
    for _ in range(_LOCK_TRIES):
        if await try_lock_alone(connection):
            return
        await asyncio.sleep(_LOCK_WAIT_S)
    raise Served("Another svc serve uses this PostgreSQL store; one service a store.")


async def try_lock_alone(connection: asyncpg.Connection) -> bool:
    """Hold the store's lock alone until the end of the transaction, unless somebody holds it."""
    return bool(
        await connection.fetchval("select pg_try_advisory_xact_lock($1, hashtext(current_schema()))", _SERVING_LOCK)
    )


async def _copy_before(url: str, connection: asyncpg.Connection, folder: Path, known: list[Migration]) -> None:
    """Copy a store whose schema is about to change into `folder`. Raises ConfigError: it cannot be copied."""
    version = await schema_version(connection)
    names = await connection.fetchrow("select current_database() as database, current_schema() as schema")
    store = folder / f"{names['database']}-{names['schema']}"
    if not pending(known, version, store) or not version:
        return
    target = copy_before(store, version)
    try:
        part = _room_for(target)
        other = await connect_alone(url)  # which reads the whole store as of one moment
        try:
            await pour_out(other, part)
        finally:
            await other.close()
        part.replace(target)
    except OSError as error:
        raise ConfigError(
            f"The store cannot be copied to {target} before its schema is changed: {error.strerror or error};"
            " set [store] copies to a folder for it, or to nothing where you have made a backup yourself"
        ) from None


def _room_for(target: Path) -> Path:
    """Where a file is made that is to be `target` once it is whole."""
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.unlink(missing_ok=True)
    return part


async def migrate(connection: asyncpg.Connection, known: list[Migration]) -> None:
    """Bring the schema up to date with these migrations, in a transaction. Raises ConfigError: a newer schema."""
    await connection.execute("create table if not exists schema_version (number bigint primary key)")
    version = await connection.fetchval("select coalesce(max(number), 0) from schema_version")
    for step in pending(known, version):
        for statement in step.statements:
            await connection.execute(statement)
        await connection.execute("insert into schema_version (number) values ($1)", step.number)
