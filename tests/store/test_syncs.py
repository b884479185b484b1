"""Tests of the stored state of syncs: the requested version, the synced version and rejected rows."""

from __future__ import annotations

import pytest

from svc.errors import ErrorNote
from svc.model import Link, WorkerSettings
from svc.store import accounts, links, sites, syncs
from svc.store.links import add_links, changed_links
from svc.store.tx import Tx, sql
from svc.worker.config_rows import rows_of
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, account_of, an_account

LIVE_AT = START_MS + 60_000  # epoch ms; after this time, every isolate uses the synced configuration
NOTE = ErrorNote("edge_firewall", "refused", {"ray_id": "8f"})


def link(account_id, number):
    code = f"code{number}"
    return Link(f"lnk_{code}", account_id, 1, code, "https://example.org/", (), "active", 0, START_MS)


async def an_account_with_links(store):
    account_id = await store.run(an_account())
    for number in range(3):
        await store.run(add_links([link(account_id, number)], 10))
    return account_id


async def links_of(store, account_id):
    return {one.code: one for one in await store.read(changed_links(account_id, 0))}


async def test_asked_version_never_decreases(store):
    account_id = await store.run(an_account())
    for version, asked in ((5, 5), (3, 5), (6, 6)):
        await store.run(syncs.begin_sync(account_id, version))
        assert (await store.read(account_of(account_id))).asked_version == asked


async def test_rejected_rows_keep_their_error_until_they_are_synced(store):
    account_id = await an_account_with_links(store)
    version = (await store.read(account_of(account_id))).config_version
    await store.run(syncs.end_sync(account_id, 0, version, {"lnk_code1": NOTE}, LIVE_AT))
    found = await links_of(store, account_id)
    assert {code: one.config_error for code, one in found.items()} == {"code0": None, "code1": NOTE, "code2": None}
    # A sync that writes only newer rows keeps the error. A sync that writes all rows clears it.
    await store.run(syncs.end_sync(account_id, version, version, {}, LIVE_AT))
    assert (await links_of(store, account_id))["code1"].config_error == NOTE
    await store.run(syncs.end_sync(account_id, 0, version, {}, LIVE_AT))
    assert (await links_of(store, account_id))["code1"].config_error is None


async def test_overtake_gives_the_configuration_a_version_above_the_workers(store):
    account_id = await an_account_with_links(store)
    await store.run(syncs.end_sync(account_id, 0, 3, {}, LIVE_AT))
    assert await store.run(syncs.raise_above_worker(account_id, 40)) == 41
    account = await store.read(account_of(account_id))
    assert (account.config_version, account.synced_version, account.restored_as_of) == (41, 0, 0)
    assert account.link_host is not None
    assert account.link_host.version == 41
    assert {one.version for one in (await links_of(store, account_id)).values()} == {41}
    # the retention was never changed, so the Worker has no row for it
    assert account.settings == WorkerSettings(35, version=0)
    # this repeats the previous call, which raised the version to 41
    assert await store.run(syncs.raise_above_worker(account_id, 40)) == 42
    await store.run(accounts.change_account(account_id, START_MS, days_kept=20))
    assert await store.run(syncs.raise_above_worker(account_id, 50)) == 51
    assert (await store.read(account_of(account_id))).settings == WorkerSettings(20, version=51)


def retire(site_id: str, path: str) -> Tx[None]:
    """Add an old path of the site."""
    yield sql("insert into retiring_paths (site_id, path, route_id, until) values ($1, $2, null, 1)", site_id, path)


def end(site_id: str, path: str, version: int) -> Tx[None]:
    """Add an old path that ended in this configuration version."""
    yield sql(
        "insert into retiring_paths (site_id, path, route_id, until, ended_version) values ($1, $2, null, 1, $3)",
        site_id,
        path,
        version,
    )


def delete(table: str, target: str) -> Tx[None]:
    """Mark a site or link as deleted."""
    yield sql(f"update {table} set state = 'deleted' where id = $1", target)


@pytest.mark.rule("S7", "X6")
async def test_expected_worker_table_matches_a_complete_sync(store):
    account_id = await store.run(an_account())
    for code in ("kept", "other", "gone", "bad"):
        link_id = await store.run(a_link(account_id, code))
        if code == "gone":
            await store.run(delete("links", link_id))
    bad = link_id
    for number in range(3):
        site_id = await store.run(a_site(account_id, f"s{number}.example.com"))
        await store.run(retire(site_id, f"/old{number}"))
        await store.run(end(site_id, f"/older{number}", 1))
    await store.run(delete("sites", site_id))
    await store.run(accounts.change_account(account_id, START_MS, days_kept=14))
    assert await store.read(syncs.synced_rows(account_id)) is None  # the rows are not final, because a sync is due
    version = (await store.read(account_of(account_id))).config_version
    await store.run(syncs.end_sync(account_id, 0, version, {bad: NOTE}, LIVE_AT))

    all_sites = await store.read(sites.changed_sites(account_id, 0))
    all_links = [one for one in await store.read(links.changed_links(account_id, 0)) if one.id != bad]
    account = await store.read(account_of(account_id))
    rows = rows_of(all_sites, all_links, account.link_host, account.settings, 0)
    rows = [row for row in rows if row.body is not None]
    assert len(rows) == 2 + 2 + 2 * 2
    expected = syncs.Synced(len(rows), sum(row.version for row in rows), ("link:bad",))
    assert await store.read(syncs.synced_rows(account_id)) == expected
    # Another account's rows are not counted.
    await store.run(a_link(await store.run(an_account()), "kept"))
    assert await store.read(syncs.synced_rows(account_id)) == expected


@pytest.mark.rule("X6")
async def test_worker_database_that_was_set_back_is_synced_under_a_new_version(store):
    account_id = await an_account_with_links(store)
    version = (await store.read(account_of(account_id))).config_version
    await store.run(syncs.end_sync(account_id, 0, version, {}, LIVE_AT))
    notified: list[str] = []
    with store.changes.subscribe(notified.append):
        await store.run(syncs.sync_again_after(account_id, 1))
    account = await store.read(account_of(account_id))
    assert (account.synced_version, account.config_version) == (1, version + 1)
    assert notified == [account.edge_account_id]
