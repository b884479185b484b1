"""Requests the targets of links once a week, and notifies users of broken targets.

Only the statuses 404 and 410, TLS failures and unknown hosts are problems. Timeouts, refused connections and other
statuses are not: servers often return 403 and 429 only to programs, and 5xx errors are usually temporary. TLS failures
and unknown hosts can also be caused by the network of this machine. They are recorded only if the same client can reach
Cloudflare's API.

The first requests to new targets are spread over a week, so a bulk import does not cause a burst. Every minute, a round
requests a limited number of the targets that are due. Of these targets, it requests at most a few on each host, one
after the other. A target that does not fit in a round is requested later.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import trio

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.edge.target_visits import visit_target
from svc.edge.visits import Answer
from svc.errors import StoreUnavailable
from svc.faults import contained
from svc.metrics import TARGET_CHECKS
from svc.model import url_host
from svc.store import broken_targets, target_checks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from svc.actors.context import Context
    from svc.store.target_checks import Check

log = logging.getLogger(__name__)

_STORE_WAIT_S = 30.0
# The maximum number of due targets that a round reads from the store. If most of these targets have the same host,
# other due targets wait for a later round.
_READ = 500
# If a target does not fit in a round because of the limit per host, it is requested within this time.
_LATER_MS = 6 * HOUR_MS
# The minimum time between two requests to Cloudflare's API that check whether this machine's network works.
_NETWORK_S = 300.0
# If the system clock and the monotonic clock have advanced by amounts that differ by more than this, the system clock
# was changed.
_CLOCK_SET_MS = HOUR_MS
# The minute of the UTC day from which emails are sent. They are spread over `_NOTICE_MINUTES`.
_NOTICE_MINUTE = 7 * 60
_NOTICE_MINUTES = 60
_MINUTE_MS = 60_000
# Problems that can also be caused by this machine or its network.
_OF_NETWORK = ("tls_failed", "unknown_host")


@dataclass(frozen=True)
class Budget:
    """The limits of a round: requests in total, at the same time, and to each host.

    `round_s`: the time from the start of a round to the next one. `pause_s`: the time between two requests to a host.
    """

    round_s: float = 60.0
    requests: int = 120
    concurrency: int = 4
    requests_per_host: int = 6
    pause_s: float = 10.0


async def run_target_checks(context: Context) -> None:
    """Check the targets of links until cancelled. If the operator has turned the checks off, delete their results.

    If Cloudflare is emulated, the function checks no targets.
    """
    if context.visitor.emulated_edge:
        return
    if context.config.links.check_targets:
        await TargetChecks(context).run()
        return
    while True:
        with suppress(StoreUnavailable):
            if await context.store.read(target_checks.has_results()):
                await context.store.run(target_checks.forget_results())
            return
        await trio.sleep(_STORE_WAIT_S)


def user_agent(base_url: str) -> str:
    """Return the user agent, with the service's version and public URL. Workers count it as a bot."""
    about = f"; +{base_url}" if base_url else ""
    return f"svc-link-check/{version('svc')} (bot{about})"


class TargetChecks:
    """Requests the targets that are due. Use `run_target_checks` to run the checks."""

    def __init__(self, context: Context, budget: Budget = Budget()) -> None:  # a Budget is frozen
        self._context = context
        self._budget = budget
        self._visitor = replace(
            context.visitor, user_agent=user_agent(context.config.http.base_url), accept="text/html,*/*;q=0.8"
        )
        self._control_host = urlsplit(context.config.edge.api_base_url).hostname or ""
        self._network: tuple[bool, float] = (False, 0.0)  # (whether it works, monotonic time until which this holds)
        self._hosts: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()

    async def run(self) -> None:
        """Check the targets of links until cancelled.

        The first round begins after a pause, so that repeated restarts do not exceed the budget.
        """
        before = self._clocks()
        began_at = trio.current_time()
        while True:
            await trio.sleep_until(max(trio.current_time() + 1, began_at + self._budget.round_s))
            began_at = trio.current_time()
            # The store has logged its failure, so only wait for the next round.
            with contained(log, "target checks failed"), suppress(StoreUnavailable):
                now = self._clocks()
                if was_clock_set(before, now):
                    log.warning("clock was set, target checks restart")
                    await self._context.store.run(target_checks.restart_confirmations(self._context.clock()))
                before = now
                await self.check_due()
                await self.notify_users()

    def _clocks(self) -> tuple[int, float]:
        return self._context.clock(), trio.current_time()

    async def check_due(self) -> None:
        """Run one round of checks. Raises StoreUnavailable."""
        store, now = self._context.store, self._context.clock()
        if await store.read(target_checks.has_wrong_times(now)):
            while await store.run(target_checks.correct_times(now, first_wait_ms, _READ)):
                pass
        while await store.read(target_checks.has_unlisted(now)):
            await store.run(target_checks.list_targets(now, first_wait_ms))
        by_host, later = self._round(await store.read(target_checks.due(now, _READ)), now)
        if later:
            await store.run(target_checks.postpone(later))
        slots = trio.CapacityLimiter(self._budget.concurrency)
        async with trio.open_nursery() as nursery:
            for checks in by_host.values():
                nursery.start_soon(self._visit_one_by_one, checks, slots)

    def _round(self, checks: Sequence[Check], now: int) -> tuple[dict[str, list[Check]], list[tuple[Check, int]]]:
        """Return the requests of a round by host, and the requests to postpone with their new times (epoch ms)."""
        by_host: dict[str, list[Check]] = defaultdict(list)
        later: list[tuple[Check, int]] = []
        taken = 0
        for check in checks:
            of_host = by_host[url_host(check.url)]
            if len(of_host) >= self._budget.requests_per_host:
                later.append((check, now + int(share_of(check.digest) * _LATER_MS)))
            elif taken < self._budget.requests:
                of_host.append(check)
                taken += 1
        return by_host, later

    async def _visit_one_by_one(self, checks: Sequence[Check], slots: trio.CapacityLimiter) -> None:
        """Visit targets on the same host."""
        for n, check in enumerate(checks):
            if n > 0:
                await trio.sleep(self._budget.pause_s)
            async with slots:
                with contained(log, "target check failed"), suppress(StoreUnavailable):
                    await self._visit(check)

    async def _visit(self, check: Check) -> None:
        """Visit a target and record the result. Raises StoreUnavailable."""
        store, requested_at = self._context.store, self._context.clock()
        if not await store.run(target_checks.claim(check, requested_at)):
            return
        result = await visit_target(self._visitor, check.url, self._alone_on)
        if result in _OF_NETWORK and not await self._is_network_well():
            result = "unclear"
        self._context.metrics.count(TARGET_CHECKS, result)
        if result == "unclear":
            return
        problem = None if result == "works" else result
        if await store.run(target_checks.record(check, requested_at, problem, self._context.clock())):
            log.info("link target broken", extra={"problem": problem})

    async def _is_network_well(self) -> bool:
        """Return True if this machine resolves the name of Cloudflare's API, and accepts its certificate."""
        is_well, until = self._network
        if trio.current_time() >= until:
            is_well = isinstance(await self._visitor.get(self._control_host, "/"), Answer)
            if not is_well:
                log.warning("cannot reach Cloudflare's API, target problems are not recorded")
            self._network = (is_well, trio.current_time() + _NETWORK_S)
        return is_well

    @asynccontextmanager
    async def _alone_on(self, host: str) -> AsyncIterator[None]:
        """Wait until no other request to this host is running."""
        lock = self._hosts.get(host)
        if lock is None:
            lock = self._hosts[host] = trio.Lock()
        async with lock:
            yield

    async def notify_users(self) -> None:
        """Queue today's due emails about broken targets. Raises StoreUnavailable."""
        store, now = self._context.store, self._context.clock()
        minute = now % DAY_MS // _MINUTE_MS
        for user_id in await store.read(broken_targets.users_to_notify(day_of(now))):
            if minute >= _NOTICE_MINUTE + user_id % _NOTICE_MINUTES:
                targets = await store.run(broken_targets.notify(user_id, day_of(now), now))
                log.info("broken targets reported", extra={"user": user_id, "targets": targets})


def share_of(digest: str) -> float:
    """Return a number from 0 to 1 for a digest (hex). The numbers of different digests are evenly distributed."""
    return int(digest[:8], 16) / 2**32


def first_wait_ms(digest: str) -> int:
    """Return the time from the creation of a target to its first request, in milliseconds."""
    return int(share_of(digest) * target_checks.PERIOD_MS)


def was_clock_set(before: tuple[int, float], now: tuple[int, float]) -> bool:
    """Return True if the system clock was changed between two readings.

    A reading contains the system clock (epoch ms) and the monotonic clock (seconds).
    """
    moved_ms, passed_s = now[0] - before[0], now[1] - before[1]
    return abs(moved_ms - passed_s * 1000) > _CLOCK_SET_MS
