"""Users who are being deleted: their accounts are disconnected, their totals deleted, then they themselves.

    asked, password right ──► the user's row is nobody's (`store/user_deletions.py`) ──► every account disconnected ──►
        totals, in batches ──► the rest, in batches ──► the user's row, and the e-mail that tells what is left

A departure is a row from its first commit on, and a task of its own beside the accounts' tasks: a client that hangs up
does not stop it, and a process that is killed anywhere goes on with it at its next start. Each step looks at what is
there, and may be done again. It always ends: what the edge platform has not let go of by then is told.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

from svc.errors import Busy, NotFound, ServiceError, Stopping, StoreUnavailable
from svc.faults import contained
from svc.store import accounts, user_deletions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.actors.context import Commit, Context
    from svc.model import Account, Farewell, FormerAccount
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

# Accounts of one user that are disconnected at once; more would only wait for the user's places at the platform.
_AT_ONCE = 8
# From then on the platform is asked nothing more, and all that may be left is told. A thousand accounts at a platform
# that answers take less.
_LONGEST_S = 1_800.0
# After so many failures an account is disconnected without the platform.
_TRIES = 3
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0


class Disconnecting(Protocol):
    """What an account's actor is asked."""

    async def disconnect(
        self, user_id: int, account_id: str, commit: Commit[FormerAccount, FormerAccount], *, by: float = math.inf
    ) -> FormerAccount:
        """See `AccountActor.disconnect`."""
        ...


@dataclass(eq=False)
class _Departure:
    """One that goes on, for all who wait for its end."""

    ended: trio.Event = field(default_factory=trio.Event)
    result: Farewell | ServiceError | None = None

    def end(self, result: Farewell | ServiceError) -> None:
        """The first result counts."""
        if self.result is None:
            self.result = result
            self.ended.set()

    async def farewell(self) -> Farewell:
        """Wait for the end. Raises what ended it."""
        await self.ended.wait()
        if isinstance(self.result, ServiceError):
            raise self.result.with_traceback(None)  # it would grow with each who waits
        if self.result is None:
            raise AssertionError("a departure has ended without a result")
        return self.result


class Departures:
    """Deletes users. Its tasks run in the supervisor's nursery, and are faults' domains of their own."""

    def __init__(self, context: Context, nursery: trio.Nursery, actor_of: Callable[[str], Disconnecting]) -> None:
        self._context = context
        self._nursery = nursery
        self._actor_of = actor_of
        self._going_on: dict[int, _Departure] = {}  # by user
        self._closed = False

    async def load(self) -> None:
        """Go on with those that a process which has ended left undone. Raises StoreUnavailable."""
        for user_id in await self._context.store.read(user_deletions.under_way()):
            self._start(user_id, partial(self._carry_out, user_id))

    async def leave(self, user_id: int, verified: str, access_digest: str) -> Farewell:
        """Delete the user, for the session with this access token; who asks meanwhile waits for the same end.

        `verified`: the stored hash that the password was checked by. Cancelled, it goes on. Raises Unauthorized: the
        user is gone; Forbidden invalid_password: it was changed meanwhile; StoreUnavailable: nothing was begun;
        Stopping: it goes on with the next start, if it was begun.
        """
        departure = self._going_on.get(user_id)
        if departure is None:
            if self._closed:
                raise Stopping
            departure = self._start(user_id, partial(self._begin, user_id, verified, access_digest))
        return await departure.farewell()

    def close(self) -> None:
        """Begin nothing new; what goes on ends at its next step, until the next start."""
        self._closed = True

    def _start(self, user_id: int, work: Callable[[], Awaitable[Farewell]]) -> _Departure:
        departure = self._going_on[user_id] = _Departure()
        self._nursery.start_soon(self._keep, user_id, departure, work, name=f"departure of user {user_id}")
        return departure

    async def _keep(self, user_id: int, departure: _Departure, work: Callable[[], Awaitable[Farewell]]) -> None:
        """See one to its end. What crashes is begun again; who waited for it is told that the service failed."""
        crashes = 0
        try:
            while True:
                with contained(log, "departure crashed", user=user_id) as life:
                    try:
                        departure.end(await work())
                    except ServiceError as error:
                        departure.end(error)
                if not life.failed:
                    return
                departure.end(ServiceError("internal"))
                departure = self._going_on[user_id] = _Departure()
                work = partial(self._carry_out, user_id)
                crashes += 1
                await trio.sleep(_wait_s(crashes))
        finally:
            departure.end(Stopping())  # cancelled: nobody waits for ever
            del self._going_on[user_id]

    async def _begin(self, user_id: int, verified: str, access_digest: str) -> Farewell:
        await self._context.store.run(user_deletions.begin(user_id, verified, access_digest, self._context.clock()))
        return await self._carry_out(user_id)

    async def _carry_out(self, user_id: int) -> Farewell:
        """All that follows the first commit. A store that is away is waited for. Raises Stopping."""
        by = trio.current_time() + _LONGEST_S
        while True:
            await self._disconnect_all(user_id, by)
            for forget in user_deletions.FORGET:
                while await self._run(partial(forget, user_id)):
                    pass
            farewell = await self._run(partial(user_deletions.end, user_id, self._context.clock()))
            if farewell is not None:
                log.info("user deleted", extra={"user": user_id, "left": len(farewell.left)})
                return farewell

    async def _disconnect_all(self, user_id: int, by: float) -> None:
        waiting = iter(await self._run(partial(accounts.list_accounts, user_id)))
        stopped = False

        async def disconnect_some() -> None:
            nonlocal stopped
            for account in waiting:
                try:
                    await self._disconnect(account, by)
                except Stopping:
                    stopped = True
                    return

        async with trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(disconnect_some)
        if stopped:
            raise Stopping

    async def _disconnect(self, account: Account, by: float) -> None:
        """Have one account disconnected by its actor. Raises Stopping; what its last try raises."""
        tries = waits = 0
        while True:
            actor = self._actor_of(account.edge_account_id)
            until = by if tries < _TRIES else -math.inf
            try:
                await actor.disconnect(account.user_id, account.id, user_deletions.told, by=until)
                return
            except NotFound:  # a connect that was refused has taken its record along
                return
            except Stopping:
                raise
            except (Busy, StoreUnavailable):
                waits += 1
            except ServiceError as error:
                tries += 1
                log.warning("not disconnected", extra={"account": account.id, "try": tries, "code": error.code})
                if tries > _TRIES:
                    raise AssertionError("an account cannot be disconnected without the platform") from error
            await trio.sleep(_wait_s(tries + waits))

    async def _run(self, tx: Callable[[], Tx[T]]) -> T:
        """Run a transaction, when the store is there. Raises Stopping."""
        failures = 0
        while not self._closed:
            try:
                return await self._context.store.run(tx())
            except StoreUnavailable:
                failures += 1
                await trio.sleep(_wait_s(failures))
        raise Stopping


def _wait_s(failures: int) -> float:
    return min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (failures - 1))
