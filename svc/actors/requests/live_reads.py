"""Reads of current data from a Worker's database, for HTTP requests that wait for the result.

Each read is one call to D1, and its result is cached.

Concurrent identical reads share one call. This call runs in a separate task, so that it continues if one of the clients
disconnects. Each caller waits for at most `report_read_s`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, cast

import trio

from svc.actors.checks import account_state
from svc.clock import day_of
from svc.edge import d1
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, StoreUnavailable
from svc.faults import contained
from svc.limits import SlidingLimit
from svc.store.ledger import stored_target_day
from svc.worker.counts import DayStatement, Live, Rows, TargetDays, add_up, read_statements
from svc.worker.ledger import compare_target, read_target_day, target_statements
from svc.worker.rows import Row

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.d1 import Parameter
    from svc.model import Account, Dimension
    from svc.worker.breakdowns import Cap
    from svc.worker.ledger import Stored

log = logging.getLogger(__name__)

T = TypeVar("T")

Reason = Literal["not_installed", "cloudflare", "rate_limited"]
# The results of a read: for each statement, the rows that it returned.
Found = Sequence[Sequence[Row]]
# (account id, database id, key of the read)
_Key = tuple[str, str, Hashable]

# The time for which the result of `first_view` is cached. It is short, because the web application polls often while a
# user waits for a site's first view. Concurrent polls share one read.
_FIRST_VIEW_KEPT_S = 10

# Maximum size of the cache, measured as the text length of its results. In memory, a result takes three to four times
# its text length. A report needs a few kB.
_KEPT_BYTES = 16_000_000


@dataclass(frozen=True)
class Unavailable:
    """The result if the account's database cannot be read now. Reports show `reason` in their field `unavailable`."""

    reason: Reason


@dataclass(frozen=True)
class _Kept:
    value: object
    at: int  # when the read started, epoch ms
    size_bytes: int


@dataclass(eq=False)
class _Reading(Generic[T]):
    """A running read. When it is `done`, `result` is set."""

    done: trio.Event = field(default_factory=trio.Event)
    result: T | Unavailable = Unavailable("cloudflare")


class LiveReads:
    """Reads from the databases of all accounts. `nursery`: the nursery in which the reads run.

    By default, each result is cached for `report_cache_s`.
    """

    def __init__(self, context: Context, nursery: trio.Nursery) -> None:
        self._context = context
        self._nursery = nursery
        self._limit = SlidingLimit(context.config.limits.report_reads_per_minute)  # by user id
        self._under_way: dict[_Key, _Reading[object]] = {}
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._kept_bytes = 0

    async def read(
        self,
        user_id: int,
        account: Account,
        days: TargetDays,
        kept_s: float | None = None,
        admit: Callable[[], bool] | None = None,
    ) -> Live | Unavailable:
        """Return the current counts for a site or link on these days, and the statement of counts for the last day.

        For `kept_s` and `admit`, see `ask`.
        """
        return await self.ask(user_id, account, days, partial(self._read_with_statement, days), kept_s, admit)

    async def first_view(self, user_id: int, account: Account, site_id: str) -> Live | Unavailable:
        """Return the current counts for a site that has not had its first view yet.

        The result includes yesterday, because the user may have started to wait before midnight.
        """
        today = day_of(self._context.clock())
        days = TargetDays(site_id, today - 1, today)
        now, caps = self._context.clock(), self._context.bundle.caps
        read = partial(_query_and_build, read_statements(days), lambda results: _count(results, days, caps, now))
        return await self.ask(user_id, account, ("first view", days), read, _FIRST_VIEW_KEPT_S)

    async def _read_with_statement(self, days: TargetDays, access: Access, database_id: str) -> Live:
        """Read the counts and the ledger of a site or link in one call.

        The statement of counts is built and cached together with the counts. Cached numbers are therefore never
        compared with newer stored numbers. If the store is too busy, the result has counts but no statement.
        """
        now, caps = self._context.clock(), self._context.bundle.caps
        ledger = target_statements(days.last_day, days.target_id)
        before = await self._stored(days)
        results = await query([*ledger, *read_statements(days)], access, database_id)
        after = None if before is None else await self._stored(days)

        def build() -> Live:
            counts = results[len(ledger) :]
            live = _count(counts, days, caps, now)
            if before is None or after is None:
                return live
            return replace(live, statement=_statement(results[: len(ledger)], Rows(*counts), days, before, after))

        return await trio.to_thread.run_sync(build)

    async def _stored(self, days: TargetDays) -> Stored | None:
        """Return the stored numbers of the last day, or None if the store does not return them in time.

        During a burst of requests, the store can take longer than `report_read_s`.
        """
        with trio.move_on_after(self._context.config.edge.report_read_s / 4), suppress(StoreUnavailable):
            return await self._context.store.read(stored_target_day(days.target_id, days.last_day))
        return None

    async def ask(
        self,
        user_id: int,
        account: Account,
        key: Hashable,
        read: Callable[[Access, str], Awaitable[T]],
        kept_s: float | None = None,
        admit: Callable[[], bool] | None = None,
    ) -> T | Unavailable:
        """Return the result of a cached read, a running read, or a new read.

        Only new reads count toward the user's rate limit.

        Failures are not cached, so retries also count toward the rate limit.

        `key` identifies the read within the account. `kept_s`: how long to cache the result, or None for
        `report_cache_s`. `admit`: called before a new read. If it returns False, the result is unavailable
        (`rate_limited`). `read` receives the account's `Access` and the database id. It must not change the database.
        If the database contains data that the Worker cannot have written, `read` raises ValueError, KeyError or
        TypeError.
        """
        now = self._context.clock()
        kept_ms = (self._context.config.timing.report_cache_s if kept_s is None else kept_s) * 1000
        # Of the account states, only `revoked` has to be excluded. In all other states of an installed account, the
        # database can be read, even if the token lacks another permission, the Worker is being replaced, or the Worker
        # was changed outside the service.
        installed = account.installed_at is not None and account.sealed_token is not None
        if account.database_id is None or not installed or account.state == "revoked":
            return Unavailable("not_installed")
        # Include the database id in the key, because an account can get a new database.
        cache_key = (account.id, account.database_id, key)
        kept = self._kept.get(cache_key)
        if kept is not None and 0 <= now - kept.at < kept_ms:
            return cast("T", kept.value)
        reading = self._under_way.get(cache_key)
        if reading is None:
            if not self._limit.count(str(user_id), now).allowed:
                return Unavailable("rate_limited")
            if admit is not None and not admit():
                self._limit.give_back(str(user_id))
                return Unavailable("rate_limited")
            reading = self._under_way[cache_key] = _Reading()
            self._nursery.start_soon(self._run, reading, cache_key, account, read, now)
        with trio.move_on_after(self._context.config.edge.report_read_s):
            await reading.done.wait()
        return cast("T | Unavailable", reading.result)

    async def _run(
        self,
        reading: _Reading[object],
        cache_key: _Key,
        account: Account,
        read: Callable[[Access, str], Awaitable[object]],
        now: int,
    ) -> None:
        """Read, cache the result, and wake the waiting callers."""
        try:
            with contained(log, "live read failed", account=account.id):
                reading.result = await self._read(cache_key, account, read, now)
        finally:
            del self._under_way[cache_key]
            reading.done.set()

    async def _read(
        self,
        cache_key: _Key,
        account: Account,
        read: Callable[[Access, str], Awaitable[object]],
        now: int,
    ) -> object:
        _, database_id, _ = cache_key
        try:
            with trio.fail_after(self._context.config.edge.report_read_s):
                async with account_state.refusals_recorded(self._context, account):
                    access = self._context.access(account).awaited()
                    value = await read(access, database_id)
        except CannotUnseal:
            return Unavailable("not_installed")
        except EdgeRefused as error:  # the token is invalid only if the code is `revoked`
            return Unavailable("not_installed" if error.code == "revoked" else "cloudflare")
        # StoreUnavailable is raised if the refusal could not be recorded
        except (EdgeError, trio.TooSlowError, StoreUnavailable):
            return Unavailable("cloudflare")
        except (ValueError, KeyError, TypeError, RecursionError):  # another program changed the database
            return Unavailable("cloudflare")
        size_bytes = await trio.to_thread.run_sync(lambda: len(repr(value)))
        self._keep(cache_key, _Kept(value, now, size_bytes))
        return value

    def _keep(self, cache_key: _Key, kept: _Kept) -> None:
        before = self._kept.pop(cache_key, None)
        self._kept_bytes += kept.size_bytes - (before.size_bytes if before else 0)
        self._kept[cache_key] = kept
        while self._kept_bytes > _KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.size_bytes


async def query(statements: Sequence[tuple[str, Sequence[Parameter]]], access: Access, database_id: str) -> Found:
    """Run the statements on a database in one call. Return the rows of each statement.

    Raises EdgeRefused if Cloudflare refuses a call, or EdgeUnavailable if a call fails temporarily.
    """
    return [result.rows for result in await d1.query(access, database_id, statements)]


def _count(results: Found, days: TargetDays, caps: Mapping[Dimension, Cap], now: int) -> Live:
    # Keep only the most frequent keys, because reports show no others. This also limits the size of cached results.
    return add_up(Rows(*results), days, caps, now).with_tops()


def _statement(ledger: Found, rows: Rows, days: TargetDays, before: Stored, after: Stored) -> DayStatement | None:
    """Return the statement of counts for the last day, or None if the Worker's ledger for that day cannot be read."""
    day, target = days.last_day, days.target_id
    try:
        worker = read_target_day(ledger, rows.pages, rows.states, day, target)
    except (ValueError, KeyError, TypeError):
        # Another program or a cron run changed the ledger during the read. The counts are still valid.
        return None
    if worker is None:
        return None
    return DayStatement(day, worker.closed, compare_target(worker, target, before, after))


async def _query_and_build(
    statements: Sequence[tuple[str, Sequence[Parameter]]],
    build: Callable[[Found], T],
    access: Access,
    database_id: str,
) -> T:
    results = await query(statements, access, database_id)
    # Use a thread, because many events may not be in the totals yet. Processing them here would block other requests.
    return await trio.to_thread.run_sync(build, results)
