"""Tests, on both engines, that listeners are notified of changes only after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.errors import Conflict, NotFound
from svc.store import accounts
from svc.store.tx import Changed
from svc.store.versions import bump_version
from tests.store.makers import an_account
from tests.store.table import Late

if TYPE_CHECKING:
    from svc.store.tx import Tx

A, B = "a" * 32, "b" * 32


def undone(account_id: str) -> Tx[None]:
    """Change the account, and then fail."""
    yield from bump_version(account_id)
    raise Conflict("site_exists")


async def test_listener_is_notified_once_after_the_commit(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    notified: list[str] = []

    def twice() -> Tx[int]:
        yield from bump_version(account_id)
        version = yield from bump_version(account_id)
        assert notified == []
        return version

    with store.changes.subscribe(notified.append):
        assert await store.run(twice()) == 2
        assert notified == [A]
        assert accounts.present(await store.peek(accounts.account_by_id(account_id))).config_version == 2
    await store.run(bump_version(account_id))
    assert notified == [A]


async def test_rolled_back_change_does_not_notify_listeners(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    notified: list[str] = []
    with store.changes.subscribe(notified.append):
        with pytest.raises(Conflict):
            await store.run(undone(account_id))
        with pytest.raises(NotFound):
            await store.run(bump_version("acc_unknown"))
    assert notified == []


async def test_only_committed_concurrent_changes_notify_listeners(store):
    kept = await store.run(an_account(edge_account_id=A, link_host=False))
    lost = await store.run(an_account(edge_account_id=B, link_host=False))
    notified: list[str] = []

    async def fail() -> None:
        with pytest.raises(Conflict):
            await store.run(undone(lost))

    with store.changes.subscribe(notified.append):
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(store.run, bump_version(kept))
                nursery.start_soon(fail)
    assert notified == [A] * 10


async def test_committed_change_of_a_cancelled_caller_notifies_listeners(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    notified: list[str] = []
    late = Late(bump_version(account_id))
    with store.changes.subscribe(notified.append), trio.CancelScope() as caller:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, late.tx())
            await late.begun()
            caller.cancel()
            late.go_on()
    assert notified == [A]


async def test_cancelled_change_does_not_notify_listeners(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    notified: list[str] = []
    with store.changes.subscribe(notified.append), trio.CancelScope() as caller:
        caller.cancel()
        await store.run(bump_version(account_id))
    assert caller.cancelled_caught
    assert notified == []


async def test_reads_do_not_notify_listeners(store):
    def reads() -> Tx[None]:
        yield Changed(A)

    notified: list[str] = []
    with store.changes.subscribe(notified.append):
        await store.read(reads())
        await store.peek(reads())
    assert notified == []
