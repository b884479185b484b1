"""Tests that, on PostgreSQL, concurrent transactions lock their common rows in the same order (`store/locks`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from svc.model import WorkerPush
from svc.store import links, pushes, syncs, target_checks, user_deletions
from svc.store.locks import lock_account
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.interleaving import run_beside
from tests.store.makers import a_link, an_account, owner_of

if TYPE_CHECKING:
    from svc.store.tx import Tx


async def test_targets_are_listed_while_links_of_the_account_change(postgres_store):
    account_id = await postgres_store.run(an_account())
    first, second = [await postgres_store.run(a_link(account_id, code)) for code in ("first", "second")]

    def change(pause: Tx[None]) -> Tx[None]:
        yield from links.change_link(account_id, second, {"after_url": "https://late.example/"})
        yield from pause
        yield from links.change_link(account_id, first, {"after_url": "https://late.example/"})

    list_targets = partial(postgres_store.run, target_checks.list_targets(START_MS, lambda _: 0))
    assert await run_beside(postgres_store, change, list_targets) == 2
    assert not await postgres_store.read(target_checks.has_unlisted(START_MS))


async def test_periods_are_checked_again_while_links_of_the_account_change(postgres_store):
    account_id = await postgres_store.run(an_account())
    first, second = [
        await postgres_store.run(a_link(account_id, code, starts_at=START_MS + 1)) for code in ("first", "second")
    ]

    def delete(pause: Tx[None]) -> Tx[None]:
        yield from links.delete_link(account_id, second, START_MS)
        yield from pause
        yield from links.delete_link(account_id, first, START_MS)

    await run_beside(postgres_store, delete, partial(postgres_store.run, target_checks.restart_confirmations(START_MS)))


async def test_links_of_a_deleted_user_are_deleted_while_their_targets_are_listed(postgres_store):
    account_id = await postgres_store.run(an_account())
    first, second = sorted([await postgres_store.run(a_link(account_id, code)) for code in ("first", "second")])
    user_id = await postgres_store.read(owner_of(account_id))

    def list_target(link_id: str) -> Tx[None]:
        yield sql("update links set targets_version = version where id = $1", link_id)

    await postgres_store.run(list_target(first))  # a table scan now finds the second link first

    def list_targets(pause: Tx[None]) -> Tx[None]:
        yield from list_target(first)
        yield from pause
        yield from list_target(second)

    await run_beside(postgres_store, list_targets, partial(postgres_store.run, user_deletions.forget_totals(user_id)))
    assert await postgres_store.read(links.count_links(user_id)) == 0


async def test_accounts_are_marked_as_restored_while_their_workers_push(postgres_store):
    first, second = sorted([await postgres_store.run(an_account()) for _ in range(2)])
    await postgres_store.run(lock_account(first))  # a table scan now finds the second account first

    def push(pause: Tx[None]) -> Tx[None]:
        yield from lock_account(first)
        yield from pause
        yield from pushes.record_pushes(
            [(account_id, WorkerPush(START_MS, "bundle")) for account_id in (first, second)]
        )

    assert await run_beside(postgres_store, push, partial(postgres_store.run, syncs.mark_restored(START_MS))) == 2
