"""The SQLite engine: one writer thread with group commit, and reader threads with separate connections.

The writer takes all waiting transactions, runs each in a SAVEPOINT of one SQL transaction, and commits once. The
transactions therefore share one flush to disk (synchronous=FULL). If a transaction fails, only its own changes are
rolled back. Callers get their results after the commit.

If the store fails, for example because the disk is full or another program keeps the file locked, the transaction
raises StoreUnavailable. The writer then continues with the next transaction.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import re
import sqlite3
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import trio

from svc import atomic_file
from svc.config import ConfigError
from svc.errors import StoreUnavailable
from svc.metrics import (
    STORE_COMMIT,
    STORE_FAILURES,
    STORE_GROUP,
    STORE_READ,
    STORE_WAIT,
    STORE_WAITING,
    Metrics,
)
from svc.store.engines.changes import Changes
from svc.store.engines.condition import Condition
from svc.store.engines.migrate import NotReady, copy_before, migrations, pending, require_current_schema
from svc.store.engines.sqlite_place import finish, is_unfinished, lock
from svc.store.engines.sqlite_tables import check_tables, columns_by_table, run_migrations, schema_version
from svc.store.events import with_events
from svc.store.tx import Changed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from svc.store.engines.migrate import Migration
    from svc.store.tx import Parameter, Row, Statement, Tx

T = TypeVar("T")

# The maximum number of transactions in one commit. The number is large enough to share the flush to disk. It is small
# enough that the first transaction waits only about 10 ms.
_GROUP = 200
_READERS = 4
# The maximum wait while another process (a command, a backup) holds the file's write lock.
_BUSY_MS = 5_000
_WAL_PAUSE_S = 0.01
# The size of the writer's page cache. A push writes about as many database pages as it has sites and links. With
# SQLite's defaults (a cache of 2 MB, a checkpoint after 1,000 pages), each push would read most pages again, and every
# tenth push would start a checkpoint. This would take 20% more CPU time.
_WRITER_CACHE_KIB = 32_768
_LOG_PAGES = 8_000
# Messages for errors that are caused by the store and not by the transaction, by SQLite's primary result code.
_BROKEN = "The service's store does not work."
_HELD = "Another program has locked the service's store."
_REPLACED = "The file of the service's store was moved, deleted or replaced."
_STORE_FAILURES = {
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_FULL: "The disk of the service's store is full.",
    sqlite3.SQLITE_READONLY: "The service's store is read-only.",
    sqlite3.SQLITE_NOMEM: _BROKEN,
    sqlite3.SQLITE_IOERR: _BROKEN,
    sqlite3.SQLITE_CORRUPT: _BROKEN,
    sqlite3.SQLITE_CANTOPEN: _BROKEN,
    sqlite3.SQLITE_PROTOCOL: _BROKEN,
    sqlite3.SQLITE_NOTADB: _BROKEN,
}
# The connections of readers are read-only. A write in a read-only transaction is therefore a bug, and not a failure of
# the store.
_READER_FAILURES = {code: text for code, text in _STORE_FAILURES.items() if code != sqlite3.SQLITE_READONLY}
# The names of parameters: SQLite treats "$1" as a parameter with the name "1". Parameters are bound by name, because
# SQLite would bind the values of a tuple in the order in which the parameters appear in the text.
_NAMES = tuple(str(number) for number in range(1, 1_101))  # enough for most statements


class _FileReplacedError(Exception):
    """Raised if the store's path no longer refers to the open file. The message says what to do."""


class _Job:
    """A transaction in a thread's queue. Either the thread or a cancellation claims it, but never both.

    The queues need no limit. Each job has a waiting task, so the number of tasks limits the length of the queues.
    """

    __slots__ = ("_claimed", "asked_at", "changes", "result", "task", "token", "tx")

    def __init__(self, tx: Tx[Any]) -> None:
        self.tx = tx
        self.changes: set[str] = set()
        self.token = trio.lowlevel.current_trio_token()
        self.task = trio.lowlevel.current_task()
        self.asked_at = time.perf_counter()
        self.result: outcome.Outcome[Any] = outcome.Error(RuntimeError("the transaction was not run"))
        self._claimed = threading.Lock()

    def claim(self) -> bool:
        """Claim the job. Return True for the first caller and False for all later callers."""
        return self._claimed.acquire(blocking=False)


# The possible numbers of rows in a multi-row insert. 64 rows of seven columns are far below SQLite's limit of 32,766
# parameters.
_ROWS_AT_ONCE = (64, 8)

# None in the queue stops one thread.
_Queue = queue.SimpleQueue[_Job | None]


class SqliteStore:
    """The SQLite implementation of `svc.store.tx.Store`. Use `open_sqlite` to open a store."""

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        readers: list[sqlite3.Connection],
        peeker: sqlite3.Connection,
        metrics: Metrics,
    ) -> None:
        self.condition = Condition()
        self._opened = _identity(path)
        self._is_replaced = False  # according to the last check
        self._files = (path, path.with_name(f"{path.name}-wal"))
        self._metrics = metrics
        metrics.at_scrape(self._show_load)
        self.changes = Changes()
        self._writes: _Queue = queue.SimpleQueue()
        self._reads: _Queue = queue.SimpleQueue()
        self._peeker = peeker
        self._connections = [peeker, *readers, writer]
        self._closed = False
        self._threads = [
            threading.Thread(
                target=_write, args=(writer, self._writes, self.condition, metrics), name="sqlite writer", daemon=True
            ),
            *(
                threading.Thread(
                    target=_read, args=(reader, self._reads, self.condition, metrics), name="sqlite reader", daemon=True
                )
                for reader in readers
            ),
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, tx: Tx[T]) -> T:
        """Run a transaction on the writer thread.

        A transaction that the writer has not started yet does not run if the caller is cancelled. A transaction that
        has started cannot be cancelled, and its result is returned.
        """
        if self._is_replaced:
            await trio.lowlevel.checkpoint()
            self._metrics.count(STORE_FAILURES, "lost")
            raise StoreUnavailable(_REPLACED)
        job = _Job(tx)
        value: T = await self._cross(self._writes, job)
        self.changes.notify(job.changes)
        return value

    async def read(self, tx: Tx[T]) -> T:
        """Run a transaction on a read-only connection, on one snapshot."""
        value: T = await self._cross(self._reads, _Job(tx))
        return value

    async def peek(self, tx: Tx[T]) -> T:
        """Run a read-only transaction on the caller's thread.

        This takes about 20 µs. A switch to another thread would take ten times as long.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")
        try:
            value: T = _snapshot(self._peeker, tx)
        except sqlite3.Error as error:
            unavailable = _unavailable(error, _READER_FAILURES, self.condition)
            if unavailable is None:
                raise
            self._metrics.count(STORE_FAILURES, "lost")
            raise unavailable from error
        return value

    async def check(self, tx: Tx[None], *, writes: bool) -> None:
        """Run a small transaction, unless the store's path no longer refers to the open file.

        If the path refers to another file, writes are refused until the open file is back at its path. Otherwise, the
        writes would be lost, because the next start opens the other file.
        """
        self._is_replaced = _identity(self._files[0]) != self._opened
        if self._is_replaced:
            raise StoreUnavailable(_REPLACED) from _FileReplacedError(
                f"{self._files[0]} is no longer the file that the service opened, and the service refuses writes."
                " Move that file back. Or stop the service, restore a backup and start the service again."
            )
        await self._cross(self._writes if writes else self._reads, _Job(tx))

    async def size_bytes(self) -> int:
        """Return the size of the database file and its write-ahead log."""
        await trio.lowlevel.checkpoint()
        sizes = []
        for file in self._files:
            with contextlib.suppress(OSError):  # the write-ahead log does not exist before the first write
                sizes.append(file.stat().st_size)
        return sum(sizes)

    async def _cross(self, jobs: _Queue, job: _Job) -> Any:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")

        def abort(_: object) -> trio.lowlevel.Abort:
            return trio.lowlevel.Abort.SUCCEEDED if job.claim() else trio.lowlevel.Abort.FAILED

        jobs.put(job)
        return await trio.lowlevel.wait_task_rescheduled(abort)

    def _show_load(self) -> None:
        self._metrics.set(STORE_WAITING, self._writes.qsize() + self._reads.qsize())

    def close(self) -> None:
        """Let the threads finish their queues, then close every connection. Blocks."""
        self._closed = True
        self._writes.put(None)
        for _ in self._threads[1:]:
            self._reads.put(None)
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at `path`, or None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _write(connection: sqlite3.Connection, jobs: _Queue, condition: Condition, metrics: Metrics) -> None:
    ending = False
    while not ending:
        job = jobs.get()
        group: list[_Job] = []
        while True:
            if job is None:
                ending = True
                break
            if job.claim():
                group.append(job)
            if len(group) == _GROUP or jobs.empty():
                break
            job = jobs.get()
        if group:
            began_at = time.perf_counter()
            committed = outcome.capture(_commit, connection, group)
            metrics.observe(STORE_COMMIT, time.perf_counter() - began_at)
            metrics.observe(STORE_GROUP, len(group))
            for each in group:
                metrics.observe(STORE_WAIT, began_at - each.asked_at, "write")
            if isinstance(committed, outcome.Error):
                # None of the group's jobs were committed. The disk may be full, or the file may be locked or deleted.
                for failed in group:
                    # Each task gets its own exception. The traceback of a shared exception would grow with each task
                    # that raises it.
                    failed.result = outcome.Error(_copy_of(committed.error))
            _convert_failures(group, _STORE_FAILURES, condition, metrics)
            _respond(group)


def _copy_of(error: BaseException) -> BaseException:
    fresh = type(error)(*error.args)
    fresh.__cause__ = error
    if isinstance(error, sqlite3.Error) and isinstance(fresh, sqlite3.Error):
        fresh.sqlite_errorcode = _code_of(error)
    return fresh


def _code_of(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)  # errors of the sqlite3 module itself have no code


def _convert_failures(jobs: list[_Job], failures: dict[int, str], condition: Condition, metrics: Metrics) -> None:
    """Change the results of jobs to StoreUnavailable if they failed because of the store."""
    for job in jobs:
        if isinstance(job.result, outcome.Error):
            unavailable = _unavailable(job.result.error, failures, condition)
            if unavailable is not None:
                metrics.count(STORE_FAILURES, "lost")
                job.result = outcome.Error(unavailable)


def _unavailable(error: BaseException, failures: dict[int, str], condition: Condition) -> StoreUnavailable | None:
    """Return the error to raise if the store failed, or None if the transaction itself caused the error."""
    message = failures.get(_code_of(error) & 0xFF)
    if message is None:
        return None
    unavailable = StoreUnavailable(message)
    unavailable.__cause__ = error
    condition.failed(unavailable)
    return unavailable


def _commit(connection: sqlite3.Connection, group: list[_Job]) -> None:
    """Run the jobs and commit them together. If none of the jobs were committed, raises sqlite3.Error."""
    _undo(connection)  # an earlier rollback may have failed
    connection.execute("begin immediate")
    try:
        for job in group:
            connection.execute("savepoint job")
            job.result = outcome.capture(_drive, connection, job.tx, job.changes)
            if isinstance(job.result, outcome.Error):
                if not connection.in_transaction:  # SQLite rolled back the whole group, for example after a disk error
                    raise job.result.error
                connection.execute("rollback to job")
            connection.execute("release job")
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # the next group repeats the rollback
            _undo(connection)
        raise


def _read(connection: sqlite3.Connection, jobs: _Queue, condition: Condition, metrics: Metrics) -> None:
    while (job := jobs.get()) is not None:
        if job.claim():
            began_at = time.perf_counter()
            job.result = outcome.capture(_snapshot, connection, job.tx)
            metrics.observe(STORE_READ, time.perf_counter() - began_at)
            metrics.observe(STORE_WAIT, began_at - job.asked_at, "read")
            _convert_failures([job], _READER_FAILURES, condition, metrics)
            _respond([job])
        del job  # free the job's rows now, because the next job may not arrive for a long time


def _snapshot(connection: sqlite3.Connection, tx: Tx[Any]) -> Any:
    _undo(connection)  # an earlier rollback may have failed
    connection.execute("begin")
    try:
        return _drive(connection, tx, set())  # read-only, so no listener is notified
    finally:
        _undo(connection)


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("rollback")


def _respond(jobs: list[_Job]) -> None:
    """Wake the tasks that wait for these jobs, with a single call into Trio."""
    with contextlib.suppress(trio.RunFinishedError):  # no task is waiting any longer
        jobs[0].token.run_sync_soon(_wake, jobs)


def _wake(jobs: list[_Job]) -> None:
    for job in jobs:
        trio.lowlevel.reschedule(job.task, job.result)


def _drive(connection: sqlite3.Connection, tx: Tx[Any], changes: set[str]) -> Any:
    with contextlib.closing(with_events(tx)) as steps:
        try:
            step = next(steps)
            while True:
                if isinstance(step, Changed):
                    changes.add(step.edge_account_id)
                    step = steps.send([])
                else:
                    step = steps.send(_execute(connection, step))
        except StopIteration as done:
            return done.value


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    try:
        text, bind = _binding(statement.text)
        if not statement.responses:
            _execute_many(connection, text, list(map(bind, statement.runs)))
            return []
        cursor = connection.execute(text, bind(statement.runs[0]))
    except sqlite3.Error as error:
        error.add_note(f"in: {statement.text}")
        raise
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _execute_many(connection: sqlite3.Connection, text: str, runs: list[Any]) -> None:
    """Run a statement for each of `runs`. Inserts are combined into multi-row statements.

    Each statement releases the GIL (Python's global lock) and acquires it again, which takes up to 5 ms while the Trio
    thread is busy. With one statement per row, a transaction would mostly wait for the GIL.
    """
    first = 0
    for rows in _ROWS_AT_ONCE:
        larger = _with_rows(text, rows)
        while larger is not None and len(runs) - first >= rows:
            connection.execute(larger, [value for run in runs[first : first + rows] for value in run])
            first += rows
    if first < len(runs):
        connection.executemany(text, runs[first:])


@functools.lru_cache(maxsize=200)
def _with_rows(text: str, rows: int) -> str | None:
    """Rewrite `insert … values (?, ?) …` for `rows` rows. Return None if the text has another form."""
    match = _VALUES.fullmatch(text)
    return match and f"{match[1]}{', '.join([match[2]] * rows)}{match[3]}"


# Matches inserts that have no parameters after their values.
_VALUES = re.compile(r"(insert into [^?]* values )(\(\?(?:, \?)*\))([^?]*)")


@functools.lru_cache(maxsize=1_000)
def _binding(text: str) -> tuple[str, Callable[[tuple[Parameter, ...]], Any]]:
    """Return the statement's text for SQLite, and a function that converts its parameters for SQLite.

    If each parameter occurs once and in order, the text uses `?`, because binding a tuple takes a third of the time of
    binding names. A list is passed as JSON, because SQLite has no array parameters.
    """
    numbers = [int(number) for number in re.findall(r"\$(\d+)", text)]
    in_order = numbers == list(range(1, len(numbers) + 1))
    plain, lists = _LIST.subn(r"in (select value from json_each(\1))", text)
    if in_order:
        plain = re.sub(r"\$\d+", "?", plain)
    bind: Callable[[tuple[Parameter, ...]], Any] = tuple if in_order else _by_name
    return plain, (lambda parameters: bind(_with_json_lists(parameters))) if lists else bind


_LIST = re.compile(r"= any\((\$\d+)\)")


def _with_json_lists(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return tuple(json.dumps(value) if isinstance(value, tuple) else value for value in parameters)


def _by_name(parameters: tuple[Parameter, ...]) -> dict[str, Parameter]:
    if len(parameters) <= len(_NAMES):
        return dict(zip(_NAMES, parameters, strict=False))
    return {str(number): value for number, value in enumerate(parameters, 1)}


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection with the service's settings: WAL, durable commits and foreign keys.

    Only one thread at a time may use the connection.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    with contextlib.ExitStack() as on_failure:  # the file may not be a database, or may not be writable
        on_failure.callback(connection.close)
        connection.execute(f"pragma busy_timeout = {_BUSY_MS}")
        _set_wal(connection)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        if read_only:
            connection.execute("pragma query_only = on")
        on_failure.pop_all()
    return connection


def _set_wal(connection: sqlite3.Connection) -> None:
    """Set the journal mode to WAL. SQLite stores the mode in the file.

    The function retries if two connections set the mode of a new file at the same time. SQLite then refuses one of them
    immediately, because the busy timeout does not apply to lock upgrades. Raises sqlite3.OperationalError.
    """
    ends_at = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends_at:
                raise
            time.sleep(_WAL_PAUSE_S)


@asynccontextmanager
async def open_sqlite(
    path: Path,
    *,
    serving: bool = False,
    as_is: bool = False,
    metrics: Metrics | None = None,
    known: list[Migration] | None = None,
) -> AsyncIterator[SqliteStore]:
    """Open the store in the file `path`. Create or migrate the store as `store.open_store` describes.

    `known`: the migrations, by default those of this program. Raises Served or NotReady. Raises ConfigError if the file
    is not a database, or if a newer program created it.
    """
    known = known or migrations("sqlite")
    with _locked(path, serving=serving):
        store = await trio.to_thread.run_sync(
            functools.partial(_open, path, metrics or Metrics(), known, serving=serving, as_is=as_is)
        )
        try:
            yield store
        finally:
            # this takes a limited time, because the threads finish only the queued jobs
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(store.close)


@contextlib.contextmanager
def _locked(path: Path, *, serving: bool) -> Iterator[None]:
    """Return a context manager that holds the store's lock if `serving` is True.

    The context manager first finishes an interrupted restore. Raises ConfigError.
    """
    with contextlib.ExitStack() as held:
        try:
            if serving or is_unfinished(path):
                held.enter_context(lock(path))
                finish(path)
        except OSError as error:
            raise ConfigError(f"The store {path} cannot be opened: {error}") from error
        if not serving:
            held.close()
        yield


def _open(path: Path, metrics: Metrics, known: list[Migration], *, serving: bool, as_is: bool) -> SqliteStore:
    connections: list[sqlite3.Connection] = []
    if as_is and not path.exists():
        _check_can_be_created(path)
        raise NotReady(f"There is no store {path} yet: the first start of the service creates it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only the owner may read the file, because it contains password hashes and encrypted tokens. SQLite gives its
        # other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connections.append(connect(path))
        connections[0].execute(f"pragma cache_size = -{_WRITER_CACHE_KIB}")
        connections[0].execute(f"pragma wal_autocheckpoint = {_LOG_PAGES}")
        if as_is or not serving:
            require_current_schema(known, schema_version(connections[0]), may_create=not as_is)
        migrate(connections[0], path, known)
        connections.extend(connect(path, read_only=True) for _ in range(_READERS + 1))
        connections[-1].execute("pragma busy_timeout = 0")  # because the Trio thread must never block
    except (OSError, sqlite3.Error, ConfigError) as error:
        for connection in connections:
            connection.close()
        if isinstance(error, NotReady):
            raise
        raise ConfigError(f"The store {path} cannot be opened: {error}") from error
    writer, *readers, peeker = connections
    return SqliteStore(path, writer, readers, peeker, metrics)


def _check_can_be_created(path: Path) -> None:
    """Raise ConfigError if the store's folder neither exists nor can be created."""
    try:
        atomic_file.check_creatable(path)
    except OSError as error:
        raise ConfigError(f"There is no store {path}, and {error}") from None


def migrate(connection: sqlite3.Connection, path: Path, known: list[Migration]) -> None:
    """Apply the pending migrations. An existing store is first copied to `<path>.schema-<n>.backup`.

    Raises ConfigError if the schema is newer than the program's, or if the tables do not match the schema version.
    """
    version = schema_version(connection)
    if 0 < version <= known[-1].number:
        check_tables(version, columns_by_table(connection))
    if pending(known, version, path):
        with _exclusive_transaction(connection):  # needed because two processes may start at the same time
            version = schema_version(connection)
            steps = pending(known, version, path)
            if steps and version:
                _copy(path, copy_before(path, version))
            run_migrations(connection, steps)


def change(connection: sqlite3.Connection, tx: Tx[T]) -> T:
    """Run a transaction on `connection` and return its result. Listeners are not notified."""
    with _exclusive_transaction(connection):
        value: T = _drive(connection, tx, set())
    return value


def _copy(path: Path, target: Path) -> None:
    """Copy a snapshot of the database. The file `target` appears only when it is complete."""
    partial = target.with_name(f"{target.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(partial)) as copy:
        source.backup(copy)
    partial.replace(target)


@contextlib.contextmanager
def _exclusive_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    with contextlib.ExitStack() as undo:
        undo.callback(_undo, connection)
        yield
        connection.execute("commit")
