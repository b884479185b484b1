"""Tests that the account names every remaining token if a renewal is killed or loses a response, at any call."""

from __future__ import annotations

import itertools
import random

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.harness.service import eventually
from tests.actors.conftest import NEVER_S
from tests.actors.operations.test_renew import (
    ON_SQLITE,
    TOKENS,
    bootstrap_token,
    installed,
    is_consistent,
    named,
    renew,
    renewed_well,
)

# The calls of a renewal, in order.
CALLS = [
    ("GET", f"{TOKENS}/verify"),
    ("GET", "/accounts/*"),
    ("GET", TOKENS),
    ("GET", f"{TOKENS}/permission_groups"),
    ("POST", TOKENS),
    ("GET", "*/workers/scripts"),
    ("GET", "*/d1/database"),
    ("GET", "/zones"),
    ("GET", "/zones/*/workers/routes"),
    ("DELETE", f"{TOKENS}/*"),
]


def lost_responses():
    """Return the cases as (method, path, kind of loss, number of lost responses). The number None means all."""
    ways = list(itertools.product(("drop_before", "drop_after"), (1, None)))
    drawn = random.Random(SEED)
    return [(*call, *way) for call in CALLS for way in (ways if EVERYTHING else [drawn.choice(ways)])]


@pytest.mark.rule("A16")
@ON_SQLITE
async def test_lost_response_at_any_call_leaves_no_unnamed_token(service):
    await installed(service)
    for number, (method, path, kind, times) in enumerate(lost_responses()):
        case, key = (method, path, kind, times), f"k{number}"
        before = await service.account()
        _, token = await bootstrap_token(service)
        await service.emulator.fault(kind, path, method=method, times=times)
        response = await renew(service, token, key=key)
        shown = await is_consistent(service)
        if response.status == 200:
            assert shown["token"]["name"] != before.token_name, case
        else:
            assert (response.status, response.code) in [
                (503, "cloudflare_unavailable"),
                (502, "renew_lost"),
                (502, "orphan_not_deleted"),
            ], case
            assert shown["token"]["name"] == before.token_name, case
            if response.status == 503:
                assert shown["error"] is None, case
        await service.emulator.clear_faults()
        if response.status != 200:
            again = await renew(service, token, key=key)
            assert again.status == 200, (case, again.raw)
            await is_consistent(service)
        await renewed_well(service)
        service.clock.advance_s(1)


def killing_calls():
    """Return the calls at which a renewal is killed: those that create or delete tokens, and then a few others. With
    SVC_TEST_ALL, return all calls.

    The call that deletes a token comes first. Otherwise, the account would also name tokens that other cases created.
    """
    changing = [call for call in CALLS if call[0] != "GET"]
    reading = [call for call in CALLS if call[0] == "GET"]
    return [*reversed(changing), *(reading if EVERYTHING else random.Random(SEED).sample(reading, 2))]


@pytest.mark.rule("A16")
@ON_SQLITE
async def test_next_start_ends_a_killed_renewal_and_names_its_token(place):
    async with place.running() as service:
        await installed(service)
    for method, path in killing_calls():
        await killed_renewal(place, method, path)
        place.clock.advance_s(1)


async def killed_renewal(place, method, path):
    """Kill a renewal at this call, and start the service again. Check the outcome, and then renew the token."""
    case = (method, path)
    async with place.running() as service:
        before = await service.account()
        _, token = await bootstrap_token(service)
        await service.idle()
        await service.emulator.forget_requests()
        await service.emulator.fault("slow", path, method=method, delay_s=NEVER_S)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(renew, service, token)
            await service.emulator.faulted()
            nursery.cancel_scope.cancel()
    await place.emulator.clear_faults()
    async with place.running() as service:

        async def ended():
            shown = await service.shown()
            return shown if shown["operation"]["state"] != "running" else None

        operation = (await eventually(ended))["operation"]
        shown = await is_consistent(service)
        if method == "DELETE":  # the new token was stored, and the old token was about to be deleted
            assert (operation["kind"], operation["state"]) == ("renew", "done"), case
            assert shown["error"]["warnings"] == ["bootstrap_not_deleted", "old_token_not_deleted"], case
            assert named(shown) == {before.token_name}, case
        elif operation["kind"] == "renew" and operation["state"] == "failed":
            assert operation["error"]["code"] == "renew_lost", case
            made = set(await service.token_names()) - {before.token_name}
            assert made <= {operation["error"]["details"]["revoke_token"]}, case
            assert shown["token"]["name"] == before.token_name, case
        else:  # the renewal had not begun when it was killed, so the account shows an earlier operation
            assert shown["token"]["name"] == before.token_name, case
        assert shown["state"] == "ready", case
        await renewed_well(service)
