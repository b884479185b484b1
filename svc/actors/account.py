"""The actor of one edge account: it answers what was asked, one question after the other, then does what is due.

It holds nothing that the store does not: a fresh actor continues from the store, so a crash or a kill loses no work.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

import outcome
import trio

from svc.actors import operations
from svc.actors.checks import account_state, expiry, health_check
from svc.actors.duty import Timers, name_of
from svc.actors.mailbox import Ask, Mailbox
from svc.actors.operations import bootstrap, connect, disconnect, renew
from svc.actors.service import advice, notifications
from svc.actors.sync import configuration, routes
from svc.errors import ServiceError, Stopping
from svc.logs import lines_about
from svc.metrics import ASK_SECONDS, DUTY_SECONDS, MAILBOX_WAIT
from svc.store import accounts
from svc.store import operations as operation_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import SecretStr

    from svc.actors.checks.health_check import Checked
    from svc.actors.context import Commit, Context
    from svc.actors.duty import Duty
    from svc.model import Account, FormerAccount, Location, OperationKind
    from svc.store.idempotency import Claim

T = TypeVar("T")
R = TypeVar("R")


# Everything that an account does by itself, in this order.
DUTIES: tuple[Duty, ...] = (
    disconnect.resume_when_due,
    connect.expire_when_due,
    renew.end_when_due,
    bootstrap.forget_when_due,
    operations.resume_when_due,
    expiry.note_when_due,
    routes.end_old_paths,
    routes.make_when_due,
    configuration.sync_when_due,
    account_state.note_silence,
    health_check.check_when_due,
    health_check.repeat_install_when_due,
    advice.advise_when_due,
    notifications.tell_when_due,
)
# Those that only look, and mend what they find: broken off for who asks, they begin anew.
_BROKEN_OFF: tuple[Duty, ...] = (health_check.check_when_due, advice.advise_when_due)


class AccountActor:
    """The operations and duties of one account, run one at a time in the actor's task.

    A request that changes something at the platform goes through `ask`; it continues when its caller hangs up. Reads
    and changes of the store alone run in the request's task (`actors.requests`), where a closed tab ends them: the
    store decides between two that meet, so they need not wait behind an install that takes a minute.
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
        self._look = trio.CancelScope()  # around the look that goes on, if one does
        self._checked: tuple[float, Sequence[Checked]] | None = None  # when the newest look that was asked for began

    async def ask(self, work: Callable[[], Awaitable[T]], claim: Claim | None = None) -> T:
        """Do `work` in the actor's task, after what was asked before; returns what it returns, raises what it raises.

        A look at the account that goes on meanwhile is broken off: nobody waits for a platform that does not answer it.
        Raises Busy, Stopping; ServiceError internal: the work crashed.
        """
        ask = Ask(work, claim)
        self.mailbox.put(ask)
        self._look.cancel()
        self._start(self)
        return await ask.answer()

    async def ask_for(self, kind: OperationKind, work: Callable[[], Awaitable[T]], claim: Claim | None) -> T:
        """Do `work` as `ask` does, for an operation of this kind. Raises also Conflict operation_in_progress."""
        await self._check_turn(kind, claim)
        return await self.ask(work, claim)

    async def _check_turn(self, kind: OperationKind, claim: Claim | None) -> None:
        """Refuse an operation immediately if it would wait behind another one, which may take minutes.

        A connect or a renewal is checked twice, before and after the seconds that its bootstrap token takes; the store
        decides in the actor's turn. A repeated request, whose client had hung up, waits for the answer of the first. An
        actor at rest lets every operation in, also past a row that a killed process has left.

        Raises Conflict operation_in_progress.
        """
        if self._at_work and not self._has(claim):
            await self._context.store.peek(operation_rows.check_turn(self.edge_account_id, kind))

    def _has(self, claim: Claim | None) -> bool:
        """Whether this request is being served, or waits."""
        asks = (*self.mailbox, self._served)
        return claim is not None and any(ask is not None and ask.claim == claim for ask in asks)

    async def connect(
        self,
        user_id: int,
        bootstrap_token: SecretStr,
        location: Location | None,
        commit: Commit[Account, R],
        claim: Claim | None = None,
    ) -> R:
        """Connect this edge account for a user; see `operations.connect`. `claim`: by which its repeat is known."""
        if await connect.check(self._context, self.edge_account_id, user_id):
            await self._check_turn("connect", claim)
        with bootstrap.told_valid():
            checked = await bootstrap.check(self._context, self.edge_account_id, user_id, bootstrap_token)

            async def work() -> R:
                return await connect.connect(self._context, self.edge_account_id, user_id, checked, location, commit)

            return await self.ask_for("connect", work, claim)

    async def renew(
        self, account_id: str, bootstrap_token: SecretStr, commit: Commit[Account, R], claim: Claim | None = None
    ) -> R:
        """Replace the account's working token, see `operations.renew`; its health is looked at right after."""
        await self._check_turn("renew", claim)
        with bootstrap.told_valid():
            checked = await renew.check(self._context, account_id, bootstrap_token)

            async def work() -> R:
                answer = await renew.renew(self._context, account_id, checked, commit)
                self.timers.health_at = 0
                return answer

            return await self.ask_for("renew", work, claim)

    async def install(self, account_id: str, commit: Commit[Account, R], claim: Claim | None = None) -> R:
        """Install or reinstall the worker; the work itself follows the answer."""

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
    ) -> R:
        """Remove what is ours from the platform, then the account's record; see `operations.disconnect`."""

        async def work() -> R:
            return await disconnect.disconnect(self._context, user_id, account_id, commit, by)

        return await self.ask_for("disconnect", work, claim)

    async def check(self, account_id: str, commit: Commit[Sequence[Checked], R]) -> R:
        """Check the whole account now and repair what is safe to repair; see `checks`. Raises also EdgeUnavailable.

        Those who ask while one look is under way share the one after it.
        """
        asked_at = trio.current_time()

        async def look() -> R:
            own = self._checked is None or self._checked[0] < asked_at
            if self._checked is None or own:
                began_at = trio.current_time()
                account = accounts.present(await self._context.store.read(accounts.account_by_id(account_id)))
                self._checked = began_at, await health_check.check_now(self._context, account, self.timers)
            # Who shares the look of somebody else has mended nothing.
            return await self._context.store.run(commit(health_check.told(self._checked[1], own=own)))

        return await self.ask(look)

    def wake(self) -> None:
        """Do now what is due: something of this account changed in the store, whose commit tells the supervisor."""
        self._woken = True
        self._start(self)

    @property
    def woken(self) -> bool:
        """Whether something of this account changed since its duties began to look."""
        return self._woken

    async def run(self) -> float:
        """One life: until nothing waits and nothing is due. Returns when it is due next (monotonic seconds)."""
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
                # Cleared before the store is read: a change that comes while the duties run is not missed.
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
                # Gone, or never there. Who connects this edge account next begins anew.
                self.timers = Timers(trio.current_time())
                return math.inf
            self._look = trio.CancelScope()
            began_at = time.monotonic()
            with self._look if duty in _BROKEN_OFF else nullcontext(), lines_about(account=account.id):
                next_due = min(next_due, await duty(self._context, account, self.timers))
            self._context.metrics.observe(DUTY_SECONDS, time.monotonic() - began_at, name_of(duty))
            if len(self.mailbox):
                return trio.current_time()  # somebody waits: the rest of the duties come after them
        return next_due

    async def _serve(self, ask: Ask[object]) -> None:
        self._served = ask
        began_at = time.monotonic()
        self._context.metrics.observe(MAILBOX_WAIT, began_at - ask.asked_at)
        how = "cancelled"
        try:
            with lines_about(**ask.about):
                ask.resolve(outcome.Value(await ask.work()))
            how = "done"
        except ServiceError as error:
            ask.resolve(outcome.Error(error))
            how = "refused"
        except Exception:
            ask.resolve(outcome.Error(ServiceError("internal")))
            how = "failed"
            raise
        finally:
            self._served = None
            ask.resolve(outcome.Error(Stopping()))  # cancelled: nobody waits for ever
            self._context.metrics.observe(ASK_SECONDS, time.monotonic() - began_at, how)
