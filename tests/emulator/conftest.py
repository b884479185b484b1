"""The emulator as a process that tests share, a customer in it, and a client with the working token's rights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from edge_worker.emulator.client import NO_TLS, proxied_zone
from edge_worker.emulator.process import POLITE, open_emulator
from tests.emulated import emulator_process, fresh
from tests.emulator.clients import WORKING_RIGHTS, Api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from edge_worker.emulator.client import Customer, Emulator
    from tests.emulated import Running


# What a test may have changed, and `fresh` does not reset: the defaults of `python -m edge_worker.emulator`.
DEFAULTS: dict[str, float | str] = {
    "firewall": True, "ignores_fail_open": False, "slow_ms": 150, "cron_delay_s": 900, "cron_missed_one_in": 200,
}  # fmt: skip


@pytest.fixture(scope="session")
def shared_emulator() -> Iterator[Running]:
    """A polite emulator for the tests of this folder. Caches, pages and the state of its dice outlive a test."""
    with emulator_process() as running:
        yield running


@pytest.fixture
async def emulator(shared_emulator: Running) -> AsyncIterator[Emulator]:
    """A polite emulator without accounts, faults and logs, at ten past noon."""
    async with fresh(shared_emulator) as control:
        await control.set_rudeness(**DEFAULTS)
        await control.begin_at_noon()
        yield control


@pytest.fixture
async def strict_emulator() -> AsyncIterator[Emulator]:
    """One whose workers reach what real ones reach."""
    async with open_emulator(**POLITE) as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account on the free plan with one zone."""
    return await emulator.create_account([proxied_zone("shop.example")], subdomain="shop-example")


@pytest.fixture
async def client(emulator: Emulator) -> AsyncIterator[httpx.AsyncClient]:
    """For the API."""
    async with httpx.AsyncClient(base_url=emulator.api, trust_env=False, verify=NO_TLS, timeout=30) as open_client:
        yield open_client


@pytest.fixture
async def api(emulator: Emulator, customer: Customer, client: httpx.AsyncClient) -> Api:
    """The customer's account with all rights of the product's working token."""
    _, value = await emulator.create_token(customer.account_id, rights=WORKING_RIGHTS, expires_in_s=None)
    return Api(client, customer, value)
