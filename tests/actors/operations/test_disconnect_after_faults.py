"""Tests that, after a connect operation with one fault, a disconnect names exactly the resources that remain."""

from __future__ import annotations

import random

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.clock import DAY_MS
from tests.actors.operations.test_disconnect import ON_SQLITE, assert_cloudflare_is_empty, disconnect
from tests.actors.operations.test_renew import bootstrap_token

FAULTS = {
    "5xx before effect": ("refuse", {"status": 503, "code": 10001}),
    "5xx after effect": ("fail_after", {"status": 503, "code": 10001}),
    "connection lost after effect": ("drop_after", {}),
}


async def connect(service):
    """Connect with a new bootstrap token. Repeat the request after a transient failure."""
    token_id, token = await bootstrap_token(service)
    response = await service.connect(token)
    if response.status != 202:
        assert (response.status, response.code) == (503, "cloudflare_unavailable"), response.raw
        response = await service.connect(token)
    assert response.status == 202, response.raw
    await service.settled("ready")
    assert token_id not in (await service.held())["tokens"]


async def calls_of_a_connect(service):
    """Return, in order, the calls of a connect operation without faults, including the install."""
    await service.emulator.forget_requests()
    await connect(service)
    calls = [(call["method"], call["path"]) for call in await service.emulator.requests()]
    last = max(number for number, (_, path) in enumerate(calls) if path.endswith("/schedules"))
    return calls[: last + 1]


def sampled(calls):
    """Return the cases as (number of the call, the call, the fault).

    With SVC_TEST_ALL, return all combinations. Otherwise, return all combinations for calls that create a token, and a
    few for other calls.
    """
    every = [(number, call, fault) for number, call in enumerate(calls) for fault in FAULTS]
    if EVERYTHING:
        return every
    creating = [case for case in every if case[1][0] == "POST" and case[1][1].endswith("/tokens")]
    others = [case for case in every if case not in creating]
    changing = [case for case in others if case[1][0] != "GET"]
    reading = [case for case in others if case[1][0] == "GET"]
    drawn = random.Random(SEED)
    return [*creating, *drawn.sample(changing, 2), drawn.choice(reading)]


@pytest.mark.rule("A5", "A17")
@ON_SQLITE
async def test_disconnect_names_exactly_what_remains_after_a_connect_with_one_fault(service):
    # connect once before recording, because only the first connect operation registers the workers.dev name
    await connect(service)
    assert (await disconnect(service))["left"] == []
    calls = await calls_of_a_connect(service)
    assert (await disconnect(service))["left"] == []
    for number, call, name in sampled(calls):
        case = (name, *call)
        kind, more = FAULTS[name]
        before = set(await service.token_names())
        await service.emulator.fault(kind, after=number, **more)
        await connect(service)
        await service.idle()  # the recorded calls may include those of the first health check
        assert await service.emulator.faults() == [], case
        own = (await service.account()).token_name
        service.clock.advance_s(3 * DAY_MS / 1000)
        service.session = await service.world.session(service.user)
        response = await disconnect(service)
        named = [one["facts"]["token"] for one in response["leftovers"] if one["kind"] == "token"]
        assert sorted([own, *named]) == sorted(set(await service.token_names()) - before), case
        assert response["left"] == [], case
        await assert_cloudflare_is_empty(service)
