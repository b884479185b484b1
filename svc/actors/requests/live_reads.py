"""Reading an account's own database for somebody who waits: one call, the newest there is, kept for a few minutes.

Equal questions at the same time share one call. It runs in a task of its own, so that a client who hangs up takes
nothing from the others who wait for it; each of them waits for at most `report_read_s`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, cast

import trio

from svc.actors.checks import account_state
from svc.clock import day_of
from svc.edge import d1
from svc.errors import CannotUnseal, EdgeError, EdgeRefused, StoreUnavailable
from svc.faults import contained
from svc.limits import SlidingLimit
from svc.worker.counts import Live, Rows, TargetDays, add_up, read_statements
from svc.worker.rows import Row

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.edge.access import Access
    from svc.edge.d1 import Parameter
    from svc.model import Account

log = logging.getLogger(__name__)

T = TypeVar("T")

Reason = Literal["not_installed", "cloudflare", "rate_limited"]
# The rows of each statement of a read, in the statements' order.
Found = Sequence[Sequence[Row]]
# Which database, and what is asked of it.
_Question = tuple[str, str, Hashable]

# Who waits for a site's first view asks again and again, and is told soon; those who ask together share a read.
_FIRST_VIEW_KEPT_S = 10

# By the length of their text, a third or a quarter of what they take in memory. A report's is some kB.
_KEPT_BYTES = 16_000_000


@dataclass(frozen=True)
class Unavailable:
    """The account's database cannot be read now; `reason` is the report's `unavailable`."""

    reason: Reason


@dataclass(frozen=True)
class _Kept:
    value: object
    at: int  # epoch ms of its question
    size_bytes: int


@dataclass(eq=False)
class _Reading(Generic[T]):
    """A read that is under way, and what came of it once it is `done`."""

    done: trio.Event = field(default_factory=trio.Event)
    result: T | Unavailable = Unavailable("cloudflare")


class LiveReads:
    """Reads of all accounts' databases, each answer kept for report_cache_s; `nursery`: where reads run."""

    def __init__(self, context: Context, nursery: trio.Nursery) -> None:
        self._context = context
        self._nursery = nursery
        self._limit = SlidingLimit(context.config.limits.report_reads_per_minute)  # by user
        self._under_way: dict[_Question, _Reading[object]] = {}
        self._kept: OrderedDict[_Question, _Kept] = OrderedDict()
        self._kept_bytes = 0

    async def read(self, user_id: int, account: Account, asked: TargetDays) -> Live | Unavailable:
        """What the database holds of the target in those days, as of the moment of the read."""
        return await self._read_target(user_id, account, asked, asked)

    async def first_view(self, user_id: int, account: Account, site_id: str) -> Live | Unavailable:
        """The same of a site whose first view somebody waits for; of yesterday, too, as midnight may pass meanwhile."""
        today = day_of(self._context.clock())
        asked = TargetDays(site_id, today - 1, today)
        return await self._read_target(user_id, account, asked, ("first view", asked), _FIRST_VIEW_KEPT_S)

    async def _read_target(
        self, user_id: int, account: Account, asked: TargetDays, key: Hashable, kept_s: float | None = None
    ) -> Live | Unavailable:
        now, caps = self._context.clock(), self._context.bundle.caps

        def count(found: Found) -> Live:
            # Reports show the largest keys only: what is kept of a large site is as small as of any other.
            return add_up(Rows(*found), asked, caps, now).with_tops()

        return await self.ask(user_id, account, key, partial(_made, read_statements(asked), count), kept_s)

    async def ask(
        self,
        user_id: int,
        account: Account,
        key: Hashable,
        read: Callable[[Access, str], Awaitable[T]],
        kept_s: float | None = None,
    ) -> T | Unavailable:
        """A kept answer, that of a read under way, or one of a read of its own: only this is of the user's limit.

        What failed is not kept: the limit bounds how often it is tried. `key` names the question, apart from all others
        that are asked of an account. `kept_s`: None is as long as reports are. `read` is given the account and its
        database's id; it only reads, and raises ValueError, KeyError, TypeError on what the worker did not write.
        """
        now = self._context.clock()
        kept_ms = (self._context.config.timing.report_cache_s if kept_s is None else kept_s) * 1000
        # The state does not decide: where the token lacks another right, or the worker is being replaced or was changed
        # outside the service, the database can be read all the same.
        installed = account.installed_at is not None and account.sealed_token is not None
        if account.database_id is None or not installed or account.state == "revoked":
            return Unavailable("not_installed")
        # By the database, too: a new one in its place is another.
        question = (account.id, account.database_id, key)
        kept = self._kept.get(question)
        if kept is not None and 0 <= now - kept.at < kept_ms:
            return cast("T", kept.value)
        reading = self._under_way.get(question)
        if reading is None:
            if not self._limit.count(str(user_id), now).allowed:
                return Unavailable("rate_limited")
            reading = self._under_way[question] = _Reading()
            self._nursery.start_soon(self._run, reading, question, account, read, now)
        with trio.move_on_after(self._context.config.edge.report_read_s):
            await reading.done.wait()
        return cast("T | Unavailable", reading.result)

    async def _run(
        self,
        reading: _Reading[object],
        question: _Question,
        account: Account,
        read: Callable[[Access, str], Awaitable[object]],
        now: int,
    ) -> None:
        """Read, keep what came, and tell those who wait."""
        try:
            with contained(log, "live read failed", account=account.id):
                reading.result = await self._read(question, account, read, now)
        finally:
            del self._under_way[question]
            reading.done.set()

    async def _read(
        self,
        question: _Question,
        account: Account,
        read: Callable[[Access, str], Awaitable[object]],
        now: int,
    ) -> object:
        _, database_id, _ = question
        try:
            with trio.fail_after(self._context.config.edge.report_read_s):
                async with account_state.refusals_noted(self._context, account):
                    access = self._context.access(account).awaited()
                    value = await read(access, database_id)
        except CannotUnseal:
            return Unavailable("not_installed")
        except EdgeRefused as error:  # any other refusal does not say that the token is gone
            return Unavailable("not_installed" if error.code == "revoked" else "cloudflare")
        except (EdgeError, trio.TooSlowError, StoreUnavailable):  # the store: what was refused could not be noted
            return Unavailable("cloudflare")
        except (ValueError, KeyError, TypeError, RecursionError):  # somebody else wrote into that database
            return Unavailable("cloudflare")
        size_bytes = await trio.to_thread.run_sync(lambda: len(repr(value)))
        self._keep(question, _Kept(value, now, size_bytes))
        return value

    def _keep(self, question: _Question, kept: _Kept) -> None:
        before = self._kept.pop(question, None)
        self._kept_bytes += kept.size_bytes - (before.size_bytes if before else 0)
        self._kept[question] = kept
        while self._kept_bytes > _KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.size_bytes


async def query(statements: Sequence[tuple[str, Sequence[Parameter]]], access: Access, database_id: str) -> Found:
    """The rows that each of the statements finds in a database, in one call.

    Raises EdgeRefused, EdgeUnavailable; ValueError: the answer is not one to these statements.
    """
    results = await d1.query(access, database_id, statements)
    if len(results) != len(statements):
        raise ValueError("not an answer to each statement")
    return [result.rows for result in results]


async def _made(
    statements: Sequence[tuple[str, Sequence[Parameter]]],
    make: Callable[[Found], T],
    access: Access,
    database_id: str,
) -> T:
    found = await query(statements, access, database_id)
    # In a thread: events that wait to be folded can be many, and the other requests go on meanwhile.
    return await trio.to_thread.run_sync(make, found)
