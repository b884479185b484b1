"""SIGKILL after every commit, and before and after every call to the platform, of each operation.

Whenever the process dies, the next start comes to a settled state: nothing is doubled at the platform, no live token
has a name that nobody is told, no secret lies on the disk in the clear, and what was asked for can be had. `make test`
takes some of the moments, others each time; `make test-all` takes all of them.
"""

from __future__ import annotations

import random

import httpx
import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from tests.journeys.lifecycle import OPERATIONS, Operation, World

pytestmark = pytest.mark.timeout(1_200)

# Of so many moments one is taken.
_STRIDE = 1 if EVERYTHING else 8


@pytest.mark.rule("A5", "A6", "A8", "A13", "A14", "A19")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_the_next_start_finishes_what_a_kill_has_cut_short(world: World, operation: Operation) -> None:
    chance = random.Random(SEED)  # to make the same again, not to keep a secret
    moment = 1 if EVERYTHING else chance.randint(1, 3)  # the shortest of them have a few moments
    killed = 0
    while True:
        print(f"{operation.name}, moment {moment}")
        async with world.lives.serve(world.folder, world.settings, kill_at=moment) as life:
            life.headers = world.headers
            await operation.prepare(world, life)
            method, path, body = await operation.request(world)
            life.arm()
            try:
                await life.call(method, path, body)
                await eventually(lambda life=life: operation.done(world, life), every_s=0.05)  # type: ignore[misc]
                break
            except httpx.TransportError:
                await life.over()
        killed += 1
        moment += chance.randint(1, 2 * _STRIDE - 1)
        async with world.lives.serve(world.folder, world.settings) as life:
            life.headers = world.headers
            await world.check_whole(await world.settled(life))
            if not await operation.done(world, life):
                method, path, body = await operation.request(world)
                await life.client.request(method, f"{life.url}{path}", json=body, headers=life.headers)
            await eventually(lambda life=life: operation.done(world, life), every_s=0.05)  # type: ignore[misc]
            await world.check_whole(await world.settled(life))
        world.check_secrets()
    assert killed
