"""Tests of migrations.

Both engines have the same schema. The service migrates the schema at startup, and rejects newer schemas.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
import trio
from pydantic import SecretStr

from svc.config import ConfigError, StoreConfig
from svc.store import open_store, rollouts, users
from svc.store.engines import migrate as migrate_module
from svc.store.engines.migrate import Migration, NotReady, migrations, pending
from svc.store.engines.postgres import place as postgres_place
from svc.store.engines.postgres.opening import open_postgres
from svc.store.engines.sqlite import file as sqlite_file
from svc.store.engines.sqlite.connection import connect
from svc.store.engines.sqlite.opening import migrate, open_sqlite
from svc.store.tx import sql
from tests.databases import postgres_config, sqlite_config
from tests.store.makers import a_user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager

    from svc.store.tx import Row, Store, Tx

# The SQL scripts of the released schemas, for SQLite. Each script creates a store with rows in every table.
RELEASED = Path(__file__).parents[1] / "released"
# The digests of the migrations. Never edit a committed migration: its digest would no longer match. Add a line for each
# new file.
DIGESTS = {
    "0001-start.sql": "cedc5d9ae8ccbfb63d0d877ae5c81045d25b572f7bb469a7738f7049be688c21",
    "0002-kept-snippets.sql": "1404cd6b3bdd82269ef4ab104ae5a20899427f17c837d0fc403635bdfad72fdd",
    "0003-days-kept.sql": "4309a76cf1e72f5298b382939672817f67785b309b86f6953cd8cfc1399c3bb4",
    "0004-rollout-accounts.sql": "4ebb4dc5431149a722fcd00fc8d11ddc4142e4fd81843d3462fca239aad72edc",
    "0005-user-language.sql": "011fca5a214605aba6d04bc7414cafc56f8f0f7c771491ba66c4e437559479ff",
    "0006-disabled-users.sql": "4288a5113e116e8a60389ba38972fdc173f99c4b20944d7c5d7568e77ccc6047",
    "0007-invitations.sql": "60dd107143f59558bdc8c158484c57d1628344a7338571cf772e68536b94e55c",
    "0008-site-exclusions.sql": "4fc1fd6e855b220ec103e5c997d9a4173b03201fae3c836ec9afc3e5c9acbf11",
    "0009-user-limits.sql": "e96594da919975f421647cc30dfa7117e56338029a66044a4c835fa88cf546f8",
    "0010-link-host-fallbacks.sql": "2b3b2d324d609ebb66c8a8532310bf26c90fa4689f958c65673484b48847fc6c",
    "0011-email-changes.sql": "5d30b92c2e1a0578a22ca1988804ce31b49429df8629d41238dbaa839b79dbca",
    "0012-disabled-objects.sql": "fcc017da8257796e3c32a7f54aaa48aebdbcac099151c8b268b3af517bbb20f2",
    "0013-disconnect-requests.sql": "c08a4f71d4dceb1ed96d4778b1a96e32b1d764b0a664dbddee33909393b7bba0",
    "0014-notes.sql": "0da3581cb23fc21e3252c07b1696227b69683c38a61fd3224a82801f59915f04",
    "0015-visitor-opt-out.sql": "5017d920427c9084f1e99fb4afa71dc5a56d055d1eb80bff41612f1187225b84",
    "0016-link-host-visits.sql": "3f7844b93563bdd6f73541b8e47e5f10dc33fbdac647f6e80a325ed3008a3665",
    "0017-months-kept.sql": "b3e61b9c7797ce56987252b2b244a45a3f45bd02e0a9997df513b60589674079",
    "0018-estimated-days.sql": "683456eb0e61f7cc6db263473f7d5a87ae3b929a69cd58897ca9a820c5874633",
    "0019-shares.sql": "5474650b5bc9fbeaa6bf553fbcc65ccc33385c3c8b8d3a3e3e74e1b06ac4c45c",
    "0020-mailings.sql": "3ab2e0ac3bf5418ee37826b9a3081e3c2171f77024046b294b7ec0cbefcc68f5",
    "0021-link-format.sql": "5b6230ed4ea71061bf91b41c270c507632448215d194aa29a482190ae22593f5",
    "0022-link-texts.sql": "e4372c6836d68c1456febfde3fd1b0a61aec4f23adfb1bbb2e344600496bfcf6",
    "0023-link-targets.sql": "aae5d8011b2b849d8636e447832e42e0b98af48893a75cc5e0e1bdb0d6b515ce",
    "0024-alerts.sql": "1f4030e8ba51745abb63716b37528eb24542f30a493728ba223e68f0b8883547",
    "0025-deleted-links.sql": "726c14e92e1d9f240c8eb5be9b5b2ab311a4e096d27e3415e423392da9f277c0",
    "0026-link-periods.sql": "13fc65118af7129b45f2e5cf2ec177c087132448837ba9a153bfa901d1289fed",
    "0027-link-targets-until.sql": "3d6eef2c14cb6a104bb376371d0cc4ae7cbdb481103bdd61a98abd302355663b",
}

# Tables of released schemas whose rows a migration moved to other tables. Other tests cover these migrations.
REPLACED = ("wave_accounts",)
SNIPPET_OF_SCHEMA_1 = "e9ca5aea551f60ed28840946c960816295ef38655d1b7325d441ba782ffa12be"

SQL_ERRORS = (sqlite3.OperationalError, asyncpg.UndefinedTableError)


@pytest.fixture
def store_config(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreConfig]:
    """Yield the configuration of a store that does not exist yet."""
    if request.param == "sqlite":
        yield sqlite_config(tmp_path)
    else:
        with postgres_config(request.getfixturevalue("postgres_url")) as config:
            yield config


def _set_schema(url: str, number: int) -> Tx[None]:
    """Set the schema version, as a program with this schema version would."""
    if url.startswith("sqlite"):
        yield sql(f"pragma user_version = {number}")
    else:
        yield sql("insert into schema_version (number) values ($1)", number)


async def test_newer_schema_is_refused(store_config):
    async with open_store(store_config) as store:
        await store.run(_set_schema(store_config.url.get_secret_value(), 999))
    with pytest.raises(ConfigError, match=r"schema 999.*newer program"):
        async with open_store(store_config):
            pass


async def test_command_with_as_is_creates_no_store(tmp_path, store_config):
    for _ in range(2):
        with pytest.raises(NotReady, match="There is no store"):
            async with open_store(store_config, as_is=True):
                pass
    assert not list(tmp_path.iterdir())
    async with open_store(store_config):
        pass
    async with open_store(store_config, as_is=True) as store:
        await store.run(a_user())


async def test_command_does_not_migrate_the_schema(tmp_path, monkeypatch):
    """A command must not migrate, because a service of the previous version may be using the store."""
    steps = migrations("sqlite")
    newer = [*steps, Migration(steps[-1].number + 1, "one-more", ("create table more (id integer)",))]
    path = tmp_path / "svc.db"
    async with open_sqlite(path) as before:
        user_id = await before.run(a_user())
        monkeypatch.setattr("svc.store.engines.sqlite.opening.migrations", lambda _: newer)
        for as_is in (True, False):
            with pytest.raises(NotReady, match="the next start of the service migrates it"):
                async with open_sqlite(path, as_is=as_is):
                    pass
        assert not list(tmp_path.glob("*.backup"))
    async with open_sqlite(path, serving=True) as store:
        assert await store.read(users.get_user(user_id)) is not None
    async with open_sqlite(path, as_is=True) as store:
        await store.run(_one("select count(*) from more"))


async def test_reopening_a_store_keeps_its_data(store_config):
    async with open_store(store_config) as store:
        user_id = await store.run(a_user())
    async with open_store(store_config) as store:
        assert await store.read(users.get_user(user_id)) is not None


async def test_empty_store_can_be_opened_concurrently(store_config):
    async def one():
        async with open_store(store_config) as store:
            await store.run(a_user())

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)


def test_engines_have_the_same_tables():
    names = {
        engine: [" ".join(statement.split()[:3]) for step in migrations(engine) for statement in step.statements]
        for engine in ("sqlite", "postgres")
    }
    assert names["sqlite"] == names["postgres"]
    assert len(names["sqlite"]) > 15


def test_only_newer_migrations_are_pending():
    known = [Migration(1, "start", ()), Migration(2, "more", ()), Migration(3, "yet-more", ())]
    assert [step.number for step in pending(known, 0)] == [1, 2, 3]
    assert [step.number for step in pending(known, 2)] == [3]
    assert pending(known, 3) == []


def test_migration_copies_the_store_first(tmp_path):
    path = tmp_path / "svc.db"
    steps = migrations("sqlite")
    extended = [*steps, Migration(steps[-1].number + 1, "one-more", ("create table more (id integer)",))]
    with closing(connect(path)) as connection:
        migrate(connection, path, steps)
        assert list(tmp_path.glob("*.backup")) == []
        connection.execute(
            "insert into users (email, password_hash, email_confirmed, plan, created_at)"
            " values ('a@b', 'h', 0, 'free', 1)"
        )
        migrate(connection, path, extended)
        assert connection.execute("select count(*) from more").fetchone() == (0,)
    backup = tmp_path / f"svc.db.schema-{steps[-1].number}.backup"
    assert backup.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("select email from users").fetchall() == [("a@b",)]
        assert copy.execute("pragma user_version").fetchone() == (steps[-1].number,)
        assert copy.execute("select count(*) from sqlite_master where name = 'more'").fetchone() == (0,)


def test_failed_migration_keeps_the_old_schema(tmp_path):
    path = tmp_path / "svc.db"
    steps = migrations("sqlite")
    broken = [*steps, Migration(steps[-1].number + 1, "broken", ("create table more (id integer)", "nonsense"))]
    with closing(connect(path)) as connection:
        migrate(connection, path, steps)
        with pytest.raises(sqlite3.OperationalError, match="nonsense"):
            migrate(connection, path, broken)
        assert connection.execute("pragma user_version").fetchone() == (steps[-1].number,)
        assert connection.execute("select count(*) from sqlite_master where name = 'more'").fetchone() == (0,)


@pytest.mark.parametrize("url", ["mysql://localhost/svc", "sqlite:/svc.db", "var/svc.db"])
async def test_unsupported_url_is_refused(url):
    with pytest.raises(ConfigError, match="sqlite:///"):
        async with open_store(StoreConfig(url=SecretStr(url))):
            pass


async def test_file_that_is_not_a_database_is_refused(tmp_path):
    path = tmp_path / "svc.db"
    path.write_text("this is a letter, not a database\n" * 100)
    with pytest.raises(ConfigError, match="not a database"):
        async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{path}"))):
            pass


async def test_error_for_an_unreachable_server_omits_the_password():
    with pytest.raises(ConfigError, match="cannot be opened") as refused:
        async with open_store(StoreConfig(url=SecretStr("postgresql://svc:hunter2@127.0.0.1:1/svc"))):
            pass
    assert "hunter2" not in str(refused.value)


@pytest.mark.rule("X17")
def test_error_for_a_newer_schema_names_the_copy(tmp_path):
    path = tmp_path / "svc.db"
    steps = migrations("sqlite")
    newest = steps[-1].number
    with closing(connect(path)) as connection:
        migrate(connection, path, steps)
        migrate(connection, path, [*steps, Migration(newest + 1, "one-more", ("create table more (id integer)",))])
        with pytest.raises(ConfigError, match=rf"svc restore --replace {path}.schema-{newest}.backup"):
            migrate(connection, path, steps)


@pytest.mark.rule("X17")
async def test_postgres_store_is_copied_before_a_migration(postgres_url, tmp_path):
    """The older version of the program can restore the copy."""
    with postgres_config(postgres_url) as config:
        url = config.url.get_secret_value()
        steps = migrations("postgres")
        newest = steps[-1].number
        newer = [*steps, Migration(newest + 1, "one-more", ("create table more (id bigint)",))]
        folder = tmp_path / "copies"
        async with open_postgres(url, 2, copies=folder) as store:
            user_id = await store.run(a_user())
        assert not folder.exists()
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"cannot be copied .* Set \[store\] copies"):
            async with open_postgres(url, 2, serving=True, copies=tmp_path / "file", known=newer):
                pass
        with pytest.raises(NotReady, match="the next start of the service"):
            # open the store as a command does, which must not migrate it
            async with open_postgres(url, 2, copies=folder, known=newer):
                pass
        async with open_postgres(url, 2, serving=True, copies=folder, known=newer) as store:
            await store.run(a_user())
        [copy] = folder.iterdir()
        assert copy.stat().st_mode & 0o077 == 0
        with pytest.raises(ConfigError, match=rf"svc restore --replace {copy}\."):
            async with open_postgres(url, 2, copies=folder):
                pass
        aside = await trio.to_thread.run_sync(partial(postgres_place.put, url, copy, "now", replace=True))
        async with open_postgres(url, 2, copies=folder) as store:
            assert await store.read(users.get_user(user_id)) is not None
            [row] = await store.read(_one(f"select count(*) as n, (select count(*) from {aside}.more) as m from users"))
            assert (row["n"], row["m"]) == (1, 0)
            await store.run(_one(f"drop schema {aside} cascade"))


@pytest.mark.rule("X18")
async def test_store_in_use_is_not_migrated(store_config, tmp_path):
    """A standby or a command of a newer version does not migrate a store that a service is using. The next service
    that starts migrates the store.
    """
    url = store_config.url.get_secret_value()
    steps = migrations(store_config.engine)
    more = [*steps, Migration(steps[-1].number + 1, "one-more", ("create table more (id bigint)",))]

    def newer(*, serving: bool = False) -> AbstractAsyncContextManager[Store]:
        if store_config.engine == "sqlite":
            return open_sqlite(store_config.path, serving=serving, known=more)
        return open_postgres(url, 2, serving=serving, known=more)

    async with open_store(store_config, serving=True) as store:
        for serving, words in ((False, "the next start of the service"), (True, "Another svc serve uses")):
            with pytest.raises(ConfigError, match=words):
                async with newer(serving=serving):
                    pass
        with pytest.raises(SQL_ERRORS, match="more"):
            await store.read(_one("select count(*) as n from more"))
    async with newer(serving=True) as store:
        assert await store.read(_one("select count(*) as n from more")) == [{"n": 0}]
        async with newer() as beside:
            assert await beside.read(_one("select count(*) as n from more")) == [{"n": 0}]


def test_committed_migrations_are_never_edited():
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in migrate_module.FOLDER.glob("*.sql")}
    assert digests == DIGESTS


def released_rows(script: Path, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Create a released store at `path`, and return its rows by table.

    Each table comes after the tables that it references.
    """
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script.read_text())
        database.row_factory = sqlite3.Row
        return {
            table: [dict(row) for row in database.execute(f"select * from {table}")]
            for table in sqlite_file.tables(database)
        }


def insert_all(rows: dict[str, list[dict[str, Any]]]) -> Tx[None]:
    """Replace all rows in the store."""
    for table in reversed(rows):
        yield sql(f"delete from {table}")
    for table, found in rows.items():
        for row in found:
            places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
            yield sql(f"insert into {table} ({', '.join(row)}) values ({places})", *row.values())


@pytest.mark.rule("X17", "Y5")
@pytest.mark.both_engines
@pytest.mark.parametrize("script", sorted(RELEASED.glob("*.sql")), ids=lambda path: path.stem)
async def test_released_store_is_migrated_with_every_row(store_config, tmp_path, script):
    rows = released_rows(script, tmp_path / "released.db")
    number = int(script.stem.partition("-")[2])
    store_config = store_config.model_copy(update={"copies": tmp_path / "copies"})
    url = store_config.url.get_secret_value()
    if store_config.engine == "sqlite":
        (tmp_path / "released.db").rename(store_config.path)
    else:
        known = migrations("postgres")[:number]
        async with open_postgres(url, 2, serving=True, known=known) as store:
            await store.run(insert_all(rows))
    async with open_store(store_config, serving=True) as store:
        for table, before in rows.items():
            if table in REPLACED:
                continue
            after = [dict(row) for row in await store.read(_one(f"select * from {table}"))]
            kept = [{name: row[name] for name in (before[0] if before else ())} for row in after]
            if table == "serving":  # each start of a service increments the epoch
                continue
            assert sorted(map(repr, kept)) == sorted(map(repr, before)), table
        # The snippet must not change, because customers' pages contain it.
        for row in await store.read(_one("select snippet from sites")):
            assert hashlib.sha256(row["snippet"].encode()).hexdigest() == SNIPPET_OF_SCHEMA_1
        # Workers keep days and months for the same time as before the migration, so they need no configuration row for
        # the retention.
        days = await store.read(_one("select distinct days_kept, months_kept, days_kept_version from accounts"))
        assert [tuple(row.values()) for row in days] == [(35, None, 0)]
        # Existing users have not chosen a language, and queued emails have no language.
        for table in ("users", "outbox"):
            languages = await store.read(_one(f"select distinct language from {table}"))
            assert [row["language"] for row in languages] == [None], table
    async with open_store(store_config, as_is=True):
        pass


@pytest.mark.rule("X7")
@pytest.mark.both_engines
@pytest.mark.parametrize(("wave", "spread_from"), [(0, None), (2, 7), (3, 8)])
async def test_rollout_by_waves_continues_in_turns(store_config, tmp_path, wave, spread_from):
    store_config = store_config.model_copy(update={"copies": tmp_path / "copies"})

    def by_waves() -> Tx[tuple[str, str]]:
        updated, waiting = (yield from _an_older_account("one")), (yield from _an_older_account("two"))
        yield sql(
            "insert into rollouts (bundle, state, reason, wave, wave_began_at, started_at, changed_at, looked_at)"
            " values ('new', 'halted', 'dropped', $1, $2, 1, 8, 9)",
            wave,
            7 if wave == 2 else None,
        )
        member = "insert into wave_accounts (account_id, wave, due_at, since, operation_id) values ($1, $2, 1, 1, $3)"
        yield sql(member, updated, wave, "op_1")
        yield sql(member, waiting, None, None)
        return updated, waiting

    known = [step for step in migrations(store_config.engine) if step.number < 4]
    if store_config.engine == "sqlite":
        async with open_sqlite(store_config.path, serving=True, known=known) as before:
            updated, _ = await before.run(by_waves())
    else:
        async with open_postgres(store_config.url.get_secret_value(), 2, serving=True, known=known) as earlier:
            updated, _ = await earlier.run(by_waves())
    async with open_store(store_config, serving=True) as store:
        found = await store.read(rollouts.current("new"))
        assert found is not None
        assert (found.state, found.reason, found.spread_from) == ("halted", "failures", spread_from)
        rows = await store.read(_one("select account_id, operation_id, outcome, failures from rollout_accounts"))
        assert [tuple(row.values()) for row in rows] == [(updated, "op_1", None, 0)]


@pytest.mark.both_engines
async def test_store_whose_tables_are_not_those_of_its_number_is_refused(store_config):
    async with open_store(store_config) as store:
        await store.run(_one("alter table sites rename column path to place"))
    for serving in (True, False):
        with pytest.raises(ConfigError, match=r"schema \d+, but not its tables \(sites has no path, a column place\)"):
            async with open_store(store_config, serving=serving):
                pass


def _an_older_account(name: str) -> Tx[str]:
    """Add an account and its user with the columns of schema 1. Return the account's id."""
    [user] = yield sql(
        "insert into users (email, password_hash, email_confirmed, plan, created_at) values ($1, '', 1, 'free', 1)"
        " returning id",
        f"{name}@example.com",
    )
    yield sql(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version, created_at)"
        " values ($1, $2, $1, 'Shop', 'ready', 0, 0, 1)",
        name,
        user["id"],
    )
    return name


def _one(text: str) -> Tx[list[Row]]:
    return (yield sql(text))
