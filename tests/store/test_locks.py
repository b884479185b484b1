"""Tests of locks (`store/locks`) on PostgreSQL.

Concurrent transactions lock their common rows in the same order, so that they do not wait for each other. A transaction
that adds a row to a site, link or account first locks the account, so that the target is not deleted at the same time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from svc.errors import ErrorNote
from svc.ids import new_id
from svc.model import WorkerPush
from svc.store import (
    alerts,
    connects,
    disconnect_requests,
    disconnects,
    links,
    pushes,
    rollouts,
    sites,
    syncs,
    target_checks,
    user_deletions,
)
from svc.store.locks import lock_account
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.interleaving import paused_before, run_beside
from tests.store.makers import a_link, a_mailing, a_note, a_share, a_site, an_account, owner_of

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


def an_installed_account() -> Tx[str]:
    """Add an account with an installed Worker. Its connect operation has ended."""
    account_id = yield from an_account()
    yield sql("delete from operations where account_id = $1", account_id)
    yield sql(
        "update accounts set edge_bundle = 'older', install_id = 'op', sealed_token = 'x' where id = $1", account_id
    )
    return account_id


def disconnect(account_id: str) -> Tx[None]:
    operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), START_MS)
    yield from disconnects.end_disconnect(operation, None, [], START_MS)


def drop_connect(account_id: str) -> Tx[None]:
    yield from connects.drop_connect(account_id, ErrorNote("token_check_failed", "It does not work."), START_MS)


def delete_sites(account_id: str) -> Tx[None]:
    for site in (yield from sites.sites_of(account_id)):
        yield from sites.delete_site(account_id, site.id)


def mail_site(account_id: str) -> Tx[object]:
    [site] = yield from sites.sites_of(account_id)
    return (yield from a_mailing(account_id, site.id))


@pytest.mark.parametrize(
    ("table", "insert", "delete"),
    [
        ("mailing_recipients", mail_site, delete_sites),
        ("mailing_recipients", mail_site, disconnect),
        ("notes", lambda account_id: a_note(account_id, account_id, "account"), drop_connect),
        ("shares", lambda account_id: a_share(account_id, account_id, "account"), drop_connect),
    ],
)
async def test_no_row_is_added_to_a_target_that_is_being_deleted(postgres_store, table, insert, delete):
    account_id = await postgres_store.run(an_installed_account() if delete is disconnect else an_account())
    if insert is mail_site:
        await postgres_store.run(a_site(account_id))
    first = partial(paused_before, f"insert into {table.removesuffix('_recipients')}", insert(account_id))
    await run_beside(postgres_store, first, partial(postgres_store.run, delete(account_id)))
    assert await postgres_store.read(rows_in(table)) == 0


def rows_in(table: str) -> Tx[int]:
    [row] = yield sql(f"select count(*) as n from {table}")
    number: int = row["n"]
    return number


def request_disconnect(account_id: str) -> Tx[None]:
    yield from disconnect_requests.request([account_id], START_MS, forced=False)


def watch_site(account_id: str) -> Tx[None]:
    [site] = yield from sites.sites_of(account_id)
    watched = alerts.WatchedSite(site.id, account_id, site.user_id, site.host, START_MS, 0, 0, False, True, None)
    yield from alerts.advance([watched])


def update_worker(account_id: str) -> Tx[None]:
    rollout = yield from rollouts.begin("newer", START_MS)
    assert not (yield from rollouts.begin_update(rollout, account_id, "op_1", START_MS))


@pytest.mark.parametrize("insert", [request_disconnect, watch_site, update_worker])
async def test_disconnected_account_is_skipped(postgres_store, insert):
    account_id = await postgres_store.run(an_installed_account())
    await postgres_store.run(a_site(account_id))
    await postgres_store.run(rollouts.begin("newer", START_MS))

    def first(pause: Tx[None]) -> Tx[None]:
        yield from disconnect(account_id)
        yield from pause

    await run_beside(postgres_store, first, partial(postgres_store.run, insert(account_id)))
