"""Fixtures for the store tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.store import open_store
from tests.databases import postgres_config
from tests.store.makers import an_account
from tests.store.table import make_table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.config import StoreConfig
    from svc.store.tx import Store


@pytest.fixture
async def table(store: Store) -> Store:
    """Return a store with an empty table `t`."""
    await store.run(make_table())
    return store


@pytest.fixture
async def postgres_store(postgres_url: str) -> AsyncIterator[Store]:
    """Return an empty PostgreSQL store, for tests of concurrent transactions."""
    with postgres_config(postgres_url) as config:
        async with open_store(config) as opened:
            yield opened


@pytest.fixture
def pause(store_config: StoreConfig) -> str:
    """A statement that gives concurrent transactions time to interleave, if the engine allows this."""
    url = store_config.url.get_secret_value()
    return "select 1 as one" if url.startswith("sqlite") else "select pg_sleep(0.05)"


@pytest.fixture
async def account_id(store: Store) -> str:
    """Return the id of a new account with a link host."""
    return await store.run(an_account())
