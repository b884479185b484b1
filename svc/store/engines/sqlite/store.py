"""The SQLite engine: one writer thread with group commit, and reader threads with separate connections.

The writer takes all waiting transactions, runs each in a SAVEPOINT of one SQL transaction, and commits once. The
transactions therefore share one flush to disk (synchronous=FULL). If a transaction fails, only its own changes are
rolled back. Callers get their results after the commit.

If the store fails, for example because the disk is full or another program keeps the file locked, the transaction
raises StoreUnavailable. The writer then continues with the next transaction.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import trio

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
from svc.store.engines.sqlite.statements import drive, roll_back

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Tx

T = TypeVar("T")
# The maximum number of transactions in one commit. It is large enough to spread the cost of a flush to disk over many
# transactions, and small enough that the first transaction waits only about 10 ms.
_GROUP = 200
# By SQLite's primary result code: the messages for errors that are caused by the store and not by the transaction.
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

        If the caller is cancelled before the writer starts the transaction, the transaction does not run. A transaction
        that has started cannot be cancelled, and its result is returned.
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
    roll_back(connection)  # an earlier rollback may have failed
    connection.execute("begin immediate")
    try:
        for job in group:
            connection.execute("savepoint job")
            job.result = outcome.capture(drive, connection, job.tx, job.changes)
            if isinstance(job.result, outcome.Error):
                if not connection.in_transaction:  # SQLite rolled back the whole group, for example after a disk error
                    raise job.result.error
                connection.execute("rollback to job")
            connection.execute("release job")
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # the next group repeats the rollback
            roll_back(connection)
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
    roll_back(connection)  # an earlier rollback may have failed
    connection.execute("begin")
    try:
        return drive(connection, tx, set())  # read-only, so no listener is notified
    finally:
        roll_back(connection)


def _respond(jobs: list[_Job]) -> None:
    """Wake the tasks that wait for these jobs, with a single call into Trio."""
    with contextlib.suppress(trio.RunFinishedError):  # no task is waiting any longer
        jobs[0].token.run_sync_soon(_wake, jobs)


def _wake(jobs: list[_Job]) -> None:
    for job in jobs:
        trio.lowlevel.reschedule(job.task, job.result)
