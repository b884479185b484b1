"""Tests of the audit log. Events are written together with their change or not at all, and readers never see gaps."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, get_args

import pytest
import trio

from svc.errors import Conflict, ErrorNote
from svc.model import AccountState, Event, EventOrder
from svc.store import accounts, connects, events, open_store, operations, states, users
from svc.store.tx import UNCHANGED, sql
from tests.cases import cases
from tests.clock import START_MS
from tests.databases import postgres_config
from tests.store.makers import a_user, an_account, owner_of, record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from svc.store.tx import Store, Tx

NOTE = ErrorNote("permission_error", "A permission is missing.")
ACCOUNTS = ("a" * 32, "b" * 32)


def key_event(user_id: int, target: str = "key_1", edge_account_id: str | None = None) -> Event:
    return Event(user_id, START_MS, "session", "192.0.2.7", "key.issue", target, "done", edge_account_id)


async def audit_log(store: Store, user_id: int) -> list[Event]:
    """Return the user's events, oldest first."""
    found, following = await store.read(events.page(user_id, "oldest", None, 1_000))
    assert following is None
    return found


async def numbers(store: Store, user_id: int) -> list[int]:
    return [event.number for event in await audit_log(store, user_id)]


@pytest.mark.rule("X12")
async def test_event_is_stored_with_the_next_number_of_its_user(store: Store) -> None:
    one, other = await store.run(a_user()), await store.run(a_user())
    whole = Event(one, START_MS, "key_2", None, "link.create", "acc_1", "done", ACCOUNTS[0], 7)
    await store.run(record(key_event(one), key_event(other), whole))
    await store.run(record(key_event(one, "key_3")))
    shown = await audit_log(store, one)
    assert [event.number for event in shown] == [1, 2, 3]
    assert [(event.target, event.ip) for event in shown] == [
        ("key_1", "192.0.2.7"),
        ("acc_1", None),
        ("key_3", "192.0.2.7"),
    ]
    assert shown[1] == Event(one, START_MS, "key_2", None, "link.create", "acc_1", "done", ACCOUNTS[0], 7, number=2)
    assert await numbers(store, other) == [1]


@pytest.mark.rule("X12")
async def test_rolled_back_or_unchanged_transactions_write_no_events(store: Store) -> None:
    user_id = await store.run(a_user())

    def undone() -> Tx[None]:
        yield key_event(user_id)
        raise Conflict("link_exists")

    def unchanged() -> Tx[None]:
        yield UNCHANGED
        yield key_event(user_id)

    with pytest.raises(Conflict):
        await store.run(undone())
    await store.run(unchanged())
    assert await audit_log(store, user_id) == []
    await store.run(record(key_event(user_id)))
    assert await numbers(store, user_id) == [1]


@pytest.mark.rule("X12")
async def test_audit_log_is_deleted_with_its_user_and_later_events_are_dropped(store: Store) -> None:
    user_id = await store.run(a_user())
    await store.run(record(key_event(user_id)))

    def gone() -> Tx[int]:
        yield sql("delete from users where id = $1", user_id)
        yield key_event(user_id)
        rows = yield sql("select count(*) as n from events")
        return int(rows[0]["n"])

    assert await store.run(gone()) == 0
    await store.run(record(key_event(user_id)))
    assert await audit_log(store, user_id) == []


async def test_pages_continue_correctly_while_events_are_added(store: Store) -> None:
    user_id = await store.run(a_user())
    for _ in range(7):
        await store.run(record(key_event(user_id)))
    seen: list[int] = []
    after = None
    while True:
        found, after = await store.read(events.page(user_id, "newest", after, 3))
        seen += [event.number for event in found]
        if after is None:
            break
        await store.run(record(key_event(user_id)))
    assert seen == [7, 6, 5, 4, 3, 2, 1]


async def test_page_searches_a_limited_number_of_events(store: Store) -> None:
    """There may be many events between those that a restricted key can see. A page must not read all of these
    events.
    """
    user_id, many = await store.run(a_user()), events._MAX_SEARCHED
    await store.run(record(key_event(user_id, "key_1", ACCOUNTS[0]), *[key_event(user_id)] * many, key_event(user_id)))
    seen = {"newest": ([], 3, [1]), "oldest": ([1], many, [])}
    for order in get_args(EventOrder):
        first, then, second = seen[order]
        found, following = await store.read(events.page(user_id, order, None, 10, ACCOUNTS[:1], own=False))
        assert ([event.number for event in found], following) == (first, then)
        found, following = await store.read(events.page(user_id, order, then, 10, ACCOUNTS[:1], own=False))
        assert ([event.number for event in found], following) == (second, None)


@cases(
    ("edge_accounts", "own", "seen"),
    [
        (None, True, [1, 2, 3]),
        (None, False, [2, 3]),
        (ACCOUNTS[:1], False, [2]),
        (ACCOUNTS[1:], False, [3]),
        (ACCOUNTS[:1], True, [1, 2]),
        ((), False, []),
    ],
)
async def test_reader_sees_only_events_of_permitted_accounts(
    store: Store, edge_accounts: tuple[str, ...] | None, own: bool, seen: list[int]
) -> None:
    user_id = await store.run(a_user())
    await store.run(record(key_event(user_id), *(key_event(user_id, "acc", each) for each in ACCOUNTS)))
    found, _ = await store.read(events.page(user_id, "oldest", None, 10, edge_accounts, own=own))
    assert [event.number for event in found] == seen


@pytest.mark.rule("X12")
async def test_reader_misses_no_events_of_concurrent_writers(store: Store) -> None:
    user_id = await store.run(a_user())
    seen: list[int] = []

    async def write() -> None:
        for _ in range(10):
            await store.run(record(key_event(user_id), key_event(user_id)))

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(write)
            while len(seen) < 160:
                found, _ = await store.read(events.page(user_id, "oldest", seen[-1] if seen else None, 100))
                seen += [event.number for event in found]
    assert seen == list(range(1, 161))


# --------------------------------------------------------------------------------------------------------- slow commits


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[Store]:
    with postgres_config(postgres_url) as config:
        async with open_store(config) as opened:
            yield opened


def slow_commits() -> Tx[None]:
    """Delay commits that contain an event with the target `slow` until the test releases its lock."""
    yield sql(
        "create function slow() returns trigger language plpgsql"
        " as 'begin perform pg_advisory_xact_lock(44); return null; end'"
    )
    yield sql(
        "create constraint trigger slow after insert on events deferrable initially deferred"
        " for each row when (new.target = 'slow') execute function slow()"
    )


async def until_waiting(store: Store, event_kind: str) -> None:
    """Wait until a session of the store's database has this wait event, which shows that it waits for a lock."""
    text = "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event = $1"

    def waiting() -> Tx[int]:
        rows = yield sql(text, event_kind)
        return int(rows[0]["n"])

    while not await store.read(waiting()):
        pass


@pytest.mark.rule("X12")
async def test_event_appears_only_after_all_lower_numbers(
    postgres: Store,
) -> None:
    one, other = await postgres.run(a_user()), await postgres.run(a_user())
    await postgres.run(slow_commits())
    held, let_go = threading.Event(), trio.CancelScope()

    def hold() -> Tx[None]:
        yield sql("select pg_advisory_xact_lock(44)")
        held.set()
        yield sql("select pg_sleep(60)")  # this statement runs until the transaction is cancelled

    async def holder() -> None:
        with let_go:
            await postgres.run(hold())

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(holder)
            await trio.to_thread.run_sync(held.wait)
            nursery.start_soon(postgres.run, record(key_event(one, "slow")))
            await until_waiting(postgres, "advisory")
            nursery.start_soon(postgres.run, record(key_event(one, "quick")))
            await until_waiting(postgres, "transactionid")
            assert await audit_log(postgres, one) == []
            # the event of another user is written without waiting
            await postgres.run(record(key_event(other, "quick")))
            assert await numbers(postgres, other) == [1]
            let_go.cancel()
    assert [(event.number, event.target) for event in await audit_log(postgres, one)] == [(1, "slow"), (2, "quick")]


@pytest.mark.rule("X12")
async def test_events_of_several_users_do_not_deadlock(postgres: Store) -> None:
    """Several users' events are written together, for example when many silent accounts push again. No push may fail
    because of another push.
    """
    some = [await postgres.run(a_user()) for _ in range(3)]

    async def write(users_in: Iterable[int]) -> None:
        for _ in range(10):
            await postgres.run(record(*(key_event(user_id) for user_id in users_in)))

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, some)
            nursery.start_soon(write, some[::-1])
    for user_id in some:
        assert await numbers(postgres, user_id) == list(range(1, 21))


# ---------------------------------------------------------------------------------------------- states and operations


async def events_about(store: Store, account_id: str) -> list[tuple[str, str]]:
    user_id = await store.run(owner_of(account_id))
    return [(event.action, event.outcome) for event in await audit_log(store, user_id) if event.target == account_id]


@pytest.mark.rule("X12")
async def test_only_state_changes_write_state_events(store: Store) -> None:
    account_id = await store.run(an_account())
    assert await events_about(store, account_id) == [("account.state", "pending")]
    every: tuple[AccountState, ...] = get_args(AccountState)
    steps: list[tuple[Any, AccountState, bool]] = [
        (None, "installing", True),
        (("pending",), "ready", False),
        (("installing",), "ready", True),
        (("ready",), "ready", True),  # the state is the same, but the error differs
        (every, "permission_error", True),
        (("ready", "no_connection"), "permission_error", False),
    ]
    for among, to, moved in steps:
        assert await store.run(states.move(account_id, among, to, NOTE, START_MS)) is moved
    [*_, last] = await audit_log(store, await store.run(owner_of(account_id)))
    account = accounts.present(await store.read(accounts.account_by_id(account_id)))
    assert (account.state, account.error) == ("permission_error", NOTE)
    assert (last.via, last.ip, last.edge_account_id, last.at) == ("service", None, account.edge_account_id, START_MS)
    expected = [("account.state", state) for state in ("pending", "installing", "ready", "permission_error")]
    assert await events_about(store, account_id) == expected
    assert not await store.run(states.move("acc_none", None, "ready", None, START_MS))


@pytest.mark.rule("X12")
@cases("kind", ["connect", "renew", "install", "update", "disconnect"])
async def test_end_of_an_operation_writes_an_event_unless_its_request_does(store: Store, kind: Any) -> None:
    account_id = await store.run(an_account())
    first = await store.read(operations.running(account_id))
    assert first is not None
    edge_account_id = first.edge_account_id
    await store.run(operations.finish(first.id, START_MS))
    await store.run(operations.add(f"op_{kind}_1", account_id, edge_account_id, kind, "step", START_MS))
    await store.run(operations.finish(f"op_{kind}_1", START_MS))
    await store.run(operations.add(f"op_{kind}_2", account_id, edge_account_id, kind, "step", START_MS))
    await store.run(operations.fail(f"op_{kind}_2", NOTE, START_MS))
    done = [(f"account.{kind}", "done")] if kind in ("install", "update") else []
    expected = [("account.state", "pending"), *done, (f"account.{kind}", "permission_error")]
    assert await events_about(store, account_id) == expected


@pytest.mark.rule("X12")
async def test_dropped_connect_remains_in_the_audit_log(store: Store) -> None:
    account_id = await store.run(an_account())
    user_id = await store.run(owner_of(account_id))
    await store.run(connects.drop_connect(account_id, NOTE, START_MS))
    [*_, last] = await audit_log(store, user_id)
    assert (last.action, last.target, last.outcome) == ("account.connect", account_id, "permission_error")


async def test_displaced_sign_up_is_deleted_with_its_audit_log(store: Store) -> None:
    for number in range(users.MAX_SIGN_UPS + 3):
        user = await store.run(users.add_user("same@example.com", "hash", START_MS))
        assert user is not None
        await store.run(record(key_event(user.id, f"key_{number}")))

    def left() -> Tx[tuple[int, int]]:
        rows = yield sql("select (select count(*) from trails) as trails, (select count(*) from events) as events")
        return int(rows[0]["trails"]), int(rows[0]["events"])

    assert await store.read(left()) == (users.MAX_SIGN_UPS, users.MAX_SIGN_UPS)
