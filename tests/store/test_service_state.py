"""Tests of the numbers that the store provides for monitoring."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from svc.clock import DAY_MS
from svc.errors import ErrorNote
from svc.ids import new_id
from svc.store import notifications, open_store, operations, outbox, rollouts, states
from svc.store.service_state import census, ended_since
from svc.store.tx import many, sql
from tests.clock import START_MS
from tests.databases import sqlite_config
from tests.store.makers import an_account
from tests.store.test_plans import explained

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Store, Tx


@pytest.mark.rule("X14")
async def test_counts_of_an_empty_store(store: Store) -> None:
    found = await store.read(census("b", START_MS, START_MS))
    assert (dict(found.accounts), found.behind, dict(found.running)) == ({}, 0, {})
    assert (found.mail, found.mail_untried_since, found.rollout) == (outbox.Queue(0, None), None, None)
    assert await store.read(ended_since(0, 10)) == []


@pytest.mark.rule("X14")
async def test_size_of_the_store(store: Store) -> None:
    def filled() -> Tx[None]:
        yield sql("create table filled (text text)")
        yield many("insert into filled values ($1)", [(token_hex(430),) for _ in range(2_000)])

    before = await store.size_bytes()
    assert before > 100_000
    await store.run(filled())
    assert await store.size_bytes() > before + 2_000 * 800


def pushed(account_id: str, as_of: int) -> Tx[None]:
    yield sql("insert into pushed (account_id, as_of) values ($1, $2)", account_id, as_of)


@pytest.mark.rule("X14")
async def test_counts_of_accounts_pushes_operations_emails_and_the_rollout(store: Store) -> None:
    ids = [await store.run(an_account()) for _ in range(4)]
    await store.run(states.move(ids[0], ("pending",), "ready", None, START_MS))
    await store.run(states.move(ids[1], ("pending",), "ready", None, START_MS))
    await store.run(states.move(ids[2], ("pending",), "revoked", None, START_MS))
    for account_id, as_of in zip(ids, (START_MS - 1, START_MS, START_MS - 9), strict=False):
        await store.run(pushed(account_id, as_of))
    await store.run(sql_("update users set email_confirmed = 1"))
    for at in (START_MS + 5, START_MS + 3):
        await store.run(notifications.enqueue(ids[0], {}, [{"trouble": "x"}], well=False, due_at=None, now=at))
    rollout = await store.run(rollouts.begin("b", START_MS))
    await store.run(sql_("update rollouts set updated = 3, failed = 4"))
    await store.run(rollouts.stop(rollout, "failures", START_MS))

    found = await store.read(census("b", START_MS, START_MS))
    assert dict(found.accounts) == {"ready": 2, "revoked": 1, "pending": 1}
    assert found.behind == 2
    assert dict(found.running) == {"connect": 4}
    assert found.mail == outbox.Queue(2, START_MS + 3)
    assert found.rollout is not None
    assert (found.rollout.state, found.rollout.updated, found.rollout.failed) == ("halted", 3, 4)
    assert (await store.read(census("another", START_MS, START_MS))).rollout is None


def sql_(text: str) -> Tx[None]:
    yield sql(text)


@pytest.mark.rule("X14")
async def test_oldest_untried_email_excludes_emails_that_the_mail_server_defers(store: Store) -> None:
    account_id = await store.run(an_account())

    def posted(address: str, at: int, account: str | None = None) -> Tx[str]:
        yield from outbox.post("reset", address, at, at + DAY_MS, account_id=account)
        [row] = yield sql("select id from outbox where created_at = $1", at)
        return str(row["id"])

    now = START_MS + 1_000
    deferred = [
        await store.run(posted("a@example.com", START_MS)),
        await store.run(posted("b@example.com", START_MS + 1, account_id)),
    ]
    for mail_id in deferred:
        await store.run(outbox.begin(mail_id, now + 1))
    # This email waits for the earlier email about the same account.
    await store.run(posted("b@example.com", START_MS + 2, account_id))
    # This email waits for the retry of another email to a slow domain.
    await store.run(outbox.postpone(await store.run(posted("c@example.com", START_MS + 3)), now + 1))
    found = await store.read(census("b", now, START_MS))
    assert (found.mail, found.mail_untried_since) == (outbox.Queue(4, START_MS), None)

    # The mail server was unavailable, which does not count as an attempt.
    refused = await store.run(posted("d@example.com", START_MS + 4))
    await store.run(outbox.begin(refused, now + 1))
    await store.run(outbox.retry_uncounted(refused, now))
    await store.run(posted("e@example.com", START_MS + 5))
    assert (await store.read(census("b", now, START_MS))).mail_untried_since == START_MS + 4


@pytest.mark.rule("X14")
async def test_ended_operations_are_in_the_order_of_their_ends(store: Store) -> None:
    ids = []
    for number in range(4):
        account_id = await store.run(an_account())
        running = await store.read(operations.running(account_id))
        assert running is not None
        ids.append(running.id)
        if number == 0:
            await store.run(operations.finish(running.id, START_MS + 30))
        elif number == 1:
            await store.run(operations.fail(running.id, ErrorNote("internal", "x", None), START_MS + 10))
        elif number == 2:  # this operation is paused while another operation runs, so it has not ended
            await store.run(operations.pause_selfcheck(running.id))
            await store.run(operations.add(new_id("op"), account_id, running.edge_account_id, "renew", "t", START_MS))
    found = await store.read(ended_since(START_MS, 10))
    assert [(each.id, each.kind, each.outcome, each.created_at, each.ended_at) for each in found] == [
        (ids[1], "connect", "failed", START_MS, START_MS + 10),
        (ids[0], "connect", "done", START_MS, START_MS + 30),
    ]
    assert [each.id for each in await store.read(ended_since(START_MS, 1))] == [ids[1]]
    assert [each.id for each in await store.read(ended_since(START_MS + 11, 10))] == [ids[0]]


@pytest.mark.rule("X14")
async def test_counts_do_not_scan_large_tables(tmp_path: Path) -> None:
    async with open_store(sqlite_config(tmp_path)) as store:
        plans: list[str] = []
        await store.read(explained(census("b", START_MS, START_MS), plans))
        await store.read(explained(ended_since(START_MS, 10), plans))
    # Reading the whole outbox is acceptable, because it contains only queued emails.
    assert [
        line for line in plans if not any(each in line for each in ("USE TEMP B-TREE", "CORRELATED", "outbox"))
    ] == [
        "SCAN accounts USING COVERING INDEX accounts_state",
        "SCAN pushed",  # the table has one small row for each account
        "SCAN operations USING INDEX operations_running",  # the index contains only running operations
        "SCAN rollouts",
        "SCAN serving",  # the table has one row
        "SEARCH operations USING INDEX operations_age (updated_at>?)",
    ]
