"""One operation at a time: who asks for another one is told at once, and does not wait behind the one that works."""

from __future__ import annotations

import pytest
import trio

from svc.store import operations
from tests.actors.operations.test_renew import bootstrap_token

SCRIPT = "*/workers/scripts/svc-edge"
TOKENS = "/accounts/*/tokens"
# Longer than a test takes: whoever is answered meanwhile has not waited for it.
_HELD_S = 25


async def held(service, method, path, delay_s=_HELD_S):
    """The next such call of the service is answered late. Returns what waits until it is there."""
    await service.emulator.fault("slow", path, method=method, delay_s=delay_s)
    return service.emulator.faulted


async def running(service):
    """Kind and step of the account's operation that runs; None: there is none."""
    found = await service.store.read(operations.running((await service.account()).id))
    return None if found is None else (found.kind, found.step)


async def ask(service, method, path, body=None, key=None):
    headers = service.session if key is None else {**service.session, "Idempotency-Key": key}
    return await service.world.call(method, path, body, headers=headers)


async def second_operations(service):
    """The answers to an install, a renewal and a disconnect, with a bootstrap token that works."""
    path = f"/v1/accounts/{(await service.account()).id}"
    _, token = await bootstrap_token(service)
    answers = [
        await ask(service, "POST", f"{path}/install", key="another"),
        await ask(service, "POST", f"{path}/token", {"bootstrap_token": token}, key="another"),
        await ask(service, "DELETE", path, key="another"),
    ]
    return [(answer.status, answer.code) for answer in answers]


REFUSED = [(409, "operation_in_progress")] * 3


@pytest.mark.rule("A10", "G3")
async def test_while_an_install_uploads_everything_else_is_refused_at_once(place):
    place.edge |= {"timeout_s": _HELD_S, "connect_s": _HELD_S}
    async with place.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        begun = await held(service, "PUT", SCRIPT)
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
async def test_while_a_connect_works_another_is_refused_at_once_and_its_own_repeat_gets_its_answer(place):
    place.edge |= {"timeout_s": _HELD_S, "connect_s": _HELD_S}
    async with place.running() as service:
        begun = await held(service, "POST", TOKENS, delay_s=4)
        customer = service.customer
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, service, "POST", "/v1/accounts", body, "one")
            await begun()
            nursery.cancel_scope.cancel()  # its client hangs up; the connect goes on
        for key in ("two", None):
            other = await ask(service, "POST", "/v1/accounts", body, key)
            assert (other.status, other.code) == (409, "operation_in_progress")
        assert await second_operations(service) == REFUSED
        assert await running(service) == ("connect", "token")
        again = await ask(service, "POST", "/v1/accounts", body, "one")
        assert (again.status, again.headers["Idempotent-Replayed"]) == (202, "true")
        assert len(await service.token_names()) == 1
        await service.settled("ready")


@pytest.mark.rule("A10", "A16", "G3")
async def test_while_a_renewal_works_another_is_refused_at_once_and_its_own_repeat_gets_its_answer(place):
    place.edge |= {"timeout_s": _HELD_S, "connect_s": _HELD_S}
    async with place.running() as service:
        account_id = await service.ready()
        path = f"/v1/accounts/{account_id}/token"
        _, token = await bootstrap_token(service)
        before = await service.token_names()
        begun = await held(service, "POST", TOKENS, delay_s=4)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, service, "POST", path, {"bootstrap_token": token}, "one")
            await begun()
            nursery.cancel_scope.cancel()
        assert await second_operations(service) == REFUSED
        assert await running(service) == ("renew", "token")
        again = await ask(service, "POST", path, {"bootstrap_token": token}, "one")
        assert (again.status, again.headers["Idempotent-Replayed"]) == (200, "true")
        after = await service.token_names()
        assert (len(after), set(after) & set(before)) == (1, set())


@pytest.mark.rule("A10", "A17")
async def test_while_a_disconnect_works_another_operation_is_refused_at_once_and_a_disconnect_shares_its_answer(place):
    place.edge |= {"timeout_s": _HELD_S, "connect_s": _HELD_S}
    async with place.running() as service:
        path = f"/v1/accounts/{await service.ready()}"
        begun = await held(service, "DELETE", SCRIPT, delay_s=4)
        answers = []

        async def disconnect(key):
            answers.append(await ask(service, "DELETE", path, key=key))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(disconnect, "one")
            await begun()
            refused = await ask(service, "POST", f"{path}/install", key="two")
            assert (refused.status, refused.code) == (409, "operation_in_progress")
            assert answers == []
            nursery.start_soon(disconnect, "three")
        assert [(answer.status, answer.body["left"]) for answer in answers] == [(200, [])] * 2


@pytest.mark.rule("A10", "A7")
async def test_a_connect_that_waits_for_its_user_stands_in_nobodys_way(service):
    await service.emulator.fault("drop_before", "*/tokens/permission_groups", times=2)
    body = {"edge_account_id": service.customer.account_id, "bootstrap_token": service.customer.bootstrap_token}
    first = await ask(service, "POST", "/v1/accounts", body, "one")
    assert (first.status, first.code) == (503, "cloudflare_unavailable")
    assert await running(service) is not None
    # What the actor asks the store where it is at work when somebody comes.
    await service.store.read(operations.check_turn(service.customer.account_id, "connect"))
    assert (await ask(service, "POST", "/v1/accounts", body, "two")).status == 202
    await service.settled("ready")
