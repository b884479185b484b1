"""The advisory locks of a PostgreSQL store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from svc.store.engines.postgres.session import ACQUIRE_S
from svc.store.engines.served import Served

if TYPE_CHECKING:
    import asyncpg

# The advisory lock for migrations. Its number is arbitrary, but must be the same in every version.
_MIGRATION_LOCK = 727_301
# The advisory lock of the running service. Its second key identifies the schema, because a database can contain several
# stores.
_SERVING_LOCK = 727_302
# The number of attempts to acquire the lock at startup. The connections of a killed service take a moment to close.
_LOCK_TRIES = 10
_LOCK_WAIT_S = 0.2


class Replaced(Exception):
    """Raised if another service has taken over the store."""


async def lock_migrations(connection: asyncpg.Connection) -> None:
    """Block other schema migrations until the end of the transaction."""
    await connection.execute("select pg_advisory_xact_lock($1)", _MIGRATION_LOCK)


async def lock_alone(connection: asyncpg.Connection) -> None:
    """Lock the store exclusively until the end of the transaction. If another service holds the lock, raises Served."""
    for _ in range(_LOCK_TRIES):
        if await try_lock_alone(connection):
            return
        await asyncio.sleep(_LOCK_WAIT_S)
    raise Served("Another svc serve uses this PostgreSQL store. Only one service can use a store.")


async def try_lock_alone(connection: asyncpg.Connection) -> bool:
    """Lock the store exclusively until the end of the transaction. If another process holds the lock, return False."""
    return bool(
        await connection.fetchval("select pg_try_advisory_xact_lock($1, hashtext(current_schema()))", _SERVING_LOCK)
    )


async def hold_serving_lock(connection: asyncpg.Connection, epoch: int) -> None:
    """Acquire the service's shared lock on this connection.

    If another service has taken over the store, so that its epoch is no longer `epoch`, raises Replaced.
    """
    await connection.fetchval(
        "select pg_advisory_lock_shared($1, hashtext(current_schema()))", _SERVING_LOCK, timeout=ACQUIRE_S
    )
    if await connection.fetchval("select epoch from serving") != epoch:
        raise Replaced
