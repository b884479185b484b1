"""Disconnects that the operator requests with `svc account disconnect`.

The requests are in the store (`store/disconnect_requests.py`), so they survive a restart. A limited number of tasks
carry out the requests, oldest first. A failure in one task does not affect the others. If Cloudflare does not respond,
or if another operation is running for the account, the disconnect is retried later. A forced disconnect does not wait
for Cloudflare.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import trio

from svc.actors.backoff import backoff_s
from svc.actors.operations.disconnect import DisconnectDelayed, with_operator_event
from svc.errors import NotFound, ServiceError, Stopping, StoreUnavailable
from svc.faults import contained
from svc.store import disconnect_requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.actors.context import Commit, Context
    from svc.model import FormerAccount
    from svc.store.disconnect_requests import DisconnectRequest, WaitReason

log = logging.getLogger(__name__)

# Maximum number of concurrent disconnects. A disconnect spends most of its time waiting for isolates to write events,
# and for Cloudflare.
_CONCURRENCY = 16
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 60.0


class Disconnecting(Protocol):
    """The part of `AccountActor` that is used when an operator disconnects an account."""

    async def disconnect(
        self, user_id: int, account_id: str, commit: Commit[FormerAccount, FormerAccount], *, waits: bool
    ) -> FormerAccount:
        """See `AccountActor.disconnect`."""
        ...


@dataclass
class _Delay:
    """The number of failed attempts to disconnect an account, and the time of the next attempt (monotonic seconds)."""

    failures: int = 0
    until: float = 0.0


class OperatorDisconnects:
    """The tasks that carry out the operator's requests. They run in the supervisor's nursery."""

    def __init__(self, context: Context, nursery: trio.Nursery, actor_of: Callable[[str], Disconnecting]) -> None:
        self._context = context
        self._nursery = nursery
        self._actor_of = actor_of
        self._running: set[str] = set()  # account ids
        self._delays: dict[str, _Delay] = {}  # by account id
        self._tasks = 0
        self._closed = False

    async def load(self) -> None:
        """Start tasks if there are stored requests that can be carried out now. Raises StoreUnavailable."""
        pending = await self._pending(_CONCURRENCY)
        for _ in range(min(len(pending), _CONCURRENCY - self._tasks)):
            self._tasks += 1
            self._nursery.start_soon(self._work, name="operator's disconnects")

    def close(self) -> None:
        """Stop starting disconnects.

        Disconnects that do not end before the service stops are continued at its next start.
        """
        self._closed = True

    async def _pending(self, limit: int) -> list[DisconnectRequest]:
        if self._closed:
            return []
        delayed = (name for name, delay in self._delays.items() if delay.until > trio.current_time())
        return await self._context.store.read(disconnect_requests.pending(limit, (*self._running, *delayed)))

    async def _work(self) -> None:
        """Carry out requests until none can be carried out now."""
        try:
            with contained(log, "operator's disconnects failed"):
                try:
                    # Skip requests that other tasks have started while this task was reading.
                    while pending := await self._pending(_CONCURRENCY):
                        for request in pending:
                            if request.account_id not in self._running and not self._closed:
                                await self._carry_out(request)
                                break
                except StoreUnavailable:
                    pass  # the next poll starts another task
        finally:
            self._tasks -= 1

    async def _carry_out(self, request: DisconnectRequest) -> None:
        """Disconnect the account, or record why the disconnect has to wait. Raises StoreUnavailable."""
        account_id, reason = request.account_id, None
        self._running.add(account_id)
        try:
            with contained(log, "operator's disconnect crashed", account=account_id) as attempt:
                reason = await self._attempt(request)
            if attempt.failed:
                reason = "internal"
            if reason is None:
                self._delays.pop(account_id, None)
                return
            delay = self._delays.setdefault(account_id, _Delay())
            delay.failures += 1
            delay.until = trio.current_time() + backoff_s(delay.failures, _FIRST_WAIT_S, _LONGEST_WAIT_S)
            await self._context.store.run(disconnect_requests.set_waiting(account_id, reason))
        finally:
            self._running.discard(account_id)

    async def _attempt(self, request: DisconnectRequest) -> WaitReason | None:
        """Disconnect the account.

        Return the reason why the disconnect has to wait; None if it has ended or the service is stopping.
        """
        actor = self._actor_of(request.edge_account_id)
        commit = partial(with_operator_event, now=self._context.clock())
        try:
            await actor.disconnect(request.user_id, request.account_id, commit, waits=not request.is_forced)
        except DisconnectDelayed as error:
            return "daily_limit" if error.why == "daily_limit" else "unreachable"
        except (NotFound, Stopping):  # the account was disconnected in the meantime, because its user was deleted
            return None
        except StoreUnavailable:
            raise
        except ServiceError as error:
            log.info("operator's disconnect delayed", extra={"account": request.account_id, "code": error.code})
            return "internal" if error.code == "internal" else "operation_in_progress"
        log.info("account disconnected by the operator", extra={"account": request.account_id})
        return None
