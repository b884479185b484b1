"""Opens connections to a SQLite database, with the settings of the service."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# The maximum wait while another process (a command, a backup) holds the file's write lock.
_BUSY_MS = 5_000
_WAL_PAUSE_S = 0.01


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection with the service's settings: WAL, durable commits and foreign keys.

    Only one thread at a time may use the connection.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    with contextlib.ExitStack() as on_failure:  # the file may not be a database, or may not be writable
        on_failure.callback(connection.close)
        connection.execute(f"pragma busy_timeout = {_BUSY_MS}")
        _set_wal(connection)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        if read_only:
            connection.execute("pragma query_only = on")
        on_failure.pop_all()
    return connection


def _set_wal(connection: sqlite3.Connection) -> None:
    """Set the journal mode to WAL. SQLite stores the mode in the file.

    The function retries if two connections set the mode of a new file at the same time. SQLite then refuses one of them
    immediately, because the busy timeout does not apply to lock upgrades. Raises sqlite3.OperationalError.
    """
    ends_at = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends_at:
                raise
            time.sleep(_WAL_PAUSE_S)
