"""Tests that each account runs one operation at a time, and that operations outlive their accounts."""

from __future__ import annotations

import pytest
import trio

from svc.errors import Conflict
from svc.ids import new_id
from svc.store import operations
from tests.clock import START_MS
from tests.store.direct_changes import delete_account_row
from tests.store.makers import account_of, an_account


@pytest.mark.rule("A10")
async def test_only_one_of_twenty_concurrent_operations_begins(store):
    account_id = await store.run(an_account())
    edge_account_id = (await store.read(account_of(account_id))).edge_account_id
    first = await store.read(operations.running(account_id))
    assert first is not None
    await store.run(operations.finish(first.id, START_MS))
    ends = []

    async def one():
        try:
            await store.run(operations.add(new_id("op"), account_id, edge_account_id, "install", "database", START_MS))
            ends.append("begun")
        except Conflict as error:
            ends.append(error.code)

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(one)
    assert sorted(ends) == ["begun", *["operation_in_progress"] * 19]


async def test_operation_remains_after_its_account_is_deleted(store):
    account_id = await store.run(an_account(link_host=False))
    await store.run(delete_account_row(account_id))
    operation = await store.read(operations.latest(account_id))
    assert (operation.account_id, operation.kind) == (account_id, "connect")
