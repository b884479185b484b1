"""Group commit of pushes: concurrent pushes share a transaction, and disconnecting clients do not affect others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from svc.clock import DAY_MS, day_of
from svc.errors import StoreUnavailable, Unauthorized
from svc.http.resources.intake import MAX_PUSHES, MAX_ROWS, Intake, ParsedPush
from svc.metrics import Metrics
from svc.model import WorkerPush
from svc.store import accounts, totals
from svc.store.totals import Ingested
from svc.store.tx import sql
from svc.worker.pushed import PushedPart
from tests.clock import START_MS
from tests.store.makers import a_link, an_account

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

pytestmark = pytest.mark.both_engines

YESTERDAY = day_of(START_MS) - 1
AS_OF = (YESTERDAY + 1) * DAY_MS


class HeldStore:
    """A store that holds each transaction until `release` is set, and counts the transactions that have begun."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.begun = 0
        self.unavailable = False
        self.release = trio.Event()

    async def run(self, tx: Tx[Any]) -> Any:
        """Run a transaction once `release` is set."""
        self.begun += 1
        try:
            await self.release.wait()
        except trio.Cancelled:
            tx.close()
            raise
        if self.unavailable:
            tx.close()
            raise StoreUnavailable("The disk is full.")
        return await self._store.run(tx)


class Workers:
    """Accounts with one link each, and functions that send their Workers' pushes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.held = HeldStore(store)
        self.intake = Intake(self.held, Metrics())  # type: ignore[arg-type]  # it uses no other methods of the store
        self.links: dict[str, str] = {}
        self.responses: dict[str, Ingested | Exception] = {}

    async def add(self, count: int) -> list[str]:
        """Add `count` accounts, and return all account ids."""
        for _ in range(count):
            account_id = await self.store.run(an_account())
            self.links[account_id] = await self.store.run(a_link(account_id))
        return list(self.links)

    def push(self, account_id: str, views: int = 1, rows: int = 1) -> ParsedPush:
        """Return a push with yesterday's total for the link, and `rows` - 1 rows for unknown targets."""
        days = [(self.links[account_id], views, 0, 0), *((f"lnk_{number}", 1, 0, 0) for number in range(rows - 1))]
        part = PushedPart(7, YESTERDAY, AS_OF, True, (), (), tuple(days))
        return ParsedPush(account_id, [part], (), WorkerPush(START_MS, "bundle", queue=1))

    async def send_until_cancelled(self, account_id: str, scopes: list[trio.CancelScope]) -> None:
        """Send an account's push in a new cancel scope, and add that scope to `scopes`."""
        with trio.CancelScope() as scope:
            scopes.append(scope)
            await self.send(self.push(account_id))

    async def send(self, push: ParsedPush) -> None:
        """Send a push, and record its result or exception."""
        try:
            self.responses[push.account_id] = await self.intake.store(push)
        except Exception as error:  # noqa: BLE001  # the tests check its type
            self.responses[push.account_id] = error

    async def views(self, account_id: str) -> int | None:
        """Return the number of views stored for yesterday, or None."""
        days = await self.store.read(totals.day_counts(self.links[account_id], YESTERDAY, YESTERDAY))
        return days[YESTERDAY][0].views if days else None


@pytest.fixture
def workers(store):
    return Workers(store)


async def settled() -> None:
    """Let all other tasks run until they block."""
    await trio.testing.wait_all_tasks_blocked()


@pytest.mark.rule("W3")
async def test_pushes_that_arrive_during_a_write_share_a_transaction(workers):
    ids = await workers.add(6)
    async with trio.open_nursery() as nursery:
        for number, account_id in enumerate(ids):
            nursery.start_soon(workers.send, workers.push(account_id, number + 1))
        await settled()
        assert workers.held.begun == 1
        assert workers.responses == {}
        workers.held.release.set()
    assert workers.held.begun == 2
    assert workers.responses == dict.fromkeys(ids, Ingested((7,), (), ()))
    assert [await workers.views(account_id) for account_id in ids] == [1, 2, 3, 4, 5, 6]
    for account_id in ids:
        account = await workers.store.read(accounts.account_by_id(account_id))
        assert account.push.queue == 0


async def test_pushes_of_one_account_in_one_transaction_are_applied_in_order(workers):
    [first, other] = await workers.add(2)
    older, newer = workers.push(first, 3), workers.push(first, 9)
    newer = replace(newer, report=replace(newer.report, bundle="newer"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.send, workers.push(other))
        await settled()
        for push in (older, newer, older):
            nursery.start_soon(workers.send, push)
            await settled()
        nursery.start_soon(workers.send, replace(newer, report=replace(newer.report, bundle="last")))
        await settled()
        workers.held.release.set()
    assert workers.held.begun == 2
    assert await workers.views(first) == 9
    assert (await workers.store.read(accounts.account_by_id(first))).push.bundle == "last"


async def test_group_is_limited_in_pushes_and_rows(workers):
    ids = await workers.add(MAX_PUSHES + 4)
    async with trio.open_nursery() as nursery:
        for account_id in ids[: MAX_PUSHES + 2]:
            nursery.start_soon(workers.send, workers.push(account_id))
        await settled()
        for account_id in ids[MAX_PUSHES + 2 :]:
            nursery.start_soon(workers.send, workers.push(account_id, rows=MAX_ROWS))
            await settled()
        workers.held.release.set()
    # One transaction for the first push, one for a full group, one for the remaining push, and one for each of the two
    # large pushes.
    assert workers.held.begun == 1 + 1 + 1 + 2
    assert [await workers.views(account_id) for account_id in ids] == [1] * len(ids)


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_disconnecting_client_does_not_affect_other_pushes(workers, which):
    ids = await workers.add(4)
    scopes = {account_id: trio.CancelScope() for account_id in ids}

    async def one(account_id):
        with scopes[account_id]:
            await workers.send(workers.push(account_id))

    async with trio.open_nursery() as nursery:
        for account_id in ids:
            nursery.start_soon(one, account_id)
            await settled()
        scopes[ids[which]].cancel()
        await settled()
        workers.held.release.set()
    assert set(workers.responses) == set(ids) - {ids[which]}
    assert [await workers.views(account_id) for account_id in ids if account_id != ids[which]] == [1] * 3
    await workers.send(workers.push(ids[which]))
    assert await workers.views(ids[which]) == 1


async def test_several_disconnecting_clients_do_not_block_later_pushes(workers):
    ids = await workers.add(5)
    scopes: list[trio.CancelScope] = []

    async with trio.open_nursery() as nursery:
        for account_id in ids[:3]:
            nursery.start_soon(workers.send_until_cancelled, account_id, scopes)
            await settled()
        nursery.start_soon(workers.send, workers.push(ids[3]))
        await settled()
        for scope in scopes:
            scope.cancel()
        await settled()
        nursery.start_soon(workers.send, workers.push(ids[4]))
        workers.held.release.set()
    assert set(workers.responses) == set(ids[3:])


async def test_disconnected_members_of_a_group_are_skipped_if_its_writer_disconnects(workers):
    ids = await workers.add(4)
    scopes: list[trio.CancelScope] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workers.send, workers.push(ids[0]))
        await settled()
        for account_id in ids[1:3]:
            nursery.start_soon(workers.send_until_cancelled, account_id, scopes)
            await settled()
        nursery.start_soon(workers.send, workers.push(ids[3]))
        await settled()
        held, workers.held.release = workers.held.release, trio.Event()
        held.set()  # the first push is now written; the others form the next group, which the store holds as well
        while workers.held.begun < 2:
            await trio.lowlevel.checkpoint()
        await settled()
        for scope in scopes:
            scope.cancel()
        await settled()
        workers.held.release.set()
    assert set(workers.responses) == {ids[0], ids[3]}
    assert [await workers.views(account_id) for account_id in (ids[0], ids[3])] == [1, 1]


async def test_bad_push_fails_alone(workers):
    ids = await workers.add(5)
    async with trio.open_nursery() as nursery:
        for account_id in ids:
            nursery.start_soon(workers.send, workers.push(account_id, 2**70 if account_id == ids[2] else 1))
            await settled()
        workers.held.release.set()
    assert not isinstance(workers.responses.pop(ids[2]), Ingested)
    assert set(workers.responses.values()) == {Ingested((7,), (), ())}
    assert [await workers.views(account_id) for account_id in ids] == [1, 1, None, 1, 1]


@pytest.mark.rule("W7")
async def test_push_of_a_removed_account_fails_alone(workers):
    ids = await workers.add(3)
    async with trio.open_nursery() as nursery:
        for account_id in ids:
            nursery.start_soon(workers.send, workers.push(account_id))
            await settled()
        await workers.store.run(_forget(ids[1]))
        workers.held.release.set()
    assert isinstance(workers.responses[ids[1]], Unauthorized)
    assert [await workers.views(account_id) for account_id in (ids[0], ids[2])] == [1, 1]


def _forget(account_id: str) -> Tx[None]:
    yield sql("delete from link_hosts where account_id = $1", account_id)
    yield sql("delete from accounts where id = $1", account_id)


async def test_unavailable_store_fails_each_push_with_a_separate_error(workers):
    ids = await workers.add(3)
    workers.held.unavailable = True
    async with trio.open_nursery() as nursery:
        for account_id in ids:
            nursery.start_soon(workers.send, workers.push(account_id))
        await settled()
        workers.held.release.set()
    assert {type(response) for response in workers.responses.values()} == {StoreUnavailable}
    assert len({id(response) for response in workers.responses.values()}) == 3
    workers.held.unavailable = False
    await workers.send(workers.push(ids[0]))
    assert await workers.views(ids[0]) == 1
