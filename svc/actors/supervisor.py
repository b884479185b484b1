"""The supervisor. It runs an actor's task whenever the account has queued requests or due duties (recurring tasks).

One heap contains the due times of all accounts. Each pass over the heap starts a limited number of tasks. A failure of
one account's task ends neither other tasks nor the process. A crashed task is restarted after an exponential backoff.
If the store is unavailable, the task is retried later, and this does not count as a crash. At shutdown, running tasks
get time to finish. A commit wakes the accounts that it changed (`store/engines/changes.py`).
"""

from __future__ import annotations

import heapq
import logging
import math
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import trio

from svc.actors.account import DUTIES, AccountActor
from svc.actors.backoff import backoff_s
from svc.actors.checks import schedule
from svc.actors.checks.worker_database import STOPPED_MS
from svc.actors.duty import Timers, spread
from svc.actors.requests.live_reads import LiveReads
from svc.actors.service import housekeeping, rollout, target_checks
from svc.actors.service.alerts import Alerts
from svc.actors.service.mailings import Mailings
from svc.actors.service.operator_disconnects import OperatorDisconnects
from svc.actors.service.user_deletions import UserDeletions
from svc.errors import ServiceError, StoreUnavailable
from svc.faults import contained
from svc.logs import reset_log_context
from svc.metrics import ACTOR_CRASHES, ACTORS, DUE_LATE, MAILBOX_DEPTH, MAILBOX_WAITING, SYNC_BEHIND
from svc.store import account_health, account_schedule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from svc.actors.context import Context
    from svc.actors.duty import Duty

log = logging.getLogger(__name__)

# The maximum number of accounts that start in one pass. With this number, the service can run thousands of accounts per
# minute, and still serve requests between two passes.
_STARTS_PER_PASS = 50
_PASS_PAUSE_S = 0.02
_LONGEST_BACKOFF_S = 300.0
# The longest pause between two attempts while the store is unavailable. All waiting accounts resume within this time
# after the outage.
_LONGEST_STORE_WAIT_S = 30.0
# The number of crashes in a row after which the account shows the error `internal`.
_CRASHES_SHOWN = 3


@dataclass(slots=True)
class _Failures:
    """The failures of one account's task since its last successful run."""

    crashes: int = 0
    shown: bool = False
    without_store: int = 0


class Supervisor:
    """Keeps the actors and their due times. Use `open_supervisor` to create a supervisor."""

    def __init__(self, context: Context, nursery: trio.Nursery, duties: Sequence[Duty] = DUTIES) -> None:
        self._context = context
        self._nursery = nursery
        self._duties = duties
        self.live_reads = LiveReads(context, nursery)
        self.user_deletions = UserDeletions(context, nursery, self.account)
        self._operator_disconnects = OperatorDisconnects(context, nursery, self.account)
        # An actor exists only while a waiting caller or its own task refers to it.
        self._actors: WeakValueDictionary[str, AccountActor] = WeakValueDictionary()
        self._timers: dict[str, Timers] = {}
        self._failures: dict[str, _Failures] = {}  # only accounts with failures
        self._running: set[str] = set()
        self._due: list[tuple[float, str]] = []  # a heap; entries that differ from _due_at are outdated
        self._due_at: dict[str, float] = {}
        self._earlier = trio.Event()
        self._closed = False

    def account(self, edge_account_id: str) -> AccountActor:
        """Return the actor of a Cloudflare account. The account does not have to be in the store."""
        actor = self._actors.get(edge_account_id)
        if actor is None:
            timers = self._timers.setdefault(edge_account_id, Timers(trio.current_time()))
            actor = AccountActor(edge_account_id, self._context, timers, self._duties, self._start)
            self._actors[edge_account_id] = actor
            if self._closed:
                actor.mailbox.close()
        return actor

    def stats(self) -> dict[str, int]:
        """Return the number of known, running and scheduled accounts."""
        return {"known": len(self._timers), "running": len(self._running), "scheduled": len(self._due_at)}

    def show_load(self) -> None:
        """Set the metrics for the number of accounts and of queued requests."""
        metrics = self._context.metrics
        for state, number in self.stats().items():
            metrics.set(ACTORS, number, state)
        depths = [len(actor.mailbox) for actor in self._actors.values()]
        metrics.set(MAILBOX_WAITING, sum(depths))
        metrics.set(MAILBOX_DEPTH, max(depths, default=0))

    def wake(self, edge_account_id: str) -> None:
        """Run the account's duties now. The store calls this after each commit that changed the account.

        The endpoint for link hosts calls this method even if a request changed nothing, so that a failed route is
        retried.
        """
        self.account(edge_account_id).wake()

    async def load(self) -> None:
        """Schedule every account in the store.

        Unfinished work is due now. Health checks are due at their next scheduled time.

        The method retries while the store is unavailable.
        """
        failures = 0
        while True:
            try:
                due_accounts = await self._context.store.read(account_schedule.due_times(self._context.config.timing))
                crashed = set(await self._context.store.read(account_health.crashed_edge_accounts()))
                await self.user_deletions.load()
                await self._operator_disconnects.load()
                break
            except StoreUnavailable:
                failures += 1
                await trio.sleep(self._wait_s(failures, _LONGEST_STORE_WAIT_S))
        now = trio.current_time()
        timing, now_ms = self._context.config.timing, self._context.clock()
        for due in due_accounts:
            look_s = schedule.first_wait_s(due, timing, now_ms)
            self._timers[due.edge_account_id] = Timers(health_at=now + look_s)
            wait_s = math.inf if due.at is None else max(0.0, (due.at - now_ms) / 1000)
            if due.edge_account_id in crashed:
                self._failures[due.edge_account_id] = _Failures(shown=True)
                wait_s = 0.0
            advice_s = schedule.first_advice_s(due, timing, now_ms)
            self._schedule(due.edge_account_id, now + min(look_s, wait_s, advice_s))

    async def run(self) -> None:
        """Start the actors of accounts that are due. Runs until cancelled."""
        while True:
            started = 0
            while self._due and self._due[0][0] <= trio.current_time() and started < _STARTS_PER_PASS:
                at, edge_account_id = heapq.heappop(self._due)
                if self._due_at.get(edge_account_id) == at:
                    del self._due_at[edge_account_id]
                    self._context.metrics.observe(DUE_LATE, trio.current_time() - at)
                    self._start(self.account(edge_account_id))
                    started += 1
            if started == _STARTS_PER_PASS:
                await trio.sleep(_PASS_PAUSE_S)
                continue
            self._earlier = trio.Event()
            with trio.move_on_at(self._due[0][0] if self._due else math.inf):
                await self._earlier.wait()

    async def watch_commands(self) -> None:
        """Continue work that a command in another process began, such as `svc import links` or `svc user delete`.

        Also wakes the accounts whose changes were not written to their Workers yet. Runs until cancelled.
        """
        seen: dict[str, int] = {}
        while True:
            await trio.sleep(self._context.config.timing.commands_every_s)
            try:
                unsynced = await self._context.store.read(account_schedule.unsynced())
                await self.user_deletions.load()
                await self._operator_disconnects.load()
            except StoreUnavailable:
                continue
            self._context.metrics.set(SYNC_BEHIND, len(unsynced))
            for edge_account_id in [name for name, version in unsynced.items() if seen.get(name) != version]:
                self.wake(edge_account_id)
            seen = unsynced

    async def watch_silence(self) -> None:
        """Schedule a health check for each account whose Worker has missed a push. Runs until cancelled."""
        until = self._context.clock() - STOPPED_MS
        while True:
            await trio.sleep(self._context.config.timing.recheck_s)
            after, until_now = until, self._context.clock() - STOPPED_MS
            try:
                silent = await self._context.store.read(account_schedule.newly_silent(after, until_now))
            except StoreUnavailable:
                continue
            until = until_now
            for edge_account_id in silent:
                actor = self.account(edge_account_id)
                actor.timers.health_at = 0
                actor.wake()

    def close(self) -> None:
        """Reject new requests. Queued requests are still served."""
        self._closed = True
        self.user_deletions.close()
        self._operator_disconnects.close()
        for actor in self._actors.values():
            actor.mailbox.close()

    def refuse_queued(self) -> None:
        """Reject every queued request with Stopping."""
        for actor in self._actors.values():
            actor.mailbox.refuse_queued()

    def _schedule(self, edge_account_id: str, at: float) -> None:
        if at == math.inf:
            return
        self._due_at[edge_account_id] = at
        heapq.heappush(self._due, (at, edge_account_id))
        if self._due[0][1] == edge_account_id:
            self._earlier.set()

    def _start(self, actor: AccountActor) -> None:
        if actor.edge_account_id not in self._running and not (self._closed and not len(actor.mailbox)):
            self._running.add(actor.edge_account_id)
            self._nursery.start_soon(self._run_contained, actor, name=f"account {actor.edge_account_id}")

    async def _run_contained(self, actor: AccountActor) -> None:
        """Run the actor until it is idle, then schedule it again. Failures are logged, and do not propagate."""
        edge_account_id = actor.edge_account_id
        reset_log_context(edge_account=edge_account_id)  # do not use the log context of the task that woke this account
        next_due = math.inf
        try:
            crashes = self._failures.get(edge_account_id, _Failures()).crashes + 1
            with contained(log, "actor crashed", crashes=crashes) as run:
                next_due = await self._run_actor(actor)
            if run.failed:
                next_due = trio.current_time() + await self._crashed(edge_account_id)
        finally:
            self._running.discard(edge_account_id)
        if len(actor.mailbox):
            self._start(actor)
        elif next_due == math.inf:
            self._timers.pop(edge_account_id, None)
        if next_due != math.inf:
            self._schedule(edge_account_id, next_due)

    async def _run_actor(self, actor: AccountActor) -> float:
        """Run the actor. Return the time when the account is due next (monotonic seconds).

        If the store is unavailable, the account is due after a few seconds.
        """
        edge_account_id = actor.edge_account_id
        try:
            next_due = await actor.run()
            failures = self._failures.get(edge_account_id)
            if failures is not None and failures.shown:
                await self._context.store.run(account_health.clear_crash(edge_account_id))
        except StoreUnavailable:
            failures = self._failures.setdefault(edge_account_id, _Failures())
            failures.without_store += 1
            wait_s = self._wait_s(failures.without_store, _LONGEST_STORE_WAIT_S)
            return trio.current_time() + wait_s * (0.5 + 0.5 * spread(edge_account_id))
        self._failures.pop(edge_account_id, None)
        return trio.current_time() if actor.woken else next_due

    async def _crashed(self, edge_account_id: str) -> float:
        """Count a crash. Return the backoff in seconds. After repeated crashes, show the error on the account."""
        failures = self._failures.setdefault(edge_account_id, _Failures())
        failures.crashes += 1
        self._context.metrics.count(ACTOR_CRASHES)
        if failures.crashes >= _CRASHES_SHOWN and not failures.shown:
            with contained(log, "crash not recorded", level=logging.WARNING) as recording:
                await self._context.store.run(account_health.record_crash(edge_account_id, _CRASH.to_note()))
            # if the error could not be stored, try again after the next crash
            failures.shown = not recording.failed
        return self._wait_s(failures.crashes, _LONGEST_BACKOFF_S)

    def _wait_s(self, failures: int, longest_s: float) -> float:
        return backoff_s(failures, self._context.config.timing.crash_backoff_s, longest_s)


_CRASH = ServiceError("internal", "The service failed repeatedly on this account. The operator's log has the details.")


@asynccontextmanager
async def open_supervisor(context: Context, duties: Sequence[Duty] = DUTIES) -> AsyncIterator[Supervisor]:
    """Run a supervisor, the rollout, the email reports, the alerts, the checks of link targets and the housekeeping.

    At exit, the mailboxes are closed. Running work has `drain_s` to finish before it is cancelled. A cancelled
    operation keeps its `running` row in the store, and the service resumes the operation at its next start.
    """
    supervisor: Supervisor | None = None
    try:
        async with trio.open_nursery() as nursery:
            supervisor = Supervisor(context, nursery, duties)
            await supervisor.load()
            context.metrics.at_scrape(supervisor.show_load)
            async with trio.open_nursery() as loop:
                loop.start_soon(supervisor.run)
                loop.start_soon(supervisor.watch_commands)
                loop.start_soon(supervisor.watch_silence)
                loop.start_soon(rollout.run_rollout, context)
                loop.start_soon(Mailings(context, supervisor.live_reads).run)
                loop.start_soon(Alerts(context).run)
                loop.start_soon(target_checks.run_target_checks, context)
                for chore in housekeeping.chores(context.config.timing):
                    loop.start_soon(housekeeping.run_periodically, context, chore)
                with context.store.changes.subscribe(supervisor.wake):
                    yield supervisor
                loop.cancel_scope.cancel()
            supervisor.close()
            nursery.cancel_scope.deadline = trio.current_time() + context.config.timing.drain_s
    finally:
        if supervisor is not None:
            supervisor.refuse_queued()
