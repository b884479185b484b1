"""Tests of the operator's list of users, and of changes to users' access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc.store import user_deletions, user_directory, users
from tests.clock import START_MS
from tests.store.makers import a_link, a_site, an_account, new_session

if TYPE_CHECKING:
    from svc.model import User
    from svc.store.tx import Store
    from svc.store.user_directory import Entry, UserOrder


async def add(store: Store, email: str, *, confirmed: bool = True) -> User:
    user = await store.run(users.add_user(email, "hash", START_MS, confirmed=confirmed))
    assert user is not None
    return user


async def listed(store: Store, order: UserOrder, **more) -> list[str]:
    """Return the addresses of all users, read in pages of two."""
    found: list[Entry] = []
    while True:
        page = await store.read(user_directory.page(order, found[-1] if found else None, 2, **more))
        found += page
        if len(page) < 2:
            return [entry.user.email for entry in found]


async def test_list_is_sorted_and_filtered(store):
    for email in ("mia@example.com", "ann@example.com", "Bob@example.org", "zoe%_@example.com"):
        await add(store, email)
    await add(store, "ann2@example.com", confirmed=False)
    await add(store, "ann2@example.com", confirmed=False)
    [ann] = await store.read(user_directory.with_address("ANN@example.com"))
    assert await store.run(user_directory.disable(ann.user.id, START_MS))

    oldest = ["mia@example.com", "ann@example.com", "Bob@example.org", "zoe%_@example.com", *["ann2@example.com"] * 2]
    assert await listed(store, "oldest") == oldest
    assert await listed(store, "newest") == oldest[::-1]
    assert await listed(store, "email") == sorted(oldest, key=str.lower)
    assert await listed(store, "email", filters=["disabled"]) == ["ann@example.com"]
    assert await listed(store, "newest", filters=["unconfirmed"]) == ["ann2@example.com"] * 2
    assert await listed(store, "oldest", filters=["unconfirmed", "disabled"]) == []
    assert await listed(store, "oldest", contains="EXAMPLE.org") == ["Bob@example.org"]
    assert await listed(store, "oldest", contains="%_") == ["zoe%_@example.com"]


async def test_entry_counts_what_the_user_has(store):
    user = await add(store, "ann@example.com")
    account_id = await store.run(an_account(user.id))
    await store.run(a_site(account_id, "shop.example.com"))
    await store.run(a_link(account_id))
    await add(store, "bob@example.com")
    [entry] = await store.read(user_directory.with_address("ann@example.com"))
    assert (entry.accounts, entry.sites, entry.links, entry.keys) == (1, 1, 1, 0)


async def test_user_who_is_being_deleted_is_not_listed(store):
    user = await add(store, "ann@example.com")
    await store.run(user_deletions.begin(user.id, "hash", "digest", START_MS))
    assert await listed(store, "oldest") == []
    assert await store.read(user_directory.with_address("ann@example.com")) == []


async def test_disabling_ends_sessions_and_prevents_new_ones(store):
    user = await add(store, "ann@example.com")
    from svc.store import sessions

    await store.run(sessions.add_session(new_session(user.id, until=START_MS + 1_000)))
    assert await store.run(user_directory.disable(user.id, START_MS))
    assert not await store.run(user_directory.disable(user.id, START_MS + 1))
    assert await store.read(sessions.session_of_access("a-s", START_MS)) is None
    assert not await store.run(users.still_has_password(user.id, "hash"))
    [entry] = await store.read(user_directory.with_address("ann@example.com"))
    assert entry.user.disabled_at == START_MS
    assert await store.run(user_directory.enable(user.id))
    assert not await store.run(user_directory.enable(user.id))
    assert await store.run(users.still_has_password(user.id, "hash"))


@pytest.mark.parametrize("taken", [False, True])
async def test_confirming_a_sign_up_removes_the_others(store, taken):
    first = await add(store, "ann@example.com", confirmed=False)
    second = await add(store, "Ann@example.com", confirmed=False)
    if taken:
        assert await store.run(user_directory.confirm(first.id))
        assert not await store.run(user_directory.confirm(second.id))
    else:
        assert await store.run(user_directory.confirm(second.id))
    [entry] = await store.read(user_directory.with_address("ann@example.com"))
    assert (entry.user.id, entry.user.email_confirmed) == (first.id if taken else second.id, True)
