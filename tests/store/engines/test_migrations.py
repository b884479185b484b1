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
# The digests of the migrations' statements for SQLite, without comments. Never edit the statements of a committed
# migration: its digest would no longer match. Add a line for each new file.
DIGESTS = {
    "0001-start.sql": "31aa9019f4f7fd3ce9e01f227154a9971a9152ad58f39c37d0fc44eeccebb5a6",
    "0002-kept-snippets.sql": "f812458039f1e4a6c6689ccabba7ef8b4dce8cb019c0bb6f5b683896a39d475b",
    "0003-days-kept.sql": "ec565a994ae05dd28487733d8f8baf7a12f4bf2217e59c337a6083d9ef4bbee7",
    "0004-rollout-accounts.sql": "1eef806ec3a45411b8034e562ccbdf516bbc2f3eb71acfdcb0f7a01501dc6be6",
    "0005-user-language.sql": "46363a46cbed1df673e6ddc22783dcc023382a44ce476c7cc6f91d26df6331b2",
    "0006-disabled-users.sql": "f27fc126b4535835ce85ac06c70cf412e9a380a2a8a2a033682e68269bf34e6e",
    "0007-invitations.sql": "28dbb115950c1a9a268e055324cec5ddbe7cdc2c22edb774d3d8a4d945d21903",
    "0008-site-exclusions.sql": "6f6bfe9657335166a71f78ee5b482c76f3bdaee162bf4c0a54ee9d460b1eea17",
    "0009-user-limits.sql": "36470d3c950df5f240b984f5ba83fbc052efc4da6e98509356836a606b778bf3",
    "0010-link-host-fallbacks.sql": "027fe509590fc751eead742754354eca594089622ae6c12ed9cccf0734be5f96",
    "0011-email-changes.sql": "7470d7c4ff4322a85e44a3de2002ad0fd03b32f10a9292453f3daf9f17dcde62",
    "0012-disabled-objects.sql": "61224feb1f86321da0740ce3dd3926bd7f43bb2f61bf1664abe64908d8a70c84",
    "0013-disconnect-requests.sql": "9bbc5540d3bb37db78c5f023f76fa1b9074e1160dec526f19f5a2f79c839c701",
    "0014-notes.sql": "8fb6711c689a90cdaa4fab6c6da2d91f4abaff005b47c20d7a30d467a88f29f0",
    "0015-visitor-opt-out.sql": "04209ff9e36c9a9621df8295395e237af0a9d5143d92295ac4a718a59b9dae2c",
    "0016-link-host-visits.sql": "dcf473ea732e1a3a3da9856444d1c428ff3528459505786e254bb023b19301ea",
    "0017-months-kept.sql": "4c68b831ba1ea16e08bf75fa6099e19eee38e32ae2be39749b868f86fc767888",
    "0018-estimated-days.sql": "b21eb43798e9d5ee9b6a8925737153e9e7f611addcc63fdd85c4726db5699500",
    "0019-shares.sql": "5c9e50388d65400bbaca4e86d06e765bd4840c3f5d9fc71e6d96ccba359bd2ed",
    "0020-mailings.sql": "453889d5b249ba44e6d1cc94005421c60f95ea61d0c1aa4c15e074dd95e8795d",
    "0021-link-format.sql": "515d142428312c438cfd8f1b8c721a0a5b53d0613a5959900d3a55583ca06b28",
    "0022-link-texts.sql": "474a8cb775ed4c4e6c517c4700e3137078c43c9de8f5bdfde8a341c6e972006f",
    "0023-link-targets.sql": "7b0e1e42b78ef7384ba4fbda41e998eab6a538ee6cf211f389cd87cbcd6f614e",
    "0024-alerts.sql": "922e684e40f5641b3c1a6284123f2cc32d88c4723e2f73a394da1fd66f24b3bc",
    "0025-deleted-links.sql": "7474505e0d32ade641f2112ede9631980550625e39b6c13ca70a18309335744d",
    "0026-link-periods.sql": "56437d84268f699f63e1c32e402100c58525f4dd6ce0b1c43d07d670efb3cef0",
    "0027-link-targets-until.sql": "7376d4bd2acdf8017df1e6fa8dc1c17116150fd25038f9c0545067dee5cb73b8",
    "0028-settings-version.sql": "4adf144da27393eff2eaac6ce4c6b5f12a8e606ad43fbf42ed328d220e8e21db",
    "0029-notes-of-refused-connects.sql": "a98d08ac6f8f17fc84d8b346294eec0572636665026f39c93f40bc82d196f768",
    "0030-worker-keys-install.sql": "074e1ff66371149eb17d0b3cefe6abfa48786a6a553834c1632b06bd4f0a03a2",
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
    """A command must not migrate the store, because a service of the previous version may be using it."""
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


def test_statements_of_committed_migrations_are_never_edited():
    digests = {
        f"{step.number:04}-{step.name}.sql": hashlib.sha256("\n".join(step.statements).encode()).hexdigest()
        for step in migrations("sqlite")
    }
    assert digests == DIGESTS


def released_rows(script: Path, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Create the store of a released version at `path`, and return its rows by table.

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
        days = await store.read(_one("select distinct days_kept, months_kept, settings_version from accounts"))
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

    async with opened_with_schema(3, store_config) as before:
        updated, _ = await before.run(by_waves())
    async with open_store(store_config, serving=True) as store:
        found = await store.read(rollouts.current("new"))
        assert found is not None
        assert (found.state, found.reason, found.spread_from) == ("halted", "failures", spread_from)
        rows = await store.read(_one("select account_id, operation_id, outcome, failures from rollout_accounts"))
        assert [tuple(row.values()) for row in rows] == [(updated, "op_1", None, 0)]


@pytest.mark.both_engines
async def test_notes_and_shares_of_missing_accounts_are_deleted(store_config, tmp_path):
    store_config = store_config.model_copy(update={"copies": tmp_path / "copies"})

    def notes_and_shares() -> Tx[None]:
        account_id = yield from _an_older_account("acc_1")
        [account] = yield sql("select user_id from accounts where id = $1", account_id)
        yield sql(
            "insert into former_accounts (id, user_id, edge_account_id, name, disconnected_at, things_left)"
            " values ('acc_2', $1, 'e', 'Shop', 1, '[]')",
            account["user_id"],
        )
        for each in (account_id, "acc_2", "acc_missing"):
            yield sql(
                "insert into notes (id, user_id, account_id, target_kind, target, day, text, created_at)"
                " values ($1, $2, $1, 'account', $1, 1, 'text', 1)",
                each,
                account["user_id"],
            )
            yield sql(
                "insert into shares (id, user_id, account_id, target_kind, target, name, digest, sealed_secret, lists,"
                " embed, created_at) values ($1, $2, $1, 'account', $1, 'Shop', $1, $3, 0, '[]', 1)",
                each,
                account["user_id"],
                b"sealed",
            )

    async with opened_with_schema(28, store_config) as before:
        await before.run(notes_and_shares())
    async with open_store(store_config, serving=True) as store:
        for table in ("notes", "shares"):
            rows = await store.read(_one(f"select account_id from {table} order by account_id"))
            assert [row["account_id"] for row in rows] == ["acc_1", "acc_2"], table


@pytest.mark.both_engines
async def test_store_whose_tables_are_not_those_of_its_number_is_refused(store_config):
    async with open_store(store_config) as store:
        await store.run(_one("alter table sites rename column path to place"))
    for serving in (True, False):
        with pytest.raises(ConfigError, match=r"schema \d+, but not its tables \(sites has no path, a column place\)"):
            async with open_store(store_config, serving=serving):
                pass


def opened_with_schema(number: int, config: StoreConfig) -> AbstractAsyncContextManager[Store]:
    """Create and open a store with this schema."""
    known = [step for step in migrations(config.engine) if step.number <= number]
    if config.engine == "sqlite":
        return open_sqlite(config.path, serving=True, known=known)
    return open_postgres(config.url.get_secret_value(), 2, serving=True, known=known)


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
