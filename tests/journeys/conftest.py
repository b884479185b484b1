"""Everything for real: the emulated platform and the service as processes, the built worker in workerd."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edge_worker.emulator.client import Customer, Emulator, proxied_zone
from edge_worker.emulator.process import POLITE, open_emulator
from edge_worker.harness.service import Service, open_service
from svc.clock import DAY_MS
from svc.config import StoreConfig
from tests.journeys.lifecycle import World
from tests.journeys.mortal import open_life

ZONE = "shop.example"
# Each account's push is due at a second of the hour before this (`push_second` in svc/actors/operations/install.py).
PUSHED_BY_MS = 55 * 60_000


# On a polite platform, a refusal of a new token is final: the service need not wait for the token to spread.
QUICK = {"SVC_EDGE_SETTLING_S": "1", "SVC_EDGE_SETTLING_IN_CONNECT_S": "0.5"}
# For the tests that run on the emulator's own, rude defaults.
RUDE_PLATFORM = pytest.mark.parametrize("rude", [True], ids=["rude"])


def settings_of(emulator: Emulator, store_config: StoreConfig, **more: str) -> dict[str, str]:
    """The settings of `svc serve` for this platform, which is polite, and this store."""
    return {
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_STORE_URL": store_config.url.get_secret_value(),
        **QUICK,
        **more,
    }


def free_port() -> str:
    """Reserve an address for all processes of a test's service: workers push to where they were installed.

    A socket is bound to the port, and does not listen, until this process ends. So the system gives the port to no
    other program, and another call of this function gets another port. The service can listen there nevertheless: both
    sockets have SO_REUSEADDR. This one gets it after its bind, which therefore fails if the port is bound already.
    """
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    host, port = reserved.getsockname()
    reserved.detach()  # the descriptor stays open
    return f"{host}:{port}"


@pytest.fixture
def rude() -> bool:
    """Return whether the platform uses the emulator's own defaults; see `RUDE_PLATFORM`."""
    return False


@pytest.fixture
async def emulator(rude: bool) -> AsyncIterator[Emulator]:
    async with open_emulator(local_egress=True, **({} if rude else POLITE)) as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account at the platform with one zone, proxied records, and a bootstrap token."""
    return await emulator.create_account([proxied_zone(ZONE)])


@pytest.fixture
async def service(emulator: Emulator, store_config: StoreConfig, tmp_path: Path, rude: bool) -> AsyncIterator[Service]:
    """The service, with a signed-in user."""
    settings = settings_of(emulator, store_config)
    if rude:
        settings = {name: value for name, value in settings.items() if name not in QUICK}
    async with open_service(tmp_path / "svc", settings) as running:
        await running.sign_up("a@example.com", "a long password")
        yield running


async def begin_yesterday(emulator: Emulator) -> tuple[int, int]:
    """Move the platform's clock to ten past noon of a day that the service's clock has behind it.

    So neither the end of an hour nor that of a day comes during a test, and no worker is ahead of the service. Returns
    the platform's time without its offset, and that noon; epoch ms.
    """
    real = await emulator.clock(0)
    noon = (real // DAY_MS - 1) * DAY_MS + DAY_MS // 2
    await emulator.clock((noon + 10 * 60_000 - real) / 1000)
    return real, noon


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


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> World:
    """A service on SQLite with one user, which is started again and again, at a polite platform."""
    folder = tmp_path / "svc"
    settings = {
        "SVC_HTTP_BIND": free_port(),
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_STORE_URL": f"sqlite:///{folder / 'svc.db'}",
        "SVC_LIMITS_ACCOUNTS": "1000",
        **QUICK,
        "SVC_TIMING_SYNC_RETRY_S": "0.2",
        "SVC_TIMING_ROUTE_RETRY_S": "0.2",
    }
    world = World(emulator, folder, settings)
    async with open_life(folder, settings) as life:
        await life.sign_up("a@example.com", "a long password")
        world.headers = life.headers
    return world
