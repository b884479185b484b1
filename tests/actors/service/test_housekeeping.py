"""Retention: each kind of row is deleted when it expires and not earlier, in batches, even if other deletions fail."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.actors.context import Context
from svc.actors.service.housekeeping import Chore, chores, run_chore, run_periodically
from svc.actors.supervisor import open_supervisor
from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.config import Config, TimingConfig
from svc.ids import new_id
from svc.model import Event
from svc.store import (
    accounts,
    batches,
    devices,
    disconnects,
    email_changes,
    invitations,
    open_store,
    operations,
    recipients,
    retention,
    sessions,
    sites,
    user_deletions,
    users,
    worker_keys,
)
from svc.store.idempotency import Claim, StoredResponse, keep_response
from svc.store.tx import many, sql
from tests.clock import START_MS, FrozenClock
from tests.databases import sqlite_config
from tests.store.direct_changes import delete_operations
from tests.store.makers import a_mailing, a_user, an_account, new_session, new_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.store.tx import Store, Tx

YEAR_MS = 365 * DAY_MS


@pytest.fixture
def context(store, clock):
    return context_on(store, clock)


def context_on(store: Store, clock: FrozenClock) -> Context:
    none = cast("Any", None)  # nothing here calls Cloudflare
    config = Config(timing=TimingConfig(crash_backoff_s=0.01))
    return Context(store=store, edge=none, vault=none, config=config, clock=clock, bundle=none, push_url="")


def count(table: str) -> Tx[int]:
    rows = yield sql(f"select count(*) as n from {table}")
    return int(rows[0]["n"])


def response() -> Tx[None]:
    claim = Claim((yield from a_user()), None, "POST", "/v1/sites", "key", "digest")
    yield from keep_response(claim, StoredResponse(202, b"", "", {}), START_MS - 1, 1)


def session() -> Tx[None]:
    yield from sessions.add_session(new_session((yield from a_user()), until=START_MS, at=START_MS - 1))


def mail_token() -> Tx[None]:
    yield from users.put_mail_token(users.UNKNOWN_USER, "reset", "digest", START_MS)


def invitation() -> Tx[None]:
    made = yield from invitations.invite("new@example.com", START_MS - 1, START_MS)
    yield from invitations.add_token(made.id, "digest")


def email_change() -> Tx[None]:
    user_id = yield from a_user()
    change = email_changes.EmailChange(
        new_id("chg"), user_id, "a@example.com", "b@example.com", "ses", START_MS - 1, START_MS - 1, START_MS, None
    )
    yield from email_changes.request_change(change, "hash", None)


def deletion_result() -> Tx[None]:
    user_id = yield from a_user()
    yield from user_deletions.begin_by_operator(user_id, "identifier", START_MS - 1)
    yield from user_deletions.end(user_id, START_MS)


def device() -> Tx[None]:
    yield from devices.remember_device((yield from a_user()), "digest", START_MS)


def sign_up() -> Tx[None]:
    yield from a_user()


def worker_key() -> Tx[None]:
    account_id = yield from an_account()
    yield from worker_keys.add_worker_key(account_id, "old", "op_1")
    yield from worker_keys.retire_worker_keys(account_id, "op_2", START_MS)


def mailing_request() -> Tx[None]:
    account_id = yield from an_account()
    yield from a_mailing(account_id, account_id, "account")


def mailing_token() -> Tx[None]:
    account_id = yield from an_account()
    mailing = yield from a_mailing(account_id, account_id, "account")
    yield from recipients.add_token(mailing.recipients[0].id, "digest", START_MS)


def hour() -> Tx[None]:
    yield from hours(1)


def hours(number: int) -> Tx[None]:
    """Insert one hourly row for each of `number` targets, all at START_MS."""
    text = "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, 1, 0, 1, $3, 1)"
    yield many(text, [(f"lnk_{n}", START_MS, START_MS + HOUR_MS) for n in range(number)])


def refused_hour() -> Tx[None]:
    yield sql("insert into refused_hours (account_id, at) values ($1, $2)", (yield from an_account()), START_MS)


def final_day() -> Tx[None]:
    yield sql("insert into final_days (account_id, day) values ($1, $2)", (yield from an_account()), day_of(START_MS))


def operation() -> Tx[str]:
    """Insert an operation that has ended. Its account was deleted and has no later operations."""
    return (yield from ended_operation(new_id("acc"), "e" * 32))


def ended_operation(account_id: str, edge_account_id: str, now: int = START_MS) -> Tx[str]:
    operation_id = new_id("op")
    yield from operations.add(operation_id, account_id, edge_account_id, "install", "database", now)
    yield from operations.finish(operation_id, now)
    return operation_id


def former_account() -> Tx[str]:
    """Insert a former account without sites, links or operations."""
    account_id = yield from an_account()
    operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), START_MS)
    yield from disconnects.end_disconnect(operation, None, [], START_MS)
    yield from delete_operations(account_id)
    return account_id


def event() -> Tx[None]:
    user_id = yield from a_user()
    yield Event(user_id, START_MS, "session", "192.0.2.7", "user.change", None, "done")


@dataclass(frozen=True)
class Lifetime:
    """A row with the time START_MS, and the earliest time at which the row is deleted."""

    make: Callable[[], Tx[object]]
    delete: Callable[[int], Tx[int]]
    table: str
    gone_at: int


LIFETIMES = [
    Lifetime(response, retention.delete_responses, "idempotency", START_MS),
    Lifetime(session, retention.delete_sessions, "sessions", START_MS),
    Lifetime(mail_token, retention.delete_mail_tokens, "mail_tokens", START_MS),
    Lifetime(invitation, retention.delete_invitations, "invitations", START_MS),
    Lifetime(email_change, retention.delete_email_changes, "email_changes", START_MS),
    Lifetime(deletion_result, retention.delete_deletion_results, "deletion_results", START_MS + DAY_MS),
    Lifetime(worker_key, retention.delete_worker_keys, "worker_keys", START_MS),
    Lifetime(mailing_request, retention.delete_mailing_requests, "mailing_requests", START_MS + DAY_MS),
    Lifetime(mailing_token, retention.delete_mailing_tokens, "mailing_tokens", START_MS + 400 * DAY_MS),
    Lifetime(device, retention.delete_devices, "devices", START_MS + 400 * DAY_MS),
    Lifetime(sign_up, retention.delete_sign_ups, "users", START_MS + 30 * DAY_MS),
    Lifetime(hour, retention.delete_hours, "hours", START_MS + 40 * DAY_MS),
    Lifetime(refused_hour, retention.delete_refused_hours, "refused_hours", START_MS + 40 * DAY_MS),
    Lifetime(final_day, retention.delete_final_days, "final_days", (day_of(START_MS) + 41) * DAY_MS),
    Lifetime(operation, retention.delete_operations, "operations", START_MS + YEAR_MS),
    Lifetime(former_account, retention.delete_former_accounts, "former_accounts", START_MS + YEAR_MS),
    Lifetime(event, retention.delete_events, "events", START_MS + YEAR_MS),
]


def chore_of(delete: Callable[[int], Tx[int]], timing: TimingConfig) -> Chore:
    return next(chore for chore in chores(timing) if chore.delete is delete)


@pytest.mark.rule("G5", "W7")
@pytest.mark.parametrize("lifetime", LIFETIMES, ids=lambda lifetime: lifetime.table)
async def test_row_is_deleted_at_its_time_and_not_before(context, clock, lifetime):
    await context.store.run(lifetime.make())
    rows = await context.store.read(count(lifetime.table))
    chore = chore_of(lifetime.delete, context.config.timing)
    clock.now_ms = lifetime.gone_at - 1
    await run_chore(context, chore)
    assert await context.store.read(count(lifetime.table)) == rows
    clock.now_ms += 1
    await run_chore(context, chore)
    assert await context.store.read(count(lifetime.table)) == rows - 1


def test_every_chore_has_a_test():
    assert [chore.delete for chore in chores(TimingConfig())] == [lifetime.delete for lifetime in LIFETIMES]


def test_retention_of_hours_is_configurable():
    timing = TimingConfig(hours_kept_days=7)
    for delete in (retention.delete_hours, retention.delete_refused_hours):
        assert chore_of(delete, timing).kept_days == 7
    with pytest.raises(ValueError, match="hours_kept_days"):
        TimingConfig(hours_kept_days=1.9)


async def test_more_rows_than_a_batch_are_deleted_in_batches(context, clock):
    await context.store.run(hours(2 * batches.BATCH + 500))
    assert await context.store.run(retention.delete_hours(START_MS)) == batches.BATCH
    assert await context.store.read(count("hours")) == batches.BATCH + 500
    clock.now_ms += 40 * DAY_MS
    await run_chore(context, chore_of(retention.delete_hours, context.config.timing))
    assert await context.store.read(count("hours")) == 0


async def test_key_of_the_running_worker_is_kept(store):
    account_id = await store.run(an_account())
    await store.run(worker_keys.add_worker_key(account_id, "runs", "op_1"))
    assert await store.run(retention.delete_worker_keys(START_MS + 10 * YEAR_MS)) == 0


async def test_sign_up_is_kept_while_a_link_is_valid_or_once_it_is_confirmed(store):
    waiting, confirmed, _ = [await store.run(a_user()) for _ in range(3)]
    await store.run(users.put_mail_token(waiting, "confirm", "waiting", START_MS + 1))
    await store.run(users.put_mail_token(confirmed, "confirm", "confirmed", START_MS + 1))
    assert await store.run(users.confirm_user("confirmed", START_MS))
    assert await store.run(retention.delete_sign_ups(START_MS)) == 1
    assert await store.run(retention.delete_mail_tokens(START_MS + 1)) == 1
    assert await store.run(retention.delete_sign_ups(START_MS)) == 1
    assert await store.read(users.get_user(waiting)) is None
    assert await store.read(users.get_user(confirmed)) is not None


async def test_sign_up_with_an_account_is_kept_and_others_are_deleted(store):
    account_id = await store.run(an_account())
    await store.run(a_user())
    assert await store.run(retention.delete_sign_ups(START_MS)) == 1
    assert await store.read(accounts.account_by_id(account_id)) is not None


@pytest.mark.rule("S6", "L3")
async def test_former_account_is_kept_as_long_as_its_sites_and_operations(store):
    def former_account_with_site() -> Tx[str]:
        user_id = yield from a_user()
        account_id = yield from an_account(user_id)
        yield from sites.add_site(new_site(user_id, account_id), 10)
        operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), START_MS)
        yield from disconnects.end_disconnect(operation, None, [], START_MS)
        return account_id

    account_id = await store.run(former_account_with_site())
    assert await store.run(retention.delete_former_accounts(START_MS + YEAR_MS)) == 0
    await store.run(forget_sites(account_id))
    assert await store.run(retention.delete_former_accounts(START_MS + YEAR_MS)) == 0
    await store.run(delete_operations(account_id))
    assert await store.run(retention.delete_former_accounts(START_MS + YEAR_MS)) == 1


def forget_sites(account_id: str) -> Tx[None]:
    yield sql("delete from sites where account_id = $1", account_id)


async def test_latest_operation_of_each_account_is_kept(store):
    account_id = await store.run(an_account())
    account = accounts.present(await store.read(accounts.account_by_id(account_id)))
    running = await store.read(operations.latest(account_id))
    await store.run(operations.finish(running.id, START_MS))
    for now in (START_MS + 1, START_MS + 2):
        await store.run(ended_operation(account_id, account.edge_account_id, now))
    latest = await store.read(operations.latest(account_id))
    assert await store.run(retention.delete_operations(START_MS + YEAR_MS)) == 2
    assert await store.read(operations.latest(account_id)) == latest
    assert await store.run(retention.delete_operations(START_MS + YEAR_MS)) == 0


async def test_operation_that_identifies_a_resource_is_kept(store):
    def operation_with_open_upload() -> Tx[None]:
        edge_account_id = "b" * 32
        account_id = yield from an_account(edge_account_id=edge_account_id)
        first = yield from operations.latest(account_id)
        assert first is not None
        yield from operations.token_asked(first.id, START_MS)
        yield from operations.finish(first.id, START_MS)
        # the operation created the account's current token, so this token must not be reported as remaining
        own = yield from ended_operation(account_id, edge_account_id)
        yield from operations.token_made(own, "t1")
        yield sql("update accounts set token_id = 't1' where id = $1", account_id)
        uploading = yield from ended_operation(account_id, edge_account_id)
        yield from operations.count_uploads(uploading, 1)
        yield from operations.add(new_id("op"), account_id, edge_account_id, "install", "database", START_MS)

    await store.run(operation_with_open_upload())
    assert await store.run(retention.delete_operations(START_MS + YEAR_MS)) == 0


async def settled(store: Store, table: str) -> None:
    """Wait until the table is empty."""

    async def poll() -> bool | None:
        return None if await store.read(count(table)) else True

    await eventually(poll)


async def test_service_runs_its_chores_at_the_start(context, clock):
    for lifetime in LIFETIMES:
        await context.store.run(lifetime.make())
    clock.now_ms = START_MS + 2 * YEAR_MS
    async with open_supervisor(context, duties=()):
        for table in ("idempotency", "sessions", "mail_tokens", "worker_keys", "devices", "hours", "refused_hours"):
            await settled(context.store, table)
        await settled(context.store, "final_days")


async def test_chore_runs_again_after_its_period(context, clock):
    clock.now_ms = START_MS
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_periodically, context, Chore(retention.delete_mail_tokens, every_s=0.01))
        for _ in range(2):
            await context.store.run(mail_token())
            await settled(context.store, "mail_tokens")
        nursery.cancel_scope.cancel()


async def test_failed_chore_is_logged_and_retried_and_stops_no_other(context, expected_errors):
    expected_errors.allow("chore failed")
    tries = 0

    def broken(_before: int) -> Tx[int]:
        nonlocal tries
        tries += 1
        yield sql("select nonsense from nowhere")
        return 0

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_periodically, context, Chore(broken, every_s=0.01))
        while tries < 2:
            await trio.lowlevel.checkpoint()
        await context.store.run(mail_token())
        nursery.start_soon(run_periodically, context, Chore(retention.delete_mail_tokens, every_s=math.inf))
        await settled(context.store, "mail_tokens")
        nursery.cancel_scope.cancel()


async def test_chore_waits_while_the_store_is_unavailable(tmp_path, clock, expected_errors, caplog):
    expected_errors.allow("store unavailable")

    def no_busy_timeout() -> Tx[None]:
        yield sql("pragma busy_timeout = 1")

    async with open_store(sqlite_config(tmp_path)) as store, trio.open_nursery() as nursery:
        await store.run(no_busy_timeout())
        await store.run(mail_token())
        with closing(sqlite3.connect(tmp_path / "svc.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            nursery.start_soon(
                run_periodically, context_on(store, clock), Chore(retention.delete_mail_tokens, every_s=0.01)
            )
            while store.condition.problem is None:
                await trio.lowlevel.checkpoint()
            other.execute("rollback")
        await settled(store, "mail_tokens")
        nursery.cancel_scope.cancel()
    assert "chore failed" not in caplog.text
