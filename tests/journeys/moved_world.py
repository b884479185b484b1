"""The platform with the Worker in its runtime, and the service over HTTP. Tests move the clock that both use."""

from __future__ import annotations

import secrets
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import httpx
import trio

from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.local_http import local_client
from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import system_clock
from svc.config import Config, EdgeConfig, HttpConfig, LimitsConfig, MailConfig, VaultConfig, WorkerConfig
from svc.edge.client import open_edge
from svc.edge.visits import Visitor
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.http.serving.server import serve
from svc.mail.outbox import open_outbox
from svc.metrics import Metrics
from svc.security.vault import open_vault
from svc.store import open_store
from svc.worker.bundle import load_bundle
from tests import contract
from tests.http.conftest import World as Users

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from edge_worker.emulator.client import Emulator
    from svc.config import StoreConfig
    from svc.store.tx import Store

_LATE_MS = 1_000
_PUSHES_KEPT = 1_000


class MovedClock:
    """A wall clock that keeps running from the time to which it was moved."""

    def __init__(self) -> None:
        self.offset_ms = 0

    def __call__(self) -> int:
        return system_clock() + self.offset_ms


class Pushes:
    """ASGI middleware that keeps the most recent pushes of all Workers, so that a test can resend them."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.kept: deque[tuple[str, bytes]] = deque(maxlen=_PUSHES_KEPT)  # (credential, body)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        body = b""

        async def seen() -> Any:
            nonlocal body
            message = await receive()
            if message["type"] == "http.request":
                body += message["body"]
                if not message.get("more_body"):
                    self.kept.append((dict(scope["headers"])[b"authorization"].decode(), body))
            return message

        await self._app(scope, seen if scope.get("path") == "/edge/push" else receive, send)


@dataclass
class MovedWorld:
    """The running service and emulator, and a method that moves their common clock."""

    emulator: Emulator
    store: Store
    clock: MovedClock
    url: str
    api: httpx.AsyncClient
    users: Users
    pushes: Pushes

    async def go_to(self, at: int) -> None:
        """Set both clocks (service and emulator) to `at` (epoch ms). Raises AssertionError if `at` is in the past."""
        offset_ms = at - system_clock()
        late_ms = self.clock() - at
        assert late_ms < _LATE_MS, f"the machine is too slow for this plan: {late_ms} ms late"
        await self.emulator.clock(offset_ms / 1000)
        self.clock.offset_ms = offset_ms

    async def push_again(self, number: int) -> None:
        """Resend one of the kept pushes, regardless of its age."""
        credential, body = self.pushes.kept[number % len(self.pushes.kept)]
        headers = {"Authorization": credential, "Content-Type": "application/json"}
        response = await self.api.post(f"{self.url}/edge/push", content=body, headers=headers)
        # The status is 401 if the account is disconnected, or if its Worker was reinstalled and has a new key.
        assert response.status_code in (200, 401), response.text

    async def new_user(self) -> dict[str, str]:
        """Create a user, and return the headers with a credential that does not expire."""
        user = await self.users.user(plan="api")
        return {"Authorization": (await self.users.key(user))["Authorization"]}

    async def call(self, headers: dict[str, str], method: str, path: str, body: object = None) -> Any:
        """Send a request and return the JSON of the response. Validate reports against the contract."""
        keyed = {**headers, "Idempotency-Key": secrets.token_hex(8)}
        response = await self.api.request(method, f"{self.url}{path}", json=body, headers=keyed)
        if "/report" in path:
            contract.check(method, path, response.status_code, response.headers, response.content)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()


@asynccontextmanager
async def open_moved_world(store_config: StoreConfig, folder: Path) -> AsyncIterator[MovedWorld]:
    """Run a lenient platform, and a service that has no accounts yet."""
    clock = MovedClock()
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
    async with (
        open_emulator(local_egress=True, rate_limit=0, **LENIENT) as emulator,
        open_store(store_config) as store,
        trio.open_nursery() as nursery,
    ):
        # The timeouts are long, so that a slow machine causes no failures.
        patience: dict[str, Any] = {"timeout_s": 60, "connect_s": 120, "report_read_s": 60}
        edge_config = EdgeConfig(api_base_url=emulator.api, settling_s=1, settling_in_connect_s=0.5, **patience)
        config = Config(
            http=HttpConfig(base_url=url, graceful_s=patience["connect_s"] + 1),
            edge=edge_config,
            mail=MailConfig(folder=folder / "mail"),
            worker=WorkerConfig(auto_update=False, allow_local_push=True),
            # Hours of the moved clock pass within seconds, so the real limits would reject requests.
            limits=LimitsConfig(
                requests_per_minute=1_000_000, pushes_per_minute=1_000_000, report_reads_per_minute=1_000_000
            ),
        )
        bundle = load_bundle()
        metrics = Metrics()
        async with (
            open_edge(edge_config, metrics=metrics) as edge,
            open_outbox(store, config, clock, url, metrics=metrics) as outbox,
        ):
            vault = open_vault(VaultConfig(key_file=folder / "vault.key"), {})
            context = Context(
                store, edge, vault, config, clock, bundle, f"{url}/edge/push", metrics, Visitor(emulator.edge)
            )
            async with open_supervisor(context) as supervisor:
                app = create_app(Deps(context, supervisor, url))
                pushes = Pushes(app)
                over = trio.Event()
                nursery.start_soon(
                    partial(serve, cast("Any", pushes), [listener], connections=200, graceful_s=0.1, until=over.wait)
                )
                none, mail = cast("Any", None), folder / "mail"
                users = Users(app, store, cast("Any", clock), none, outbox, mail, config, metrics)
                async with local_client(timeout=90) as api:
                    yield MovedWorld(emulator, store, clock, url, api, users, pushes)
                over.set()
