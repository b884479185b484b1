"""Disconnecting: what the service made at the edge platform goes, as far as it is ours, unchanged, and can be reached.

    routes ──► script (its cron goes with it) ──► last totals read and kept ──► database ──► record

It always ends, with one answer: what is still there is told in plain words (`left`). Each step looks at what is there,
so all of them may be done again: a process that is killed anywhere does that at its next start, from the operation's
row. The working token has no right to delete tokens, so its name is told (`revoke_token`).
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.actors.operations.install import may_be_ours
from svc.actors.operations.last_totals import keep_last_totals
from svc.actors.requests.zones import zone_now
from svc.actors.sync.script import ownership_tag, standing
from svc.clock import iso
from svc.edge import d1, routes, tokens, workers
from svc.edge.answers import DailyLimit
from svc.errors import EdgeError, EdgeRefused, EdgeUnavailable, ServiceError
from svc.ids import new_id
from svc.leftover import Leftover
from svc.logs import tell_lines
from svc.store import accounts, disconnects, operations, sites, unwanted_routes, users
from svc.store.events import by_service
from svc.worker.bundle import DATABASE_NAME, SCRIPT_NAME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from svc.actors.context import Commit, Context
    from svc.actors.duty import Timers
    from svc.edge.access import Access
    from svc.edge.d1 import Database
    from svc.edge.routes import Route
    from svc.leftover import LeftKind, LeftWhy
    from svc.model import Account, FormerAccount, Operation, UnwantedRoute
    from svc.store.tx import Tx

log = logging.getLogger(__name__)

R = TypeVar("R")

# How long an isolate of the worker gathers events before it writes them, by the level of its write budget
# (edge_worker/src/budget.js); and the write itself.
GATHERED_S = (1.5, 5.0, 12.0, 20.0)
_WRITE_S = 0.5
_LEVEL = "select value ->> '$.level' as level from meta where key = 'state'"


@dataclass(frozen=True)
class _Why:
    """Why something is left, with what belongs to the reason."""

    code: LeftWhy
    facts: Mapping[str, str] = field(default_factory=dict)


_TOO_SLOW = _Why("too_slow")
_NOT_OURS = _Why("not_ours")
_CHANGED = _Why("changed")


async def disconnect(
    context: Context, user_id: int, account_id: str, commit: Commit[FormerAccount, R], by: float = math.inf
) -> R:
    """Disconnect a user's account; for one that was disconnected before, what came of it.

    `by`: when it has to come to its end, whatever is left then (monotonic seconds).
    Raises NotFound; Conflict operation_in_progress.
    """
    account = await context.store.read(accounts.get_account(user_id, account_id))
    if account is None:
        return await context.store.run(commit(disconnects.outcome(user_id, account_id)))
    operation = await context.store.run(disconnects.begin_disconnect(account_id, new_id("op"), context.clock()))
    return await _carry_out(context, operation, commit, by)


async def resume_when_due(context: Context, account: Account, timers: Timers) -> float:
    """Carry out a disconnect that a process which has ended left undone; the account is gone then."""
    del timers
    operation = await context.store.read(operations.running(account.id))
    if operation is not None and operation.kind == "disconnect":
        await _carry_out(context, operation, partial(_told, now=context.clock()))
    return math.inf


def _told(end: Tx[FormerAccount], now: int) -> Tx[FormerAccount]:
    """The end of a disconnect that no request waits for any more."""
    former = yield from end
    yield by_service(former.user_id, former.id, former.edge_account_id, "account.disconnect", "done", now)
    return former


async def _carry_out(
    context: Context, operation: Operation, commit: Commit[FormerAccount, R], by: float = math.inf
) -> R:
    account = accounts.present(await context.store.read(accounts.account_by_id(operation.account_id)))
    tell_lines(account=account.id, operation=operation.id)
    leaving = await context.store.read(users.is_leaving(account.user_id))
    removal = _Removal(context, account, operation, keeps_counts=not leaving)
    await removal.list_what_is_there()
    with trio.move_on_at(min(by, trio.current_time() + context.config.edge.connect_s)) as time_for_it:
        await removal.run(time_for_it)
    left = [found for thing in removal.things if (found := thing.leftover) is not None]
    log.info("disconnected", extra={"account": account.id, "left": len(left)})
    end = disconnects.end_disconnect(
        operation, removal.revoke_token, left, context.clock(), counts_kept=removal.counts_kept
    )
    return await context.store.run(commit(end))


@dataclass
class _Thing:
    """Something at the platform that is to go, named by `facts`. `left`: why it is still there; None: it is gone."""

    kind: LeftKind
    facts: Mapping[str, str]
    left: _Why | None = _TOO_SLOW

    @property
    def leftover(self) -> Leftover | None:
        """How it is told; None: it is gone."""
        return None if self.left is None else Leftover(self.kind, self.left.code, {**self.facts, **self.left.facts})


@dataclass
class _MadeRoute(_Thing):
    """A route that the service made or asked for."""

    route: UnwantedRoute = field(kw_only=True)


@dataclass
class _Removal:
    """One run through the steps. A step that meets a failure notes why its things are left, and the next one follows;
    the client has tried each call again by then."""

    context: Context
    account: Account
    operation: Operation
    keeps_counts: bool  # else they are deleted with the account's user, and nothing waits for them
    revoke_token: str | None = None
    counts_kept: bool = False  # the last counts of a worker that counts no more are stored
    routes: list[_MadeRoute] = field(default_factory=list)
    script: _Thing = field(default_factory=lambda: _Thing("worker", {"worker": SCRIPT_NAME}, None))
    database: _Thing = field(default_factory=lambda: _Thing("database", {"database": DATABASE_NAME}, None))
    others: list[_Thing] = field(default_factory=list)
    time_for_it: trio.CancelScope = field(default_factory=trio.CancelScope)

    @property
    def things(self) -> Sequence[_Thing]:
        """All of them, as they are told."""
        return (*self.routes, self.script, self.database, *self.others)

    async def list_what_is_there(self) -> None:
        """What may be at the platform, as the store knows it."""
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
            self.database = _database_thing(account.database_id, _TOO_SLOW)
        elif account.database_sought_at is not None:
            self.database.left = _TOO_SLOW
        lost = [one.token_name for one in await store.read(operations.with_open_token(account.id))]
        for name in dict.fromkeys([*lost, *account.revoke_tokens]):
            self.others.append(_Thing("token", {"token": name}, _Why("may_be_alive")))
        if account.bootstrap_expires_at is not None and "bootstrap_not_deleted" in account.warnings:
            until = {"until": iso(account.bootstrap_expires_at)}
            self.others.append(_Thing("bootstrap_token", {}, _Why("alive_until", until)))
        self.revoke_token = account.token_name

    async def run(self, time_for_it: trio.CancelScope) -> None:
        """All steps, within a time that grows by what is waited for without the platform. Raises StoreUnavailable."""
        self.time_for_it = time_for_it
        try:
            access = await self._access()
        except ServiceError as error:
            for thing in (*self.routes, self.script, self.database):
                thing.left = None if thing.left is None else _why(error)
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
        """The account with its working token, once the platform has accepted it; notes whether the token is gone.

        Raises ServiceError: it is not of use.
        """
        account, now = self.account, self.context.clock()
        if account.token_expires_at is not None and now >= account.token_expires_at:
            self.revoke_token = None
            raise EdgeRefused("revoked", "The working token has expired.")
        access = self.context.access(account).awaited()
        if account.installed_at is None:  # the token may be new; or it never was of use
            access = access.settling(self.context.config.edge.settling_in_connect_s)
        try:
            status = await tokens.verify(access)
        except EdgeRefused as error:
            # Good tokens are refused, too, now and then: only who was refused for an hour is believed to be gone.
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
        # As many calls as one account may have under way: the others would only wait for them.
        at_once = trio.CapacityLimiter(self.context.config.edge.concurrency_per_account)
        async with trio.open_nursery() as nursery:
            for zone_id, wanted in of_zone.items():
                nursery.start_soon(self._clear_zone, access, zone_id, wanted, at_once)

    async def _clear_zone(
        self, access: Access, zone_id: str, wanted: Sequence[_MadeRoute], at_once: trio.CapacityLimiter
    ) -> None:
        try:
            async with at_once:
                listed = await _routes_in(access, zone_id, wanted[0].route.host)
        except EdgeError as error:
            for made in wanted:
                made.left = _why(error)
            return
        by_pattern = {route.pattern: route for route in listed}
        async with trio.open_nursery() as nursery:
            for made in wanted:
                found = by_pattern.pop(made.route.pattern, None)
                if found is None:
                    made.left = None
                elif found.script != SCRIPT_NAME:
                    made.left = (
                        _Why("leads_elsewhere", {"holder": found.script}) if found.script else _Why("leads_nowhere")
                    )
                else:
                    nursery.start_soon(_delete_route, access, zone_id, found, made, at_once)
        for found in by_pattern.values():
            if found.script == SCRIPT_NAME:
                facts = _route_facts(found.pattern, found.pattern.partition("/")[0].lstrip("*."))
                self.others.append(_Thing("route", facts, _Why("leads_to_not_ours", {"holder": SCRIPT_NAME})))

    # ----------------------------------------------------------------------------------------------------- script

    async def _remove_script(self, access: Access) -> None:
        since = trio.current_time()
        try:
            script = await workers.get_script(access, SCRIPT_NAME)
            if script is None:
                self.script.left = None
            elif ownership_tag(self.account.id) not in script.tags:
                self.script.left = _NOT_OURS
            elif await standing(self.context, access, self.account, script) == "changed":
                self.script.left = _CHANGED
            else:
                if self.routes and self.keeps_counts:
                    gathered_at = since + await self._gathering_s(access)
                    self.time_for_it.deadline += max(0.0, gathered_at - trio.current_time())
                    await trio.sleep_until(gathered_at)
                # Not with `force`: where another worker of the customer refers to this one, it would break that one.
                await workers.delete_script(access, SCRIPT_NAME)
                self.script.left = None
        except EdgeError as error:
            self.script.left = _why(error)

    async def _gathering_s(self, access: Access) -> float:
        """How long after the last request an isolate may hold events: with its script they would be gone."""
        level = 0
        if self.account.database_id is not None:
            try:
                [found] = await d1.query(access, self.account.database_id, [(_LEVEL, [])])
                level = int(found.rows[0]["level"] or 0) if found.rows else 0
            except (EdgeError, ValueError, KeyError, TypeError):
                log.info("the write budget's level is not known", extra={"account": self.account.id})
        return GATHERED_S[min(max(level, 0), len(GATHERED_S) - 1)] + _WRITE_S

    # --------------------------------------------------------------------------------------------------- database

    async def _remove_database(self, access: Access) -> None:
        try:
            own = await self._own_database(access)
            if own is None:
                self.database.left = None
                return
            self.database = _database_thing(own.id, _TOO_SLOW)
            not_counted = await self._why_not_counted(access, own.id)
            if not_counted is None:
                await d1.delete(access, own.id)
                self.database.left = None
            else:
                self.database = _Thing("uncounted_database", self.database.facts, not_counted)
        except EdgeError as error:
            self.database.left = _why(error)

    async def _own_database(self, access: Access) -> Database | None:
        """The account's database, as far as it is at the platform; another of its name is left."""
        account = self.account
        if account.database_id is not None:
            own = await d1.get(access, account.database_id)
            if own is not None:
                return own
        found = await d1.find(access, DATABASE_NAME)
        if found is not None and may_be_ours(account, found):
            return found
        if found is not None:
            self.others.append(_database_thing(found.id, _NOT_OURS))
        return None

    async def _why_not_counted(self, access: Access, database_id: str) -> _Why | None:
        """Keep the last totals. Returns why they could not be read; None: nothing is lost with the database."""
        if self.account.installed_at is None or not self.keeps_counts:
            return None  # nothing has counted, or nobody will ask
        try:
            await keep_last_totals(self.context, access, self.account.id, database_id)
            self.counts_kept = self.script.left is None
        except EdgeRefused as error:
            if error.code != "cloudflare_error":
                return _why(error)
            log.warning("last totals not read", extra={"account": self.account.id, "why": error.message})
        except EdgeUnavailable as error:
            return _why(error)
        except (ValueError, KeyError, TypeError) as error:
            # Somebody else wrote into it, or emptied it: there are no counts of ours to wait for.
            log.warning("last totals not read", extra={"account": self.account.id, "why": type(error).__name__})
        return None


def _route_facts(pattern: str, host: str) -> Mapping[str, str]:
    """A route as its user finds it in the dashboard: the store knows the host, and no name of its zone."""
    return {"route": pattern, "host": host}


def _database_thing(database_id: str, left: _Why | None) -> _Thing:
    return _Thing("database", {"database": f"{DATABASE_NAME} ({database_id})"}, left)


async def _routes_in(access: Access, zone_id: str, host: str) -> Sequence[Route]:
    """The routes of a zone; none of one that has left the account, and its routes with it. Raises EdgeError."""
    try:
        return await routes.list_routes(access, zone_id)
    except EdgeError as error:
        await zone_now(access, host, zone_id, error)
        return ()


async def _delete_route(
    access: Access, zone_id: str, found: Route, made: _MadeRoute, at_once: trio.CapacityLimiter
) -> None:
    try:
        async with at_once:
            await routes.delete(access, zone_id, found.id)
        made.left = None
    except EdgeError as error:
        made.left = _why(error)


# Why something is left after a refusal with such a code; after any other one the platform's words tell.
_WHY: Mapping[str, LeftWhy] = {
    "permission_error": "right_missing",
    "token_refused": "token_dead",
    "revoked": "token_dead",
    "credentials_missing": "token_missing",
    "credentials_unreadable": "token_unreadable",
}


def _why(error: ServiceError) -> _Why:
    if isinstance(error, DailyLimit):
        return _Why("daily_limit")
    if isinstance(error, EdgeUnavailable):
        return _Why("unreachable")
    known = _WHY.get(error.code)
    return _Why(known) if known else _Why("refused", {"said": error.message.rstrip(".")})
