"""Tests that, on PostgreSQL, a push and a concurrent change to the same account both succeed and lose no data.

A transaction that changes an account or its data first locks the account's row (`store/locks`). In these tests, the
push holds the lock, and continues when the other transaction waits for the lock. The push then writes its rows. Without
the lock, the other transaction would already have written the same rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from svc.clock import HOUR_MS
from svc.errors import ErrorNote
from svc.model import WorkerPush
from svc.store import accounts, installs, operations, pushes, renewals, sites, syncs, totals
from svc.store.locks import lock_account
from svc.store.tx import sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.clock import START_MS
from tests.store.interleaving import run_beside
from tests.store.makers import a_site, an_account, owner_of

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

LIVE_AT = START_MS + 60_000  # epoch ms; after this time, every isolate uses the synced configuration
NOTE = ErrorNote("edge_firewall", "refused")
DAY = START_MS // 86_400_000
HOUR = START_MS - START_MS % HOUR_MS - HOUR_MS


class Pushed:
    """An account with a Worker that `op_1` installed and that has not pushed yet. Its first push counts a view."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def begin(self) -> None:
        """Create the account."""
        self.id = await self.store.run(an_account())
        self.site = await self.store.run(a_site(self.id))
        await self.store.run(_installed(self.id))

    def push(self, pause: Tx[None]) -> Tx[None]:
        """Push, and pause in the middle of the transaction."""
        yield from lock_account(self.id)
        yield from pause
        report = WorkerPush(START_MS, "bundle", install="op_1")
        assert (yield from pushes.record_pushes([(self.id, report)])) == {self.id}
        hour = PushedHour(HOUR, ((self.site, 1, 0, 0),))
        part = PushedPart(7, DAY, HOUR + HOUR_MS, False, (hour,), (), ((self.site, 1, 0, 0),))
        assert (yield from totals.ingest(self.id, [part], START_MS)).accepted == (7,)

    async def beside(self, other: Tx[None]) -> None:
        """Run the push, and begin the other transaction in the middle of the push."""
        await run_beside(self.store, self.push, partial(self.store.run, other))


def _installed(account_id: str) -> Tx[None]:
    yield sql("update operations set state = 'done' where account_id = $1", account_id)
    yield sql("update accounts set install_id = 'op_1', state = 'ready' where id = $1", account_id)
    account = accounts.present((yield from accounts.account_by_id(account_id)))
    yield from operations.add("op_1", account_id, account.edge_account_id, "install", operations.SELFCHECK, START_MS)


@pytest.fixture
async def pushed(postgres_store):
    made = Pushed(postgres_store)
    await made.begin()
    return made


@pytest.mark.rule("A11", "W3")
async def test_self_check_succeeds_if_the_worker_reports_while_it_ends(postgres_store, pushed):
    operation = await postgres_store.read(operations.running(pushed.id))
    await pushed.beside(installs.end_selfcheck(operation, START_MS))
    latest = await postgres_store.read(operations.latest(pushed.id))
    account = await postgres_store.read(accounts.account_by_id(pushed.id))
    assert (latest.id, latest.state, latest.error) == ("op_1", "done", None)
    assert account.warnings == ()


@pytest.mark.rule("A11", "W3")
async def test_self_check_resumed_after_a_renewal_sees_a_concurrent_push(postgres_store, pushed):
    await postgres_store.run(operations.pause_selfcheck("op_1"))
    edge_account_id = (await postgres_store.read(accounts.account_by_id(pushed.id))).edge_account_id
    await postgres_store.run(operations.add("op_2", pushed.id, edge_account_id, "renew", "token", START_MS))
    await pushed.beside(renewals.fail_renew(pushed.id, NOTE, START_MS))
    assert await postgres_store.read(operations.running(pushed.id)) is None


@pytest.mark.rule("W3")
async def test_end_of_a_sync_does_not_block_a_push(postgres_store, pushed):
    await postgres_store.run(syncs.end_sync(pushed.id, 0, 0, {pushed.site: NOTE}, LIVE_AT))
    version = (await postgres_store.read(accounts.account_by_id(pushed.id))).config_version
    await pushed.beside(syncs.end_sync(pushed.id, 0, version, {}, LIVE_AT))
    site = await postgres_store.read(sites.get_site(await postgres_store.run(owner_of(pushed.id)), pushed.site))
    assert (site.config_error, site.first_view_at) == (None, START_MS)
