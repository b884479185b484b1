"""The disconnect operation. It removes the service's resources from Cloudflare.

Resources that were changed outside the service, or that the service cannot reach, remain.

    routes ──► script with its cron trigger ──► last totals read and stored ──► database ──► account in the store

All steps can be repeated, because each step first checks which resources exist. If the process is killed, the service
repeats the steps of the recorded operation at its next start. The response to a disconnect lists the remaining
resources (`left`). It also asks the user to delete the working token (`revoke_token`), because this token cannot delete
itself.

A disconnect that the operator requested can wait for Cloudflare. If resources remain only because Cloudflare did not
respond, the operation stays unfinished, and `service/operator_disconnects.py` repeats it later.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.duty import SKIP_OTHERS
from svc.actors.operations.install import may_be_ours
from svc.actors.operations.last_totals import keep_last_totals
from svc.actors.requests.zones import current_zone
from svc.actors.sync.script import ownership_tag, upload_status
from svc.clock import iso
from svc.edge import d1, routes, tokens, workers
from svc.edge.responses import DailyLimit
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ServiceError
from svc.ids import new_id
from svc.logs import add_log_context
from svc.model import NO_EXPIRY
from svc.remaining_resource import RemainingResource
from svc.store import accounts, disconnect_requests, disconnects, operations, sites, unwanted_routes, users
from svc.store.events import by_operator, by_service
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.d1 import Database
    from svc.edge.routes import Route
    from svc.model import Account, FormerAccount, ObsoleteRoute, Operation
    from svc.remaining_resource import LeftKind, LeftWhy
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

R = TypeVar("R")

# The longest time, in seconds, that an isolate (a running instance of the Worker) takes to write an event to the
# database, by the level of the Worker's write budget (edge_worker/src/budget.js).
GATHERED_S = (1.5, 5.0, 12.0, 20.0)
_WRITE_S = 0.5
_LEVEL = "select value ->> '$.level' as level from meta where key = 'state'"


@dataclass(frozen=True)
class _Reason:
    """The reason why a resource remains. `facts`: the values for the placeholders in the reason's text."""

    code: LeftWhy
    facts: Mapping[str, str] = field(default_factory=dict)


_TOO_SLOW = _Reason("too_slow")
_NOT_OURS = _Reason("not_ours")
_CHANGED = _Reason("changed")
# Reasons that disappear without action by the user.
_PASSING: frozenset[LeftWhy] = frozenset({"too_slow", "unreachable", "daily_limit"})


class DisconnectDelayed(ServiceError):
    """Raised if resources remain only because Cloudflare could not remove them yet.

    The operation stays unfinished, and the caller repeats it later.

    `why`: the reason, "daily_limit" or "unreachable".
    """

    def __init__(self, why: LeftWhy) -> None:
        super().__init__("cloudflare_unavailable")
        self.why = why


async def disconnect(
    context: Context,
    user_id: int,
    account_id: str,
    commit: Commit[FormerAccount, R],
    deadline: float = math.inf,
    *,
    waits: bool = False,
) -> R:
    """Disconnect a user's account. If the account is already disconnected, return the outcome of that disconnect.

    `deadline`: the time (monotonic seconds) at which the disconnect ends even if resources remain. `waits`: if True,
    the operation stays unfinished when resources remain only because Cloudflare does not respond. Raises NotFound, or
    Conflict with the code operation_in_progress. If `waits` is True, it can also raise DisconnectDelayed.
    """
    account = await context.store.read(accounts.get_account(user_id, account_id))
    if account is None:
        return await context.store.run(commit(disconnects.outcome(user_id, account_id)))
    operation = await context.store.run(disconnects.begin_disconnect(account_id, new_id("op"), context.clock()))
    return await _carry_out(context, operation, commit, deadline, waits=waits)


async def resume_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Complete a disconnect that an earlier process did not complete, and delete the account.

    If the operator requested the disconnect, `service/operator_disconnects.py` completes it instead, possibly after
    waiting for Cloudflare. Until then, the account's other tasks do not run, because they could create resources
    again.
    """
    del timers
    operation = await context.store.read(operations.running(account.id))
    if operation is not None and operation.kind == "disconnect":
        if await context.store.read(disconnect_requests.is_requested(account.id)):
            return SKIP_OTHERS
        await _carry_out(context, operation, partial(_with_event, now=context.clock()))
    return math.inf


def with_operator_event(end: Tx[FormerAccount], now: int) -> Tx[FormerAccount]:
    """Return a transaction that ends a disconnect requested by the operator.

    The transaction also records an event for the account's user.
    """
    former = yield from end
    yield by_operator(former.user_id, "account.disconnect", now, former.id, former.edge_account_id)
    return former


def _with_event(end: Tx[FormerAccount], now: int) -> Tx[FormerAccount]:
    """Return a transaction that ends a disconnect for which no HTTP request is waiting.

    The transaction also records the event that a waiting request would have recorded.
    """
    former = yield from end
    yield by_service(former.user_id, former.id, former.edge_account_id, "account.disconnect", "done", now)
    return former


async def _carry_out(
    context: Context,
    operation: Operation,
    commit: Commit[FormerAccount, R],
    deadline: float = math.inf,
    *,
    waits: bool = False,
) -> R:
    account = accounts.present(await context.store.read(accounts.account_by_id(operation.account_id)))
    add_log_context(account=account.id, operation=operation.id)
    leaving = await context.store.read(users.is_being_deleted(account.user_id))
    removal = _Removal(context, account, operation, keeps_counts=not leaving)
    await removal.list_resources()
    with trio.move_on_at(min(deadline, trio.current_time() + context.config.edge.connect_s)) as deadline_scope:
        await removal.run(deadline_scope)
    left = [item for resource in removal.resources if (item := resource.remaining) is not None]
    passing = [item.why for item in left if item.why in _PASSING]
    if waits and passing:
        raise DisconnectDelayed("daily_limit" if set(passing) == {"daily_limit"} else "unreachable")
    log.info("disconnected", extra={"account": account.id, "left": len(left)})
    end = disconnects.end_disconnect(
        operation, removal.revoke_token, left, context.clock(), counts_kept=removal.counts_kept
    )
    return await context.store.run(commit(end))


@dataclass
class _Resource:
    """A resource to remove, identified by `facts`.

    `left`: the reason why it remains, or None if it no longer exists.
    """

    kind: LeftKind
    facts: Mapping[str, str]
    left: _Reason | None = _TOO_SLOW

    @property
    def remaining(self) -> RemainingResource | None:
        """The entry for the resource in the result, or None if the resource no longer exists."""
        return (
            None
            if self.left is None
            else RemainingResource(self.kind, self.left.code, {**self.facts, **self.left.facts})
        )


@dataclass
class _MadeRoute(_Resource):
    """A route that the service created or tried to create."""

    route: ObsoleteRoute = field(kw_only=True)


@dataclass
class _Removal:
    """One run of all steps of a disconnect.

    If a step fails, it records why its resources remain. The run then continues with the next step.

    The Cloudflare client retries each call before the step fails.
    """

    context: Context
    account: Account
    operation: Operation
    keeps_counts: bool  # False if the user is being deleted, because the counts are then deleted, too
    revoke_token: str | None = None
    counts_kept: bool = False  # True when the last counts of a deleted Worker are stored
    routes: list[_MadeRoute] = field(default_factory=list)
    script: _Resource = field(default_factory=lambda: _Resource("worker", {"worker": SCRIPT_NAME}, None))
    database: _Resource = field(default_factory=lambda: _Resource("database", {"database": DATABASE_NAME}, None))
    others: list[_Resource] = field(default_factory=list)
    deadline_scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    @property
    def resources(self) -> Sequence[_Resource]:
        """All resources, in the order in which the result lists them."""
        return (*self.routes, self.script, self.database, *self.others)

    async def list_resources(self) -> None:
        """Collect the resources that may exist at Cloudflare, according to the store."""
        store, account = self.context.store, self.account
        made = await store.read(unwanted_routes.of_account(account.id))
        if account.link_host is not None:
            made.append(account.link_host.route(account.id))
        for site in await store.read(sites.sites_of(account.id)):
            made += site.routes
        self.routes = [_MadeRoute("route", _route_facts(route.pattern, route.host), route=route) for route in made]
        uploads = await store.read(operations.with_open_upload(account.id))
        if account.edge_bundle is not None or uploads:
            self.script.left = _TOO_SLOW
        if account.database_id is not None:
            self.database = _database_resource(account.database_id, _TOO_SLOW)
        elif account.database_sought_at is not None:
            self.database.left = _TOO_SLOW
        lost = [operation.token_name for operation in await store.read(operations.with_open_token(account.id))]
        for name in dict.fromkeys([*lost, *account.revoke_tokens]):
            self.others.append(_Resource("token", {"token": name}, _Reason("may_be_alive")))
        if account.bootstrap_expires_at is not None and "bootstrap_not_deleted" in account.warnings:
            until = account.bootstrap_expires_at
            why = _Reason("alive_forever") if until == NO_EXPIRY else _Reason("alive_until", {"until": iso(until)})
            self.others.append(_Resource("bootstrap_token", {}, why))
        self.revoke_token = account.token_name

    async def run(self, deadline_scope: trio.CancelScope) -> None:
        """Run all steps. The deadline is extended by the time that isolates need to write their last events.

        Raises StoreUnavailable.
        """
        self.deadline_scope = deadline_scope
        try:
            access = await self._access()
        except ServiceError as error:
            for resource in (*self.routes, self.script, self.database):
                resource.left = None if resource.left is None else _reason(error)
            return
        steps: tuple[tuple[str, Callable[[Access], Awaitable[None]]], ...] = (
            ("routes", self._remove_routes),
            ("script", self._remove_script),
            ("database", self._remove_database),
        )
        for name, step in steps:
            await self.context.store.run(operations.set_step(self.operation.id, name, self.context.clock()))
            await step(access)

    async def _access(self) -> Access:
        """Check the working token, and return an object for calls to the Cloudflare account.

        Raises ServiceError if the token does not work. If the token is known to be invalid, `revoke_token` is cleared.
        """
        account = self.account
        access = self.context.access(account).awaited()
        if account.installed_at is None:  # the token may be new, or it may never have worked
            access = access.settling(self.context.config.edge.settling_in_connect_s)
        try:
            status = await tokens.verify(access)
        except EdgeRefused as error:
            if account.token_expired_at(self.context.clock()) is not None:
                self.revoke_token = None
                raise EdgeRefused("revoked", "The working token has expired.") from error
            # Cloudflare sometimes refuses valid tokens, so the token counts as invalid only after an hour of refusals.
            if error.code == "token_refused" and account.state == "revoked":
                self.revoke_token = None
            raise
        if status.status == "expired":
            self.revoke_token = None
        if status.status != "active":
            raise EdgeRefused("revoked", f"The working token is {status.status}.")
        return access

    # ----------------------------------------------------------------------------------------------------- routes

    async def _remove_routes(self, access: Access) -> None:
        of_zone: dict[str, list[_MadeRoute]] = defaultdict(list)
        for made in self.routes:
            of_zone[made.route.zone_id].append(made)
        # Tasks beyond this limit would only wait, because the service limits the number of concurrent calls for an
        # account.
        limiter = trio.CapacityLimiter(self.context.config.edge.concurrency_per_account)
        async with trio.open_nursery() as nursery:
            for zone_id, wanted in of_zone.items():
                nursery.start_soon(self._clear_zone, access, zone_id, wanted, limiter)

    async def _clear_zone(
        self, access: Access, zone_id: str, wanted: Sequence[_MadeRoute], limiter: trio.CapacityLimiter
    ) -> None:
        try:
            async with limiter:
                listed = await _routes_in(access, zone_id, wanted[0].route.host)
        except EdgeError as error:
            for made in wanted:
                made.left = _reason(error)
            return
        by_pattern = {route.pattern: route for route in listed}
        async with trio.open_nursery() as nursery:
            for made in wanted:
                route = by_pattern.pop(made.route.pattern, None)
                if route is None:
                    made.left = None
                elif route.script != SCRIPT_NAME:
                    made.left = (
                        _Reason("leads_elsewhere", {"holder": route.script})
                        if route.script
                        else _Reason("leads_nowhere")
                    )
                else:
                    nursery.start_soon(_delete_route, access, zone_id, route, made, limiter)
        for route in by_pattern.values():
            if route.script == SCRIPT_NAME:
                facts = _route_facts(route.pattern, route.pattern.partition("/")[0].lstrip("*."))
                self.others.append(_Resource("route", facts, _Reason("leads_to_not_ours", {"holder": SCRIPT_NAME})))

    # ----------------------------------------------------------------------------------------------------- script

    async def _remove_script(self, access: Access) -> None:
        since = trio.current_time()
        try:
            script = await workers.get_script(access, SCRIPT_NAME)
            if script is None:
                self.script.left = None
            elif ownership_tag(self.account.id) not in script.tags:
                self.script.left = _NOT_OURS
            elif await upload_status(self.context, access, self.account, script) == "changed":
                self.script.left = _CHANGED
            else:
                if self.routes and self.keeps_counts:
                    buffered_until = since + await self._buffer_wait_s(access)
                    self.deadline_scope.deadline += max(0.0, buffered_until - trio.current_time())
                    await trio.sleep_until(buffered_until)
                # Do not use `force`, because it would break other Workers of the customer that refer to this Worker.
                await workers.delete_script(access, SCRIPT_NAME)
                self.script.left = None
        except EdgeError as error:
            self.script.left = _reason(error)

    async def _buffer_wait_s(self, access: Access) -> float:
        """Return the number of seconds after the last request during which an isolate may still hold unwritten events.

        If the database were read earlier, these events would be missing from the last totals.
        """
        level = 0
        if self.account.database_id is not None:
            try:
                [result] = await d1.query(access, self.account.database_id, [(_LEVEL, [])])
                level = int(result.rows[0]["level"] or 0) if result.rows else 0
            except (EdgeError, ValueError, KeyError, TypeError):
                log.info("write budget level unknown", extra={"account": self.account.id})
        return GATHERED_S[min(max(level, 0), len(GATHERED_S) - 1)] + _WRITE_S

    # --------------------------------------------------------------------------------------------------- database

    async def _remove_database(self, access: Access) -> None:
        try:
            own = await self._own_database(access)
            if own is None:
                self.database.left = None
                return
            self.database = _database_resource(own.id, _TOO_SLOW)
            not_counted = await self._keep_counts(access, own.id)
            if not_counted is None:
                await d1.delete(access, own.id)
                self.database.left = None
            else:
                self.database = _Resource("uncounted_database", self.database.facts, not_counted)
        except EdgeError as error:
            self.database.left = _reason(error)

    async def _own_database(self, access: Access) -> Database | None:
        """Return the account's database, or None if there is none.

        A database with the same name that the service did not create is listed as a remaining resource.
        """
        account = self.account
        if account.database_id is not None:
            own = await d1.get(access, account.database_id)
            if own is not None:
                return own
        database = await d1.find(access, DATABASE_NAME)
        if database is not None and may_be_ours(account, database):
            return database
        if database is not None:
            self.others.append(_database_resource(database.id, _NOT_OURS))
        return None

    async def _keep_counts(self, access: Access, database_id: str) -> _Reason | None:
        """Store the last totals. Return the reason if this failed, or None if the database can be deleted safely."""
        if self.account.installed_at is None or not self.keeps_counts:
            return None  # nothing was counted, or the counts will be deleted
        try:
            await keep_last_totals(self.context, access, self.account.id, database_id)
            self.counts_kept = self.script.left is None
        except EdgeRefused as error:
            if error.code != "cloudflare_error":
                return _reason(error)
            log.warning("last totals not read", extra={"account": self.account.id, "why": error.message})
        except EdgeUnavailable as error:
            return _reason(error)
        except (ValueError, KeyError, TypeError) as error:
            # Another program changed or emptied the database, so the Worker's counts cannot be read and are lost.
            log.warning("last totals not read", extra={"account": self.account.id, "why": type(error).__name__})
        return None


def _route_facts(pattern: str, host: str) -> Mapping[str, str]:
    """Return the facts that identify a route in the Cloudflare dashboard.

    The facts include the host, because the store has no zone names.
    """
    return {"route": pattern, "host": host}


def _database_resource(database_id: str, left: _Reason | None) -> _Resource:
    return _Resource("database", {"database": f"{DATABASE_NAME} ({database_id})"}, left)


async def _routes_in(access: Access, zone_id: str, host: str) -> Sequence[Route]:
    """Return the zone's routes, or an empty list if the zone has left the account. Raises EdgeError."""
    try:
        return await routes.list_routes(access, zone_id)
    except EdgeError as error:
        await current_zone(access, host, zone_id, error)
        return ()


async def _delete_route(
    access: Access, zone_id: str, route: Route, made: _MadeRoute, limiter: trio.CapacityLimiter
) -> None:
    try:
        async with limiter:
            await routes.delete(access, zone_id, route.id)
        made.left = None
    except EdgeError as error:
        made.left = _reason(error)


# Maps error codes to the reason why a resource remains. For other codes, the reason is Cloudflare's message.
_REASONS: Mapping[str, LeftWhy] = {
    "permission_error": "right_missing",
    "token_refused": "token_dead",
    "revoked": "token_dead",
    "credentials_missing": "token_missing",
    "credentials_unreadable": "token_unreadable",
}


def _reason(error: ServiceError) -> _Reason:
    if isinstance(error, DailyLimit):
        return _Reason("daily_limit")
    if isinstance(error, EdgeUnavailable):
        return _Reason("unreachable")
    known = _REASONS.get(error.code)
    return _Reason(known) if known else _Reason("refused", {"said": error.message.rstrip(".")})
