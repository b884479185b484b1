"""The platform fails once, in each of its ways, at every call of each operation.

After every failure the account settles: nothing is doubled, every live token is reported by its name, and the request
succeeds, either automatically or when it is sent again. `make test` draws some calls of each operation; `make test-all`
fails every call in every way.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import Service, eventually
from tests.journeys.lifecycle import FAULTS, OPERATIONS, Draws, Operation, World
from tests.journeys.mortal import open_life

pytestmark = pytest.mark.timeout(1_800)

_PATIENCE_S = 5
# Of each operation in `make test`, where all operations share one platform and one store. All ways to fail are met.
_CALLS = 2
_WALKS = [[operation] for operation in OPERATIONS] if EVERYTHING else [OPERATIONS]
assert _CALLS * len(OPERATIONS) >= len(FAULTS)


@pytest.mark.rule("A7", "A12", "A20")
@pytest.mark.parametrize("operations", _WALKS, ids=lambda walk: walk[0].name if EVERYTHING else "some")
async def test_a_fault_at_any_call_leaves_nothing_that_cannot_be_mended(
    world: World, operations: Sequence[Operation]
) -> None:
    chance = random.Random(SEED)  # to make the same again, not to keep a secret
    async with open_life(world.folder, {**world.settings, "SVC_EDGE_TIMEOUT_S": "2"}) as life:
        life.headers = world.headers
        drawn = itertools.cycle(chance.sample(sorted(FAULTS), len(FAULTS)))
        for operation in operations:
            for name, calls in _faults(operation, drawn, chance):
                for call in calls:
                    print(f"{operation.name}, {name} at call {call}")
                    calls.existed = await _meets(world, life, operation, name, call)
    world.check_secrets()


def _faults(operation: Operation, drawn: Iterator[str], chance: random.Random) -> Iterator[tuple[str, Draws]]:
    """Give the ways to fail, each with the calls that are to fail so."""
    for name in sorted(FAULTS) if EVERYTHING else itertools.islice(drawn, _CALLS):
        yield name, Draws(chance, operation.calls)


async def _meets(world: World, life: Service, operation: Operation, name: str, call: int) -> bool:
    """Let one call fail, check what is left of it, and return whether there was such a call."""
    world.customer = None  # in another account configuration was written a moment ago, and is next written in 10 s
    await operation.prepare(world, life)
    await world.emulator.fault(**FAULTS[name], after=call - 1)
    await _ask(world, life, operation)
    await world.check_whole(await world.settled(life))
    while not await _is_done(world, life, operation):
        await _ask(world, life, operation)
    # Only now: some calls come after the operation has settled, such as those that write the worker's configuration.
    waiting = await world.emulator.faults()
    await world.emulator.clear_faults()
    await world.check_whole(await world.settled(life))
    return not waiting


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
        return await eventually(look)
    return False
