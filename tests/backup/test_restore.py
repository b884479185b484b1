"""A backup is restored completely on either engine, over any existing store, and after any interruption."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from edge_worker.programs import run_program
from svc.backup import run
from svc.config import ConfigError
from svc.security.vault import open_vault, read_keys
from svc.store import open_store
from svc.store.engines.postgres import session
from svc.store.engines.sqlite import file as sqlite_file
from svc.store.engines.sqlite.place import lock
from svc.store.tx import sql
from tests.backup.places import add_user, config_of, emails_of, fill, rows_of, without
from tests.clock import START_MS
from tests.databases import postgres_config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from svc.config import Config
    from svc.store.tx import Tx

# A program that writes to the store and ends without closing it, so that the new rows are only in SQLite's log.
DIE_WITHOUT_CLOSING = """
import os, sys
from pathlib import Path
from svc.store.engines.sqlite.connection import connect
connection = connect(Path(sys.argv[1]) / "svc.db")
connection.execute("update users set email = 'changed@example.com' where email = 'old@example.com'")
for number in range(200):
    connection.execute("insert into users (email, password_hash, email_confirmed, plan, created_at)"
        " values (?, 'h', 0, 'free', 1)", (f"late{number}@example.com",))
os._exit(0)
"""


def die_without_closing(folder: Path) -> None:
    """Add rows to the store in `folder`, in a process that ends while they are only in SQLite's log."""
    assert trio.run(run_program, ["-c", DIE_WITHOUT_CLOSING, str(folder)]).returncode == 0
    assert (folder / "svc.db-wal").stat().st_size > 0


@pytest.mark.rule("X17")
def test_restore_brings_back_every_row_on_either_engine(source, target, tmp_path, expected_leaks):
    expected_leaks.allow("backup.tar: vault key")
    rows = fill(source)
    file = tmp_path / "backup.tar"
    manifest = run.backup(source, file, START_MS, with_key=True, replace=False)
    assert manifest.rows == {table: counted.total() for table, counted in rows.items()}
    assert min(manifest.rows.values()) > 0
    assert (manifest.opened, manifest.sealed) == (3, 3)
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("backup")] == ["backup.tar"]
    assert run.verify(file).manifest == manifest

    verified, aside = run.restore(target, file, START_MS, replace=False)
    assert (verified.manifest, aside) == (manifest, None)
    restored = rows_of(target)
    changed = ("accounts", "suspected_at", "restored_as_of", "last_part"), ("serving", "epoch")
    for table, *columns in changed:
        rows, restored = without(rows, table, *columns), without(restored, table, *columns)
    assert restored == rows
    [account] = [dict(row) for row in rows_of(target)["accounts"]]
    assert account["suspected_at"] == START_MS
    assert account["restored_as_of"] > 0
    assert account["last_part"] is None
    assert open_vault(target.vault, {account["id"]: account["sealed_token"]}).opens(
        account["sealed_token"], account["id"]
    )
    # The ids of deleted users are not reused.
    assert add_user(target, "next@example.com") == add_user(source, "next@example.com")


@pytest.mark.rule("X17")
def test_replaced_store_is_kept(target, tmp_path):
    source = config_of(tmp_path / "source")
    add_user(source, "new@example.com")
    run.backup(source, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)
    add_user(target, "old@example.com")
    open_vault(target.vault, {})
    old_keys = read_keys(target.vault.key_file)
    with pytest.raises(ConfigError, match="--replace"):
        run.restore(target, tmp_path / "backup.tar", START_MS, replace=False)
    assert emails_of(target) == {"old@example.com"}
    _, aside = run.restore(target, tmp_path / "backup.tar", START_MS, replace=True)
    assert emails_of(target) == {"new@example.com"}
    assert read_keys(target.vault.key_file) == old_keys
    assert aside is not None
    if target.store.engine == "sqlite":
        assert Path(aside).parent == tmp_path / "target"
        with closing(sqlite3.connect(aside)) as kept:
            assert kept.execute("select email from users").fetchall() == [("old@example.com",)]


def test_store_in_use_is_not_replaced(tmp_path):
    config = config_of(tmp_path / "here")
    add_user(config, "old@example.com")
    run.backup(config, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)
    with lock(config.store.path), pytest.raises(ConfigError, match="Another svc serve uses"):
        run.restore(config, tmp_path / "backup.tar", START_MS, replace=True)


def test_store_in_use_is_not_replaced_in_postgres(postgres_url, tmp_path):
    with postgres_config(postgres_url) as store:
        config = config_of(tmp_path / "here", store)
        add_user(config, "old@example.com")
        run.backup(config, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)

        async def serve() -> None:
            async with open_store(config.store, serving=True):
                with pytest.raises(ConfigError, match="Another svc serve uses"):
                    await trio.to_thread.run_sync(
                        partial(run.restore, config, tmp_path / "backup.tar", START_MS, replace=True)
                    )

        trio.run(serve)
        assert emails_of(config) == {"old@example.com"}


def test_remaining_log_is_not_applied_to_the_restored_store(tmp_path):
    config = config_of(tmp_path / "here")
    add_user(config, "old@example.com")
    run.backup(config, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)
    die_without_closing(tmp_path / "here")
    _, aside = run.restore(config, tmp_path / "backup.tar", START_MS, replace=True)
    assert emails_of(config) == {"old@example.com"}
    assert aside is not None
    with closing(sqlite3.connect(aside)) as kept:  # SQLite's log was moved together with the store
        assert kept.execute("select count(*) from users where email like 'late%'").fetchone() == (200,)


def test_restored_plain_store_has_the_commits_in_its_log(tmp_path):
    config = config_of(tmp_path / "here")
    add_user(config, "old@example.com")
    run.backup(config, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)
    die_without_closing(tmp_path / "here")
    _, aside = run.restore(config, tmp_path / "backup.tar", START_MS, replace=True)
    assert aside is not None
    files = {path: path.read_bytes() for path in (Path(aside), Path(f"{aside}-wal"))}
    assert run.verify(Path(aside)).contents.rows["users"] == 201
    run.restore(config, Path(aside), START_MS + 1, replace=True)
    assert len(emails_of(config)) == 201
    assert "changed@example.com" in emails_of(config)
    assert {path: path.read_bytes() for path in files} == files  # the commands only read the store


def killed_restores(folder, *arguments):
    """Return the results of `tests.backup.mortal`. The old store has rows, some of them only in SQLite's log."""
    old = config_of(folder / "old")
    fill(old)
    add_user(old, "old@example.com")
    die_without_closing(folder / "old")
    new = config_of(folder / "new")
    fill(new)
    run.backup(new, folder / "backup.tar", START_MS, with_key=True, replace=False)
    done = trio.run(run_program, ["-m", "tests.backup.mortal", str(folder), *arguments])
    assert done.returncode == 0, done.stderr.decode()
    runs = json.loads(done.stdout)
    found = [one["found"] for one in runs if one["found"] is not None]
    assert set(found) == {"old", "new"}
    assert found == sorted(found, reverse=True), "a kill at a later step left an older store"
    for one in runs:
        assert one["killed"], one
        assert one["after"] == "new", one
        assert one["aside"][0] == "old", one  # the first store that a restore renamed
        assert set(one["aside"]) <= {"old", "new"}, one
        assert one["left"] == [], one
    return runs


@pytest.mark.rule("X17")
def test_restore_killed_at_any_step_leaves_the_old_or_the_new_store(tmp_path, expected_leaks):
    expected_leaks.allow("backup.tar: vault key")
    assert len(killed_restores(tmp_path)) > 10


@pytest.mark.rule("X17")
@pytest.mark.timeout(1_800)
def test_restore_killed_at_any_step_leaves_the_old_or_the_new_store_in_postgres(postgres_url, tmp_path, expected_leaks):
    expected_leaks.allow("backup.tar: vault key")
    if EVERYTHING:
        assert len(killed_restores(tmp_path, postgres_url)) > 300
        return
    runs = killed_restores(tmp_path, postgres_url, str(SEED))
    assert [one["found"] for one in runs if "COMMIT" in one["name"]] == ["old", "new"]


def locked(text: str) -> Tx[bool | None]:
    """Return True if a lock that meets this SQL condition is held, otherwise None, as `eventually` expects."""
    [row] = yield sql(
        "select count(*) as n from pg_locks where granted and "
        "database = (select oid from pg_database where datname = current_database()) and " + text
    )
    return row["n"] > 0 or None


def test_restore_and_service_time_out_behind_a_hanging_restore(postgres_url, tmp_path, monkeypatch):
    file = tmp_path / "backup.tar"
    source = config_of(tmp_path / "source")
    add_user(source, "new@example.com")
    run.backup(source, file, START_MS, with_key=True, replace=False)

    def stop() -> Tx[None]:
        yield sql("lock table serving in access exclusive mode")
        yield sql("select pg_sleep(60)")

    async def stopped(config: Config) -> None:
        def restore(now: int) -> Awaitable[object]:
            return trio.to_thread.run_sync(partial(run.restore, config, file, now, replace=True))

        async with open_store(config.store) as beside, trio.open_nursery() as nursery:
            holder = trio.CancelScope()
            nursery.start_soon(within, holder, beside.run, stop())
            await eventually(lambda: beside.read(locked("relation = 'serving'::regclass and mode like 'AccessEx%'")))
            nursery.start_soon(restore, START_MS)
            await eventually(lambda: beside.read(locked("locktype = 'advisory' and objid = 727301")))
            monkeypatch.setitem(session.SETTINGS_ALONE, "lock_timeout", "100ms")
            with pytest.raises(ConfigError, match="end its process, then try again"):
                await restore(START_MS + 1)
            with pytest.raises(ConfigError, match="end its process, then try again"):
                async with open_store(config.store, serving=True):
                    pass
            holder.cancel()

    with postgres_config(postgres_url) as store:
        config = config_of(tmp_path / "here", store)
        add_user(config, "old@example.com")
        trio.run(stopped, config)
        assert emails_of(config) == {"new@example.com"}


async def within(scope: trio.CancelScope, call: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """Await `call(*arguments)` in the cancel scope."""
    with scope:
        await call(*arguments)


def test_restore_that_postgres_rejects_changes_nothing(postgres_url, tmp_path):
    source = config_of(tmp_path / "source")
    add_user(source, "nul\0@example.com")
    run.backup(source, tmp_path / "backup.tar", START_MS, with_key=True, replace=False)
    with postgres_config(postgres_url) as store:
        config = config_of(tmp_path / "here", store)
        add_user(config, "old@example.com")
        with pytest.raises(ConfigError, match=r"0x00"):
            run.restore(config, tmp_path / "backup.tar", START_MS, replace=True)
        assert emails_of(config) == {"old@example.com"}


def test_plain_copy_of_a_store_can_be_restored(tmp_path):
    config = config_of(tmp_path / "here")
    add_user(config, "old@example.com")
    sqlite_file.copy(config.store.path, tmp_path / "svc.db.schema-1.backup")
    add_user(config, "later@example.com")
    verified, _ = run.restore(config, tmp_path / "svc.db.schema-1.backup", START_MS, replace=True)
    assert verified.manifest is None
    assert emails_of(config) == {"old@example.com"}
