"""Functions that fill and read the stores that the tests back up and restore. Call them outside Trio."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import trio

from svc.config import Config, StoreConfig, VaultConfig
from svc.security.vault import open_vault
from svc.store import invitations, open_store, rollouts
from svc.store.tx import sql
from tests.clock import START_MS
from tests.databases import sqlite_config
from tests.store.whole_store import all_rows, user_with_all_rows

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Tx
    from tests.store.whole_store import Rows

T = TypeVar("T")


def config_of(folder: Path, store: StoreConfig | None = None) -> Config:
    """Return the configuration of a service with its key in `folder`. By default, the store is in `folder` as well."""
    folder.mkdir(exist_ok=True)
    return Config(store=store or sqlite_config(folder), vault=VaultConfig(key_file=folder / "vault.key"))


def done(config: Config, tx: Tx[T]) -> T:
    """Run a transaction on the store, as a command does."""

    async def run() -> T:
        async with open_store(config.store) as store:
            return await store.run(tx)

    return trio.run(run)


def fill(config: Config) -> Rows:
    """Add a user with rows in every table. The key decrypts a token and the secrets of two shares. Return all rows."""
    vault = open_vault(config.vault, {})

    def filled() -> Tx[None]:
        yield from rollouts.begin("bundle", START_MS)
        yield from user_with_all_rows()
        for row in (yield sql("select id from accounts")):
            yield sql("update accounts set sealed_token = $2 where id = $1", row["id"], vault.seal("cfat_x", row["id"]))
        for row in (yield sql("select id from shares")):
            yield sql("update shares set sealed_secret = $2 where id = $1", row["id"], vault.seal("shs_x", row["id"]))
        yield sql("insert into departures (user_id, email, access_digest, began_at) select id, 'x', 'y', 1 from users")
        yield sql("insert into deletion_results (digest, ended_at, facts) values ('d', 1, '{}')")
        invitation = yield from invitations.invite("invited@example.com", START_MS, START_MS + 1)
        yield from invitations.add_token(invitation.id, "digest")
        # The id of this deleted user must not be reused.
        yield sql(
            "insert into users (email, password_hash, email_confirmed, plan, created_at)"
            " values ('gone@example.com', 'h', 0, 'free', 1)"
        )
        yield sql("delete from users where email = 'gone@example.com'")

    done(config, filled())
    return rows_of(config)


def rows_of(config: Config) -> Rows:
    """Return all rows of the store."""
    return done(config, all_rows())


def add_user(config: Config, email: str) -> int:
    """Add a user and return the user's id."""

    def added() -> Tx[int]:
        rows = yield sql(
            "insert into users (email, password_hash, email_confirmed, plan, created_at)"
            " values ($1, 'h', 0, 'free', 1) returning id",
            email,
        )
        return int(rows[0]["id"])

    return done(config, added())


def emails_of(config: Config) -> set[str]:
    """Return the email addresses of all users."""

    def read() -> Tx[set[str]]:
        return {row["email"] for row in (yield sql("select email from users"))}

    return done(config, read())


def without(rows: Rows, table: str, *columns: str) -> Rows:
    """Return the rows, but without these columns of one table."""
    kept = dict(rows)
    kept[table] = type(rows[table])(tuple(pair for pair in row if pair[0] not in columns) for row in rows[table])
    return kept
