"""A newer worker comes to a few accounts first, then to all; it stops by itself when it fails, and says so."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any, cast

import pytest

from edge_worker.harness.sampling import EVERYTHING
from svc.actors.context import Context
from svc.actors.service import rollout
from svc.clock import HOUR_MS
from svc.config import Config, HttpConfig, WorkerConfig
from svc.errors import ErrorNote, ServiceError
from svc.ids import new_id
from svc.model import WAVES, WorkerPush
from svc.store import accounts, installs, operations, rollouts, waves
from svc.store.tx import many, sql
from svc.worker.bundle import load_bundle
from tests.clock import FrozenClock
from tests.engines import ENGINES
from tests.store.makers import a_user

HALTED = "the update of workers is halted"
ACCOUNTS = 1_000 if EVERYTHING else 60
# Large fleets take PostgreSQL seconds; in `make test` it runs the other tests here.
ON_SQLITE = pytest.mark.parametrize("store_config", ENGINES if EVERYTHING else ENGINES[:1], indirect=True)
# Between two looks of these tests: shorter than what the service takes for its own absence.
STEP_S = 590


class Fleet:
    """Accounts with an older worker, whose platform is the test: it says what becomes of an update.

    Every worker pushes once an hour, in the steps in which time passes, with what `error` and `dropped` say of it.
    """

    def __init__(self, store):
        self.store = store
        self.clock = FrozenClock()
        self.bundle = replace(load_bundle(), sha256="new")
        none = cast("Any", None)
        config = Config(http=HttpConfig(base_url="https://svc.example"), worker=WorkerConfig(updates_at_once=50))
        push_url = "https://svc.example/edge/push"
        self.context = Context(store, none, none, config, self.clock, self.bundle, push_url)
        self.install = {}  # of the worker that runs, by account
        self.silent = set()  # accounts whose worker does not push
        self.error = {}
        self.dropped: Counter[str] = Counter()
        self.own: list[str] = []
        self.pushed_at = self.clock()

    async def add(self, n, state="ready", *, silent=False):
        """So many accounts of a user, connected an hour ago."""
        now = self.clock()
        user = await self.store.run(a_user())
        heard_at = now - 30 * HOUR_MS if silent else now

        def added():
            first = len(self.install)
            ids = [f"acc_{number:020}" for number in range(first, first + n)]  # so the same turns in each run
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
        """What the service does every `rollout_every_s`; the updates that it has begun."""
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
        now = self.clock()
        digest = f"digest of {operation.id}"
        await self.store.run(installs.begin_upload(operation, digest))
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
        self.install[operation.account_id] = operation.id

    def report(self, account_id):
        """What its worker pushes."""
        new = self.install[account_id]
        told = WorkerPush(self.clock(), "b", 1, error=self.error.get(account_id), install=new)
        return account_id, replace(told, dropped={"invalid": self.dropped[account_id]})

    async def push(self, *account_ids):
        """The workers of these report themselves."""
        self.clock.advance_s(0.001)
        there = await self.store.read(all_ids())
        pushes = [self.report(one) for one in account_ids or self.install if one not in self.silent and one in there]
        if pushes:
            await self.store.run(accounts.record_pushes(pushes))

    async def succeed(self, *begun):
        """These updates go well."""
        for operation in begun:
            await self.upload(operation)
            await self.push(operation.account_id)

    async def stay_silent(self, *begun):
        """The new workers of these never report themselves."""
        for operation in begun:
            await self.upload(operation)
            self.silent.add(operation.account_id)
            await self.store.run(installs.end_selfcheck(operation, self.clock()))

    async def fail(self, code, *begun, **details):
        """These updates are refused."""
        for operation in begun:
            await self.store.run(installs.fail_update(operation, ErrorNote(code, "no", details), self.clock()))

    async def live(self, hours, become=None):
        """So many hours pass; `become` is what becomes of updates, they go well by default. Returns those begun."""
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

    async def until(self, wave):
        """All goes well until this wave has begun."""
        for _ in range(200):
            shown = await self.shown()
            if shown is not None and WAVES[shown.wave] == wave and shown.wave_began_at is not None:
                return
            await self.live(0)
        raise AssertionError(f"the wave does not begin: {shown}")

    async def shown(self):
        """The rollout as it is stored."""
        return await self.store.read(rollouts.current(self.bundle.sha256))

    async def waves(self):
        """How far each wave is."""
        return await self.store.read(waves.waves(await self.shown(), 1, self.clock()))

    async def halt(self):
        """What `svc rollout halt` does."""
        return await self.store.run(rollouts.halt(await self.shown(), "operator", self.clock()))

    async def resume(self, *, watched=True):
        """What `svc rollout resume` does."""
        failed = [account_id for wave in await self.waves() for account_id in wave.failed_ids]
        self.clock.advance_s(1)
        assert await self.store.run(rollouts.resume(await self.shown(), failed, self.clock(), watched=watched))


def edge_id(account_id):
    return account_id[-16:].encode().hex()


def all_ids():
    rows = yield sql("select id from accounts")
    return {row["id"] for row in rows}


def set_account(account_id, state):
    yield sql("update accounts set state = $2 where id = $1", account_id, state)


@pytest.fixture
async def fleet(store):
    """Two accounts of the operator's; each is one of the first wave."""
    made = Fleet(store)
    made.own = await made.add(2)
    return made


@pytest.mark.rule("X7")
async def test_the_operators_own_come_first_then_1_percent_then_10_then_all_each_when_the_last_have_pushed_twice(fleet):
    await fleet.add(148)
    assert await fleet.advance() == []  # the wave begins
    first = await fleet.advance()
    assert {one.account_id for one in first} == set(fleet.own)
    for operation in first:
        await fleet.upload(operation)
    await fleet.push(*fleet.own)
    await fleet.advance()
    assert ((await fleet.shown()).wave, (await fleet.shown()).updated) == (0, 2)  # once is not enough
    await fleet.push(*fleet.own)
    await fleet.advance()
    assert (await fleet.shown()).wave == 1
    await fleet.live(9)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 150, 0)
    turns = await fleet.store.read(turns_of_waves())
    assert {wave: len(times) for wave, times in turns.items()} == {0: 2, 1: 2, 2: 15, 3: 131}
    for wave in (1, 2, 3):
        confirmed_at = max(confirmed for _, confirmed in turns[wave - 1])
        assert min(begun for begun, _ in turns[wave]) > confirmed_at + 60_000
    for wave in (2, 3):  # spread over the wave's hour
        begun = sorted({begun for begun, _ in turns[wave]})
        assert 1_800_000 < begun[-1] - begun[0] <= HOUR_MS + 2 * STEP_S * 1000
        assert len(begun) > 3
    assert len(await fleet.store.read(events_of_updates())) == 150  # each its user sees
    assert await fleet.live(1) == []


def turns_of_waves():
    """When updates began and were confirmed, by wave."""
    rows = yield sql(
        "select m.wave, o.created_at, o.updated_at from wave_accounts m join operations o on o.id = m.operation_id"
    )
    return {wave: [(r["created_at"], r["updated_at"]) for r in rows if r["wave"] == wave] for wave in range(len(WAVES))}


def events_of_updates():
    return (yield sql("select outcome from events where action = 'account.update' and outcome = 'done'"))


@pytest.mark.rule("X7")
async def test_no_more_updates_work_at_once_than_may(fleet):
    await fleet.add(60)
    await fleet.until("all")
    fleet.context = replace(fleet.context, config=fleet.context.config.model_copy(update={"worker": WorkerConfig()}))
    fleet.clock.advance_s(3600)
    begun = await fleet.advance()
    begun = begun or await fleet.advance()
    assert len(begun) == 8
    assert await fleet.advance() == []
    for operation in begun[:3]:
        await fleet.upload(operation)  # and wait for a first push, which takes no place
    assert len(await fleet.advance()) == 3


@pytest.mark.rule("X7")
async def test_the_canaries_that_are_named_come_first(fleet):
    others = await fleet.add(20)
    worker = WorkerConfig(canary=tuple(edge_id(one) for one in others[3:5]))
    fleet.context = replace(fleet.context, config=fleet.context.config.model_copy(update={"worker": worker}))
    begun = [*await fleet.advance(), *await fleet.advance()]
    assert {one.account_id for one in begun} == set(others[3:5])


@pytest.mark.rule("X7")
@pytest.mark.parametrize("wave", ["canary", "1 %", "10 %", "all"])
async def test_it_halts_in_whichever_wave_fails_and_says_so_once(fleet, wave, expected_errors, caplog):
    await fleet.add(98)
    expected_errors.allow(HALTED)
    await fleet.until(wave)
    before = (await fleet.shown()).updated
    begun = await fleet.live(3, fleet.stay_silent)
    # Of few, all; else more than three, and what was begun in the same look.
    size = {"canary": 2, "1 %": 1, "10 %": 10, "all": 87}[wave]
    assert min(size, 4) <= len(begun) <= max(size if size < 4 else 0, 25)
    assert [record.levelno for record in caplog.records if HALTED in record.message] == [logging.ERROR]
    shown = await fleet.shown()
    assert (shown.state, shown.reason, WAVES[shown.wave]) == ("halted", "failures", wave)
    assert (shown.updated, shown.failed) == (before, len(begun))
    [number] = [number for number, each in enumerate(await fleet.waves()) if each.failed]
    assert (await fleet.waves())[number].failed == {"self_check_timeout": len(begun)}


@pytest.mark.rule("X7")
@ON_SQLITE
async def test_a_few_that_fail_halt_nothing_and_are_tried_again_when_all_had_their_turn(fleet):
    await fleet.add(198)
    await fleet.until("10 %")
    failed: list[str] = []

    async def three_fail(operation):
        if len(failed) < 3:
            failed.append(operation.account_id)
            await fleet.fail("cloudflare_error", operation, edge_code=10021)
        else:
            await fleet.succeed(operation)

    await fleet.live(4.7, three_fail)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 197, 3)
    again = await fleet.live(3)
    assert {one.account_id for one in again} == set(failed)
    await fleet.live(2)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 200, 0)


@pytest.mark.rule("X7")
async def test_a_broken_worker_comes_to_few_and_a_mended_one_to_all(fleet, expected_errors):
    await fleet.add(ACCOUNTS - 2)
    expected_errors.allow(HALTED)

    async def broken(operation):
        if operation.account_id not in fleet.own:
            fleet.error[operation.account_id] = "boom"
        await fleet.succeed(operation)

    await fleet.live(5, broken)
    shown = await fleet.shown()
    assert (shown.state, shown.reason) == ("halted", "errors")
    assert shown.updated <= 2 + ACCOUNTS // 100 + ACCOUNTS // 10
    fleet.error.clear()
    await fleet.push()
    fleet.bundle = replace(fleet.bundle, sha256="mended")
    fleet.context = replace(fleet.context, bundle=fleet.bundle)
    await fleet.advance()
    begun = await fleet.advance()
    assert {one.account_id for one in begun} == set(fleet.own)
    await fleet.succeed(*begun)
    await fleet.live(9)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", ACCOUNTS, 0)


@pytest.mark.rule("X7")
async def test_a_halt_begins_no_more_and_a_resume_goes_on_where_it_was(fleet, expected_errors):
    await fleet.add(98)
    await fleet.until("10 %")
    begun = await fleet.live(0.3)
    assert len(begun) in range(1, 8)
    stale = await fleet.shown()
    assert await fleet.halt()
    assert not await fleet.halt()
    assert await fleet.live(3) == []
    # A look that had begun before the halt begins nothing after it.
    chosen = (await fleet.add(1))[0]
    assert not await fleet.store.run(rollouts.join(stale, [(chosen, 0)], fleet.clock()))
    assert not await fleet.store.run(waves.begin_update(stale, chosen, new_id("op"), fleet.clock()))
    await fleet.resume()
    soon = await fleet.live(0.2)
    assert len(soon) < 10 - len(begun)  # the turns are as far apart as they were
    # What failed is tried again, in the same wave; also where the worker is in place.
    await fleet.until("all")
    assert (await fleet.waves())[2].counts == {"updated": 10}
    expected_errors.allow(HALTED)
    failed = await fleet.live(0.5, fleet.stay_silent)
    assert (await fleet.shown()).reason == "failures"
    fleet.silent.clear()
    await fleet.resume()
    again = await fleet.live(0.3)
    assert {one.account_id for one in failed} <= {one.account_id for one in again}
    await fleet.live(5)
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 101, 0)


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("told", "store_config"),
    list(product(("errors", "dropped"), ENGINES)) if EVERYTHING else [("errors", "postgres"), ("dropped", "sqlite")],
    indirect=["store_config"],
)
async def test_it_halts_when_the_new_workers_tell_of_what_the_others_do_not(fleet, told, expected_errors):
    ids = await fleet.add(198)

    def trouble(account_id):
        if told == "errors":
            fleet.error[account_id] = "boom"
        else:
            fleet.dropped[account_id] += 1

    for account_id in ids[:20]:  # what the workers before have as well is nothing new
        trouble(account_id)
    await fleet.until("10 %")

    async def with_trouble(operation):
        trouble(operation.account_id)
        await fleet.succeed(operation)

    await fleet.live(2, with_trouble)
    expected_errors.allow(HALTED)
    shown = await fleet.shown()
    assert (shown.state, shown.reason, WAVES[shown.wave], shown.failed) == ("halted", told, "10 %", 0)
    # Where it may not halt by itself it goes on.
    await fleet.resume(watched=False)
    await fleet.live(9, with_trouble)
    assert (await fleet.shown()).state == "done"


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("code", "details"), [("resource_drift", {}), ("permission_error", {}), ("cloudflare_error", {"transient": True})]
)
async def test_what_is_wrong_with_an_account_or_passes_says_nothing_and_another_takes_its_place(fleet, code, details):
    await fleet.add(98)
    await fleet.until("10 %")

    async def become(operation):
        await fleet.fail(code, operation, **details)

    refused = await fleet.live(0.5, become)
    assert len(refused) > 2
    assert ((await fleet.shown()).state, (await fleet.shown()).failed) == ("running", 0)
    await fleet.live(1.5)
    wave = (await fleet.waves())[2]
    assert (wave.total, wave.excused) == (10, {code: len(refused)})


@pytest.mark.rule("X7")
@ON_SQLITE
async def test_an_account_that_leaves_or_cannot_be_updated_any_more_holds_no_wave_up(fleet):
    ids = await fleet.add(98)
    await fleet.until("10 %")

    def gone():
        rows = yield sql("select account_id from wave_accounts where wave = 2 order by due_at desc")
        leaving, broken, *_ = (row["account_id"] for row in rows)
        yield sql("delete from accounts where id = $1", leaving)
        yield from set_account(broken, "revoked")
        return leaving, broken

    leaving, broken = await fleet.store.run(gone())
    assert {leaving, broken} < set(ids)
    await fleet.live(7)
    assert (await fleet.waves())[2].total == 10
    shown = await fleet.shown()
    assert (shown.state, shown.updated) == ("done", 98)
    # It is updated when it is well again.
    await fleet.store.run(set_account(broken, "ready"))
    assert [one.account_id for one in await fleet.live(1)] == [broken]
    await fleet.live(2)
    shown = await fleet.shown()
    assert (shown.state, shown.updated) == ("done", 99)


@pytest.mark.rule("X7")
async def test_silent_workers_come_last_and_their_silence_says_nothing(fleet):
    silent = {*await fleet.add(30, silent=True), *await fleet.add(10, "no_connection", silent=True)}
    begun = await fleet.live(0.2)
    assert {one.account_id for one in begun} == set(fleet.own)
    await fleet.live(1.2)
    begun = await fleet.live(2, fleet.stay_silent)
    assert {one.account_id for one in begun} == silent
    shown = await fleet.shown()
    assert (shown.state, shown.updated, shown.failed) == ("done", 2, 0)


@pytest.mark.rule("X7")
async def test_a_worker_that_reports_itself_once_and_never_again_has_failed_but_not_while_the_service_was_away(
    fleet, expected_errors
):
    await fleet.add(20)
    await fleet.live(0.2)
    fleet.silent = set(fleet.own)
    fleet.clock.advance_s(3 * 3600)  # without a service
    assert await fleet.live(1) == []
    shown = await fleet.shown()
    assert (shown.state, shown.wave, shown.failed) == ("running", 0, 0)
    expected_errors.allow(HALTED)
    await fleet.live(1.5)
    assert (await fleet.shown()).reason == "failures"
    assert (await fleet.waves())[0].failed == {"fell_silent": 2}


@pytest.mark.rule("X7")
async def test_a_self_check_that_ended_while_the_service_was_away_is_waited_for(fleet):
    await fleet.add(20)
    await fleet.advance()
    begun = await fleet.advance()
    for operation in begun:
        await fleet.upload(operation)
    fleet.clock.advance_s(7200)
    for operation in begun:
        await fleet.store.run(installs.end_selfcheck(operation, fleet.clock()))
    await fleet.advance()
    assert (await fleet.shown()).state == "running"
    await fleet.push()
    fleet.clock.advance_s(60)
    await fleet.push()
    await fleet.live(1)
    assert (await fleet.shown()).wave > 0


@pytest.mark.rule("X7")
async def test_an_account_whose_user_installs_the_worker_counts(fleet):
    await fleet.advance()
    by_hand, other = fleet.own
    await fleet.store.run(installs.begin_install(by_hand, new_id("op"), fleet.clock()))
    begun = await fleet.advance()
    assert [one.account_id for one in begun] == [other]
    await fleet.succeed(*begun)
    install = await fleet.store.read(operations.running(by_hand))
    await fleet.upload(install)
    await fleet.store.run(set_account(by_hand, "ready"))
    await fleet.push(by_hand)
    assert await fleet.live(2) == []
    shown = await fleet.shown()
    assert (shown.state, shown.updated) == ("done", 2)


@pytest.mark.rule("X7")
async def test_an_account_that_needs_newer_tables_is_left_alone(fleet):
    def newer():
        yield sql("update accounts set edge_schema = 9")

    await fleet.store.run(newer())
    assert await fleet.live(2) == []
    assert (await fleet.shown()).state == "done"


@pytest.mark.rule("X7")
async def test_no_update_begins_where_workers_could_not_push(fleet):
    fleet.context = replace(fleet.context, push_url="http://localhost/edge/push")
    assert await fleet.live(1) == []


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("total", "failed", "halted"),
    [
        *[(1, 0, False), (1, 1, True), (2, 1, False), (2, 2, True), (3, 3, True), (4, 3, False), (4, 4, True)],
        *[(10, 3, False), (10, 4, True), (200, 4, False), (200, 5, True), (1_000, 20, False), (1_000, 21, True)],
    ],
)
def test_it_halts_by_number_and_share(total, failed, halted):
    wave = waves.Wave()
    wave.counts.update({"failed": failed, "updated": total - failed, "excused": 50})
    assert rollout.is_halted(wave) == halted


@pytest.mark.rule("X7")
@pytest.mark.parametrize(
    ("new", "others", "worse"),
    [
        ((4, 10), (0, 9), False),
        ((3, 3), (0, 200), False),
        ((4, 10), (0, 200), True),
        ((4, 10), (40, 200), False),
        ((5, 10), (40, 200), True),
        ((100, 500), (20, 200), False),
        ((120, 500), (20, 200), True),
        ((0, 0), (0, 200), False),
    ],
)
def test_what_is_told_more_often_than_by_chance_is_worse(new, others, worse):
    assert rollout.is_worse(*new, *others) == worse


@pytest.mark.rule("X7")
async def test_an_update_that_another_operation_is_in_the_way_of_waits(fleet):
    await fleet.advance()
    account_id = fleet.own[0]
    account = await fleet.store.read(accounts.account_by_id(account_id))
    renewal = new_id("op")
    await fleet.store.run(operations.add(renewal, account_id, account.edge_account_id, "renew", "token", fleet.clock()))
    assert [one.account_id for one in await fleet.advance()] == [fleet.own[1]]
    with pytest.raises(ServiceError, match="operation_in_progress"):
        await fleet.store.run(waves.begin_update(await fleet.shown(), account_id, new_id("op"), fleet.clock()))
    await fleet.store.run(operations.finish(renewal, fleet.clock()))
    assert [one.account_id for one in await fleet.advance()] == [account_id]
