"""Fixtures for the actors: a real store, the emulated Cloudflare API, and the application.

The clock moves only when a test advances it. It starts at the emulator's current time, because it is compared with
the timestamps of tokens and databases. Waits before retries are real, but short.

By default, the emulator stores uploaded Workers without running them, because starting a process for each upload would
double the emulator's CPU time. The few tests that call a Worker or its cron trigger use the fixture `running_worker`.
"""

from __future__ import annotations

import zlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from edge_worker.emulator.client import Customer, Emulator, proxied_zone
from edge_worker.harness.service import eventually
from edge_worker.local_http import local_client
from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import system_clock
from svc.config import Config, EdgeConfig, HttpConfig, LimitsConfig, MailConfig, TimingConfig, VaultConfig, WorkerConfig
from svc.edge.client import open_edge
from svc.edge.visits import Visitor
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.mail.outbox import open_outbox
from svc.metrics import Metrics
from svc.model import WorkerPush
from svc.security.vault import open_vault
from svc.store import accounts, pushes
from svc.store.engines.postgres.store import PostgresStore
from svc.store.engines.sqlite.store import SqliteStore
from svc.store.tx import sql
from tests.clock import FrozenClock
from tests.emulated import emulator_process, fresh
from tests.http.conftest import World
from tests.http.stand_in import built_worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

    from svc.actors.supervisor import Supervisor
    from svc.model import Account, User
    from svc.store.tx import Store, Tx
    from svc.worker.bundle import WorkerBundle
    from tests.emulated import Running
    from tests.http.conftest import Response


# A delay that is longer than any test. A call with this delay never gets a response.
NEVER_S = 600


@pytest.fixture(scope="session")
def emulated_api() -> Iterator[Running]:
    """An emulator that does not run Workers, but provides their databases."""
    with emulator_process("--no-runtime") as running:
        yield running


@pytest.fixture
def running_worker() -> None:
    """Make the emulator run uploaded Workers. Tests that call a Worker request this fixture."""


@pytest.fixture
def platform_process(request: pytest.FixtureRequest) -> Running:
    """The emulator process of this test."""
    runs = running_worker.__name__ in request.fixturenames
    running: Running = request.getfixturevalue("emulated" if runs else "emulated_api")
    return running


@pytest.fixture
async def emulator(platform_process: Running) -> AsyncIterator[Emulator]:
    """The control API of the emulator."""
    async with fresh(platform_process) as control:
        yield control


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> str:
    """The name of the customer's zone. It is unique per test, because the emulator accepts each zone name only once."""
    return f"z{zlib.crc32(request.node.nodeid.encode()):010}.example"


@pytest.fixture
async def customer(emulator: Emulator, zone: str) -> Customer:
    """A Cloudflare account with one zone and a bootstrap token."""
    return await emulator.create_account([proxied_zone(zone)])


async def idle(supervisor: Supervisor) -> None:
    """Wait until no account's task is running. By then, the first health check of a new account has ended."""

    async def poll() -> bool | None:
        return None if supervisor.stats()["running"] else True

    await eventually(poll, every_s=0.02)


def working_token_names(held: Any) -> list[str]:
    """Return the names of the working tokens in an emulated account."""
    return sorted(token["name"] for token in held["tokens"].values() if token["name"].startswith("svc-"))


@dataclass
class Service:
    """A running service: the application, its user, and a customer's Cloudflare account."""

    world: World
    store: Store
    clock: FrozenClock
    emulator: Emulator
    customer: Customer
    user: User
    session: dict[str, str]
    supervisor: Supervisor
    context: Context
    user_token: str = ""  # one of the customer's API tokens, for direct changes to the database

    async def call(self, method: str, path: str, json: Any = None) -> Response:
        """Send a request as the user."""
        return await self.world.call(method, path, json, headers=self.session)

    async def connect(self, token: str | None = None, **more: Any) -> Response:
        """Send POST /v1/accounts with the customer's bootstrap token, or with `token`."""
        body = {
            "edge_account_id": self.customer.account_id,
            "bootstrap_token": token or self.customer.bootstrap_token,
            **more,
        }
        return await self.call("POST", "/v1/accounts", body)

    async def account(self) -> Account:
        """Return the account from the store."""
        found = await self.store.read(accounts.account_by_edge_id(self.customer.account_id))
        assert found is not None
        return found

    async def shown(self) -> Any:
        """Return the account as the API shows it."""
        return (await self.call("GET", f"/v1/accounts/{(await self.account()).id}")).body["account"]

    async def settled(self, *states: str) -> Any:
        """Wait until an install ends, and check that the state is one of `states`.

        Return the account as the API shows it.
        """

        async def poll() -> bool | None:  # read the store, because an API request takes ten times as long
            return (await self.account()).state not in ("pending", "installing") or None

        await eventually(poll)
        shown = await self.shown()
        assert shown["state"] in states, shown
        return shown

    async def ready(self) -> str:
        """Connect, install, and return the account's id."""
        response = await self.connect()
        assert response.status == 202, response.raw
        shown = await self.settled("ready")
        return str(shown["id"])

    async def idle(self) -> None:
        """Wait until no account's task is running."""
        await idle(self.supervisor)

    async def confirmed(self) -> None:
        """Record a push by the Worker. This push ends the install's self-check."""
        account = await self.account()
        assert account.install_id is not None
        push = WorkerPush(self.clock(), "bundle", 1, 0, None, {}, account.install_id)
        await self.store.run(pushes.record_pushes([(account.id, push)]))

    async def held(self) -> Any:
        """Return the customer's resources in the emulator."""
        return await self.emulator.account(self.customer.account_id)

    async def token_names(self) -> list[str]:
        """Return the names of the working tokens in the emulator."""
        return working_token_names(await self.held())

    async def as_platform(self, method: str, path: str, token: str, **more: Any) -> httpx.Response:
        """Call the emulated Cloudflare API with the customer's `token`."""
        async with local_client(base_url=self.emulator.api) as client:
            headers = {"Authorization": f"Bearer {token}"}
            response = await client.request(method, path, headers=headers, **more)
        assert response.is_success, response.text
        return response


@dataclass
class Place:
    """The state that outlives a service, so that a test can run several services one after another."""

    store: Store
    clock: FrozenClock
    emulator: Emulator
    customer: Customer
    folder: Path
    edge: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    worker: dict[str, Any] = field(default_factory=lambda: {"auto_update": False})
    push_url: str = "https://svc.example/edge/push"
    bundle: WorkerBundle = field(default_factory=built_worker)
    visitor: Visitor | None = None  # sends the requests to link hosts; None: the requests go to the emulated edge
    _owner: tuple[User, dict[str, str]] | None = None

    def upgrade(self) -> None:
        """Use a newer Worker bundle for services that start after this call."""
        self.bundle = replace(self.bundle, module=self.bundle.module + b"\n// newer", sha256="newer")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Service]:
        """Run a service until the block ends. Then cancel its work."""
        # A connect request waits up to settling_in_connect_s until Cloudflare accepts its new token. This time must be
        # sufficient on a slow machine.
        polite = {"timeout_s": 5, "connect_s": 20, "settling_s": 1, "settling_in_connect_s": 2, "retries": 1}
        edge_config = EdgeConfig(api_base_url=self.emulator.api, **{**polite, **self.edge})
        # In these tests, pushes do not extend the interval between health checks. Tests of that extension change
        # the setting.
        often_s = self.timing.get("health_every_s", 3_600)
        quick = {"drain_s": 0.05, "crash_backoff_s": 0.01, "route_retry_s": 0.2, "health_well_every_s": often_s}
        config = Config(
            # graceful_s must be above connect_s, which some tests set to NEVER_S.
            http=HttpConfig(base_url="https://svc.example", graceful_s=2 * NEVER_S),
            edge=edge_config,
            mail=MailConfig(folder=self.folder / "mail"),
            worker=WorkerConfig(**self.worker),
            limits=LimitsConfig(**{"sign_ins_per_minute": 10_000, "requests_per_minute": 10_000, **self.limits}),
            timing=TimingConfig(**{**quick, **self.timing}),
        )
        metrics = Metrics()
        async with (
            open_edge(edge_config, first_wait_s=0.02, metrics=metrics) as edge,
            open_outbox(self.store, config, self.clock, config.http.base_url, metrics=metrics) as outbox,
        ):
            context = Context(
                store=self.store,
                edge=edge,
                vault=open_vault(VaultConfig(key_file=self.folder / "vault.key"), {}),
                config=config,
                clock=self.clock,
                bundle=self.bundle,
                push_url=self.push_url,
                metrics=metrics,
                visitor=self.visitor or Visitor(self.emulator.edge),
            )
            async with open_supervisor(context) as supervisor:
                deps = Deps(context, supervisor, config.http.base_url)
                none = cast("Any", None)
                mail = self.folder / "mail"
                world = World(create_app(deps), self.store, self.clock, none, outbox, mail, config, metrics)
                if self._owner is None:
                    user = await world.user()
                    self._owner = user, await world.session(user)
                yield Service(
                    world, self.store, self.clock, self.emulator, self.customer, *self._owner, supervisor, context
                )


@pytest.fixture
def place(store: Store, emulator: Emulator, customer: Customer, tmp_path: Path) -> Place:
    """A `Place` whose store uses one of the engines."""
    return Place(store, FrozenClock(system_clock()), emulator, customer, tmp_path)


@pytest.fixture
async def service(place: Place) -> AsyncIterator[Service]:
    """A service that runs for the whole test."""
    async with place.running() as running:
        yield running


@pytest.fixture
async def every_state_is_logged(store: Store) -> AsyncIterator[None]:
    """Check at the end of the test that the audit log contains every change of an account's state."""
    for statement in _TRIGGERS[type(store)]:
        await store.run(_execute(statement))
    yield
    seen, logged = await store.read(_read_states())
    assert seen
    assert logged == seen


_INSERT_STATE = "insert into recorded_states (account_id, state) values (new.id, new.state)"
_TRIGGERS: Mapping[type, Sequence[str]] = {
    SqliteStore: (
        "create table recorded_states (n integer primary key, account_id text, state text)",
        f"create trigger first_state after insert on accounts begin {_INSERT_STATE}; end",
        f"create trigger other_state after update on accounts when old.state <> new.state begin {_INSERT_STATE}; end",
    ),
    PostgresStore: (
        "create table recorded_states (n bigserial, account_id text, state text)",
        f"create function record_state() returns trigger language plpgsql as 'begin {_INSERT_STATE}; return null; end'",
        "create trigger first_state after insert on accounts for each row execute function record_state()",
        """create trigger other_state after update on accounts for each row when (old.state <> new.state)
        execute function record_state()""",
    ),
}


def _execute(statement: str) -> Tx[None]:
    yield sql(statement)


def _read_states() -> Tx[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """Return the pairs (account id, state) that the triggers recorded, and the pairs in the audit log.

    Both lists are ordered by account, and then by time.
    """
    seen = yield sql("select account_id, state from recorded_states order by account_id, n")
    logged = yield sql(
        "select target as account_id, outcome as state from events where action = 'account.state'"
        " order by target, user_id, number"
    )
    in_pairs = [[(row["account_id"], row["state"]) for row in rows] for rows in (seen, logged)]
    return in_pairs[0], in_pairs[1]
