"""What a transaction changed is told after its commit, and only then, on both engines."""

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
    """A change that its own transaction takes back."""
    yield from bump_version(account_id)
    raise Conflict("site_exists")


async def test_a_change_is_told_once_when_it_is_committed(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    told: list[str] = []

    def twice() -> Tx[int]:
        yield from bump_version(account_id)
        version = yield from bump_version(account_id)
        assert told == []
        return version

    with store.changes.told_to(told.append):
        assert await store.run(twice()) == 2
        assert told == [A]
        assert accounts.present(await store.peek(accounts.account_by_id(account_id))).config_version == 2
    await store.run(bump_version(account_id))
    assert told == [A]


async def test_a_change_that_is_rolled_back_is_not_told(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    told: list[str] = []
    with store.changes.told_to(told.append):
        with pytest.raises(Conflict):
            await store.run(undone(account_id))
        with pytest.raises(NotFound):
            await store.run(bump_version("acc_unknown"))
    assert told == []


async def test_of_changes_at_once_only_those_that_are_kept_are_told(store):
    kept = await store.run(an_account(edge_account_id=A, link_host=False))
    lost = await store.run(an_account(edge_account_id=B, link_host=False))
    told: list[str] = []

    async def fail() -> None:
        with pytest.raises(Conflict):
            await store.run(undone(lost))

    with store.changes.told_to(told.append):
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(store.run, bump_version(kept))
                nursery.start_soon(fail)
    assert told == [A] * 10


async def test_a_change_is_told_though_its_caller_was_cancelled_meanwhile(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    told: list[str] = []
    late = Late(bump_version(account_id))
    with store.changes.told_to(told.append), trio.CancelScope() as caller:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, late.tx())
            await late.begun()
            caller.cancel()
            late.go_on()
    assert told == [A]


async def test_a_change_that_a_cancel_undid_is_not_told(store):
    account_id = await store.run(an_account(edge_account_id=A, link_host=False))
    told: list[str] = []
    with store.changes.told_to(told.append), trio.CancelScope() as caller:
        caller.cancel()
        await store.run(bump_version(account_id))
    assert caller.cancelled_caught
    assert told == []


async def test_what_only_reads_changes_nothing(store):
    def reads() -> Tx[None]:
        yield Changed(A)

    told: list[str] = []
    with store.changes.told_to(told.append):
        await store.read(reads())
        await store.peek(reads())
    assert told == []
