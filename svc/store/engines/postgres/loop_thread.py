"""An asyncio loop in a separate thread, because asyncpg needs asyncio."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import trio
import uvloop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class Crossing:
    """The state of one transaction while the loop's thread runs it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.writes = False
        self.committing = False

    def stop(self) -> None:
        """Cancel the transaction, unless its commit has been sent."""
        if self.task is not None and not self.committing:
            self.task.cancel()


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

    async def cross(self, work: Callable[[Crossing], Coroutine[Any, Any, T]]) -> T:
        """Run `work` on the loop and return its result.

        If the caller is cancelled, the method cancels `work` and waits until it ends.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the store is closed")
        waiter = trio.lowlevel.current_task()
        crossing = Crossing()
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


def _not_cancelled() -> None:
    raise RuntimeError("the transaction was cancelled, but not by its caller")
