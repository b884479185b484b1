"""Fixtures for the store tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.table import make_table

if TYPE_CHECKING:
    from svc.store.tx import Store


@pytest.fixture
async def table(store: Store) -> Store:
    """Return a store with an empty table `t`."""
    await store.run(make_table())
    return store
