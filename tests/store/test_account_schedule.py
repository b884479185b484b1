"""Tests of the transactions that find the accounts for which work is due."""

from __future__ import annotations

from svc.store import account_schedule
from svc.store.tx import sql
from tests.store.makers import account_of, an_account


async def test_only_accounts_whose_worker_can_be_synced_are_unsynced(store):
    account_id = await store.run(an_account())
    account = await store.read(account_of(account_id))

    async def unsynced(state):
        statement = (
            "update accounts set state = $2, database_id = 'd', config_version = 3, synced_version = 2 where id = $1"
        )
        await store.run(changed(statement, account_id, state))
        return await store.read(account_schedule.unsynced())

    assert await unsynced("ready") == await unsynced("no_connection") == {account.edge_account_id: 3}
    assert await unsynced("revoked") == await unsynced("permission_error") == {}


def changed(statement, *parameters):
    yield sql(statement, *parameters)
