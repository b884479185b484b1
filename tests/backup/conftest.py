"""Fixtures for the backup tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.backup.places import config_of
from tests.databases import postgres_config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from svc.config import Config, StoreConfig


@pytest.fixture
def source(tmp_path: Path, store_config: StoreConfig) -> Config:
    """The configuration of a service with an empty store."""
    return config_of(tmp_path / "source", None if store_config.engine == "sqlite" else store_config)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Config]:
    """The configuration of a second service, as if on another machine."""
    if request.param == "sqlite":
        yield config_of(tmp_path / "target")
    else:
        with postgres_config(request.getfixturevalue("postgres_url")) as config:
            yield config_of(tmp_path / "target", config)
