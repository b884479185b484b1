"""What is kept: one file per noun, one function per transaction, two engines."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from svc.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.config import Store as StoreConfig
    from svc.store.tx import Store


@asynccontextmanager
async def open_store(config: StoreConfig, *, serving: bool = False) -> AsyncIterator[Store]:
    """The store that `[store] url` names, migrated: sqlite:///path (from here) or postgresql://…

    `serving`: for the service itself, of which there is one a store; commands use it beside.
    Raises ConfigError: another address, a store that cannot be reached, one of a newer program, or one that is served.
    """
    url = config.url.get_secret_value()
    if url.startswith("sqlite:///"):
        from svc.store.sqlite import open_sqlite

        async with open_sqlite(Path(url.removeprefix("sqlite:///")), serving=serving) as store:
            yield store
    elif url.startswith(("postgresql://", "postgres://")):
        from svc.store.postgres import open_postgres

        async with open_postgres(url, config.pool_size, serving=serving) as store:
            yield store
    else:
        raise ConfigError("The setting [store] url must begin with sqlite:/// or postgresql://")
