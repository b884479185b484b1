"""Tests that concurrent changes to the warnings of an account are not lost."""

from __future__ import annotations

import trio

from svc.store import account_health
from tests.store.interleaving import slowly
from tests.store.makers import account_of, an_account


async def test_two_concurrent_warnings_are_both_kept(store, pause):
    account_id = await store.run(an_account())
    async with trio.open_nursery() as nursery:
        for warning in ("not_confirmed", "bootstrap_not_deleted"):
            nursery.start_soon(store.run, slowly(account_health.warn(account_id, warning), pause))
    assert (await store.read(account_of(account_id))).warnings == ("bootstrap_not_deleted", "not_confirmed")
