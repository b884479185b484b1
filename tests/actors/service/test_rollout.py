"""Rollouts: a newer Worker is deployed to a few accounts first, and then to all. Too many failures halt the rollout."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from edge_worker.harness.sampling import EVERYTHING
from svc.actors.context import Context
from svc.actors.service import rollout
from svc.clock import HOUR_MS
from svc.config import Config, HttpConfig, WorkerConfig
from svc.errors import ErrorNote, ServiceError
from svc.ids import new_id
from svc.model import UpdateOutcome, WorkerPush
from svc.store import accounts, installs, operations, rollouts
from svc.store.pushes import record_pushes
from svc.store.tx import many, sql
from svc.worker.bundle import load_bundle
from tests.clock import FrozenClock
from tests.engines import ENGINES
from tests.store.direct_changes import set_account_state
from tests.store.makers import a_user

HALTED = "rollout halted"
ACCOUNTS = 1_000 if EVERYTHING else 60
# Large fleets take several seconds with PostgreSQL, so `make test` runs them only on SQLite.
ON_SQLITE = pytest.mark.parametrize("store_config", ENGINES if EVERYTHING else ENGINES[:1], indirect=True)
# The time between two polls in these tests. It is too short to count as an outage of the service.
STEP_S = 590


class Fleet:
    """Accounts with an older Worker. The test decides the outcome of each update, in place of Cloudflare.

    When the test advances the time, every Worker that is not in `silent` pushes once an hour.
    """

    def __init__(self, store):
        self.store = store
        self.clock = FrozenClock()
        self.bundle = replace(load_bundle(), sha256="new")
        none = cast("Any", None)
        config = Config(http=HttpConfig(base_url="https://svc.example"), worker=WorkerConfig(updates_at_once=50))
        push_url = "https://svc.example/edge/push"
        self.context = Context(store, none, none, config, self.clock, self.bundle, push_url)
        self.install = {}  # the install id of each account's running Worker
        self.silent = set()  # accounts with a Worker that does not push
        self.own: list[str] = []
        self.pushed_at = self.clock()

    async def add(self, n, state="ready", *, silent=False):
        """Add `n` accounts of one user, connected an hour ago."""
        now = self.clock()
        user = await self.store.run(a_user())
        heard_at = now - 30 * HOUR_MS if silent else now

        def added():
            first = len(self.install)
            # the ids must have the same order in each run
            ids = [f"acc_{number:020}" for number in range(first, first + n)]
            self.install |= {account_id: new_id("op") for account_id in ids}
            rows = [
                (id_, user, edge_id(id_), state, b"sealed", heard_at, now - HOUR_MS, self.install[id_]) for id_ in ids
            ]
            yield many(
                "insert into accounts (id, user_id, edge_account_id, name, state, sealed_token, heard_at, created_at,"
                " install_id, edge_bundle, edge_schema, config_version, synced_version)"
                " values ($1, $2, $3, '', $4, $5, $6, $7, $8, 'old', 1, 0, 0)",
                rows,
            )
            return ids

        ids = await self.store.run(added())
        self.silent |= set(ids) if silent else set()
        return ids

    async def advance(self):
        """Run one poll of the rollout. Return the updates that it began."""
        before = {one.id for one in await self.running()}
        await rollout.advance(self.context)
        return [one for one in await self.running() if one.id not in before]

    async def running(self):
        """Return the running updates."""

        def read():
            rows = yield sql("select account_id from operations where state = 'running' and kind = 'update'")
            found = []
            for row in rows:
                operation = yield from operations.running(row["account_id"])
                found.append(operation)
            return found

        return await self.store.read(read())

    async def upload(self, operation):
        """Advance the update to its self-check, as after a successful upload."""
        now = self.clock()
        digest = f"digest of {operation.id}"
        await self.store.run(installs.begin_upload(operation, digest))
        uploaded = installs.uploaded(
            operation,
            bundle=self.bundle.sha256,
            schema=1,
            link_format=1,
            script_etag="e",
            keys_until=now,
            now=now,
        )
        await self.store.run(uploaded)
        await self.store.run(installs.updated(operation, now))
        self.install[operation.account_id] = operation.id

    def report(self, account_id):
        """Return a push by the account's Worker."""
        new = self.install[account_id]
        return account_id, WorkerPush(self.clock(), "b", 1, install=new)

    async def push(self, *account_ids):
        """Store a push from the Workers of these accounts (default: all accounts). Silent Workers do not push."""
        self.clock.advance_s(0.001)
        there = await self.store.read(all_ids())
        pushes = [self.report(one) for one in account_ids or self.install if one not in self.silent and one in there]
        if pushes:
            await self.store.run(record_pushes(pushes))

    async def succeed(self, *begun):
        """Complete these updates."""
        for operation in begun:
            await self.upload(operation)
            await self.push(operation.account_id)

    async def stay_silent(self, *begun):
        """Complete these uploads. The new Workers never push, so the updates cannot be confirmed."""
        for operation in begun:
            await self.upload(operation)
            self.silent.add(operation.account_id)
            await self.store.run(installs.end_selfcheck(operation, self.clock()))

    async def fail(self, code, *begun, **details):
        """Fail these updates with an error from Cloudflare."""
        for operation in begun:
            await self.store.run(installs.fail_update(operation, ErrorNote(code, "no", details), self.clock()))

    async def pass_hours(self, hours, become=None):
        """Advance the time by this many hours. Return the updates that began.

        `become` decides the outcome of each update. By default, updates succeed.
        """
        all_begun = []
        for _ in range(int(hours * 3600 / STEP_S) + 1):
            self.clock.advance_s(STEP_S)
            if self.clock() - self.pushed_at >= HOUR_MS:
                self.pushed_at = self.clock()
                await self.push()
            begun = await self.advance()
            all_begun += begun
            for operation in begun:
                await (become or self.succeed)(operation)
        return all_begun

    async def complete_canaries(self):
        """Complete all updates until the canary phase has ended."""
        for _ in range(30):
            await self.pass_hours(0)
            if (await self.shown()).spread_from is not None:
                return
        raise AssertionError("the rollout does not continue after the canaries")

    async def shown(self):
        """Return the stored rollout."""
        return await self.store.read(rollouts.current(self.bundle.sha256))

    async def codes(self, outcome):
        """Return the error codes of updates with this outcome."""
        return (await self.store.read(rollouts.progress())).codes.get(outcome, {})

    async def halt(self):
        """Halt, as `svc rollout halt` does."""
        return await self.store.run(rollouts.stop(await self.shown(), "operator", self.clock()))

    async def resume(self):
        """Resume, as `svc rollout resume` does."""
        self.clock.advance_s(1)
        assert await self.store.run(rollouts.resume(await self.shown(), self.clock()))


def edge_id(account_id):
    return account_id[-16:].encode().hex()


def all_ids():
    rows = yield sql("select id from accounts")
    return {row["id"] for row in rows}


@pytest.fixture
async def fleet(store):
    """A fleet in which two accounts belong to the operator. These accounts are the canaries."""
    made = Fleet(store)
    made.own = await made.add(2)
    return made


@pytest.mark.rule("X7")
async def test_canaries_are_updated_first_and_others_are_spread_once_they_have_settled(fleet):
    await fleet.add(148)
    first = await fleet.advance()
    assert {one.account_id for one in first} == set(fleet.own)
    for operation in first:
        await fleet.upload(operation)
    fleet.clock.advance_s(60)
    assert await fleet.advance() == []
    assert (await fleet.shown()).updated == 0  # the Worker has been uploaded, but has not pushed yet
    await fleet.push(*fleet.own)
    assert await fleet.pass_hours(1.8) == []
    assert ((await fleet.shown()).updated, (await fleet.shown()).spread_from) == (2, None)
    await fleet.pass_hours(6)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 150, 0)
    turns = sorted(await fleet.store.read(turns_of(*fleet.own)))
    assert len(turns) == 148
    assert turns[0] >= shown.spread_from
    assert 1_800_000 < turns[-1] - turns[0] <= HOUR_MS + 2 * STEP_S * 1000
    assert max(turns.count(at) for at in set(turns)) <= 30
    assert len(await fleet.store.read(events_of_updates())) == 150  # each user can see the update of the user's account
    assert await fleet.pass_hours(1) == []


def turns_of(*canaries):
    """Return the times at which the updates of all accounts except the canaries began."""
    rows = yield sql(
        "select m.account_id, o.created_at from rollout_accounts m join operations o on o.id = m.operation_id"
    )
    return [row["created_at"] for row in rows if row["account_id"] not in canaries]


def failures():
    rows = yield sql("select failures from rollout_accounts")
    return [row["failures"] for row in rows]


def events_of_updates():
    return (yield sql("select outcome from events where action = 'account.update' and outcome = 'done'"))


@pytest.mark.rule("X7")
@pytest.mark.parametrize("total", [1, 3])
async def test_rollout_of_a_small_fleet_completes(fleet, total):
    await fleet.add(total)
    await fleet.pass_hours(8)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 2 + total, 0)


@pytest.mark.rule("X7")
async def test_concurrent_and_unconfirmed_updates_are_limited(fleet):
    await fleet.add(60)
    await fleet.complete_canaries()
    fleet.context = replace(fleet.context, config=fleet.context.config.model_copy(update={"worker": WorkerConfig()}))
    fleet.clock.advance_s(3600)
    begun = await fleet.advance()
    assert len(begun) == 8
    assert await fleet.advance() == []
    for operation in begun[:3]:
        await fleet.upload(operation)  # an uploaded update that waits for its first push does not count as running
    assert len(await fleet.advance()) == 3
    while working := [one for one in await fleet.running() if one.step != "selfcheck"]:
        for operation in working:
            await fleet.upload(operation)
        await fleet.advance()
    assert len(await fleet.running()) == 32


@pytest.mark.rule("X7")
async def test_configured_canaries_come_first(fleet):
    others = await fleet.add(20)
    worker = WorkerConfig(canary=tuple(edge_id(one) for one in others[3:5]))
    fleet.context = replace(fleet.context, config=fleet.context.config.model_copy(update={"worker": worker}))
    assert {one.account_id for one in await fleet.advance()} == set(others[3:5])


@pytest.mark.rule("X7")
@pytest.mark.parametrize("others", [False, True])
async def test_rollout_halts_when_workers_do_not_push_and_logs_one_error(fleet, others, expected_errors, caplog):
    await fleet.add(98)
    expected_errors.allow(HALTED)
    if others:
        await fleet.complete_canaries()
    begun = await fleet.pass_hours(3, fleet.stay_silent)
    assert len(begun) in (range(4, 26) if others else [2])
    assert [record.levelno for record in caplog.records if HALTED in record.message] == [logging.ERROR]
    shown = await fleet.shown()
    assert (shown.state, shown.reason) == ("halted", "failures")
    assert (shown.updated, shown.failed) == (2 if others else 0, len(begun))
    assert await fleet.codes("failed") == {"self_check_timeout": len(begun)}


@pytest.mark.rule("X7")
@ON_SQLITE
async def test_few_failures_do_not_halt_and_are_retried_after_all_others(fleet):
    await fleet.add(198)
    await fleet.complete_canaries()
    failed: list[str] = []

    async def three_fail(operation):
        if len(failed) < 3:
            failed.append(operation.account_id)
            await fleet.fail("cloudflare_error", operation, edge_code=10021)
        else:
            await fleet.succeed(operation)

    await fleet.pass_hours(4.7, three_fail)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 197, 3)
    again = await fleet.pass_hours(3)
    assert {one.account_id for one in again} == set(failed)
    await fleet.pass_hours(2)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 200, 0)


@pytest.mark.rule("X7")
async def test_accounts_that_always_fail_are_given_up_without_a_halt(fleet):
    await fleet.add(98)
    broken = {f"acc_{number:020}" for number in range(10, 100, 10)}

    async def some_fail(operation):
        await (fleet.fail("internal", operation) if operation.account_id in broken else fleet.succeed(operation))

    begun = [one.account_id for one in await fleet.pass_hours(40, some_fail)]
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 91, 9)
    assert {account_id: begun.count(account_id) for account_id in broken} == dict.fromkeys(broken, 2)
    assert len(begun) == 91 + 2 * 9


@pytest.mark.rule("X7")
async def test_broken_worker_reaches_few_accounts_and_a_fixed_one_all(fleet, expected_errors):
    await fleet.add(ACCOUNTS - 2)
    expected_errors.allow(HALTED)

    async def broken(operation):
        await (fleet.succeed if operation.account_id in fleet.own else fleet.stay_silent)(operation)

    touched = await fleet.pass_hours(5, broken)
    shown = await fleet.shown()
    assert (shown.state, shown.reason, shown.updated) == ("halted", "failures", 2)
    assert len(touched) <= 2 + 50  # the limit on concurrent updates
    fleet.silent.clear()
    await fleet.push()
    fleet.bundle = replace(fleet.bundle, sha256="fixed")
    fleet.context = replace(fleet.context, bundle=fleet.bundle)
    begun = await fleet.advance()
    assert {one.account_id for one in begun} == set(fleet.own)
    await fleet.succeed(*begun)
    await fleet.pass_hours(9)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", ACCOUNTS, 0)


@pytest.mark.rule("X7")
async def test_halt_begins_no_updates_and_resume_continues(fleet, expected_errors):
    await fleet.add(98)
    await fleet.complete_canaries()
    begun = await fleet.pass_hours(0.3)
    assert 0 < len(begun) < 60
    stale = await fleet.shown()
    assert await fleet.halt()
    assert not await fleet.halt()
    assert await fleet.pass_hours(3) == []
    # If a poll read the rollout before the halt, it does not begin any updates after the halt.
    chosen = (await fleet.add(1))[0]
    assert not await fleet.store.run(rollouts.begin_update(stale, chosen, new_id("op"), fleet.clock()))
    await fleet.resume()
    begun_soon = await fleet.pass_hours(0.2)
    assert len(begun_soon) < 40  # the remaining updates still begin at intervals, not all at the same time
    expected_errors.allow(HALTED)
    failed = await fleet.pass_hours(0.5, fleet.stay_silent)
    assert (await fleet.shown()).reason == "failures"
    fleet.silent.clear()
    await fleet.resume()
    # this number includes accounts whose new Worker had already been uploaded before the halt
    again = await fleet.pass_hours(0.3)
    assert {one.account_id for one in failed} <= {one.account_id for one in again}
    await fleet.pass_hours(5)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 101, 0)


@pytest.mark.rule("X7")
async def test_resume_gives_up_accounts_that_failed_three_times(fleet, expected_errors):
    await fleet.add(8)
    expected_errors.allow(HALTED)

    async def own_fail(operation):
        await (fleet.fail("internal", operation) if operation.account_id in fleet.own else fleet.succeed(operation))

    for _ in range(2):
        assert {one.account_id for one in await fleet.pass_hours(1, own_fail)} == set(fleet.own)
        assert (await fleet.shown()).state == "halted"
        await fleet.resume()
    await fleet.pass_hours(9, own_fail)  # other accounts replace the canaries that failed
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 8, 2)


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("code", "details"), [("resource_drift", {}), ("permission_error", {}), ("cloudflare_error", {"transient": True})]
)
async def test_account_or_cloudflare_errors_do_not_count_against_the_worker(fleet, code, details):
    await fleet.add(98)

    async def become(operation):
        await (
            fleet.fail(code, operation, **details) if operation.account_id in fleet.own else fleet.succeed(operation)
        )

    await fleet.pass_hours(0.5, become)
    begun = await fleet.store.read(turns_of(*fleet.own))
    assert len(begun) == 3  # other accounts are the canaries now
    await fleet.pass_hours(6, become)
    shown = await fleet.shown()
    assert (shown.updated, shown.failed, await fleet.codes("excused")) == (98, 0, {code: 2})
    begun = await fleet.pass_hours(9)  # retried later
    assert {one.account_id for one in begun} == set(fleet.own)
    assert ((await fleet.shown()).state, (await fleet.shown()).updated) == ("done", 100)


@pytest.mark.rule("X7")
@ON_SQLITE
async def test_deleted_or_blocked_account_does_not_delay_the_rollout(fleet):
    leaving, broken, midway, *_ = await fleet.add(98)
    await fleet.complete_canaries()

    async def leaves_midway(operation):
        await (fleet.store.run(gone(midway)) if operation.account_id == midway else fleet.succeed(operation))

    def gone(account_id):
        yield sql("update operations set state = 'failed' where account_id = $1 and state = 'running'", account_id)
        yield sql("delete from accounts where id = $1", account_id)

    await fleet.store.run(gone(leaving))
    await fleet.store.run(set_account_state(broken, "revoked"))
    await fleet.store.run(gone(fleet.own[0]))
    await fleet.pass_hours(7, leaves_midway)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 96, 0)
    await fleet.store.run(set_account_state(broken, "ready"))
    assert [one.account_id for one in await fleet.pass_hours(1)] == [broken]
    await fleet.pass_hours(3)
    shown = await fleet.shown()
    assert (shown.state, shown.updated) == ("done", 97)


@pytest.mark.rule("X7")
async def test_disconnected_canaries_are_replaced(fleet):
    others = await fleet.add(5)
    await fleet.succeed(*await fleet.advance())

    def gone():
        yield sql("delete from accounts where id = any($1)", tuple(fleet.own))

    await fleet.store.run(gone())
    assert {one.account_id for one in await fleet.pass_hours(0.1)} == set(others[:3])


@pytest.mark.rule("X7")
async def test_silent_workers_come_last_and_their_silence_is_not_a_failure(fleet):
    silent = {*await fleet.add(30, silent=True), *await fleet.add(10, "no_connection", silent=True)}
    begun = await fleet.pass_hours(2)
    assert {one.account_id for one in begun} == set(fleet.own)
    begun = await fleet.pass_hours(6, fleet.stay_silent)
    assert {one.account_id for one in begun} == silent
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 2, 0)


@pytest.mark.rule("X7")
@pytest.mark.parametrize("jump_h", [3, -3, 8_760])
async def test_worker_that_stops_pushing_has_failed_unless_the_service_was_down(fleet, jump_h, expected_errors):
    await fleet.add(20)
    await fleet.pass_hours(0.2)
    fleet.silent = set(fleet.own)
    fleet.clock.advance_s(jump_h * 3600)  # the service was down, or the clock was wrong
    assert await fleet.pass_hours(0.5) == []
    shown = await fleet.shown()
    assert (shown.state, shown.spread_from, shown.failed) == ("running", None, 0)
    expected_errors.allow(HALTED)
    await fleet.pass_hours(5 if jump_h < 0 else 3)
    assert (await fleet.shown()).reason == "failures"
    assert await fleet.codes("failed") == {"fell_silent": 2}
    await fleet.pass_hours(0.5)
    assert max(await fleet.store.read(failures())) <= 2  # failures must not be counted again at each poll


@pytest.mark.rule("X7")
@pytest.mark.parametrize("back_after_h", [0.5, 3.5])
async def test_clock_that_was_a_year_ahead_does_not_stop_the_rollout(fleet, back_after_h):
    await fleet.add(20)
    fleet.clock.advance_s(365 * 86_400)
    await fleet.push()
    await fleet.pass_hours(back_after_h)
    fleet.clock.advance_s(-365 * 86_400)
    fleet.pushed_at = fleet.clock()
    await fleet.push()
    await fleet.pass_hours(9)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 22, 0)


@pytest.mark.rule("X7")
async def test_self_check_that_ended_while_the_service_was_down_is_waited_for(fleet):
    await fleet.add(20)
    begun = await fleet.advance()
    for operation in begun:
        await fleet.upload(operation)
    fleet.clock.advance_s(7200)
    for operation in begun:
        await fleet.store.run(installs.end_selfcheck(operation, fleet.clock()))
    await fleet.advance()
    assert (await fleet.shown()).state == "running"
    await fleet.push()
    await fleet.pass_hours(0)
    assert (await fleet.shown()).updated == 2
    await fleet.pass_hours(3)
    assert (await fleet.shown()).spread_from is not None


@pytest.mark.rule("X7")
async def test_after_a_long_outage_workers_push_before_their_update(fleet):
    await fleet.add(5)
    fleet.clock.advance_s(3 * 3600)  # the service was down
    assert await fleet.advance() == []
    await fleet.push()
    assert {one.account_id for one in await fleet.advance()} == set(fleet.own)


@pytest.mark.rule("X7")
async def test_account_whose_user_installs_the_worker_is_skipped(fleet):
    by_hand, other = fleet.own
    await fleet.store.run(installs.begin_install(by_hand, new_id("op"), fleet.clock()))
    begun = await fleet.advance()
    assert [one.account_id for one in begun] == [other]
    await fleet.succeed(*begun)
    install = await fleet.store.read(operations.running(by_hand))
    await fleet.upload(install)
    await fleet.store.run(set_account_state(by_hand, "ready"))
    await fleet.push(by_hand)
    assert await fleet.pass_hours(3) == []
    shown = await fleet.shown()
    assert (shown.state, shown.updated) == ("done", 1)


@pytest.mark.rule("X7")
async def test_account_with_newer_tables_is_not_updated(fleet):
    def newer():
        yield sql("update accounts set edge_schema = 9")

    await fleet.store.run(newer())
    assert await fleet.pass_hours(2) == []
    assert (await fleet.shown()).state == "done"


@pytest.mark.rule("X7")
async def test_no_update_begins_if_workers_cannot_push(fleet):
    fleet.context = replace(fleet.context, push_url="http://localhost/edge/push")
    assert await fleet.pass_hours(1) == []


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("failed", "updated", "under_way", "halts"),
    [
        *[(0, 0, 0, False), (1, 0, 1, False), (1, 0, 0, True), (1, 1, 0, False), (2, 1, 0, True), (2, 1, 1, False)],
        *[(3, 17, 0, False), (3, 0, 5, False), (4, 16, 5, True)],
    ],
)
def test_newest_outcomes_decide_about_a_halt(failed, updated, under_way, halts):
    new: list[UpdateOutcome] = ["failed"]
    old: list[UpdateOutcome] = ["updated"]
    assert rollout.is_failing(new * failed + old * updated, under_way) == halts


@pytest.mark.rule("X7")
async def test_update_waits_for_another_operation(fleet):
    account_id = fleet.own[0]
    account = await fleet.store.read(accounts.account_by_id(account_id))
    renewal = new_id("op")
    await fleet.store.run(operations.add(renewal, account_id, account.edge_account_id, "renew", "token", fleet.clock()))
    assert [one.account_id for one in await fleet.advance()] == [fleet.own[1]]
    with pytest.raises(ServiceError, match="operation_in_progress"):
        await fleet.store.run(rollouts.begin_update(await fleet.shown(), account_id, new_id("op"), fleet.clock()))
    await fleet.store.run(operations.finish(renewal, fleet.clock()))
    [begun] = await fleet.advance()
    assert begun.account_id == account_id
    # A second service on the same store, or a service with an older bundle, does not begin a second update.
    shown = await fleet.shown()
    await fleet.store.run(operations.finish(begun.id, fleet.clock()))
    assert not await fleet.store.run(rollouts.begin_update(shown, account_id, new_id("op"), fleet.clock()))
    await fleet.store.run(rollouts.begin("newer", fleet.clock()))
    assert not await fleet.store.run(rollouts.begin_update(shown, account_id, new_id("op"), fleet.clock()))
