"""Deleting a user: all accounts are disconnected even if Cloudflare fails, and remaining resources are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.security.passwords import hash_password
from svc.store import operations, user_deletions, users
from tests.actors.operations.test_disconnect import SCRIPT, assert_cloudflare_is_empty, with_resources
from tests.store.whole_store import OF_NOBODY, all_rows

if TYPE_CHECKING:
    from svc.store.tx import Store
    from tests.actors.conftest import Service

PASSWORD = "correct horse battery staple"
HASH = hash_password(PASSWORD)


async def delete_user(service: Service) -> Any:
    """Send DELETE /v1/me, and return the body of the response."""
    await service.store.run(users.set_password_hash(service.user.id, HASH))
    response = await service.call("DELETE", "/v1/me", {"password": PASSWORD})
    assert response.status == 200, response.raw
    return response.body


async def assert_store_is_empty(store: Store) -> None:
    rows = await store.read(all_rows())
    assert {table for table in rows if rows[table]} <= {*OF_NOBODY, "outbox"}


@pytest.mark.rule("C12", "A17")
async def test_deletion_empties_cloudflare_and_the_store(service, zone):
    await with_resources(service, zone)
    token = (await service.account()).token_name
    assert await delete_user(service) == {"ok": True, "left": [], "leftovers": [], "revoke_tokens": [token]}
    await assert_cloudflare_is_empty(service)
    assert await service.token_names() == [token]
    await service.idle()
    await assert_store_is_empty(service.store)


@pytest.mark.rule("C12")
async def test_cloudflare_outage_does_not_prevent_the_deletion(service):
    await service.ready()
    account = await service.account()
    await service.emulator.fault("drop_before", "*", times=None)
    response = await delete_user(service)
    held = await service.held()
    assert response["revoke_tokens"] == [account.token_name]
    named = " ".join(response["left"])
    for thing in (*held["scripts"], *held["databases"]):
        assert thing in named
    assert all(sentence.startswith(f"{account.name} ({account.edge_account_id}): ") for sentence in response["left"])
    assert {one["facts"]["account"] for one in response["leftovers"]} == {f"{account.name} ({account.edge_account_id})"}
    assert held["scripts"]
    await assert_store_is_empty(service.store)


@pytest.mark.rule("C12")
async def test_running_install_is_ended_by_the_deletion(service):
    await service.emulator.fault("hold", SCRIPT, method="PUT")
    assert (await service.connect()).status == 202
    await service.emulator.faulted()
    running = await service.store.read(operations.running((await service.account()).id))
    assert (running.kind, running.step) == ("install", "script")
    responses = []

    async def delete() -> None:
        responses.append(await delete_user(service))

    async def has_begun() -> bool | None:
        return bool(await service.store.read(user_deletions.under_way())) or None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(delete)
        await eventually(has_begun)
        await service.emulator.clear_faults()
    assert responses[0]["left"] == []
    await assert_cloudflare_is_empty(service)
    await assert_store_is_empty(service.store)


@pytest.mark.rule("C12")
async def test_running_connect_is_awaited_and_undone(service):
    """The response must name every valid token if the connect operation is refused, and also if it completes before the
    deletion.
    """
    await service.emulator.fault("slow", "*/tokens", method="POST", delay_s=0.5)
    responses = []
    await service.store.run(users.set_password_hash(service.user.id, HASH))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(service.connect)
        await service.emulator.faulted()
        responses.append(await delete_user(service))
    [response] = responses
    named = {*response["revoke_tokens"], *" ".join(response["left"]).replace(":", " ").split()}
    assert set(await service.token_names()) <= named
    await service.idle()
    await assert_cloudflare_is_empty(service)
    await assert_store_is_empty(service.store)


@pytest.mark.rule("C12")
async def test_next_start_continues_an_interrupted_deletion(place, zone):
    async with place.running() as service:
        await with_resources(service, zone)
        await service.store.run(users.set_password_hash(service.user.id, HASH))
        await service.emulator.fault("slow", SCRIPT, method="DELETE", delay_s=5)
        with trio.CancelScope() as client:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(service.call, "DELETE", "/v1/me", {"password": PASSWORD})
                await service.emulator.faulted()
                client.cancel()
    assert await place.store.read(user_deletions.under_way()) == [service.user.id]
    await place.emulator.clear_faults()
    async with place.running() as service:

        async def over() -> bool | None:
            return (not await place.store.read(user_deletions.under_way())) or None

        await eventually(over)
        await assert_cloudflare_is_empty(service)
    await assert_store_is_empty(place.store)
