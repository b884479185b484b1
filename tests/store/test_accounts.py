"""Tests that each change of an account's plan or retention increments the version of the account's configuration."""

from __future__ import annotations

import pytest
import trio

from svc.model import WorkerSettings
from svc.store import accounts
from tests.clock import START_MS
from tests.store.interleaving import slowly
from tests.store.makers import account_of, an_account


@pytest.mark.rule("W5")
async def test_change_of_settings_increments_the_version(store):
    account_id = await store.run(an_account())
    account = await store.read(account_of(account_id))
    assert (account.settings, account.config_version) == (WorkerSettings(35, version=0), 1)
    woken: list[str] = []
    with store.changes.subscribe(woken.append):
        for same in ({}, {"days_kept": 35, "months_kept": "forever"}, {"days_kept": None, "name": "Other"}):
            changed = await store.run(accounts.change_account(account_id, START_MS, **same))
            assert (changed.settings, changed.config_version, woken) == (WorkerSettings(35, version=0), 1, [])
        changed = await store.run(accounts.change_account(account_id, START_MS, name="Shop", plan="paid", days_kept=14))
    assert (changed.name, changed.settings) == ("Shop", WorkerSettings(14, version=2, plan="paid"))
    assert changed.config_version == 2
    assert set(woken) == {account.edge_account_id}
    again = await store.run(accounts.change_account(account_id, START_MS, plan="paid", days_kept=14))
    assert (again.settings, again.config_version) == (changed.settings, 2)
    months = await store.run(accounts.change_account(account_id, START_MS, months_kept=6))
    assert (months.settings, months.config_version) == (WorkerSettings(14, 6, 3, "paid"), 3)
    # A change back to the defaults must also reach the Worker.
    months = await store.run(accounts.change_account(account_id, START_MS, months_kept="forever"))
    assert months.settings == WorkerSettings(14, "forever", 4, "paid")
    free = await store.run(accounts.change_account(account_id, START_MS, plan="free"))
    assert (free.settings, free.config_version) == (WorkerSettings(14, version=5), 5)
    back = await store.run(accounts.change_account(account_id, START_MS, days_kept=35))
    assert (back.settings, back.config_version) == (WorkerSettings(35, version=6), 6)


@pytest.mark.rule("W5")
@pytest.mark.parametrize(("days", "versions"), [((14, 20), [2, 3]), ((14, 14), [2, 2])], ids=["other", "same"])
async def test_concurrent_changes_of_days_kept_run_one_after_the_other(store, pause, days, versions):
    account_id = await store.run(an_account())
    changed = []

    async def change(wanted: int) -> None:
        transaction = slowly(accounts.change_account(account_id, START_MS, days_kept=wanted), pause)
        changed.append((await store.run(transaction)).settings)

    async with trio.open_nursery() as nursery:
        for each in days:
            nursery.start_soon(change, each)
    account = await store.read(account_of(account_id))
    assert sorted(kept.version for kept in changed) == versions
    assert sorted(kept.days for kept in changed) == sorted(days)
    last = max(changed, key=lambda kept: kept.version)
    assert (account.settings, account.config_version) == (last, last.version)
