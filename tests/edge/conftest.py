"""Fixtures for the API client. All tests of a run use one emulator, and each test has a separate Cloudflare account."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from edge_worker.emulator.client import proxied_zone
from svc.config import EdgeConfig
from svc.edge.client import open_edge
from svc.edge.tokens import WORKING_PERMISSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Customer, Emulator
    from svc.edge.access import Access
    from svc.edge.client import Edge

# API calls as (method, path), in order of arrival.
Calls = list[tuple[str, str]]


@pytest.fixture
def edge_config(emulator: Emulator) -> EdgeConfig:
    """The default settings, with the emulator's URL."""
    return EdgeConfig(api_base_url=emulator.api, timeout_s=5, concurrency=4, retries=3)


@pytest.fixture
async def edge(edge_config: EdgeConfig) -> AsyncIterator[Edge]:
    """The API client with short waits between retries."""
    async with open_edge(edge_config, first_wait_s=0.01) as opened:
        yield opened


@pytest.fixture
async def customer(emulator: Emulator, request: pytest.FixtureRequest) -> Customer:
    """A Cloudflare account with one zone and a workers.dev subdomain."""
    name = zone_name(request)
    return await emulator.create_account([proxied_zone(name)], subdomain=name.split(".")[0])


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> str:
    """The name of the customer's zone."""
    return zone_name(request)


def zone_name(request: pytest.FixtureRequest) -> str:
    """Return a name that is unique per test, because the emulator allows each zone only once."""
    return f"z{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}.example"


@pytest.fixture
def bootstrap(edge: Edge, customer: Customer) -> Access:
    """API access with the customer's bootstrap token."""
    return edge.access(customer.account_id, customer.bootstrap_token)


@pytest.fixture
async def working_token(emulator: Emulator, customer: Customer) -> str:
    """The value of a token with the permissions of a working token."""
    rights = [right.name for right in WORKING_PERMISSIONS]
    _, value = await emulator.create_token(customer.account_id, rights=rights)
    return value


@pytest.fixture
def access(edge: Edge, customer: Customer, working_token: str) -> Access:
    """API access with a working token."""
    return edge.access(customer.account_id, working_token)


@pytest.fixture
def calls(emulator: Emulator) -> Callable[[], object]:
    """An async function that returns the API calls that the emulator has received since the test began."""

    async def received_calls() -> Calls:
        return [(call["method"], call["path"]) for call in await emulator.requests()]

    return received_calls
