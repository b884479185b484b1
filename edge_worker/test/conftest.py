"""Tests of the worker in the real runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edge_worker.harness.installed import InstalledWorker, open_installed_worker
from edge_worker.programs import forking
from edge_worker.tools.node import node_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

EDGE_WORKER = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def programs() -> Iterator[None]:
    """Make the emulator start quickly."""
    with forking("edge_worker.emulator.__main__"):
        yield


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worker, built from the current sources."""
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run(node_command(EDGE_WORKER / "tools/build.js", folder), check=True)
    return folder


@pytest.fixture
async def worker(bundle: Path) -> AsyncIterator[InstalledWorker]:
    """An emulated platform with the worker installed, and a receiver for its pushes."""
    async with open_installed_worker(bundle) as made:
        yield made
