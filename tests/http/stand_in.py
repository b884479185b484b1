"""Test doubles for the tests of the HTTP package. They replace the actors, the edge platform and live reads.

The functions that run in a request's task (`svc/actors/requests`) are real. Tests set the platform's responses about
zones and the results of live reads. Actor operations do not run. Instead, each call is recorded, and its effect
is written to the store. Tests with real actors and the emulated platform are in tests/actors and tests/journeys.
"""

from __future__ import annotations

import functools
import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import outcome
import trio

from svc.actors.context import Context
from svc.actors.mailbox import Ask
from svc.actors.requests.ledger import WorkerSide
from svc.actors.requests.live_reads import Unavailable
from svc.actors.requests.web_analytics import WebViews
from svc.actors.service.user_deletions import UserDeletions
from svc.errors import Conflict, ServiceError
from svc.ids import new_id
from svc.remaining_resource import RemainingResource
from svc.security.vault import Vault, new_key
from svc.store import accounts, disconnects, operations
from svc.store.tx import constant, sql
from svc.worker.bundle import WorkerBundle, load_bundle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import SecretStr

    from svc.actors.checks.health_check import Checked
    from svc.actors.context import Commit
    from svc.clock import Clock
    from svc.config import Config
    from svc.edge.responses import Shape
    from svc.metrics import Metrics
    from svc.model import Account, AccountState, ConnectOptions, FormerAccount
    from svc.store.idempotency import Claim
    from svc.store.tx import Store, Tx
    from svc.worker.counts import Live, TargetDays

T = TypeVar("T")
R = TypeVar("R")


@functools.cache
def built_worker() -> WorkerBundle:
    """Return the built Worker bundle. It is loaded once, because compiling its patterns takes 4 ms."""
    return load_bundle()


@dataclass(frozen=True)
class Zone:
    """A zone that every account has, with the platform's field names."""

    id: str
    name: str
    status: str = "active"


async def proceed() -> None:
    """Return immediately. Actors await this function before they begin their work, unless a test replaces it."""


@dataclass
class StandIn:
    """A test double for the supervisor, for all actors, and for the platform."""

    store: Store
    config: Config
    clock: Clock
    nursery: trio.Nursery
    metrics: Metrics
    one_at_a_time: trio.Lock = field(default_factory=trio.Lock)
    zone_list: list[Zone] = field(default_factory=lambda: [Zone("z1", "example.com")])
    readable: Live | Unavailable = field(default_factory=lambda: Unavailable("not_installed"))
    web_views: WebViews | Unavailable = field(default_factory=lambda: WebViews({}, frozenset()))
    worker_side: WorkerSide = field(default_factory=lambda: WorkerSide(None, "not_installed"))
    woken: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = proceed
    refusal: ServiceError | None = None

    @cached_property
    def user_deletions(self) -> UserDeletions:
        """The real code for user deletions. It uses only one account operation, the disconnect."""
        return UserDeletions(self.context, self.nursery, self.account)

    @cached_property
    def context(self) -> Context:
        """The context for functions that run in a request's task. Its platform supports only the lookup of zones."""
        return Context(
            store=self.store,
            edge=cast("Any", StandInEdge(self)),
            vault=StandInVault(),
            config=self.config,
            clock=self.clock,
            bundle=built_worker(),
            push_url="",
            metrics=self.metrics,
        )

    @cached_property
    def live_reads(self) -> StandInReads:
        """The test double for live reads of all accounts' databases."""
        return StandInReads(self)

    def account(self, edge_account_id: str) -> StandInActor:
        """Return the actor of an edge account."""
        return StandInActor(self, edge_account_id)

    def wake(self, edge_account_id: str) -> None:
        """Record that the service has notified this account's actor of a change."""
        self.woken.append(edge_account_id)

    async def ask(self, what: str) -> None:
        """Record a call, then wait or raise as the test specifies."""
        self.asked.append(what)
        await self.before()
        if self.refusal is not None:
            raise self.refusal


class StandInVault(Vault):
    """A vault that also decrypts working tokens, which these tests store without encryption."""

    def __init__(self) -> None:
        super().__init__([new_key()])

    def open(self, sealed: bytes, owner_id: str) -> str:
        return "token" if owner_id.startswith("acc_") else super().open(sealed, owner_id)


class StandInEdge:
    """The part of the platform's API that `svc/edge/zones.py` calls."""

    def __init__(self, world: StandIn) -> None:
        self._world = world

    def access(self, edge_account_id: str, token: SecretStr, user_id: int | None) -> StandInAccess:
        del token, user_id
        return StandInAccess(self._world, edge_account_id)


class StandInAccess:
    """An edge account with the test's zones. Each host in a zone has a proxied DNS record, but no server."""

    def __init__(self, world: StandIn, edge_account_id: str) -> None:
        self._world = world
        self.edge_account_id = edge_account_id

    def settling(self, seconds: float) -> StandInAccess:
        del seconds
        return self

    def awaited(self) -> StandInAccess:
        return self

    async def collect(
        self, item: type[Shape], path: str, query: Mapping[str, str | int], limit: int | None = None
    ) -> list[Shape]:
        name = query.get("name")
        if path == "/zones":
            await self._world.ask("zones" if name is None else f"zone {name}")
            found = [asdict(zone) for zone in self._world.zone_list if name in (None, zone.name)]
        else:
            assert path in [f"/zones/{zone.id}/dns_records" for zone in self._world.zone_list], path
            await self._world.ask(f"records of {name}")
            found = [{"id": "r1", "name": name, "type": "AAAA", "content": "100::", "proxied": True}]
        return [item.model_validate(one) for one in found][:limit]


class StandInReads:
    """Live reads of accounts' databases, with the results that the test specifies."""

    def __init__(self, world: StandIn) -> None:
        self._world = world

    async def read(
        self,
        user_id: int,
        account: Account,
        asked: TargetDays,
        kept_s: float | None = None,
        admit: Callable[[], bool] | None = None,
    ) -> Live | Unavailable:
        del user_id, account, kept_s
        if admit is not None and not admit():
            return Unavailable("rate_limited")
        await self._world.ask(f"live {asked.target_id} {asked.first_day} {asked.last_day}")
        return self._world.readable

    async def first_view(self, user_id: int, account: Account, site_id: str) -> Live | Unavailable:
        del user_id, account
        await self._world.ask(f"first view {site_id}")
        return self._world.readable

    async def ask(
        self, user_id: int, account: Account, key: tuple[object, ...], read: object
    ) -> WorkerSide | WebViews | Unavailable:
        """Return the Worker's side of a statement of counts, or page views of Web Analytics.

        For reads of QR code scans, return Unavailable. tests/actors covers these reads.
        """
        del user_id, account, read
        if key[0] == "scans":
            return Unavailable("cloudflare")
        if key[0] == "web analytics":
            await self._world.ask(" ".join(map(str, key)))
            return self._world.web_views
        what, day, _ = key
        await self._world.ask(f"{what} {day}")
        return self._world.worker_side


class StandInActor:
    """A test double for the actor of an edge account."""

    def __init__(self, world: StandIn, edge_account_id: str) -> None:
        self._world = world
        self._edge_account_id = edge_account_id

    async def connect(
        self,
        user_id: int,
        bootstrap_token: SecretStr,
        options: ConnectOptions,
        commit: Commit[Account, R],
        claim: Claim | None = None,
    ) -> R:
        del claim
        return await self._in_actor(lambda: self._connect(user_id, bootstrap_token, options, commit))

    async def _connect(
        self, user_id: int, bootstrap_token: SecretStr, options: ConnectOptions, commit: Commit[Account, R]
    ) -> R:
        await self._world.ask(f"connect {bootstrap_token.get_secret_value()}")
        existing = await self._world.store.read(accounts.account_by_edge_id(self._edge_account_id))
        if existing is not None:
            raise Conflict("already_connected" if existing.user_id == user_id else "account_taken")
        return await self._world.store.run(
            commit(connected(user_id, self._edge_account_id, "pending", self._world.clock(), options.name))
        )

    async def renew(
        self, account_id: str, bootstrap_token: SecretStr, commit: Commit[Account, R], claim: Claim | None = None
    ) -> R:
        del claim

        async def work() -> R:
            await self._world.ask(f"renew {bootstrap_token.get_secret_value()}")
            return await self._world.store.run(commit(_renewed(account_id)))

        return await self._in_actor(work)

    async def install(self, account_id: str, commit: Commit[Account, R], claim: Claim | None = None) -> R:
        del claim
        await self._world.ask("install")
        return await self._world.store.run(commit(_begin_install(account_id, self._world.clock())))

    async def check(self, account_id: str, commit: Commit[Sequence[Checked], R]) -> R:
        await self._world.ask("check")
        return await self._world.store.run(commit(constant(())))

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
        await self._world.ask("disconnect")
        return await self._world.store.run(commit(_disconnect(user_id, account_id, self._world.clock())))

    async def _in_actor(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work` in the actor's task, after all earlier calls. `work` continues even if the client disconnects."""
        ask = Ask(work)

        async def serve() -> None:
            async with self._world.one_at_a_time:
                ask.resolve(await outcome.acapture(work))

        self._world.nursery.start_soon(serve)
        return await ask.response()


def connected(
    user_id: int, edge_account_id: str, state: AccountState, now: int, name: str | None = None
) -> Tx[Account]:
    """Return a transaction that adds a connected account in the given state."""
    account_id = new_id("acc")
    yield from accounts.add_account(
        account_id=account_id, user_id=user_id, edge_account_id=edge_account_id, name=name or "Example", now=now
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
            operation, "svc-op", [RemainingResource("worker", "changed", {"worker": "svc-edge"})], now
        )
    )
