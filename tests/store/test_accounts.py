"""Tests that accounts run one operation at a time, and that concurrent changes to an account are not lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pytest
import trio

from svc.clock import DAY_MS, day_of
from svc.errors import Conflict, ErrorNote
from svc.ids import new_id
from svc.model import ObsoleteRoute, Retention, WorkerPush
from svc.store import accounts, link_hosts, operations, states, syncs, totals, unwanted_routes
from svc.store.tx import sql
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.makers import a_site, an_account

if TYPE_CHECKING:
    from svc.model import Account
    from svc.store.tx import Store, Tx

T = TypeVar("T")

PUSH = WorkerPush(START_MS, "b" * 64, 1, 0, None, {"budget": 0}, "op_unknown")


async def account_of(store: Store, account_id: str) -> Account:
    return accounts.present(await store.read(accounts.account_by_id(account_id)))


def in_state(account_id: str, state: str) -> Tx[None]:
    yield sql("update accounts set state = $2 where id = $1", account_id, state)


@pytest.fixture
def pause(store_config):
    """A statement that gives concurrent transactions time to interleave, if the engine allows this."""
    url = store_config.url.get_secret_value()
    return "select 1 as one" if url.startswith("sqlite") else "select pg_sleep(0.05)"


def slowly(tx: Tx[T], pause: str) -> Tx[T]:
    """Run the transaction with a pause after each statement."""
    try:
        step = next(tx)
        while True:
            rows = yield step
            yield sql(pause)
            step = tx.send(rows)
    except StopIteration as done:
        value: T = done.value
        return value


@pytest.mark.rule("A15")
@pytest.mark.parametrize("push_first", [True, False])
async def test_concurrent_push_and_state_change_are_both_kept(store, pause, push_first):
    account_id = await store.run(an_account())
    await store.run(in_state(account_id, "ready"))
    both = [
        accounts.record_pushes([(account_id, PUSH)]),
        states.move(account_id, ("ready",), "permission_error", ErrorNote("permission_error", "no"), START_MS),
    ]
    async with trio.open_nursery() as nursery:
        for tx in both if push_first else both[::-1]:
            nursery.start_soon(store.run, slowly(tx, pause))
    account = await account_of(store, account_id)
    assert account.state == "permission_error"
    assert account.error == ErrorNote("permission_error", "no")
    assert account.push == PUSH


async def test_two_concurrent_warnings_are_both_kept(store, pause):
    account_id = await store.run(an_account())
    async with trio.open_nursery() as nursery:
        for warning in ("not_confirmed", "bootstrap_not_deleted"):
            nursery.start_soon(store.run, slowly(accounts.warn(account_id, warning), pause))
    assert (await account_of(store, account_id)).warnings == ("bootstrap_not_deleted", "not_confirmed")


@pytest.mark.rule("A15")
async def test_silence_is_ignored_if_the_worker_has_just_reported(store):
    account_id = await store.run(an_account())
    await store.run(in_state(account_id, "ready"))
    error = ErrorNote("worker_silent", "It is silent.")
    await store.run(accounts.record_pushes([(account_id, PUSH)]))
    # The caller has read the account before the push, so its information is outdated.
    await store.run(accounts.record_silence(account_id, PUSH.at - 1, error, PUSH.at))
    assert (await account_of(store, account_id)).state == "ready"
    await store.run(accounts.record_silence(account_id, PUSH.at, error, PUSH.at))
    found = await account_of(store, account_id)
    assert (found.state, found.error) == ("no_connection", error)


@pytest.mark.rule("S7", "W3")
async def test_missing_parts_before_a_push_reveal_lost_commits(store):
    first_id, second_id = await store.run(an_account()), await store.run(an_account())
    report = replace(PUSH, at=START_MS + 5)

    async def asked_after_push(account_id, first, last):
        """Push these parts. If the Worker's data must be read back, return `restored_as_of`, otherwise None."""
        woken: list[str] = []
        with store.changes.subscribe(woken.append):
            await store.run(accounts.record_pushes([(account_id, report)], {account_id: (first, last)}))
        account = await account_of(store, account_id)
        assert (account.suspected_at is None) == (account.restored_as_of is None) == (not woken)
        return account.restored_as_of

    async def read_back(account_id):
        await store.run(syncs.end_recovery(account_id))
        await store.run(
            accounts.record_health_check(account_id, (await account_of(store, account_id)).suspected_at, None)
        )

    # The pushes have single parts, several parts, repeated parts, parts that are too early to be accepted, and parts
    # that arrive late.
    for first, last in ((1, 1), (2, 4), (2, 4), (3, 6), (7, None), (7, 7), (2, 3), (8, 8)):
        assert await asked_after_push(first_id, first, last) is None
    await store.run(accounts.record_pushes([(first_id, report)]))
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
    await store.run(in_state(account_id, "no_connection"))
    await store.run(accounts.record_pushes([(account_id, PUSH)]))
    account = await account_of(store, account_id)
    assert (account.state, account.push) == ("ready", PUSH)


@pytest.mark.rule("A10")
async def test_only_one_of_twenty_concurrent_operations_begins(store):
    account_id = await store.run(an_account())
    edge_account_id = (await account_of(store, account_id)).edge_account_id
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
    await store.run(without_record(account_id))
    operation = await store.read(operations.latest(account_id))
    assert (operation.account_id, operation.kind) == (account_id, "connect")


def without_record(account_id: str) -> Tx[None]:
    yield sql("delete from accounts where id = $1", account_id)


@pytest.mark.rule("W5")
async def test_change_of_retention_increments_the_version(store):
    account_id = await store.run(an_account())
    account = await account_of(store, account_id)
    assert (account.retention, account.config_version) == (Retention(35, version=0), 1)
    woken: list[str] = []
    with store.changes.subscribe(woken.append):
        for same in ({}, {"days_kept": 35, "months_kept": "forever"}, {"days_kept": None, "name": "Other"}):
            changed = await store.run(accounts.change_account(account_id, START_MS, **same))
            assert (changed.retention, changed.config_version, woken) == (Retention(35, version=0), 1, [])
        changed = await store.run(accounts.change_account(account_id, START_MS, name="Shop", plan="paid", days_kept=14))
    assert (changed.name, changed.plan, changed.retention, changed.config_version) == (
        "Shop",
        "paid",
        Retention(14, version=2),
        2,
    )
    assert set(woken) == {account.edge_account_id}
    again = await store.run(accounts.change_account(account_id, START_MS, plan="free", days_kept=14))
    assert (again.plan, again.retention, again.config_version) == ("free", Retention(14, version=2), 2)
    months = await store.run(accounts.change_account(account_id, START_MS, months_kept=6))
    assert (months.retention, months.config_version) == (Retention(14, 6, 3), 3)
    # A change back to the default retention must also reach the Worker.
    months = await store.run(accounts.change_account(account_id, START_MS, months_kept="forever"))
    assert months.retention == Retention(14, "forever", 4)
    back = await store.run(accounts.change_account(account_id, START_MS, days_kept=35))
    assert (back.retention, back.config_version) == (Retention(35, version=5), 5)


@pytest.mark.rule("W5")
@pytest.mark.parametrize(("days", "versions"), [((14, 20), [2, 3]), ((14, 14), [2, 2])], ids=["other", "same"])
async def test_concurrent_changes_of_days_kept_run_one_after_the_other(store, pause, days, versions):
    account_id = await store.run(an_account())
    changed = []

    async def change(wanted: int) -> None:
        transaction = slowly(accounts.change_account(account_id, START_MS, days_kept=wanted), pause)
        changed.append((await store.run(transaction)).retention)

    async with trio.open_nursery() as nursery:
        for each in days:
            nursery.start_soon(change, each)
    account = await account_of(store, account_id)
    assert sorted(kept.version for kept in changed) == versions
    assert sorted(kept.days for kept in changed) == sorted(days)
    last = max(changed, key=lambda kept: kept.version)
    assert (account.retention, account.config_version) == (last, last.version)


@pytest.mark.rule("A19")
async def test_new_link_host_replaces_the_old_one_under_a_new_version(store):
    account_id = await store.run(an_account())
    await store.run(a_site(account_id))
    await store.run(link_hosts.set_link_host_route(account_id, "go.example.com", "zone", "active", "r1", None))
    same = await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone"))
    assert (same.version, same.state, same.route_id) == (1, "active", "r1")
    await store.run(link_hosts.put_link_host(account_id, "l.example.com", "zone"))
    account = await account_of(store, account_id)
    assert account.link_host is not None
    assert (account.link_host.host, account.link_host.version, account.config_version) == ("l.example.com", 3, 3)
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    assert unwanted == [ObsoleteRoute(account_id, "zone", "go.example.com", "go.example.com/*", "r1")]
    await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone"))
    [left] = await store.read(unwanted_routes.of_account(account_id))
    assert (left.host, left.route_id) == ("l.example.com", None)
    # The host is now in another zone, so the route in the old zone is not needed any more.
    await store.run(link_hosts.put_link_host(account_id, "go.example.com", "zone2"))
    unwanted = await store.read(unwanted_routes.of_account(account_id))
    assert [(route.host, route.zone_id) for route in unwanted] == [
        ("go.example.com", "zone"),
        ("l.example.com", "zone"),
    ]
    await store.run(unwanted_routes.forget(unwanted[0]))
    assert await store.read(unwanted_routes.of_account(account_id)) == unwanted[1:]
