"""Connections to a PostgreSQL server: their settings, and the errors of the driver."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    import asyncio

# The maximum wait for a free connection.
ACQUIRE_S = 10.0
# TCP keepalive settings. If the service's host disappears, the PostgreSQL server closes the host's connections and
# releases their locks after ten seconds instead of hours. The first three settings apply to an idle connection. The
# last setting applies to a connection with unacknowledged data. Unix sockets ignore these settings. The client side of
# the connection uses the same values.
_KEEPALIVE_IDLE_S = 4
_KEEPALIVE_INTERVAL_S = 2
_KEEPALIVE_COUNT = 3
_UNACKNOWLEDGED_S = 10
_SESSION = {
    "application_name": "svc",
    "tcp_keepalives_idle": str(_KEEPALIVE_IDLE_S),
    "tcp_keepalives_interval": str(_KEEPALIVE_INTERVAL_S),
    "tcp_keepalives_count": str(_KEEPALIVE_COUNT),
    "tcp_user_timeout": f"{_UNACKNOWLEDGED_S}s",
}
SETTINGS = {
    **_SESSION,
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "60s",
}
# Settings for operations on the whole store, such as a copy. The lock timeout is longer than the time after which the
# server releases the locks of a host that has disappeared.
SETTINGS_ALONE = {
    **_SESSION,
    "lock_timeout": "30s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
# The client's timeout for a statement. It is longer than the server's timeouts, so exceeding it means that the server
# cannot be reached. The timeout is mainly for commands. A service detects an unreachable server sooner, with its
# checks.
_ANSWER_S = 40.0
# Errors that are caused by the server and not by the transaction.
SERVER_FAILURES = (
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection that the kernel closes when the server's host disappears, even during a long statement."""

    def __init__(self, protocol: Any, transport: asyncio.BaseTransport, *arguments: Any) -> None:
        super().__init__(protocol, transport, *arguments)
        _limit_silence(transport.get_extra_info("socket"))

    def get_reset_query(self) -> str:
        """Return an empty query, so that a reset ends a transaction but keeps the session, which holds the lock."""
        return ""


def _limit_silence(own: socket.socket) -> None:
    if own.family not in (socket.AF_INET, socket.AF_INET6):
        return
    own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", _KEEPALIVE_COUNT),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_S * 1000),
    ):
        if hasattr(socket, name):  # some systems lack the option
            own.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def connect(url: str) -> asyncpg.Connection:
    """Open a connection for the transactions of a store."""
    return await asyncpg.connect(
        url, server_settings=SETTINGS, timeout=ACQUIRE_S, command_timeout=_ANSWER_S, connection_class=Connection
    )


async def connect_alone(url: str) -> asyncpg.Connection:
    """Open a separate connection for an operation on the whole store, such as a copy."""
    return await asyncpg.connect(url, timeout=ACQUIRE_S, server_settings=SETTINGS_ALONE, connection_class=Connection)


def terminate(connection: Any) -> None:
    """Close a connection to a server that does not respond. A rollback would wait for the server again."""
    with contextlib.suppress(*DRIVER_ERRORS):  # the pool has already dropped the broken connection
        connection.terminate()
