"""Deletion of users: their accounts are disconnected, then their totals and all other data are deleted.

    password verified ──► user row detached (`store/user_deletions.py`) ──► all accounts disconnected ──►
        totals deleted in batches ──► other data deleted in batches ──► user row deleted, email with the result sent

The first commit records the deletion. A separate task then carries it out, even if the client disconnects. If the
process is killed, the service continues the deletion at its next start. The service also carries out the deletions that
`svc user delete` has recorded. Each step first checks what still exists, so steps can be repeated. A deletion always
ends, and reports the resources that remain at Cloudflare.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

from svc.actors.backoff import backoff_s
from svc.errors import Busy, NotFound, ServiceError, Stopping, StoreUnavailable
from svc.faults import contained
from svc.store import accounts, user_deletions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.actors.context import Commit, Context
    from svc.model import Account, DeletionResult, FormerAccount, Language
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

# Maximum number of concurrent disconnects per user. More disconnects would only wait, because the calls to Cloudflare
# per user are limited.
_CONCURRENCY = 8
# The time after which a deletion stops calling Cloudflare and reports the remaining resources. If Cloudflare responds
# quickly, this is enough for a thousand accounts.
_LONGEST_S = 1_800.0
# The number of failed attempts after which an account is disconnected without calling Cloudflare.
_TRIES = 3
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0


class Disconnecting(Protocol):
    """The part of `AccountActor` that a deletion uses."""

    async def disconnect(
        self, user_id: int, account_id: str, commit: Commit[FormerAccount, FormerAccount], *, by: float = math.inf
    ) -> FormerAccount:
        """See `AccountActor.disconnect`."""
        ...


@dataclass(eq=False)
class _Deletion:
    """A running deletion, shared by all callers that are waiting for it."""

    ended: trio.Event = field(default_factory=trio.Event)
    result: DeletionResult | ServiceError | None = None

    def end(self, result: DeletionResult | ServiceError) -> None:
        """Set the result and wake the callers. Later calls have no effect."""
        if self.result is None:
            self.result = result
            self.ended.set()

    async def wait(self) -> DeletionResult:
        """Wait for the deletion to end and return its result. Raises the error that ended the deletion."""
        await self.ended.wait()
        if isinstance(self.result, ServiceError):
            raise self.result.with_traceback(None)  # the traceback would grow with each caller
        if self.result is None:
            raise AssertionError("a deletion has ended without a result")
        return self.result


class UserDeletions:
    """All running deletions of users. Their tasks run in the supervisor's nursery.

    A failure of one deletion does not affect the others.
    """

    def __init__(self, context: Context, nursery: trio.Nursery, actor_of: Callable[[str], Disconnecting]) -> None:
        self._context = context
        self._nursery = nursery
        self._actor_of = actor_of
        self._going_on: dict[int, _Deletion] = {}  # by user id
        self._closed = False

    async def load(self) -> None:
        """Carry out deletions that a command began or a previous process did not complete. Raises StoreUnavailable."""
        for user_id in await self._context.store.read(user_deletions.under_way()):
            if user_id not in self._going_on and not self._closed:
                self._start(user_id, partial(self._carry_out, user_id))

    async def leave(self, user_id: int, verified: str, access_digest: str, language: Language | None) -> DeletionResult:
        """Delete the user and return the result.

        If the user's deletion is already running, the caller waits for this deletion.

        `verified`: the stored password hash against which the request's password was checked. `access_digest`: the
        digest of the request's access token. `language`: the request's language (see `user_deletions.begin`).
        Cancelling the caller does not stop the deletion.

        Raises Unauthorized if the user does not exist, and Forbidden (code invalid_password) if the password has
        changed since the check. After StoreUnavailable, the deletion has not begun. After Stopping, a deletion that has
        begun continues at the next start.
        """
        deletion = self._going_on.get(user_id)
        if deletion is None:
            if self._closed:
                raise Stopping
            deletion = self._start(user_id, partial(self._begin, user_id, verified, access_digest, language))
        return await deletion.wait()

    def close(self) -> None:
        """Refuse new deletions. Running deletions stop after their current step and continue at the next start."""
        self._closed = True

    def _start(self, user_id: int, work: Callable[[], Awaitable[DeletionResult]]) -> _Deletion:
        deletion = self._going_on[user_id] = _Deletion()
        self._nursery.start_soon(self._run_to_end, user_id, deletion, work, name=f"deletion of user {user_id}")
        return deletion

    async def _run_to_end(
        self, user_id: int, deletion: _Deletion, work: Callable[[], Awaitable[DeletionResult]]
    ) -> None:
        """Run a deletion to its end.

        If the deletion crashes, its callers get the error `internal`, and the deletion is started again.
        """
        crashes = 0
        try:
            while True:
                with contained(log, "user deletion crashed", user=user_id) as attempt:
                    try:
                        deletion.end(await work())
                    except ServiceError as error:
                        deletion.end(error)
                if not attempt.failed:
                    return
                deletion.end(ServiceError("internal"))
                deletion = self._going_on[user_id] = _Deletion()
                work = partial(self._carry_out, user_id)
                crashes += 1
                await trio.sleep(_wait_s(crashes))
        finally:
            deletion.end(Stopping())  # after a cancellation, so that no caller waits forever
            del self._going_on[user_id]

    async def _begin(
        self, user_id: int, verified: str, access_digest: str, language: Language | None
    ) -> DeletionResult:
        begun = user_deletions.begin(user_id, verified, access_digest, self._context.clock(), language)
        await self._context.store.run(begun)
        return await self._carry_out(user_id)

    async def _carry_out(self, user_id: int) -> DeletionResult:
        """Run all steps that follow the first commit, and return the result.

        Retries while the store is unavailable. Raises Stopping.
        """
        by = trio.current_time() + _LONGEST_S
        while True:
            await self._disconnect_all(user_id, by)
            for forget in user_deletions.FORGET:
                while await self._run(partial(forget, user_id)):
                    pass
            result = await self._run(partial(user_deletions.end, user_id, self._context.clock()))
            if result is not None:
                log.info("user deleted", extra={"user": user_id, "left": len(result.left)})
                return result

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
            for _ in range(_CONCURRENCY):
                nursery.start_soon(disconnect_some)
        if stopped:
            raise Stopping

    async def _disconnect(self, account: Account, by: float) -> None:
        """Let the account's actor disconnect the account, and retry if this fails. Raises Stopping."""
        tries = waits = 0
        while True:
            actor = self._actor_of(account.edge_account_id)
            until = by if tries < _TRIES else -math.inf
            try:
                await actor.disconnect(account.user_id, account.id, user_deletions.mark_for_result, by=until)
                return
            except NotFound:  # the account's record no longer exists, because its connect operation was refused
                return
            except Stopping:
                raise
            except (Busy, StoreUnavailable):
                waits += 1
            except ServiceError as error:
                tries += 1
                log.warning("disconnect failed", extra={"account": account.id, "try": tries, "code": error.code})
                if tries > _TRIES:
                    raise AssertionError("an account cannot be disconnected even without Cloudflare") from error
            await trio.sleep(_wait_s(tries + waits))

    async def _run(self, tx: Callable[[], Tx[T]]) -> T:
        """Run a transaction and return its value. Retries while the store is unavailable. Raises Stopping."""
        failures = 0
        while not self._closed:
            try:
                return await self._context.store.run(tx())
            except StoreUnavailable:
                failures += 1
                await trio.sleep(_wait_s(failures))
        raise Stopping


def _wait_s(failures: int) -> float:
    return backoff_s(failures, _FIRST_WAIT_S, _LONGEST_WAIT_S)
