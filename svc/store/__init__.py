"""What is kept: one file per noun, one function per transaction, two engines."""

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
    """The store that `[store] url` names: sqlite:///path (from here) or postgresql://…

    `serving`: for the service itself, of which there is one a store, and which alone brings its schema up to date;
    commands use it beside. Its store is watched, and when another service has taken it over, what runs inside is
    cancelled. `as_is`: where there is no store, none is made. `metrics`: to whom it reports; None: nobody.
    Raises Served: another service has it; NotReady: it is of an older program, or there is none; ConfigError: another
    address, a store that cannot be reached, one of a newer program, or one that was taken over.
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
            raise ConfigError("Another svc serve has taken over the store of this one, which ends.")


@asynccontextmanager
async def open_look(config: StoreConfig) -> AsyncIterator[Look]:
    """Gives what tells whether the store is free to be taken, as often as it is asked.

    It raises Away: the store is not reached at the moment; ConfigError: it could not be taken if it were free.
    """
    if config.engine == "sqlite":
        from svc.store.engines.sqlite_place import is_free

        async def look() -> bool:
            await trio.lowlevel.checkpoint()
            return is_free(config.path)

        yield look
    else:
        from svc.store.engines.postgres_look import look_at_postgres

        async with look_at_postgres(config.url.get_secret_value()) as asked:
            yield asked


def _engine(
    config: StoreConfig, *, serving: bool, as_is: bool, metrics: Metrics | None
) -> AbstractAsyncContextManager[Store]:
    if config.engine == "sqlite":
        from svc.store.engines.sqlite import open_sqlite

        return open_sqlite(config.path, serving=serving, as_is=as_is, metrics=metrics)
    from svc.store.engines.postgres import open_postgres

    copies = Path(config.copies) if config.copies else None
    url = config.url.get_secret_value()
    return open_postgres(url, config.pool_size, serving=serving, as_is=as_is, metrics=metrics, copies=copies)
