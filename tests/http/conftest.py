"""Fixtures: the application with a real store, and its users."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio
from quart_trio.testing.connections import TestHTTPConnection

from svc.config import Config, HttpConfig, LimitsConfig, MailConfig
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.identity.operator import load_identity
from svc.ids import digest, new_id, new_secret
from svc.mail.outbox import Outbox, open_outbox
from svc.metrics import Metrics
from svc.model import Account, AccountState, Key, Scope, User
from svc.security.api_key import new_api_key
from svc.store import keys, link_hosts, open_store, sessions, users
from tests import contract
from tests.databases import make_sqlite_store
from tests.http.stand_in import StandIn, connected
from tests.secrecy import SEARCH
from tests.store.makers import new_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from quart_trio import QuartTrio

    from svc.config import StoreConfig
    from svc.edge.visits import Visitor
    from svc.store.tx import Store, Tx
    from tests.clock import FrozenClock

SCOPES: tuple[Scope, ...] = ("accounts", "sites", "links", "reports")
EDGE_ACCOUNT = "0123456789abcdef0123456789abcdef"
OTHER_EDGE_ACCOUNT = "f" * 32


class UnboundedConnection(TestHTTPConnection):
    """A test connection that accepts any number of unread chunks. The framework's own test connection blocks
    after ten.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._client_send, self._client_receive = trio.open_memory_channel[bytes | Exception](math.inf)


@dataclass
class Response:
    """A response of the application."""

    status: int
    headers: Any
    raw: bytes
    body: Any

    @property
    def code(self) -> str | None:
        """The error code, or None if the response has no error object."""
        return self.body["error"]["code"] if isinstance(self.body, dict) and "error" in self.body else None


@dataclass
class World:
    """The application, and helpers for using it."""

    app: QuartTrio
    store: Store
    clock: FrozenClock
    supervisor: StandIn
    outbox: Outbox
    mail_folder: Path
    config: Config
    metrics: Metrics
    emails: int = field(default=0)

    async def call(self, method: str, path: str, json: Any = None, **more: Any) -> Response:
        """Send a request and return the response. `more` is passed to the framework's test client.

        The test fails if the response does not match the OpenAPI document.
        """
        if path.startswith("/auth/") and "data" not in more:
            json = json or {}  # an empty form must also be sent as JSON
        if json is not None:
            more["json"] = json
        client = self.app.test_client(use_cookies=False)
        client.http_connection_class = UnboundedConnection
        response = await client.open(path, method=method, **more)
        raw = await response.get_data(as_text=False)
        body = await response.get_json() if response.mimetype == "application/json" else raw
        contract.check(method, path, response.status_code, response.headers, raw)
        if response.status_code < 400:
            SEARCH.note(json)
        return Response(response.status_code, response.headers, raw, body)

    async def user(self, *, confirmed: bool = True, plan: str = "free") -> User:
        """Create a user."""
        self.emails += 1
        return await self.store.run(_new_user(f"user{self.emails}@example.com", self.clock(), confirmed, plan))

    async def session(self, user: User) -> dict[str, str]:
        """Create a sign-in session, and return the headers that use it."""
        access = new_secret("svs_")
        until = self.clock() + 3_600_000 * 48
        made = new_session(user.id, new_secret(), access=digest(access), until=until, at=self.clock())
        await self.store.run(sessions.add_session(made))
        return {"Authorization": f"Bearer {access}"}

    async def key(
        self,
        user: User,
        *scopes: Scope,
        allow_accounts: tuple[str, ...] | None = None,
        allow_ips: tuple[str, ...] | None = None,
    ) -> dict[str, str]:
        """Create an API key with these scopes (default: all). Return headers with the key and an Idempotency-Key."""
        value = new_api_key()
        key = Key(
            new_id("key"), user.id, None, value[:12], scopes or SCOPES, allow_accounts, allow_ips, self.clock(), None
        )
        await self.store.run(keys.add_key(key, digest(value), 100))
        return {"Authorization": f"Bearer {value}", "Idempotency-Key": new_id("try")}

    async def account(
        self,
        user: User,
        edge_account_id: str = EDGE_ACCOUNT,
        state: AccountState = "ready",
        link_host: str | None = None,
    ) -> Account:
        """Create a connected account."""
        return await self.store.run(_new_account(user.id, edge_account_id, state, self.clock(), link_host))

    async def ready(self, **more: Any) -> tuple[User, dict[str, str], Account]:
        """Create a user, a session (as headers), and an account with a link host."""
        user = await self.user()
        account = await self.account(user, link_host="go.example.com", **more)
        return user, await self.session(user), account

    async def inbox(self) -> list[str]:
        """Return the texts of the emails sent so far, oldest first."""
        await self.outbox.settled()
        return [path.read_text() for path in sorted(self.mail_folder.glob("*.eml"))]


def _new_user(email: str, now: int, confirmed: bool, plan: str) -> Tx[User]:
    user = yield from users.add_user(email, "no password", now, confirmed=confirmed)
    assert user is not None
    if plan != user.plan:
        yield from users.set_plan(user.id, cast("Any", plan))
        user = yield from users.get_user(user.id)
        assert user is not None
    return user


def _new_account(
    user_id: int, edge_account_id: str, state: AccountState, now: int, link_host: str | None
) -> Tx[Account]:
    account = yield from connected(user_id, edge_account_id, state, now)
    if link_host is not None:
        yield from link_hosts.put_link_host(account.id, link_host, "z1")
    return account


def config_of(folder: Path) -> Config:
    """Return the service's configuration for these tests."""
    return Config(
        http=HttpConfig(base_url="https://svc.example", trusted_proxies=("10.0.0.0/8",), max_body_bytes=100_000),
        mail=MailConfig(folder=folder / "mail"),
        limits=LimitsConfig(accounts=2, sites=3, links=4, sign_ins_per_minute=10_000),
    )


@asynccontextmanager
async def open_world(
    store: Store,
    clock: FrozenClock,
    folder: Path,
    config: Config | None = None,
    metrics: Metrics | None = None,
    visitor: Visitor | None = None,
) -> AsyncIterator[World]:
    """Run the application on a store. `metrics`: the store's metrics; None creates new metrics."""
    config = config or config_of(folder)
    metrics = metrics or Metrics()
    async with (
        open_outbox(store, config, clock, config.http.base_url, metrics=metrics) as outbox,
        trio.open_nursery() as nursery,
    ):
        supervisor = StandIn(store, config, clock, nursery, metrics)
        identity = load_identity(config.web)
        context = replace(supervisor.context, visitor=visitor or supervisor.context.visitor)
        deps = Deps(context, cast("Any", supervisor), config.http.base_url, identity=identity)
        with store.changes.subscribe(supervisor.wake):
            app = create_app(deps)
            yield World(app, store, clock, supervisor, outbox, config.mail.folder, config, metrics)


@pytest.fixture
def metrics() -> Metrics:
    """The metrics of the application and its store."""
    return Metrics()


@pytest.fixture
async def store(store_config: StoreConfig, metrics: Metrics) -> AsyncIterator[Store]:
    """An open store, migrated and empty."""
    if store_config.engine == "sqlite":
        make_sqlite_store(store_config)
    async with open_store(store_config, metrics=metrics) as opened:
        yield opened


@pytest.fixture
async def world(store: Store, clock: FrozenClock, tmp_path: Path, metrics: Metrics) -> AsyncIterator[World]:
    """The application on the store of this test."""
    async with open_world(store, clock, tmp_path, metrics=metrics) as opened:
        yield opened


Ready = tuple[User, dict[str, str], Account]


@pytest.fixture
async def ready(world: World) -> Ready:
    """A user, the headers of a session, and an account with a link host."""
    return await world.ready()
