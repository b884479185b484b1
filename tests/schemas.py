"""A pool of PostgreSQL schemas that consecutive tests reuse.

Creating and dropping the tables of a store takes the server 160 ms of CPU time, which is more than most tests take.
Emptying the tables takes 30 ms. After a test, the pool empties the tables and restarts the sequences. It reuses the
schema only if its tables, columns, constraints and triggers are unchanged and it has no open connections. Otherwise,
the pool drops the schema.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from svc.store import open_store
from tests.databases import Connection, drop_store, in_schema, new_schema, schemas_aside, texts_of
from tests.secrecy import SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    import asyncpg

    from svc.config import StoreConfig

# The server takes a short time to end connections after they are closed.
_POLLS, _POLL_INTERVAL_S = 20, 0.005

_SHAPE = """
select md5(string_agg(line, ';' order by line)) from (
    select concat_ws(
            ' ', relname, relkind, string_agg(concat_ws(' ', attname, atttypid, attnotnull), ',' order by attnum)
        )
        from pg_class left join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        where relnamespace = $1::regnamespace group by pg_class.oid, relname, relkind
    union all select concat_ws(' ', 'constraint', conname) from pg_constraint where connamespace = $1::regnamespace
    union all select concat_ws(' ', 'function', proname) from pg_proc where pronamespace = $1::regnamespace
    union all select concat_ws(' ', 'trigger', tgname) from pg_trigger join pg_class on pg_class.oid = tgrelid
        where relnamespace = $1::regnamespace and not tgisinternal
) shape (line)
"""
_OTHERS = """
select count(*) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and application_name <> 'test schemas'
"""
_RESTART = """
select setval(seqrelid, seqstart, false) from pg_sequence join pg_class on pg_class.oid = seqrelid
    where relnamespace = $1::regnamespace
"""


@dataclass(frozen=True)
class _New:
    """The content of a new store: the rows of its non-empty tables, as text for comparisons, and as JSON for restoring
    them.
    """

    shape: str
    rows: dict[str, str]
    as_json: dict[str, str]


@dataclass
class Schemas:
    """The schema pool of one server. `open_schemas` creates the pool."""

    url: str
    connection: Connection  # kept open, because the server loads its catalog for every new connection
    free: list[str] = field(default_factory=list)
    new: _New | None = None

    @contextmanager
    def one(self) -> Iterator[StoreConfig]:
        """Yield the configuration of an empty store. Do not call this inside Trio."""
        name = self.free.pop() if self.free else self._create()
        try:
            yield in_schema(self.url, name)
        finally:
            if self.connection.run(lambda connection: self._reset(connection, name)):
                self.free.append(name)
            else:
                drop_store(self.url, name)

    def _create(self) -> str:
        name = new_schema(self.url)

        async def migrate() -> None:
            async with open_store(in_schema(self.url, name)):
                pass

        if self.new is None:
            trio.run(migrate)
            self.new = self.connection.run(lambda connection: _content_of(connection, name))
        return name

    async def _reset(self, connection: asyncpg.Connection, name: str) -> bool:
        """Search the schema for secrets, and reset it. Return False if it cannot be reused."""
        assert self.new is not None
        rows = await texts_of(connection, name)
        for table, text in rows.items():
            SEARCH.text(f"the table {table}", text.encode())
        others = await connection.fetchval(_OTHERS)
        for _ in range(_POLLS):
            if not others:
                break
            time.sleep(_POLL_INTERVAL_S)  # noqa: ASYNC251 (this loop has no other tasks)
            others = await connection.fetchval(_OTHERS)
        if others or await schemas_aside(connection, name):
            return False
        if await connection.fetchval(_SHAPE, name) != self.new.shape:
            return False
        changed = [table for table in {*rows, *self.new.rows} if rows.get(table) != self.new.rows.get(table)]
        # This setting disables foreign keys, so that tables can be emptied in any order.
        deletes = [f'delete from {name}."{table}"' for table in changed]
        await connection.execute("; ".join(["set session_replication_role = replica", *deletes]))
        for table in self.new.as_json.keys() & changed:
            place = f'{name}."{table}"'
            await connection.execute(
                f"insert into {place} select * from json_populate_recordset(null::{place}, $1::json)",
                self.new.as_json[table],
            )
        await connection.fetch(_RESTART, name)
        return True


async def _content_of(connection: asyncpg.Connection, name: str) -> _New:
    rows = await texts_of(connection, name)
    as_json = {
        table: str(await connection.fetchval(f'select json_agg(row_to_json(each))::text from {name}."{table}" each'))
        for table in rows
    }
    return _New(str(await connection.fetchval(_SHAPE, name)), rows, as_json)


@contextmanager
def open_schemas(server_url: str) -> Iterator[Schemas]:
    """Open the schema pool of a server. All schemas are dropped at the end."""
    with Connection(server_url) as connection:
        connection.run(lambda one: one.execute("set application_name = 'test schemas'"))
        schemas = Schemas(server_url, connection)
        try:
            yield schemas
        finally:
            for name in schemas.free:
                drop_store(server_url, name)
