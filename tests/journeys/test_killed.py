"""Kill the service in each operation: after every commit, and before and after every call to the platform.

After each kill, the service reaches a settled state at the next start: nothing exists twice at the platform, and the
operation can be completed. Every valid token is in use or reported to the user. No secret is stored in plain text.
`make test` takes a random sample of each operation's moments, and `make test-all` takes all of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import httpx
import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from tests.journeys.lifecycle import OPERATIONS, Draws, Operation, World
from tests.journeys.mortal import MortalService, open_mortal_service

pytestmark = pytest.mark.timeout(1_200)

# The number of kills per operation in `make test`, where all operations share one platform and one store.
_MOMENTS = 1
_WALKS = [[operation] for operation in OPERATIONS] if EVERYTHING else [OPERATIONS]


@pytest.mark.rule("A5", "A6", "A8", "A13", "A14", "A19")
@pytest.mark.parametrize("operations", _WALKS, ids=lambda walk: walk[0].name if EVERYTHING else "some")
async def test_next_start_completes_an_operation_interrupted_by_a_kill(
    world: World, operations: Sequence[Operation]
) -> None:
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    interrupted: Operation | None = None
    for operation in operations:
        moments = Draws(chance, operation.moments, _MOMENTS)
        for number, moment in enumerate(moments):
            print(f"{operation.name}, moment {moment}")
            async with open_mortal_service(world.folder, world.settings, kill_at=moment) as service:
                service.headers = world.headers
                if interrupted is not None:
                    await _finish(world, service, interrupted)
                if number == 0:
                    world.customer = None  # each operation has its own account
                interrupted = operation if await _is_killed(world, service, operation) else None
            world.check_secrets()
            moments.existed = interrupted is not None
    if interrupted is not None:
        async with open_mortal_service(world.folder, world.settings) as service:
            service.headers = world.headers
            await _finish(world, service, interrupted)
        world.check_secrets()


async def _is_killed(world: World, service: MortalService, operation: Operation) -> bool:
    """Request the operation. Return True if the service was killed before the operation ended."""
    await operation.prepare(world, service)
    method, path, body = await operation.request(world)
    service.arm()
    try:
        await service.call(method, path, body)
        await eventually(lambda: operation.done(world, service))
    except httpx.TransportError:
        await service.ended()
        return True
    return False


async def _finish(world: World, service: MortalService, operation: Operation) -> None:
    """Check the state after a kill, and check that the operation can be completed."""
    await world.check_consistent(await world.settled(service))
    if not await operation.done(world, service):
        method, path, body = await operation.request(world)
        await service.client.request(method, f"{service.url}{path}", json=body, headers=service.headers)
    await eventually(lambda: operation.done(world, service))
    await world.check_consistent(await world.settled(service))
