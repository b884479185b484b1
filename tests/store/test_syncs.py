"""What the store keeps of a sync: how far it was asked, how far it came, what was refused on the way."""

from __future__ import annotations

from svc.errors import ErrorNote
from svc.model import Link
from svc.store import accounts, syncs
from svc.store.links import add_links, changed_links
from tests.clock import START_MS
from tests.store.makers import an_account

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


async def account_of(store, account_id):
    return accounts.present(await store.read(accounts.account_by_id(account_id)))


async def test_what_was_asked_for_never_goes_back(store):
    account_id = await store.run(an_account())
    for version, asked in ((5, 5), (3, 5), (6, 6)):
        await store.run(syncs.begin_sync(account_id, version))
        assert (await account_of(store, account_id)).asked_version == asked


async def test_what_was_refused_is_kept_until_it_is_written(store):
    account_id = await an_account_with_links(store)
    version = (await account_of(store, account_id)).config_version
    await store.run(syncs.end_sync(account_id, 0, version, {"lnk_code1": NOTE}))
    found = await links_of(store, account_id)
    assert {code: one.config_error for code, one in found.items()} == {"code0": None, "code1": NOTE, "code2": None}
    # A sync of what is newer says nothing of it; one of all does.
    await store.run(syncs.end_sync(account_id, version, version, {}))
    assert (await links_of(store, account_id))["code1"].config_error == NOTE
    await store.run(syncs.end_sync(account_id, 0, version, {}))
    assert (await links_of(store, account_id))["code1"].config_error is None


async def test_everything_is_newer_than_the_worker_that_was_ahead(store):
    account_id = await an_account_with_links(store)
    await store.run(syncs.end_sync(account_id, 0, 3, {}))
    assert await store.run(syncs.overtake(account_id, 40)) == 41
    account = await account_of(store, account_id)
    assert (account.config_version, account.synced_version) == (41, 0)
    assert account.link_host is not None
    assert account.link_host.version == 41
    assert {one.version for one in (await links_of(store, account_id)).values()} == {41}
    assert await store.run(syncs.overtake(account_id, 40)) == 42  # begun again
