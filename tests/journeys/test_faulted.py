"""The platform fails once, in each of its ways, at every call of each operation.

Whatever it does, all settles: nothing is doubled, no live token has a name that nobody is told, and what was asked for
can be had, by itself or by asking again. `make test` takes some of the calls, others each time;
`make test-all` takes all of them.
"""

from __future__ import annotations

import random

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import Service, eventually
from tests.journeys.lifecycle import FAULTS, OPERATIONS, Operation, World

pytestmark = pytest.mark.timeout(1_800)

_PATIENCE_S = 5
# Of so many calls one is taken, in so many of the ways to fail.
_STRIDE = 1 if EVERYTHING else 8
_WAYS = 8 if EVERYTHING else 2


@pytest.mark.rule("A7", "A12", "A20")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_a_fault_at_any_call_leaves_nothing_that_cannot_be_mended(world: World, operation: Operation) -> None:
    chance = random.Random(SEED)  # to make the same again, not to keep a secret
    met = 0
    async with world.lives.serve(world.folder, {**world.settings, "SVC_EDGE_TIMEOUT_S": "2"}) as life:
        life.headers = world.headers
        for name in chance.sample(sorted(FAULTS), _WAYS):
            fault = FAULTS[name]
            call = 0 if EVERYTHING else chance.randint(0, 2)  # the shortest of them make a few calls
            while True:
                print(f"{operation.name}, {name} at call {call}")
                await operation.prepare(world, life)
                await world.emulator.fault(**fault, after=call)
                await _ask(world, life, operation)
                await world.check_whole(await world.settled(life))
                waiting = await world.emulator.faults()
                await world.emulator.clear_faults()
                while not await _is_done(world, life, operation):
                    await _ask(world, life, operation)
                await world.check_whole(await world.settled(life))
                if waiting:
                    break  # it makes fewer calls
                met += 1
                call += chance.randint(1, 2 * _STRIDE - 1)
    world.check_secrets()
    assert met


async def _ask(world: World, service: Service, operation: Operation) -> None:
    method, path, body = await operation.request(world)
    answer = await service.client.request(method, f"{service.url}{path}", json=body, headers=service.headers)
    if answer.is_error:
        error = answer.json()["error"]
        assert error["code"] != "internal", error


async def _is_done(world: World, service: Service, operation: Operation) -> bool:
    """Whether all is as asked for, within the time that the service needs for another try of its own."""

    async def look() -> bool | None:
        return await operation.done(world, service)

    with trio.move_on_after(_PATIENCE_S):
        return await eventually(look, every_s=0.05)
    return False
