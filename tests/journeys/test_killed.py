"""SIGKILL after every commit, and before and after every call to the platform, of each operation.

Whenever the process dies, the next start comes to a settled state: nothing is doubled at the platform, no live token
has a name that nobody is told, no secret lies on the disk in the clear, and what was asked for can be had. `make test`
takes some of the moments of each operation, others each time; `make test-all` takes all of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import httpx
import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from tests.journeys.lifecycle import OPERATIONS, Draws, Operation, World
from tests.journeys.mortal import Life, open_life

pytestmark = pytest.mark.timeout(1_200)

# Of each operation in `make test`, where all operations share one platform and one store.
_MOMENTS = 2
_WALKS = [[operation] for operation in OPERATIONS] if EVERYTHING else [OPERATIONS]


@pytest.mark.rule("A5", "A6", "A8", "A13", "A14", "A19")
@pytest.mark.parametrize("operations", _WALKS, ids=lambda walk: walk[0].name if EVERYTHING else "some")
async def test_the_next_start_finishes_what_a_kill_has_cut_short(world: World, operations: Sequence[Operation]) -> None:
    chance = random.Random(SEED)  # to make the same again, not to keep a secret
    cut_short: Operation | None = None
    for operation in operations:
        moments = Draws(chance, operation.moments, _MOMENTS)
        for number, moment in enumerate(moments):
            print(f"{operation.name}, moment {moment}")
            async with open_life(world.folder, world.settings, kill_at=moment) as life:
                life.headers = world.headers
                if cut_short is not None:
                    await _finish(world, life, cut_short)
                if number == 0:
                    world.customer = None  # each operation has an account of its own
                cut_short = operation if await _is_killed(world, life, operation) else None
            world.check_secrets()
            moments.existed = cut_short is not None
    if cut_short is not None:
        async with open_life(world.folder, world.settings) as life:
            life.headers = world.headers
            await _finish(world, life, cut_short)
        world.check_secrets()


async def _is_killed(world: World, life: Life, operation: Operation) -> bool:
    """Request the operation, and return whether the service died before its end."""
    await operation.prepare(world, life)
    method, path, body = await operation.request(world)
    life.arm()
    try:
        await life.call(method, path, body)
        await eventually(lambda: operation.done(world, life))
    except httpx.TransportError:
        await life.over()
        return True
    return False


async def _finish(world: World, life: Life, operation: Operation) -> None:
    """Check what the kill has left, and that the operation can be finished."""
    await world.check_whole(await world.settled(life))
    if not await operation.done(world, life):
        method, path, body = await operation.request(world)
        await life.client.request(method, f"{life.url}{path}", json=body, headers=life.headers)
    await eventually(lambda: operation.done(world, life))
    await world.check_whole(await world.settled(life))
