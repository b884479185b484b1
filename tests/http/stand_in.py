"""What the HTTP room needs of the actors, without an edge platform: it keeps what it is told and changes the store.

The real actors over the emulated platform are met in tests/journeys; here the subject is what HTTP makes of their
answers, so each answer is set by the test.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import outcome
import trio

from svc.actors.context import Context
from svc.actors.mailbox import Ask
from svc.actors.requests import bulk, links, sites
from svc.actors.requests.ledger import WorkerSide
from svc.actors.requests.live_reads import Unavailable
from svc.actors.service.user_deletions import Departures
from svc.errors import Conflict, ServiceError
from svc.ids import new_id
from svc.leftover import Leftover
from svc.store import accounts, disconnects, link_hosts, operations
from svc.store.sites import add_site
from svc.store.tx import given, sql
from svc.worker.bundle import WorkerBundle, load_bundle
from svc.worker.counts import Live

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import SecretStr

    from svc.actors.checks.health_check import Checked
    from svc.actors.context import Commit
    from svc.clock import Clock
    from svc.config import Config
    from svc.metrics import Metrics
    from svc.model import Account, AccountState, FormerAccount, Link, LinkHost, LinkHostWish, Location, Rule, Site
    from svc.store.idempotency import Claim
    from svc.store.tx import Store, Tx
    from svc.worker.counts import TargetDays
    from svc.worker.ledger import Stored

T = TypeVar("T")
R = TypeVar("R")


@functools.cache
def built_worker() -> WorkerBundle:
    """The worker as it was built, read once: compiling its patterns takes 4 ms."""
    return load_bundle()


@dataclass(frozen=True)
class Zone:
    """A zone as HTTP looks at it."""

    id: str
    name: str
    status: str = "active"


async def go_on() -> None:
    """What an actor waits for before it works: nothing, unless the test says otherwise."""


@dataclass
class StandIn:
    """In the place of the supervisor and of every actor."""

    store: Store
    config: Config
    clock: Clock
    nursery: trio.Nursery
    metrics: Metrics
    one_at_a_time: trio.Lock = field(default_factory=trio.Lock)
    zone_list: list[Zone] = field(default_factory=lambda: [Zone("z1", "example.com")])
    readable: Live | Unavailable = field(default_factory=lambda: Unavailable("not_installed"))
    worker_side: WorkerSide = field(default_factory=lambda: WorkerSide(None, "not_installed"))
    woken: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = go_on
    refusal: ServiceError | None = None

    @cached_property
    def departures(self) -> Departures:
        """The real ones: they need nothing of an account but that it is disconnected."""
        return Departures(self.context(), self.nursery, self.account)

    def context(self) -> Context:
        """For what asks nothing of the platform."""
        none = cast("Any", None)
        return Context(
            store=self.store,
            edge=none,
            vault=none,
            config=self.config,
            clock=self.clock,
            bundle=built_worker(),
            push_url="",
            metrics=self.metrics,
        )

    def account(self, edge_account_id: str) -> StandInActor:
        """The actor of an edge account."""
        return StandInActor(self, edge_account_id)


class StandInActor:
    """One edge account's actor."""

    def __init__(self, world: StandIn, edge_account_id: str) -> None:
        self._world = world
        self._edge_account_id = edge_account_id

    async def connect(
        self,
        user_id: int,
        bootstrap_token: SecretStr,
        location: Location | None,
        commit: Commit[Account, R],
        claim: Claim | None = None,
    ) -> R:
        del location, claim
        return await self._in_actor(lambda: self._connect(user_id, bootstrap_token, commit))

    async def _connect(self, user_id: int, bootstrap_token: SecretStr, commit: Commit[Account, R]) -> R:
        await self._asked(f"connect {bootstrap_token.get_secret_value()}")
        existing = await self._world.store.read(accounts.account_by_edge_id(self._edge_account_id))
        if existing is not None:
            raise Conflict("already_connected" if existing.user_id == user_id else "account_taken")
        return await self._world.store.run(
            commit(connected(user_id, self._edge_account_id, "pending", self._world.clock()))
        )

    async def renew(
        self, account_id: str, bootstrap_token: SecretStr, commit: Commit[Account, R], claim: Claim | None = None
    ) -> R:
        del claim

        async def work() -> R:
            await self._asked(f"renew {bootstrap_token.get_secret_value()}")
            return await self._world.store.run(commit(_renewed(account_id)))

        return await self._in_actor(work)

    async def install(self, account_id: str, commit: Commit[Account, R], claim: Claim | None = None) -> R:
        del claim
        await self._asked("install")
        return await self._world.store.run(commit(_begin_install(account_id, self._world.clock())))

    async def check(self, account_id: str, commit: Commit[Sequence[Checked], R]) -> R:
        await self._asked("check")
        return await self._world.store.run(commit(given(())))

    async def disconnect(
        self,
        user_id: int,
        account_id: str,
        commit: Commit[FormerAccount, R],
        claim: Claim | None = None,
        *,
        by: float = math.inf,
    ) -> R:
        del claim, by
        await self._asked("disconnect")
        return await self._world.store.run(commit(_disconnect(user_id, account_id, self._world.clock())))

    async def put_link_host(self, account_id: str, wish: LinkHostWish, commit: Commit[LinkHost, R]) -> R:
        await self._asked(f"link host {wish.host}")
        return await self._world.store.run(commit(link_hosts.put_link_host(account_id, wish.host, "z1")))

    async def add_site(
        self,
        account: Account,
        host: str,
        excluded_paths: Sequence[str],
        commit: Commit[Site, R],
        *,
        respect_gpc: bool = False,
    ) -> R:
        sites.check_serving(account)
        zone = await self._zone_for(host)
        now = self._world.clock()
        snippet = self._world.context().bundle.snippet
        site = sites.new_site(account, host, zone.id, excluded_paths, now, snippet=snippet, respect_gpc=respect_gpc)
        return await self._world.store.run(commit(add_site(site, self._world.config.limits.sites)))

    async def change_site(
        self, site: Site, excluded_paths: Sequence[str] | None, respect_gpc: bool | None, commit: Commit[Site, R]
    ) -> R:
        return await sites.change(self._world.context(), site, excluded_paths, respect_gpc, commit)

    async def delete_site(self, site: Site, commit: Commit[Site, R]) -> R:
        return await sites.delete(self._world.context(), site, commit)

    async def rotate_site(self, site: Site, commit: Commit[Site, R]) -> R:
        return await sites.rotate(self._world.context(), site, commit)

    async def add_link(
        self, account: Account, url: str, code: str | None, rules: Sequence[Rule], commit: Commit[Link, R]
    ) -> R:
        return await links.add(self._world.context(), account, url, code, rules, commit)

    async def change_link(
        self, link: Link, url: str | None, rules: Sequence[Rule] | None, commit: Commit[Link, R]
    ) -> R:
        return await links.change(self._world.context(), link.account_id, link.id, url, rules, commit)

    async def delete_link(self, link: Link, commit: Commit[Link, R]) -> R:
        return await links.delete(self._world.context(), link.account_id, link.id, commit)

    async def add_links(
        self,
        account: Account,
        wanted: Sequence[bulk.WantedLink | ServiceError],
        commit: Commit[list[Link | ServiceError], R],
    ) -> R:
        return await bulk.add(self._world.context(), account, wanted, commit)

    async def zones(self, account: Account) -> tuple[list[Zone], bool]:
        await self._asked("zones")
        return self._world.zone_list, False

    async def _zone_for(self, host: str) -> Zone:
        await self._asked(f"zone of {host}")
        for zone in self._world.zone_list:
            if host == zone.name or host.endswith(f".{zone.name}"):
                return zone
        raise ServiceError("zone_not_found", f"{host} is in no zone of the account.")

    async def live(self, user_id: int, account: Account, asked: TargetDays) -> Live | Unavailable:
        await self._asked(f"live {asked.target_id} {asked.first_day} {asked.last_day}")
        return self._world.readable

    async def first_view(self, user_id: int, account: Account, site_id: str) -> Live | Unavailable:
        await self._asked(f"first view {site_id}")
        return self._world.readable

    async def ledger(self, user_id: int, account: Account, day: int, stored: Mapping[str, Stored]) -> WorkerSide:
        await self._asked(f"ledger {day} {sorted(stored)}")
        return self._world.worker_side

    async def _in_actor(self, work: Callable[[], Awaitable[T]]) -> T:
        """In the actor's own task, one after the other: a caller who hangs up does not stop it."""
        ask = Ask(work)

        async def serve() -> None:
            async with self._world.one_at_a_time:
                ask.resolve(await outcome.acapture(work))

        self._world.nursery.start_soon(serve)
        return await ask.answer()

    async def _asked(self, what: str) -> None:
        self._world.asked.append(what)
        await self._world.before()
        if self._world.refusal is not None:
            raise self._world.refusal


def connected(user_id: int, edge_account_id: str, state: AccountState, now: int) -> Tx[Account]:
    """A connected account in a state of the test's choice."""
    account_id = new_id("acc")
    yield from accounts.add_account(
        account_id=account_id, user_id=user_id, edge_account_id=edge_account_id, name="Example", now=now
    )
    operation = yield from operations.add(new_id("op"), account_id, edge_account_id, "connect", "token", now)
    yield from operations.finish(operation.id, now)
    yield sql("update accounts set state = $2, sealed_token = $3 where id = $1", account_id, state, b"sealed")
    return accounts.present((yield from accounts.account_by_id(account_id)))


def _begin_install(account_id: str, now: int) -> Tx[Account]:
    account = accounts.present((yield from accounts.account_by_id(account_id)))
    yield from operations.add(new_id("op"), account_id, account.edge_account_id, "install", "database", now)
    yield sql("update accounts set state = 'installing' where id = $1", account_id)
    return accounts.present((yield from accounts.account_by_id(account_id)))


def _renewed(account_id: str) -> Tx[Account]:
    yield sql("update accounts set token_name = 'svc-new', token_expires_at = 1 where id = $1", account_id)
    return accounts.present((yield from accounts.account_by_id(account_id)))


def _disconnect(user_id: int, account_id: str, now: int) -> Tx[FormerAccount]:
    if (yield from disconnects.former_account(user_id, account_id)) is not None:
        return (yield from disconnects.outcome(user_id, account_id))
    operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), now)
    return (
        yield from disconnects.end_disconnect(
            operation, "svc-op", [Leftover("worker", "changed", {"worker": "svc-edge"})], now
        )
    )
