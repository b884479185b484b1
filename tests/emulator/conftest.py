"""Fixtures: a shared emulator process, a customer in it, and a client with the permissions of a working token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.local_http import local_client
from tests.emulated import emulator_process, fresh
from tests.emulator.clients import WORKING_PERMISSIONS, Api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from edge_worker.emulator.client import Customer, Emulator
    from tests.emulated import Running


# The command-line defaults of settings that tests may change, but that `fresh` does not reset.
DEFAULTS: dict[str, float | str] = {
    "firewall": True, "ignores_fail_open": False, "slow_ms": 150, "cron_delay_s": 900, "cron_missed_one_in": 200,
}  # fmt: skip


@pytest.fixture(scope="session")
def shared_emulator() -> Iterator[Running]:
    """A lenient emulator for the tests in this folder. Its caches, its origin pages and its random numbers are never
    reset.
    """
    with emulator_process() as running:
        yield running


@pytest.fixture
async def emulator(shared_emulator: Running) -> AsyncIterator[Emulator]:
    """A lenient emulator whose clock is at 12:10. It has no accounts, faults or logs."""
    async with fresh(shared_emulator) as control:
        await control.set_failure_settings(**DEFAULTS)
        await control.begin_at_noon()
        yield control


@pytest.fixture
async def strict_emulator() -> AsyncIterator[Emulator]:
    """An emulator that gives Workers access only to the hosts that real Workers can reach."""
    async with open_emulator(**LENIENT) as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account on the free plan with one zone."""
    return await emulator.create_account([proxied_zone("shop.example")], subdomain="shop-example")


@pytest.fixture
async def client(emulator: Emulator) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client for the API."""
    async with local_client(base_url=emulator.api, timeout=30) as open_client:
        yield open_client


@pytest.fixture
async def api(emulator: Emulator, customer: Customer, client: httpx.AsyncClient) -> Api:
    """A client for the customer's account, with all permissions of the product's working token."""
    _, value = await emulator.create_token(customer.account_id, rights=WORKING_PERMISSIONS, expires_in_s=None)
    return Api(client, customer, value)
