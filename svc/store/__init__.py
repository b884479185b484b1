"""Persistent storage on SQLite or PostgreSQL. Each kind of data has a module, and each transaction has a function.

engines, schema       the engines, and the migrations
tx                    the type of transactions, which are generators of statements
conditions, user_lists, locks, versions, total_pages, batches
                      code that several modules use
retention             deletions of old rows
service_state         numbers for the metrics and for `svc check`
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from svc.config import ConfigError
from svc.store.engines.watch import watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from svc.config import StoreConfig
    from svc.metrics import Metrics
    from svc.store.tx import Store

    Look = Callable[[], Awaitable[bool]]


@asynccontextmanager
async def open_store(
    config: StoreConfig, *, serving: bool = False, as_is: bool = False, metrics: Metrics | None = None
) -> AsyncIterator[Store]:
    """Open the store at `[store] url`: sqlite:///path (relative to the working directory) or postgresql://…

    `serving`: open the store for the service. Only one service can use a store, and only the service migrates the
    store's schema. The service checks the store every second. If another service takes over the store, the body of the
    `async with` statement is cancelled. Commands open the store without `serving`, even while a service is running.
    `as_is`: if True, do not create a missing store.
    `metrics`: the metrics that the store updates; None for no metrics.

    Raises Served if another service is using the store. Raises NotReady if the store's schema is older than the
    program's, or if the store is missing and `as_is` is True. Raises ConfigError in these cases:

    - the URL is not supported
    - the store cannot be reached
    - a newer version of the program created the store
    - another service has taken over the store.
    """
    async with _engine(config, serving=serving, as_is=as_is, metrics=metrics) as store:
        if not serving:
            yield store
            return
        async with trio.open_nursery() as watching:
            watching.start_soon(watch, store, watching.cancel_scope)
            yield store
            watching.cancel_scope.cancel()
        if store.condition.replaced.is_set():
            raise ConfigError("Another svc serve process has taken over this store, so this process stops.")


@asynccontextmanager
async def open_poll(config: StoreConfig) -> AsyncIterator[Look]:
    """Yield a function that returns True if no service is using the store.

    The function raises Away if the store cannot be reached at the moment. The function raises ConfigError for problems
    that waiting does not solve.
    """
    if config.engine == "sqlite":
        from svc.store.engines.sqlite.place import is_free

        async def is_available() -> bool:
            await trio.lowlevel.checkpoint()
            return is_free(config.path)

        yield is_available
    else:
        from svc.store.engines.postgres.poll import poll_postgres

        async with poll_postgres(config.url.get_secret_value()) as poll:
            yield poll


def _engine(
    config: StoreConfig, *, serving: bool, as_is: bool, metrics: Metrics | None
) -> AbstractAsyncContextManager[Store]:
    if config.engine == "sqlite":
        from svc.store.engines.sqlite.opening import open_sqlite

        return open_sqlite(config.path, serving=serving, as_is=as_is, metrics=metrics)
    from svc.store.engines.postgres.opening import open_postgres

    copies = Path(config.copies) if config.copies else None
    url = config.url.get_secret_value()
    return open_postgres(url, config.pool_size, serving=serving, as_is=as_is, metrics=metrics, copies=copies)
