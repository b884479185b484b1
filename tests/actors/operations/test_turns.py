"""Tests that each account runs one operation at a time. A second operation is refused immediately."""

from __future__ import annotations

import pytest
import trio

from svc.store import operations
from tests.actors.conftest import NEVER_S
from tests.actors.operations.test_renew import bootstrap_token

SCRIPT = "*/workers/scripts/svc-edge"
TOKENS = "/accounts/*/tokens"


async def hold_next_call(service, method, path):
    """Hold the service's next call to `path` until the faults are cleared. Return a function that waits until this
    call arrives.

    If a request gets its response while the call is held, it has not waited for the call.
    """
    await service.emulator.fault("hold", path, method=method)
    return service.emulator.faulted


async def running(service):
    """Return the kind and step of the account's running operation, or None if none is running."""
    found = await service.store.read(operations.running((await service.account()).id))
    return None if found is None else (found.kind, found.step)


async def ask(service, method, path, body=None, key=None):
    headers = service.session if key is None else {**service.session, "Idempotency-Key": key}
    return await service.world.call(method, path, body, headers=headers)


async def repeat_while_held(service, *request):
    """Repeat a request whose call is held, and release the call. Return the response to the repeated request."""
    responses = []

    async def repeat():
        responses.append(await ask(service, *request))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(repeat)
        await service.emulator.clear_faults()
    return responses[0]


async def second_operations(service):
    """Request an install, a renewal with a valid token, and a disconnect. Return each response's status and code."""
    path = f"/v1/accounts/{(await service.account()).id}"
    _, token = await bootstrap_token(service)
    responses = [
        await ask(service, "POST", f"{path}/install", key="another"),
        await ask(service, "POST", f"{path}/token", {"bootstrap_token": token}, key="another"),
        await ask(service, "DELETE", path, key="another"),
    ]
    return [(response.status, response.code) for response in responses]


REFUSED = [(409, "operation_in_progress")] * 3


@pytest.mark.rule("A10", "G3")
async def test_other_operations_during_an_upload_are_refused_immediately(place):
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        begun = await hold_next_call(service, "PUT", SCRIPT)
        first = await ask(service, "POST", f"/v1/accounts/{account_id}/install", key="one")
        assert first.status == 202
        await begun()
        assert await second_operations(service) == REFUSED
        host = await ask(service, "PUT", f"/v1/accounts/{account_id}/link-host", {"host": "go.example.com"})
        assert (host.status, host.code) == (409, "account_not_ready")
        again = await ask(service, "POST", f"/v1/accounts/{account_id}/install", key="one")
        assert (again.status, again.body, again.headers["Idempotent-Replayed"]) == (202, first.body, "true")
        assert await running(service) == ("install", "script")


@pytest.mark.rule("A10", "A7", "G3")
async def test_second_connect_is_refused_immediately_and_a_repeat_gets_the_response(place):
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        begun = await hold_next_call(service, "POST", TOKENS)
        customer = service.customer
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, service, "POST", "/v1/accounts", body, "one")
            await begun()
            nursery.cancel_scope.cancel()  # the client disconnects, but the operation continues
        for key in ("two", None):
            other = await ask(service, "POST", "/v1/accounts", body, key)
            assert (other.status, other.code) == (409, "operation_in_progress")
        assert await second_operations(service) == REFUSED
        assert await running(service) == ("connect", "token")
        again = await repeat_while_held(service, "POST", "/v1/accounts", body, "one")
        assert (again.status, again.headers["Idempotent-Replayed"]) == (202, "true")
        assert len(await service.token_names()) == 1
        await service.settled("ready")


@pytest.mark.rule("A10", "A16", "G3")
async def test_second_renewal_is_refused_immediately_and_a_repeat_gets_the_response(place):
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        account_id = await service.ready()
        path = f"/v1/accounts/{account_id}/token"
        _, token = await bootstrap_token(service)
        before = await service.token_names()
        begun = await hold_next_call(service, "POST", TOKENS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, service, "POST", path, {"bootstrap_token": token}, "one")
            await begun()
            nursery.cancel_scope.cancel()
        assert await second_operations(service) == REFUSED
        assert await running(service) == ("renew", "token")
        again = await repeat_while_held(service, "POST", path, {"bootstrap_token": token}, "one")
        assert (again.status, again.headers["Idempotent-Replayed"]) == (200, "true")
        after = await service.token_names()
        assert (len(after), set(after) & set(before)) == (1, set())


@pytest.mark.rule("A10", "A17")
async def test_other_operations_during_a_disconnect_are_refused_and_a_second_disconnect_shares_its_response(place):
    place.edge |= {"timeout_s": NEVER_S, "connect_s": NEVER_S}
    async with place.running() as service:
        path = f"/v1/accounts/{await service.ready()}"
        begun = await hold_next_call(service, "DELETE", SCRIPT)
        responses = []

        async def disconnect(key):
            responses.append(await ask(service, "DELETE", path, key=key))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(disconnect, "one")
            await begun()
            refused = await ask(service, "POST", f"{path}/install", key="two")
            assert (refused.status, refused.code) == (409, "operation_in_progress")
            assert responses == []
            nursery.start_soon(disconnect, "three")
            await service.emulator.clear_faults()
        assert [(response.status, response.body["left"]) for response in responses] == [(200, [])] * 2


@pytest.mark.rule("A10", "A7")
async def test_pending_connect_blocks_no_other_request(service):
    await service.emulator.fault("drop_before", "*/tokens/permission_groups", times=2)
    body = {"edge_account_id": service.customer.account_id, "bootstrap_token": service.customer.bootstrap_token}
    first = await ask(service, "POST", "/v1/accounts", body, "one")
    assert (first.status, first.code) == (503, "cloudflare_unavailable")
    assert await running(service) is not None
    # The check that precedes a new operation must refuse it while another operation is running.
    await service.store.read(operations.check_turn(service.customer.account_id, "connect"))
    assert (await ask(service, "POST", "/v1/accounts", body, "two")).status == 202
    await service.settled("ready")
