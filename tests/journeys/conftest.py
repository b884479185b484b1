"""Everything for real: the emulated platform and the service as processes, the built worker in workerd."""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from edge_worker.emulator.client import Customer, Emulator, proxied_zone
from edge_worker.emulator.process import open_emulator
from edge_worker.harness.service import Service, open_service
from svc.config import StoreConfig
from tests.journeys.lifecycle import World
from tests.journeys.mortal import Lives, open_lives

ZONE = "shop.example"


def settings_of(emulator: Emulator, store_config: StoreConfig, **more: str) -> dict[str, str]:
    """What `svc serve` is told: this platform, this store."""
    return {
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_STORE_URL": store_config.url.get_secret_value(),
        **more,
    }


def free_port() -> str:
    """An address for all lives of the service: workers go on to push to where they were installed.

    Between two lives nobody else gets its port: it is below those that the system takes for connections.
    """
    while True:
        port = secrets.choice(range(10_000, 32_000))
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return f"127.0.0.1:{port}"


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with open_emulator(local_egress=True) as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account at the platform with one zone, proxied records, and a bootstrap token."""
    return await emulator.create_account([proxied_zone(ZONE)])


@pytest.fixture
async def service(emulator: Emulator, store_config: StoreConfig, tmp_path: Path) -> AsyncIterator[Service]:
    """The service, with a signed-in user."""
    async with open_service(tmp_path / "svc", settings_of(emulator, store_config)) as running:
        await running.sign_up("a@example.com", "a long password")
        yield running


async def connect(service: Service, customer: Customer) -> str:
    """Connects the customer's account, with a link host: its id, once the worker has confirmed itself."""
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account_id: str = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
    await service.account_in(account_id, "ready")
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"}, expect=202)
    return account_id


async def crons(
    emulator: Emulator, customer: Customer, real: int, at: int, minutes: int, *, fail: bool = False
) -> None:
    """The platform's clock goes on to `at`, and the worker's cron fires once a minute from then on.

    `real` is the platform's time without its offset; epoch ms. Only with `fail` may runs end with an exception.
    """
    await emulator.clock((at - real) / 1000)
    for minute in range(minutes):
        run = await emulator.cron(customer.account_id, "svc-edge", at=at + minute * 60_000)
        assert fail or run["outcome"] == "ok", run


@pytest.fixture(scope="session")
def lives() -> Iterator[Lives]:
    """Starts services quickly, that may kill themselves."""
    with open_lives() as running:
        yield running


@pytest.fixture
async def world(lives: Lives, emulator: Emulator, tmp_path: Path) -> World:
    """A service on SQLite with one user, which is started again and again, at a polite platform."""
    await emulator.set_rudeness(token_delay_ms=0, token_spread_ms=0, slow_one_in=0, refuse_one_in=0)
    folder = tmp_path / "svc"
    settings = {
        "SVC_HTTP_BIND": free_port(),
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_STORE_URL": f"sqlite:///{folder / 'svc.db'}",
        "SVC_LIMITS_ACCOUNTS": "1000",
        "SVC_EDGE_SETTLING_S": "1",
        "SVC_EDGE_SETTLING_IN_CONNECT_S": "0.5",
        "SVC_TIMING_SYNC_RETRY_S": "0.2",
        "SVC_TIMING_ROUTE_RETRY_S": "0.2",
    }
    world = World(lives, emulator, folder, settings)
    async with lives.serve(folder, settings) as life:
        await life.sign_up("a@example.com", "a long password")
        world.headers = life.headers
    return world
