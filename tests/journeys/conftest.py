"""Fixtures with real parts: the emulated platform and the service as processes, and the built Worker in workerd."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edge_worker.emulator.client import Customer, Emulator, proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import Service, open_service
from svc.clock import DAY_MS
from svc.config import StoreConfig
from tests.journeys.lifecycle import World
from tests.journeys.mortal import open_mortal_service

ZONE = "shop.example"
# All accounts have pushed when this much time of an hour has passed (`push_second` in
# svc/actors/operations/install.py).
PUSHED_BY_MS = 55 * 60_000


# Short waits for new tokens, because a lenient platform accepts a valid token immediately.
QUICK = {"SVC_EDGE_SETTLING_S": "1", "SVC_EDGE_SETTLING_IN_CONNECT_S": "0.5"}
# A mark for tests that use the strict default settings of the emulator.
STRICT_PLATFORM = pytest.mark.parametrize("strict", [True], ids=["strict"])


def settings_of(emulator: Emulator, store_config: StoreConfig, **more: str) -> dict[str, str]:
    """Return the settings with which `svc serve` uses this emulator, which must be lenient, and this store."""
    return {
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_EDGE_EMULATED_EDGE": emulator.edge,
        "SVC_STORE_URL": store_config.url.get_secret_value(),
        **QUICK,
        **more,
    }


def free_port() -> str:
    """Reserve an address for all processes of a test's service, because Workers always push to the same address.

    A socket remains bound to the port, without listening, until this process ends. The system therefore does not assign
    the port to another program or to another call of this function. The service can still listen on the port, because
    both sockets have SO_REUSEADDR. This socket sets the option only after it is bound, so that it cannot be bound to a
    port that is in use.
    """
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    host, port = reserved.getsockname()
    reserved.detach()  # keep the file descriptor open when the object is deleted
    return f"{host}:{port}"


@pytest.fixture
def strict() -> bool:
    """Return True if the platform uses the emulator's own defaults (see `STRICT_PLATFORM`)."""
    return False


@pytest.fixture
async def emulator(strict: bool) -> AsyncIterator[Emulator]:
    async with open_emulator(local_egress=True, **({} if strict else LENIENT)) as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account at the platform with one zone, proxied DNS records, and a bootstrap token."""
    return await emulator.create_account([proxied_zone(ZONE)])


@pytest.fixture
async def service(
    emulator: Emulator, store_config: StoreConfig, tmp_path: Path, strict: bool
) -> AsyncIterator[Service]:
    """The service, with a signed-in user."""
    settings = settings_of(emulator, store_config)
    if strict:
        settings = {name: value for name, value in settings.items() if name not in QUICK}
    async with open_service(tmp_path / "svc", settings) as running:
        await running.sign_up("a@example.com", "a long password")
        yield running


async def begin_yesterday(emulator: Emulator, after_ms: int = 0) -> tuple[int, int]:
    """Move the platform's clock to 12:10 on a day that is in the past for the service.

    This ensures that no hour or day ends during a test, and that no Worker's clock is ahead of the service's. Return
    the platform's time before the move, and noon of that day (both epoch ms).

    `after_ms`: how much time after that day must also be in the past.
    """
    real = await emulator.clock(0)
    noon = ((real - after_ms) // DAY_MS - 1) * DAY_MS + DAY_MS // 2
    await emulator.clock((noon + 10 * 60_000 - real) / 1000)
    return real, noon


async def connect(service: Service, customer: Customer) -> str:
    """Connect the customer's account and set a link host. Return the account's id once the Worker is confirmed."""
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account_id: str = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
    await service.account_in(account_id, "ready")
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"}, expect=202)
    return account_id


async def crons(
    emulator: Emulator, customer: Customer, real: int, at: int, minutes: int, *, fail: bool = False
) -> None:
    """Move the platform's clock to `at`, then fire the Worker's cron once per minute.

    `real` is the platform's time (epoch ms) without the offset of its clock. Unless `fail` is set, every run must
    succeed.
    """
    await emulator.clock((at - real) / 1000)
    for minute in range(minutes):
        run = await emulator.cron(customer.account_id, "svc-edge", at=at + minute * 60_000)
        assert fail or run["outcome"] == "ok", run


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> World:
    """A service with SQLite and one user on a lenient platform. Tests restart the service repeatedly."""
    folder = tmp_path / "svc"
    settings = {
        "SVC_HTTP_BIND": free_port(),
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_EDGE_EMULATED_EDGE": emulator.edge,
        "SVC_STORE_URL": f"sqlite:///{folder / 'svc.db'}",
        "SVC_LIMITS_ACCOUNTS": "1000",
        **QUICK,
        "SVC_TIMING_SYNC_RETRY_S": "0.2",
        "SVC_TIMING_ROUTE_RETRY_S": "0.2",
    }
    world = World(emulator, folder, settings)
    async with open_mortal_service(folder, settings) as service:
        await service.sign_up("a@example.com", "a long password")
        world.headers = service.headers
    return world
