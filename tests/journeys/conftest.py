"""Everything for real: the emulated platform and the service as processes, the built worker in workerd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edge_worker.emulator.process import Customer, Emulator, open_emulator
from edge_worker.service import Service, open_service
from svc.config import Store as StoreConfig

ZONE = "shop.example"


def settings_of(emulator: Emulator, store_config: StoreConfig, **more: str) -> dict[str, str]:
    """What `svc serve` is told: this platform, this store."""
    return {
        "SVC_EDGE_API_BASE_URL": emulator.api,
        "SVC_STORE_URL": store_config.url.get_secret_value(),
        **more,
    }


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with open_emulator() as running:
        yield running


@pytest.fixture
async def customer(emulator: Emulator) -> Customer:
    """An account at the platform with one zone, proxied records, and a bootstrap token."""
    return await emulator.create_account([ZONE])


@pytest.fixture
async def service(emulator: Emulator, store_config: StoreConfig, tmp_path: Path) -> AsyncIterator[Service]:
    """The service on each engine, with a signed-in user."""
    async with open_service(tmp_path / "svc", settings_of(emulator, store_config)) as running:
        await running.sign_up("a@example.com", "a long password")
        yield running
