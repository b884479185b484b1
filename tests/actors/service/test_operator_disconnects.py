"""Tests of disconnects that the operator requests: they wait until Cloudflare is available, continue after a restart,
and notify the users.
"""

from __future__ import annotations

import random

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from svc.ids import new_id
from svc.store import account_directory, disconnect_requests, disconnects, events, operations, outbox
from tests.actors.conftest import NEVER_S
from tests.actors.operations.test_disconnect import (
    CALLS,
    DATABASE,
    ON_SQLITE,
    SCRIPT,
    assert_cloudflare_is_empty,
    routes_of,
    with_resources,
)


@pytest.fixture(autouse=True)
def polls_often(place):
    place.timing["commands_every_s"] = 0.05


async def request(service, account_id, *, forced=False):
    await service.store.run(disconnect_requests.request([account_id], service.clock(), forced=forced))


async def former(store, account_id):
    """Return the account once it is disconnected."""

    async def poll():
        [entry] = await store.read(account_directory.with_ids([account_id]))
        return entry.former

    return await eventually(poll)


async def waits_for(store, account_id, reason):
    async def poll():
        [entry] = await store.read(account_directory.with_ids([account_id]))
        assert entry.former is None
        return entry.waits_for == reason or None

    await eventually(poll)


async def history(service):
    found, _ = await service.store.read(events.page(service.user.id, "newest", None, 100))
    return [(event.via, event.target) for event in found if event.action == "account.disconnect"]


@pytest.mark.rule("A17")
async def test_account_is_disconnected_with_an_event_and_an_email(service, zone):
    account_id, site, _ = await with_resources(service, zone)
    token = (await service.account()).token_name
    await request(service, account_id)
    result = await former(service.store, account_id)
    assert (result.left, result.revoke_token, result.by_operator) == ((), token, True)
    await assert_cloudflare_is_empty(service)
    assert await history(service) == [("operator", account_id)]
    assert await service.store.read(disconnect_requests.pending(10, ())) == []
    [mail] = [mail for mail in await service.world.inbox() if "was disconnected" in mail]
    assert token in mail
    assert "could not be removed" not in mail
    # The reports remain, as after a disconnect by the user.
    assert (await service.call("GET", f"/v1/sites/{site['id']}/report")).status == 200


@pytest.mark.rule("A17")
@pytest.mark.parametrize("path", ["*", DATABASE])
async def test_outage_delays_the_disconnect_and_leaves_nothing(service, zone, path):
    """If only a part of Cloudflare is down, the account's duties must not restore resources that the disconnect has
    already removed.
    """
    account_id, _, _ = await with_resources(service, zone)
    await service.emulator.fault("drop_before", path, times=None)
    await request(service, account_id)
    await waits_for(service.store, account_id, "unreachable")
    assert (await service.store.read(operations.running(account_id))).kind == "disconnect"
    service.supervisor.wake(service.customer.account_id)
    await service.idle()
    assert routes_of(await service.held()) == [] or path == "*"
    await service.emulator.clear_faults()
    assert (await former(service.store, account_id)).left == ()
    await assert_cloudflare_is_empty(service)
    assert await history(service) == [("operator", account_id)]


@pytest.mark.rule("A17")
async def test_forced_disconnect_does_not_wait(service, zone):
    account_id, _, _ = await with_resources(service, zone)
    await service.emulator.fault("drop_before", "*", times=None)
    await request(service, account_id)
    await waits_for(service.store, account_id, "unreachable")
    await request(service, account_id, forced=True)
    await request(service, account_id)  # a second request without the option must not change the forced disconnect
    result = await former(service.store, account_id)
    assert {(one.kind, one.why) for one in result.left} == {
        (kind, "unreachable") for kind in ("route", "worker", "database")
    }


@pytest.mark.rule("A17")
async def test_user_can_end_a_disconnect_that_waits(service, zone):
    account_id, _, _ = await with_resources(service, zone)
    await service.emulator.fault("drop_before", "*", times=None)
    await request(service, account_id)
    await waits_for(service.store, account_id, "unreachable")
    response = await service.call("DELETE", f"/v1/accounts/{account_id}")
    assert (response.status, len(response.body["left"])) == (200, 4)
    assert await history(service) == [("session", account_id)]


@pytest.mark.rule("A17")
async def test_disconnect_waits_for_a_running_install(service):
    await service.emulator.fault("slow", SCRIPT, method="PUT", delay_s=NEVER_S, times=None)
    assert (await service.connect()).status == 202
    account_id = (await service.account()).id

    async def uploading():
        running = await service.store.read(operations.running(account_id))
        return (running is not None and running.step == "script") or None

    await eventually(uploading)
    await request(service, account_id)
    await waits_for(service.store, account_id, "operation_in_progress")
    await service.emulator.clear_faults()
    assert (await former(service.store, account_id)).left == ()
    await assert_cloudflare_is_empty(service)


@pytest.mark.rule("A17")
@pytest.mark.parametrize(("method", "path"), CALLS if EVERYTHING else random.Random(SEED).sample(CALLS, 2))
@ON_SQLITE
async def test_disconnect_killed_at_any_call_is_continued_at_the_next_start(place, zone, method, path):
    async with place.running() as service:
        account_id, _, _ = await with_resources(service, zone)
        await service.idle()
        token = (await service.account()).token_name
        await service.emulator.forget_requests()
        await service.emulator.fault("slow", path, method=method, delay_s=NEVER_S)
        await request(service, account_id)
        await service.emulator.faulted()
    await place.emulator.clear_faults()
    async with place.running() as service:
        result = await former(service.store, account_id)
        assert (result.left, result.revoke_token, result.by_operator) == ((), token, True)
        await assert_cloudflare_is_empty(service)
        assert await history(service) == [("operator", account_id)]


@pytest.mark.both_engines
async def test_email_is_queued_with_the_end_of_the_disconnect(service, zone):
    account_id, _, _ = await with_resources(service, zone)
    await service.idle()
    store, now = service.store, service.clock()
    await store.run(disconnect_requests.request([account_id, "acc_unknown"], now, forced=False))

    def disconnect():
        operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), now)
        yield from disconnects.end_disconnect(operation, "svc-op_x", [], now)
        return (yield from outbox.due(now, 10))

    [mail] = [mail for mail in await store.run(disconnect()) if mail.kind == "account_disconnected"]
    assert (mail.user_id, mail.facts["revoke_token"], mail.facts["leftovers"]) == (service.user.id, "svc-op_x", [])
