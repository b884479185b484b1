"""Tests of the Worker in the real runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edge_worker.harness.installed import InstalledWorker, open_installed_worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The Worker that `make build` has built."""
    return ROOT / "svc/bundle"


@pytest.fixture
async def worker(bundle: Path) -> AsyncIterator[InstalledWorker]:
    """An emulated platform with the Worker installed, and a receiver for the Worker's pushes."""
    async with open_installed_worker(bundle) as made:
        yield made
