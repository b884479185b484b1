"""Tests of what pushes reveal about Workers: silence and lost commits. Also tests concurrent changes to the account."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from svc.clock import DAY_MS, day_of
from svc.errors import ErrorNote
from svc.model import WorkerPush
from svc.store import account_health, installs, pushes, states, syncs, totals
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.direct_changes import set_account_state
from tests.store.interleaving import slowly
from tests.store.makers import account_of, an_account

PUSH = WorkerPush(START_MS, "b" * 64, 1, 0, None, {"budget": 0}, "op_unknown")


@pytest.mark.rule("A15")
@pytest.mark.parametrize("push_first", [True, False])
async def test_concurrent_push_and_state_change_are_both_kept(store, pause, push_first):
    account_id = await store.run(an_account())
    await store.run(set_account_state(account_id, "ready"))
    both = [
        pushes.record_pushes([(account_id, PUSH)]),
        states.move(account_id, ("ready",), "permission_error", ErrorNote("permission_error", "no"), START_MS),
    ]
    async with trio.open_nursery() as nursery:
        for tx in both if push_first else both[::-1]:
            nursery.start_soon(store.run, slowly(tx, pause))
    account = await store.read(account_of(account_id))
    assert account.state == "permission_error"
    assert account.error == ErrorNote("permission_error", "no")
    assert account.push == PUSH


@pytest.mark.rule("A15")
async def test_silence_is_ignored_if_the_worker_has_just_reported(store):
    account_id = await store.run(an_account())
    await store.run(set_account_state(account_id, "ready"))
    error = ErrorNote("worker_silent", "It is silent.")
    await store.run(pushes.record_pushes([(account_id, PUSH)]))
    # The caller has read the account before the push, so its information is outdated.
    await store.run(pushes.record_silence(account_id, PUSH.at - 1, error, PUSH.at))
    assert (await store.read(account_of(account_id))).state == "ready"
    await store.run(pushes.record_silence(account_id, PUSH.at, error, PUSH.at))
    found = await store.read(account_of(account_id))
    assert (found.state, found.error) == ("no_connection", error)


@pytest.mark.rule("S7", "W3")
async def test_missing_parts_before_a_push_reveal_lost_commits(store):
    first_id, second_id = await store.run(an_account()), await store.run(an_account())
    report = replace(PUSH, at=START_MS + 5)

    async def asked_after_push(account_id, first, last):
        """Push these parts. If the Worker's data must be read back, return `restored_as_of`, otherwise None."""
        woken: list[str] = []
        with store.changes.subscribe(woken.append):
            await store.run(pushes.record_pushes([(account_id, report)], {account_id: (first, last)}))
        account = await store.read(account_of(account_id))
        assert (account.suspected_at is None) == (account.restored_as_of is None) == (not woken)
        return account.restored_as_of

    async def read_back(account_id):
        await store.run(syncs.end_recovery(account_id))
        await store.run(
            account_health.record_health_check(
                account_id, (await store.read(account_of(account_id))).suspected_at, None
            )
        )

    # The pushes have single parts, several parts, repeated parts, parts that are too early to be accepted, and parts
    # that arrive late.
    for first, last in ((1, 1), (2, 4), (2, 4), (3, 6), (7, None), (7, 7), (2, 3), (8, 8)):
        assert await asked_after_push(first_id, first, last) is None
    await store.run(pushes.record_pushes([(first_id, report)]))
    part = PushedPart(8, day_of(START_MS) - 1, day_of(START_MS) * DAY_MS, True, (), (), ())
    await store.run(totals.ingest(first_id, [part], START_MS))
    assert await asked_after_push(first_id, 10, 12) == part.as_of
    # this value remains until the data has been read back
    assert await asked_after_push(first_id, 20, 20) == part.as_of
    await read_back(first_id)
    assert await asked_after_push(first_id, 21, 21) is None
    # the Worker's first part never arrived, so its data must be read back
    assert await asked_after_push(second_id, 2, 2) == 0
    await read_back(second_id)
    # In a new database, the Worker numbers its parts from 1 again.
    await store.run(installs.set_database(first_id, "db_new"))
    assert await asked_after_push(first_id, 1, 2) is None
    assert await asked_after_push(first_id, 4, 4) == part.as_of
    # After a restore, or if the Worker's database was set back, the number of the next part is unknown.
    for forget in (syncs.mark_restored(START_MS), syncs.sync_again_after(second_id, -1)):
        await store.run(forget)
        await read_back(second_id)
        assert await asked_after_push(second_id, 900, None) is None
        assert await asked_after_push(second_id, 900, 901) is None
        assert await asked_after_push(second_id, 903, 903) == 0
        await read_back(second_id)


@pytest.mark.rule("A15")
async def test_push_ends_silence(store):
    account_id = await store.run(an_account())
    await store.run(set_account_state(account_id, "no_connection"))
    await store.run(pushes.record_pushes([(account_id, PUSH)]))
    account = await store.read(account_of(account_id))
    assert (account.state, account.push) == ("ready", PUSH)
