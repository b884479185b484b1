"""The actor of one Cloudflare account. It serves queued requests in order, and then runs the duties that are due.

A duty is a recurring task of the account. An actor keeps its persistent state in the store, so no work is lost in a
crash: a new actor continues from the stored state.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

import outcome
import trio

from svc.actors import operations
from svc.actors.checks import account_state, expiry, health_check, link_host_visit
from svc.actors.duty import SKIP_OTHERS, Timers, duty_label
from svc.actors.mailbox import Ask, Mailbox
from svc.actors.operations import bootstrap, connect, disconnect, renew
from svc.actors.service import advice, notifications
from svc.actors.sync import configuration, routes
from svc.errors import ServiceError, Stopping
from svc.logs import log_context
from svc.metrics import ASK_SECONDS, DUTY_SECONDS, MAILBOX_WAIT
from svc.store import accounts
from svc.store import operations as operation_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import SecretStr

    from svc.actors.checks.health_check import Checked
    from svc.actors.context import Commit, Context
    from svc.actors.duty import Duty
    from svc.model import Account, ConnectOptions, FormerAccount, OperationKind
    from svc.store.idempotency import Claim

T = TypeVar("T")
R = TypeVar("R")


# The duties of an account, in the order in which they run.
DUTIES: tuple[Duty, ...] = (
    disconnect.resume_when_due,
    connect.expire_when_due,
    renew.end_when_due,
    bootstrap.forget_when_due,
    operations.resume_when_due,
    expiry.expire_when_due,
    routes.end_old_paths,
    routes.make_when_due,
    configuration.sync_when_due,
    account_state.record_silence,
    health_check.check_when_due,
    health_check.repeat_install_when_due,
    link_host_visit.visit_when_due,
    advice.advise_when_due,
    notifications.notify_when_due,
)
# Duties that a new request can interrupt without any loss of work. They start again after the request.
_INTERRUPTIBLE: tuple[Duty, ...] = (
    expiry.expire_when_due, health_check.check_when_due, health_check.repeat_install_when_due,
    link_host_visit.visit_when_due, advice.advise_when_due,
)  # fmt: skip


class AccountActor:
    """The operations and duties of one account. The actor's task runs them one at a time.

    A request that changes something at Cloudflare is passed to the actor with `ask`. The actor completes the work even
    if the client disconnects. All other requests only read, or change only the store. They run in the HTTP request's
    task (`actors.requests`), and are cancelled if the client disconnects. They can run during an operation, such as an
    install that takes a minute, because transactions in the store prevent conflicting changes.
    """

    def __init__(
        self,
        edge_account_id: str,
        context: Context,
        timers: Timers,
        duties: Sequence[Duty],
        start: Callable[[AccountActor], None],
    ) -> None:
        self.edge_account_id = edge_account_id
        self.mailbox = Mailbox(context.config.limits.mailbox_depth)
        self.timers = timers
        self._context = context
        self._duties = duties
        self._start = start
        self._woken = False
        self._at_work = False
        self._served: Ask[object] | None = None
        self._check_scope = trio.CancelScope()  # cancels the running duty if the duty can be interrupted
        # start time and findings of the last requested check
        self._checked: tuple[float, Sequence[Checked]] | None = None

    async def ask(self, work: Callable[[], Awaitable[T]], claim: Claim | None = None) -> T:
        """Run `work` in the actor's task, after earlier requests. Return its result, or raise its exception.

        If the actor is running a duty that can be interrupted, such as a health check, `ask` interrupts this duty. The
        caller then does not have to wait for a slow response from Cloudflare.

        `claim` identifies the HTTP request (see `Ask`). Raises Busy if the queue is full, and Stopping if the service
        is shutting down. If the work crashed, raises ServiceError with the code internal.
        """
        ask = Ask(work, claim)
        self.mailbox.put(ask)
        self._check_scope.cancel()
        self._start(self)
        return await ask.response()

    async def ask_for(self, kind: OperationKind, work: Callable[[], Awaitable[T]], claim: Claim | None) -> T:
        """Run `work` like `ask`, but refuse the request immediately if another operation is running.

        If the request is refused, raises Conflict with the code operation_in_progress. Also raises the errors of `ask`.
        """
        await self._check_turn(kind, claim)
        return await self.ask(work, claim)

    async def _check_turn(self, kind: OperationKind, claim: Claim | None) -> None:
        """Refuse an operation immediately if it would have to wait for another operation, which can take minutes.

        Connect and renew operations call this method before and after they check the bootstrap token, because another
        operation can begin during this check. The store makes the final decision when the actor serves the request.

        If a client disconnects and repeats its request, the repeated request waits for the result of the first request.
        An idle actor accepts every operation, even if a killed process left a `running` operation in the store.

        Raises Conflict with the code operation_in_progress.
        """
        if self._at_work and not self._is_pending(claim):
            await self._context.store.peek(operation_rows.check_turn(self.edge_account_id, kind))

    def _is_pending(self, claim: Claim | None) -> bool:
        """Return True if the request with this claim is queued or being served. Return False if `claim` is None."""
        asks = (*self.mailbox, self._served)
        return claim is not None and any(ask is not None and ask.claim == claim for ask in asks)

    async def connect(
        self,
        user_id: int,
        bootstrap_token: SecretStr,
        options: ConnectOptions,
        commit: Commit[Account, R],
        claim: Claim | None = None,
    ) -> R:
        """Connect this Cloudflare account for a user (see `operations.connect`).

        `claim` identifies the request, so that the actor recognizes a repeated request.
        """
        if await connect.check(self._context, self.edge_account_id, user_id):
            await self._check_turn("connect", claim)
        with bootstrap.explain_still_valid():
            checked = await bootstrap.check(self._context, self.edge_account_id, user_id, bootstrap_token)

            async def work() -> R:
                return await connect.connect(self._context, self.edge_account_id, user_id, checked, options, commit)

            return await self.ask_for("connect", work, claim)

    async def renew(
        self, account_id: str, bootstrap_token: SecretStr, commit: Commit[Account, R], claim: Claim | None = None
    ) -> R:
        """Replace the account's working token (see `operations.renew`). A health check follows."""
        await self._check_turn("renew", claim)
        with bootstrap.explain_still_valid():
            checked = await renew.check(self._context, account_id, bootstrap_token)

            async def work() -> R:
                response = await renew.renew(self._context, account_id, checked, commit)
                self.timers.health_at = 0
                return response

            return await self.ask_for("renew", work, claim)

    async def install(self, account_id: str, commit: Commit[Account, R], claim: Claim | None = None) -> R:
        """Install or reinstall the Worker.

        The method only records the operation. A duty (recurring task) does the work afterwards.
        """

        async def work() -> R:
            return await operations.begin(self._context, "install", account_id, commit)

        return await self.ask_for("install", work, claim)

    async def disconnect(
        self,
        user_id: int,
        account_id: str,
        commit: Commit[FormerAccount, R],
        claim: Claim | None = None,
        *,
        by: float = math.inf,
        waits: bool = False,
    ) -> R:
        """Remove the service's resources from Cloudflare, then delete the account (see `operations.disconnect`).

        `by`: the time (monotonic seconds) at which the disconnect ends even if resources remain. `waits`: if True, the
        method raises DisconnectDelayed when Cloudflare does not respond, and the caller retries later.
        """

        async def work() -> R:
            return await disconnect.disconnect(self._context, user_id, account_id, commit, by, waits=waits)

        return await self.ask_for("disconnect", work, claim)

    async def check(self, account_id: str, commit: Commit[Sequence[Checked], R]) -> R:
        """Check the whole account now, and repair problems that can be repaired safely (see `checks`).

        Callers that arrive while a check is running all get the result of the next check. Raises EdgeUnavailable if the
        check cannot be completed, and the errors of `ask`.
        """
        asked_at = trio.current_time()

        async def run_check() -> R:
            is_own = self._checked is None or self._checked[0] < asked_at
            if self._checked is None or is_own:
                began_at = trio.current_time()
                account = accounts.present(await self._context.store.read(accounts.account_by_id(account_id)))
                self._checked = began_at, await health_check.check_now(self._context, account, self.timers)
            # If the check was started for another caller, its repairs are recorded only in that caller's event.
            return await self._context.store.run(commit(health_check.check_result(self._checked[1], is_own=is_own)))

        return await self.ask(run_check)

    def wake(self) -> None:
        """Run the duties as soon as possible. The supervisor calls this after a commit that changed this account."""
        self._woken = True
        self._start(self)

    @property
    def woken(self) -> bool:
        """True if `wake` was called after the duties last started."""
        return self._woken

    async def run(self) -> float:
        """Run until the mailbox is empty and no duty is due.

        Return the time when the next duty is due (monotonic seconds).
        """
        self._at_work = True
        try:
            return await self._work()
        finally:
            self._at_work = False

    async def _work(self) -> float:
        while True:
            while ask := self.mailbox.pop():
                self._woken = True
                await self._serve(ask)
            if self._woken:
                # Clear the flag before the duties read the store, so that later changes are not missed.
                self._woken = False
                self.timers.routes_at = self.timers.sync_at = 0
            next_due = await self._do_duties()
            if not len(self.mailbox) and not self._woken and next_due > trio.current_time():
                return next_due

    async def _do_duties(self) -> float:
        next_due = math.inf
        for duty in self._duties:
            account = await self._context.store.read(accounts.account_by_edge_id(self.edge_account_id))
            if account is None:
                # The account was deleted or never existed. Its old timers must not apply if it is connected later.
                self.timers = Timers(trio.current_time())
                return math.inf
            if len(self.mailbox):
                return trio.current_time()  # serve the queued requests before the remaining duties
            self._check_scope = trio.CancelScope()
            began_at = time.monotonic()
            with self._check_scope if duty in _INTERRUPTIBLE else nullcontext(), log_context(account=account.id):
                due = await duty(self._context, account, self.timers)
                if due == SKIP_OTHERS:
                    return math.inf
                next_due = min(next_due, due)
            self._context.metrics.observe(DUTY_SECONDS, time.monotonic() - began_at, duty_label(duty))
        return next_due

    async def _serve(self, ask: Ask[object]) -> None:
        self._served = ask
        began_at = time.monotonic()
        self._context.metrics.observe(MAILBOX_WAIT, began_at - ask.asked_at)
        result = "cancelled"
        try:
            with log_context(**ask.about):
                ask.resolve(outcome.Value(await ask.work()))
            result = "done"
        except ServiceError as error:
            ask.resolve(outcome.Error(error))
            result = "refused"
        except Exception:
            ask.resolve(outcome.Error(ServiceError("internal")))
            result = "failed"
            raise
        finally:
            self._served = None
            # has an effect only after a cancellation, which leaves the result unset
            ask.resolve(outcome.Error(Stopping()))
            self._context.metrics.observe(ASK_SECONDS, time.monotonic() - began_at, result)
