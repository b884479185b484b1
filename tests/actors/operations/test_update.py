"""Tests that a newer service updates the Workers of installed accounts, and that a failed update changes nothing."""

from __future__ import annotations

import random
from functools import partial

import pytest
import trio.testing

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.ids import digest
from svc.model import DROP_REASONS, WorkerPush
from svc.store import accounts, pushes, rollouts, worker_keys
from svc.store.tx import sql
from tests.actors.operations.test_install import edited

pytestmark = pytest.mark.usefixtures("every_state_is_logged")

SCRIPT = "*/workers/scripts/svc-edge"
QUERY = "*/d1/database/*/query"
UPDATES = {"auto_update": True}
NOTE = ("select count(*) as n from pragma_table_info('outbox') where name = 'note'", "n")
NUMBER = ("select value from meta where key = 'schema'", "value")


@pytest.fixture
async def installed(place):
    """A place with an installed and confirmed Worker. Each service that then starts there updates the Worker."""
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
    place.clock.advance_s(1)  # so that the next operation has a later time
    place.worker |= UPDATES
    place.timing |= {"rollout_every_s": 0.05}
    return place


async def notes_of(service):
    """Return the kinds of the notes on the account."""
    account_id = (await service.account()).id
    listed = await service.call("GET", f"/v1/notes?account_id={account_id}")
    return [note["kind"] for note in listed.body["notes"]]


async def value(service, text, column):
    """Return one value from the Worker's database."""
    database = (await service.account()).database_id
    if not service.user_token:
        _, service.user_token = await service.emulator.create_token(service.customer.account_id, rights=["D1 Write"])
    path = f"/accounts/{service.customer.account_id}/d1/database/{database}/query"
    response = await service.as_platform("POST", path, service.user_token, json={"sql": text})
    rows = response.json()["result"][0]["results"]
    return rows[0][column] if rows and column else None


async def operation(service, *states):
    """Wait until the account's update is in one of these states or steps. Return the account as the API shows it."""

    async def poll():
        shown = await service.shown()
        assert shown["state"] == "ready"  # the state does not change during the update
        found = shown["operation"]
        return shown if found["kind"] == "update" and {found["state"], found["step"]} & set(states) else None

    return await eventually(poll)


@pytest.mark.rule("A21", "X7", "W7")
@pytest.mark.usefixtures("running_worker")
async def test_newer_service_updates_worker_and_tables_and_keeps_the_data(installed, next_bundle):
    async with installed.running() as service:
        old = await service.account()
        await value(service, "insert into config(key, version, body) values ('link:mine', 1, 'x')", None)
        old_key = await keys(service)
    installed.bundle = next_bundle
    async with installed.running() as service:
        shown = await operation(service, "selfcheck")
        edge = shown["edge"]
        assert (edge["schema"], edge["bundle"], edge["up_to_date"]) == (
            next_bundle.schema,
            next_bundle.sha256,
            True,
        )
        assert (await value(service, *NUMBER), await value(service, *NOTE)) == (next_bundle.schema, 1)
        assert await value(service, "select body from config where key = 'link:mine'", "body") == "x"
        assert (await service.account()).database_id == old.database_id
        [new_key] = {*await keys(service)} - {*old_key}
        valid = await keys(service)
        assert valid[new_key] is None  # the key of the running Worker has no expiry
        [before] = [until for digest, until in valid.items() if digest != new_key]
        assert before == (await service.account()).installed_at + 86_400_000
        assert await notes_of(service) == []
        await service.confirmed()
        assert (await operation(service, "done"))["error"] is None
        assert await notes_of(service) == ["worker_updated"]


async def keys(service):
    """Return the expiry of each Worker key by its digest."""

    def read():
        rows = yield sql("select digest, valid_until from worker_keys order by digest")
        return {row["digest"]: row["valid_until"] for row in rows}

    return await service.store.read(read())


@pytest.mark.rule("W7", "X7")
async def test_pushes_with_the_previous_workers_key_are_accepted_for_a_day(installed, next_bundle):
    installed.bundle = next_bundle
    dropped = dict.fromkeys(DROP_REASONS, 0)
    head = {"v": 1, "install": "op_before", "bundle": "b" * 64, "schema": 1, "sent_at": 0, "queue": 0, "error": None}
    body = {**head, "dropped": dropped, "parts": []}
    key = {"Authorization": "Bearer svcw_before"}
    account = await installed.store.read(accounts.account_by_edge_id(installed.customer.account_id))
    await installed.store.run(worker_keys.add_worker_key(account.id, digest("svcw_before"), "op_1"))
    async with installed.running() as service:
        await operation(service, "selfcheck")
        push = partial(service.world.call, "POST", "/edge/push", body, headers=key)
        assert (await push()).status == 200
        # A push of the old Worker does not confirm the update.
        assert (await service.shown())["operation"]["state"] == "running"
        installed.clock.advance_s(86_399)
        assert (await push()).status == 200
        installed.clock.advance_s(2)
        assert (await push()).status == 401


def lost_responses():
    """Return the calls to lose during an update, as (method, path, number of earlier matching calls, kind of loss).

    With SVC_TEST_ALL, each call is lost both before and after Cloudflare executes it, otherwise in only one way.
    """
    kinds = ("drop_before", "drop_after")
    drawn = random.Random(SEED)
    calls = [("POST", QUERY, 2), ("POST", QUERY, 3), ("PUT", SCRIPT, 0)]
    return [(*call, kind) for call in calls for kind in (kinds if EVERYTHING else [drawn.choice(kinds)])]


@pytest.mark.rule("A21", "X7")
@pytest.mark.parametrize(("method", "path", "after", "kind"), lost_responses())
async def test_update_continues_after_a_lost_response(installed, next_bundle, method, path, after, kind):
    installed.bundle = next_bundle
    await installed.emulator.fault(kind, path, method=method, after=after)
    async with installed.running() as service:
        await operation(service, "selfcheck")
        assert (await value(service, *NUMBER), await value(service, *NOTE)) == (next_bundle.schema, 1)
        assert not await service.emulator.faults(), "the fault occurred"


@pytest.mark.rule("A21", "X7")
@pytest.mark.parametrize(("method", "path", "after"), [("POST", QUERY, 3), ("PUT", SCRIPT, 0)])
async def test_killed_update_is_finished_by_the_next_start(installed, next_bundle, method, path, after):
    installed.bundle = next_bundle
    await installed.emulator.fault("drop_after", path, method=method, after=after, times=None)
    async with installed.running() as service:
        await service.emulator.faulted()
    await installed.emulator.clear_faults()
    async with installed.running() as service:
        await operation(service, "selfcheck")
        assert (await value(service, *NUMBER), await value(service, *NOTE)) == (next_bundle.schema, 1)


@pytest.mark.rule("X7")
async def test_partially_applied_migration_is_completed(installed, next_bundle):
    """The test simulates a platform that does not run a batch as one transaction."""
    async with installed.running() as service:
        await value(service, "alter table outbox add column note text not null default ''", None)
    installed.bundle = next_bundle
    async with installed.running() as service:
        await operation(service, "selfcheck")
        assert await value(service, *NUMBER) == next_bundle.schema
        assert await value(service, "select value from meta where key = 'noted'", "value") == 0


@pytest.mark.rule("A21", "X7")
async def test_refused_update_leaves_the_account_as_it_was(installed, next_bundle, expected_errors):
    expected_errors.allow("rollout halted")
    async with installed.running() as service:
        before = await service.shown()
    installed.bundle = next_bundle
    installed.worker |= {"updates_at_once": 1}
    await installed.emulator.fault("refuse", SCRIPT, method="PUT", status=400, code=10021, times=None)
    async with installed.running() as service:
        shown = await operation(service, "failed")
        assert shown["operation"]["error"]["code"] == "cloudflare_error"
        assert (shown["state"], shown["error"], shown["edge"]["bundle"], shown["edge"]["schema"]) == (
            "ready",
            None,
            before["edge"]["bundle"],
            before["edge"]["schema"],
        )
        assert not shown["edge"]["up_to_date"]

        async def halted():  # the rollout halts because its only account failed
            found = await service.store.read(rollouts.current(next_bundle.sha256))
            return found if found.state == "halted" else None

        assert (await eventually(halted)).failed == 1


@pytest.mark.rule("A13", "A21")
@pytest.mark.parametrize("gone", ["changed", "deleted", "database"])
async def test_update_does_not_touch_resources_changed_or_deleted_outside(installed, next_bundle, gone):
    async with installed.running() as service:
        await service.idle()  # wait until the health check has ended
        account = await service.account()
        customer = service.customer.account_id
        if gone == "changed":
            await edited(service, account.install_id)
        else:
            rights = ["Workers Scripts Write", "D1 Write"]
            _, token = await service.emulator.create_token(customer, rights=rights)
            what = "workers/scripts/svc-edge" if gone == "deleted" else f"d1/database/{account.database_id}"
            await service.as_platform("DELETE", f"/accounts/{customer}/{what}", token)
        held = await service.held()
    installed.bundle = next_bundle
    async with installed.running() as service:
        shown = await operation(service, "failed")
        assert shown["operation"]["error"]["code"] == "resource_drift"
        after = await service.held()
        assert after["databases"].keys() == held["databases"].keys()
        assert after["scripts"] == held["scripts"]


@pytest.mark.rule("X7")
async def test_first_push_can_arrive_before_the_update_ends(installed, next_bundle):
    installed.bundle = next_bundle
    await installed.emulator.fault("slow", f"{SCRIPT}/schedules", method="GET", delay_s=2)
    async with installed.running() as service:

        async def uploaded():
            account = await service.account()
            return account if account.edge_bundle == next_bundle.sha256 else None

        account = await eventually(uploaded)
        push = WorkerPush(service.clock(), next_bundle.sha256, next_bundle.schema, install=account.install_id)
        await service.store.run(pushes.record_pushes([(account.id, push)]))
        shown = await operation(service, "done")
        # the next push is due in an hour, so the update must end without waiting for it in the self-check
        assert shown["operation"]["step"] == "cron"


@pytest.mark.rule("A21", "X7")
async def test_older_service_does_not_touch_an_account_with_newer_tables(installed, next_bundle):
    older, installed.bundle = installed.bundle, next_bundle
    async with installed.running() as service:
        await operation(service, "selfcheck")
        await service.confirmed()
        held = await service.held()
    installed.bundle = older
    async with installed.running() as service:
        await trio.testing.wait_all_tasks_blocked()
        shown = await service.shown()
        assert (shown["state"], shown["edge"]["up_to_date"], shown["edge"]["schema"]) == (
            "ready",
            False,
            next_bundle.schema,
        )
        response = await service.call("POST", f"/v1/accounts/{shown['id']}/install")
        assert (response.status, response.body["error"]["code"]) == (409, "account_not_ready")
        details = response.body["error"]["details"]
        assert (details["reason"], details["schema"], details["known"]) == (
            "schema_newer",
            next_bundle.schema,
            older.schema,
        )
        assert details["remedy"]
        assert (await service.shown())["state"] == "ready"
        assert (await service.held())["scripts"] == held["scripts"]


@pytest.mark.rule("X7")
async def test_newer_tables_unknown_to_the_store_are_not_touched(installed):
    installed.worker |= {"auto_update": False}
    async with installed.running() as service:
        await value(service, "update meta set value = 7 where key = 'schema'", None)
        held = await service.held()
        response = await service.call("POST", f"/v1/accounts/{(await service.account()).id}/install")
        assert response.status == 202
        shown = await service.settled("connected")
        assert (shown["error"]["code"], shown["error"]["details"]["schema"]) == ("schema_newer", 7)
        assert (await service.held())["scripts"] == held["scripts"]
        assert await value(service, *NUMBER) == 7


@pytest.mark.rule("A20", "X7")
async def test_health_check_updates_tables_that_were_restored(installed, next_bundle):
    installed.bundle = next_bundle
    async with installed.running() as service:
        await operation(service, "selfcheck")
        await service.confirmed()
        await value(service, "alter table outbox drop column note", None)
        await value(service, "update meta set value = 1 where key = 'schema'", None)
    installed.timing |= {"health_every_s": 0.2}
    async with installed.running() as service:

        async def repaired():
            return await value(service, *NOTE) or None

        await eventually(repaired)
        assert await value(service, *NUMBER) == next_bundle.schema
