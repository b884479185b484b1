"""A user who is deleted, at the emulated platform: all is disconnected, whatever it does, and what is left is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.security.passwords import hash_password
from svc.store import operations, user_deletions, users
from tests.actors.operations.test_disconnect import SCRIPT, furnished, nothing_is_left_at_the_platform
from tests.store.whole_store import OF_NOBODY, all_rows

if TYPE_CHECKING:
    from svc.store.tx import Store
    from tests.actors.conftest import Service

PASSWORD = "correct horse battery staple"
HASH = hash_password(PASSWORD)


async def leave(service: Service) -> Any:
    """The answer to DELETE /v1/me."""
    await service.store.run(users.set_password_hash(service.user.id, HASH))
    answer = await service.call("DELETE", "/v1/me", {"password": PASSWORD})
    assert answer.status == 200, answer.raw
    return answer.body


async def nothing_is_left_in_the_store(store: Store) -> None:
    rows = await store.read(all_rows())
    assert {table for table in rows if rows[table]} <= {*OF_NOBODY, "outbox"}


@pytest.mark.rule("C12", "A17")
async def test_what_is_ours_goes_from_the_platform_and_from_the_store(service, zone):
    await furnished(service, zone)
    token = (await service.account()).token_name
    assert await leave(service) == {"ok": True, "left": [], "leftovers": [], "revoke_tokens": [token]}
    await nothing_is_left_at_the_platform(service)
    assert await service.token_names() == [token]
    await service.idle()
    await nothing_is_left_in_the_store(service.store)


@pytest.mark.rule("C12")
async def test_a_platform_that_is_away_holds_nobody_back(service):
    await service.ready()
    account = await service.account()
    await service.emulator.fault("drop_before", "*", times=None)
    answer = await leave(service)
    held = await service.held()
    assert answer["revoke_tokens"] == [account.token_name]
    named = " ".join(answer["left"])
    for thing in (*held["scripts"], *held["databases"]):
        assert thing in named
    assert all(sentence.startswith(f"{account.name} ({account.edge_account_id}): ") for sentence in answer["left"])
    assert {one["facts"]["account"] for one in answer["leftovers"]} == {f"{account.name} ({account.edge_account_id})"}
    assert held["scripts"]
    await nothing_is_left_in_the_store(service.store)


@pytest.mark.rule("C12")
async def test_an_install_that_is_under_way_gives_way(service):
    await service.emulator.fault("slow", SCRIPT, method="PUT", delay_s=1)
    assert (await service.connect()).status == 202
    account = await service.account()

    async def uploading() -> bool | None:
        running = await service.store.read(operations.running(account.id))
        return (running is not None and running.step == "script") or None

    await eventually(uploading)
    answer = await leave(service)
    assert answer["left"] == []
    await nothing_is_left_at_the_platform(service)
    await nothing_is_left_in_the_store(service.store)


@pytest.mark.rule("C12")
async def test_a_connect_that_goes_on_is_waited_for_and_undone(service):
    """It is refused or it ends before; in neither case is a token alive that nobody tells."""
    await service.emulator.fault("slow", "*/tokens", method="POST", delay_s=0.5)
    answers = []
    await service.store.run(users.set_password_hash(service.user.id, HASH))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(service.connect)
        await service.emulator.faulted()
        answers.append(await leave(service))
    [answer] = answers
    named = {*answer["revoke_tokens"], *" ".join(answer["left"]).replace(":", " ").split()}
    assert set(await service.token_names()) <= named
    await service.idle()
    await nothing_is_left_at_the_platform(service)
    await nothing_is_left_in_the_store(service.store)


@pytest.mark.rule("C12")
async def test_the_next_start_goes_on_where_the_last_one_was_cut(place, zone):
    async with place.running() as service:
        await furnished(service, zone)
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
        await nothing_is_left_at_the_platform(service)
    await nothing_is_left_in_the_store(place.store)
