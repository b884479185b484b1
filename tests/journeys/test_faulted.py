"""In each operation, every call to the platform fails once in every possible way.

After every failure, the account reaches a settled state: nothing exists twice, every valid token is in use or reported,
and the operation succeeds either automatically or after a retry. `make test` draws one or two calls of each operation,
and `make test-all` tests every call with every failure.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import Service, eventually
from tests.journeys.lifecycle import FAULTS, OPERATIONS, Draws, Operation, World
from tests.journeys.mortal import open_mortal_service

pytestmark = pytest.mark.timeout(1_800)

_PATIENCE_S = 5


def _drawn() -> list[tuple[Operation, str]]:
    """Return the operations and the failures of their calls in `make test`. Each operation and each failure occurs."""
    chance = random.Random(SEED)  # seeded, so that a run can be reproduced; it is not used for secrets
    names = itertools.cycle(chance.sample(sorted(FAULTS), len(FAULTS)))
    operations = itertools.cycle(chance.sample(OPERATIONS, len(OPERATIONS)))
    return list(itertools.islice(zip(operations, names, strict=True), max(len(FAULTS), len(OPERATIONS))))


# In `make test`, all operations share one platform and one store.
_EVERY = [[(operation, name)] for operation in OPERATIONS for name in sorted(FAULTS)]
_WALKS = {f"{walk[0][0].name}-{walk[0][1]}": walk for walk in _EVERY} if EVERYTHING else {"some": _drawn()}


@pytest.mark.rule("A7", "A12", "A20")
@pytest.mark.parametrize("walk", _WALKS.values(), ids=_WALKS)
async def test_failure_of_any_call_can_be_recovered(world: World, walk: Sequence[tuple[Operation, str]]) -> None:
    chance = random.Random(SEED)
    async with open_mortal_service(world.folder, {**world.settings, "SVC_EDGE_TIMEOUT_S": "2"}) as service:
        service.headers = world.headers
        for operation, name in walk:
            calls = Draws(chance, operation.calls)
            for call in calls:
                print(f"{operation.name}, {name} at call {call}")
                calls.existed = await _fails_call(world, service, operation, name, call)
    world.check_secrets()


async def _fails_call(world: World, service: Service, operation: Operation, name: str, call: int) -> bool:
    """Make one call fail and check the result. Return True if the operation made that call."""
    # use a new account, because in an account that is in use, configuration is written only every 10 s
    world.customer = None
    await operation.prepare(world, service)
    await world.emulator.fault(**FAULTS[name], after=call - 1)
    await _ask(world, service, operation)
    await world.check_consistent(await world.settled(service))
    while not await _is_done(world, service, operation):
        await _ask(world, service, operation)
    # Check only now whether the fault was used, because some calls follow the operation, such as those that write the
    # Worker's configuration.
    waiting = await world.emulator.faults()
    await world.emulator.clear_faults()
    await world.check_consistent(await world.settled(service))
    return not waiting


async def _ask(world: World, service: Service, operation: Operation) -> None:
    method, path, body = await operation.request(world)
    response = await service.client.request(method, f"{service.url}{path}", json=body, headers=service.headers)
    if response.is_error:
        error = response.json()["error"]
        assert error["code"] != "internal", error


async def _is_done(world: World, service: Service, operation: Operation) -> bool:
    """Wait for automatic retries. Return True if they produce the correct result in time."""

    async def poll() -> bool | None:
        return await operation.done(world, service)

    with trio.move_on_after(_PATIENCE_S):
        return await eventually(poll)
    return False
