"""Tests of the keys that are accepted for a Worker's pushes."""

from __future__ import annotations

import pytest

from svc.clock import DAY_MS
from svc.store import worker_keys
from tests.clock import START_MS
from tests.store.makers import an_account


@pytest.mark.rule("W7")
async def test_previous_worker_key_is_accepted_until_it_expires(store):
    account_id = await store.run(an_account())
    for key, install_id in (("old", "op_1"), ("first attempt", "op_2"), ("second attempt", "op_2")):
        await store.run(worker_keys.add_worker_key(account_id, key, install_id))
    await store.run(worker_keys.retire_worker_keys(account_id, "op_2", START_MS + DAY_MS))

    async def accepted(digest: str, now: int) -> bool:
        return bool(await store.read(worker_keys.account_of_worker_key(digest, now)) == account_id)

    # Cloudflare may apply the uploads of one install in any order.
    assert await accepted("first attempt", START_MS + 100 * DAY_MS)
    assert await accepted("second attempt", START_MS + 100 * DAY_MS)
    assert await accepted("old", START_MS + DAY_MS - 1)
    assert not await accepted("old", START_MS + DAY_MS)
    assert not await accepted("another", START_MS)
    await store.run(worker_keys.retire_worker_keys(account_id, "op_3", START_MS + DAY_MS))
    assert not await accepted("first attempt", START_MS + DAY_MS)
