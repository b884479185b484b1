"""A newer worker comes to a few accounts first, then to all; it stops by itself when it fails, and says so."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from svc.actors import rollout
from svc.actors.context import Context
from svc.clock import HOUR_MS
from svc.config import Config, HttpConfig
from svc.errors import ErrorNote, ServiceError
from svc.ids import new_id
from svc.model import WorkerPush
from svc.store import accounts, installs, operations, rollouts
from svc.store.rollouts import Progress
from svc.store.tx import many, sql
from svc.worker.bundle import load_bundle
from tests.clock import FrozenClock
from tests.store.makers import a_user

HALTED = "the update of workers is halted"


class Fleet:
    """Accounts with an older worker, whose platform is the test: it says what becomes of an update."""

    def __init__(self, store):
        self.store = store
        self.clock = FrozenClock()
        self.bundle = replace(load_bundle(), sha256="new")
        none = cast("Any", None)
        config = Config(http=HttpConfig(base_url="https://svc.example"))
        push_url = "https://svc.example/edge/push"
        self.context = Context(store, none, none, config, self.clock, self.bundle, push_url)

    async def add(self, n, state="ready", heard_ago_ms=0):
        """So many accounts, connected an hour ago."""
        then = self.clock() - HOUR_MS
        user = await self.store.run(a_user())

        def added():
            ids = [new_id("acc") for _ in range(n)]
            rows = [
                (account_id, user, account_id, state, b"sealed", self.clock() - heard_ago_ms, then, new_id("op"))
                for account_id in ids
            ]
            yield many(
                "insert into accounts (id, user_id, edge_account_id, name, state, sealed_token, heard_at, created_at,"
                " install_id, edge_bundle, edge_schema, config_version, synced_version)"
                " values ($1, $2, $3, '', $4, $5, $6, $7, $8, 'old', 1, 0, 0)",
                rows,
            )
            return ids

        return await self.store.run(added())

    async def advance(self):
        """What the service does every `rollout_every_s`; the accounts whose update it has begun."""
        before = {one.id for one in await self.running()}
        await rollout.advance(self.context)
        return [one for one in await self.running() if one.id not in before]

    async def running(self):
        """The updates that run."""

        def read():
            rows = yield sql("select account_id from operations where state = 'running' and kind = 'update'")
            found = []
            for row in rows:
                operation = yield from operations.running(row["account_id"])
                found.append(operation)
            return found

        return await self.store.read(read())

    async def upload(self, operation):
        """The update has come to its self-check."""
        await self.store.run(installs.begin_upload(operation, f"digest of {operation.id}"))
        now = self.clock()
        digest = f"digest of {operation.id}"
        uploaded = installs.uploaded(
            operation,
            bundle=self.bundle.sha256,
            schema=1,
            script_etag="e",
            key_digest=digest,
            keys_until=now,
            now=now,
        )
        await self.store.run(uploaded)
        await self.store.run(installs.updated(operation, now))

    async def push(self, operation):
        """The new worker reports itself."""
        self.clock.advance_s(0.001)
        push = WorkerPush(self.clock(), self.bundle.sha256, 1, install=operation.id)
        await self.store.run(accounts.record_pushes([(operation.account_id, push)]))

    async def succeed(self, *begun):
        """These updates go well."""
        for operation in begun:
            await self.upload(operation)
            await self.push(operation)

    async def stay_silent(self, *begun):
        """The new workers of these never report themselves."""
        for operation in begun:
            await self.upload(operation)
            await self.store.run(installs.end_selfcheck(operation, self.clock()))

    async def fail(self, code, *begun, **details):
        """These updates are refused."""
        for operation in begun:
            await self.store.run(installs.fail_update(operation, ErrorNote(code, "no", details), self.clock()))

    async def shown(self):
        """The rollout as it is stored."""
        return await self.store.read(rollouts.current(self.bundle.sha256))

    async def to_its_end(self, *, most=1_000):
        """All goes well from here on; how many were begun at a time."""
        waves = []
        for _ in range(most):
            begun = await self.advance()
            if not begun:
                break
            waves.append(len(begun))
            await self.succeed(*begun)
        return waves


@pytest.fixture
def fleet(store):
    return Fleet(store)


@pytest.mark.rule("X7")
async def test_a_few_accounts_come_first_and_each_wave_waits_for_the_one_before(fleet):
    await fleet.add(200)
    [first] = await fleet.advance()
    assert await fleet.advance() == []  # it is under way
    await fleet.upload(first)
    assert await fleet.advance() == []  # and has to report itself
    await fleet.push(first)
    second = await fleet.advance()
    assert len(second) == 5
    await fleet.succeed(*second[:4])
    assert await fleet.advance() == []
    await fleet.succeed(second[4])
    third = await fleet.advance()
    assert len(third) == 8  # of ten, 5 %: at most so many at once
    await fleet.succeed(*third)
    assert len(await fleet.advance()) == 2
    assert (await fleet.shown()).state == "running"


@pytest.mark.rule("X7")
async def test_all_of_a_thousand_accounts_are_updated_and_no_more_than_some_at_once(fleet):
    await fleet.add(1_000)
    waves = await fleet.to_its_end()
    assert (waves[:2], sum(waves), max(waves)) == ([1, 5], 1_000, 8)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 1_000, 0)


@pytest.mark.rule("X7")
async def test_an_update_whose_worker_has_yet_to_report_itself_takes_no_place_in_the_last_wave(fleet):
    await fleet.add(100)
    for _ in range(3):
        await fleet.succeed(*await fleet.advance())
    begun = await fleet.advance()
    for operation in begun:
        await fleet.upload(operation)
    assert len(await fleet.advance()) == len(begun) == 8


@pytest.mark.rule("X7")
async def test_it_halts_when_the_first_new_workers_stay_silent_and_says_so_once(fleet, expected_errors, caplog):
    await fleet.add(100)
    for _ in range(3):
        [begun] = await fleet.advance()
        await fleet.stay_silent(begun)
    expected_errors.allow(HALTED)
    for _ in range(3):  # a restart finds it in the store as well
        assert await fleet.advance() == []
    assert [record.levelno for record in caplog.records if HALTED in record.message] == [logging.ERROR]
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("halted", 0, 3)


@pytest.mark.rule("X7")
async def test_one_of_many_that_fails_halts_nothing_and_is_tried_again_later(fleet):
    await fleet.add(60)
    [begun] = await fleet.advance()
    await fleet.fail("cloudflare_error", begun, edge_code=10021)
    assert sum(await fleet.to_its_end()) == 59
    assert (await fleet.shown()).failed == 1
    fleet.clock.advance_s(6 * 3_600 + 1)
    await fleet.store.run(heard(begun.account_id, fleet.clock()))
    [again] = await fleet.advance()
    assert again.account_id == begun.account_id
    await fleet.succeed(again)
    await fleet.advance()
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 60, 0)


def heard(account_id, at):
    yield sql("update accounts set heard_at = $2, state = 'ready' where id = $1", account_id, at)


@pytest.mark.rule("X7")
async def test_a_halted_rollout_is_ended_by_a_newer_worker(fleet, expected_errors):
    await fleet.add(10)
    expected_errors.allow(HALTED)
    for _ in range(3):
        [begun] = await fleet.advance()
        await fleet.fail("cloudflare_error", begun, edge_code=10021)
    assert await fleet.advance() == []
    fleet.clock.advance_s(1)
    fleet.context = replace(fleet.context, bundle=replace(fleet.bundle, sha256="newer still"))
    assert len(await fleet.advance()) == 1


@pytest.mark.rule("X7")
async def test_a_halted_rollout_goes_on_when_the_failed_ones_report_themselves_after_all(fleet, expected_errors):
    await fleet.add(10)
    expected_errors.allow(HALTED)
    failed = []
    for _ in range(3):
        failed += await fleet.advance()
        await fleet.stay_silent(failed[-1])
    assert await fleet.advance() == []
    for operation in failed:
        await fleet.push(operation)
    assert len(await fleet.advance()) == 3  # of the second wave, that of five


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("code", "details"), [("resource_drift", {}), ("permission_error", {}), ("cloudflare_error", {"transient": True})]
)
async def test_what_is_wrong_with_an_account_or_passes_says_nothing_of_the_worker(fleet, code, details):
    await fleet.add(10)
    for _ in range(5):
        [begun] = await fleet.advance()
        await fleet.fail(code, begun, **details)
    assert len(await fleet.advance()) == 1
    assert (await fleet.shown()).failed == 0


@pytest.mark.rule("X7")
async def test_an_account_whose_user_installs_the_worker_counts(fleet):
    ids = await fleet.add(20)
    [first] = await fleet.advance()
    by_hand = next(account_id for account_id in ids if account_id != first.account_id)
    await fleet.store.run(installs.begin_install(by_hand, new_id("op"), fleet.clock()))
    install = await fleet.store.read(operations.running(by_hand))
    await fleet.upload(install)
    await fleet.push(install)
    assert len(await fleet.advance()) == 4  # one of six is confirmed, one is under way


@pytest.mark.rule("X7")
async def test_accounts_in_other_states_are_updated_when_they_are_ready(fleet):
    [later] = await fleet.add(1, state="resource_drift")
    assert await fleet.advance() == []
    assert (await fleet.shown()).state == "done"
    await fleet.store.run(heard(later, fleet.clock()))
    [begun] = await fleet.advance()
    assert begun.account_id == later
    assert (await fleet.shown()).state == "running"


@pytest.mark.rule("X7")
async def test_silent_workers_come_last_and_their_silence_says_nothing(fleet):
    silent = {*await fleet.add(3, heard_ago_ms=3 * HOUR_MS), *await fleet.add(2, "no_connection", 30 * HOUR_MS)}
    [heard_of] = await fleet.add(1)
    [first] = await fleet.advance()
    assert first.account_id == heard_of
    await fleet.succeed(first)
    begun = await fleet.advance()
    assert {one.account_id for one in begun} == silent
    await fleet.stay_silent(*begun)
    await fleet.advance()
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 1, 0)


@pytest.mark.rule("X7")
async def test_new_accounts_begin_no_wave(fleet):
    await fleet.add(20)
    [first] = await fleet.advance()
    fleet.clock.advance_s(2 * 3_600)
    new = await fleet.add(9)

    def with_new_worker():
        for account_id in new:
            yield sql(
                "update accounts set edge_bundle = 'new', push = $2 where id = $1",
                account_id,
                '{"install": "x"}',
            )
            yield sql("update accounts set install_id = 'x' where id = $1", account_id)

    await fleet.store.run(with_new_worker())
    assert await fleet.advance() == []
    assert (await fleet.shown()).updated == 0
    await fleet.succeed(first)


@pytest.mark.rule("X7")
async def test_an_account_that_needs_newer_tables_is_left_alone(fleet):
    await fleet.add(3)

    def newer():
        yield sql("update accounts set edge_schema = 9")

    await fleet.store.run(newer())
    assert await fleet.advance() == []


@pytest.mark.rule("X7")
async def test_no_update_begins_where_workers_could_not_push(fleet):
    await fleet.add(3)
    fleet.context = replace(fleet.context, push_url="http://localhost/edge/push")
    assert await fleet.advance() == []


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("total", "updated", "failed", "halted"),
    [
        (1, 0, 0, False),
        (1, 0, 1, True),
        (2, 1, 1, False),
        (2, 0, 2, True),
        (9, 0, 2, False),
        (9, 0, 3, True),
        (1_000, 56, 6, False),
        (1_000, 50, 6, True),
        (1_000, 900, 99, False),
        (1_000, 0, 3, True),
    ],
)
def test_it_halts_by_number_and_share(total, updated, failed, halted):
    assert rollout.is_halted(Progress(total, updated, failed, 0, 0)) == halted


@pytest.mark.rule("X7")
async def test_an_update_that_another_operation_is_in_the_way_of_waits(fleet):
    [account_id] = await fleet.add(1)
    account = await fleet.store.read(accounts.account_by_id(account_id))
    began = await fleet.store.run(rollouts.begin("new", fleet.clock()))
    waiting = rollouts.waiting(began, 1, heard_since=0, failed_before=0, most=9, kind="heard")
    assert await fleet.store.read(waiting) == [account_id]
    await fleet.store.run(
        operations.add(new_id("op"), account_id, account.edge_account_id, "renew", "token", fleet.clock())
    )
    assert await fleet.advance() == []
    with pytest.raises(ServiceError, match="operation_in_progress"):
        await fleet.store.run(installs.begin_update(account_id, new_id("op"), fleet.clock()))
