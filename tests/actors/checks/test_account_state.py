"""Tests of refused tokens: a single refusal, an incident, and a permanent refusal."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import eventually
from svc.edge.tokens import WORKING_PERMISSIONS

pytestmark = pytest.mark.usefixtures("every_state_is_logged")

HOUR_MS = 3_600_000
DEAD = {"times": None, "status": 401, "code": 1000}


@pytest.fixture
def quick(place):
    """A place with frequent health checks."""
    place.timing["health_every_s"] = 0.05
    return place


async def in_state(service, state, code=None):
    async def poll():
        shown = await service.shown()
        error = shown["error"] or {}
        return shown if (shown["state"], error.get("code")) == (state, code) else None

    return await eventually(poll)


async def refused_checks(service, number):
    """Wait until `number` health checks in a row have been refused."""

    async def poll():
        return (await service.account()).token_refusals >= number or None

    await eventually(poll)


@pytest.mark.rule("A20")
async def test_incident_of_less_than_an_hour_does_not_revoke_a_valid_token(quick):
    async with quick.running() as service:
        await service.ready()
        await service.confirmed()
        await service.emulator.fault("refuse", "*", **DEAD)
        await in_state(service, "permission_error", "token_refused")
        quick.clock.now_ms += HOUR_MS - 1000
        await refused_checks(service, 5)
        assert (await service.shown())["state"] == "permission_error"
        await service.emulator.clear_faults()
        await in_state(service, "ready")
        account = await service.account()
        assert (account.token_refused_at, account.token_refusals) == (None, 0)


@pytest.mark.rule("A20")
async def test_token_refused_for_more_than_an_hour_is_revoked_despite_restarts_and_recovers(quick):
    async with quick.running() as service:
        await service.ready()
        await service.confirmed()
        await service.emulator.fault("refuse", "*", **DEAD)
        await refused_checks(service, 3)
        began = (await service.account()).token_refused_at
    quick.clock.now_ms += HOUR_MS
    async with quick.running() as service:
        shown = await in_state(service, "revoked", "revoked")
        assert shown["error"]["details"]["remedy"]
        assert (await service.account()).token_refused_at == began
        await service.emulator.clear_faults()
        await in_state(service, "ready")


@pytest.mark.rule("A20", "A25")
async def test_disabled_token_is_revoked_immediately(quick):
    async with quick.running() as service:
        await service.ready()
        await service.confirmed()
        token = (await service.held())["tokens"][(await service.account()).token_id]
        _, api_token = await service.emulator.create_token(
            service.customer.account_id, rights=["Account API Tokens Write"]
        )
        path = f"/accounts/{service.customer.account_id}/tokens/{token['id']}"
        body = {"name": token["name"], "policies": token["policies"]}
        await service.as_platform("PUT", path, api_token, json=body | {"status": "disabled"})
        await in_state(service, "revoked", "revoked")
        assert (await service.account()).token_refusals == 0
        await service.as_platform("PUT", path, api_token, json=body | {"status": "active"})
        await in_state(service, "ready")


@pytest.mark.rule("A20")
async def test_token_accepted_again_without_a_permission_shows_permission_error(quick):
    assert "D1 Write" in {right.name for right in WORKING_PERMISSIONS}
    async with quick.running() as service:
        await service.ready()
        await service.confirmed()
        await service.emulator.fault("refuse", "*/d1/database/*", times=None, status=403, code=7403)
        await service.emulator.fault("refuse", "*/tokens/verify", **DEAD)
        await in_state(service, "permission_error", "token_refused")
        await service.emulator.clear_faults()
        await service.emulator.fault("refuse", "*/d1/database/*", times=None, status=403, code=7403)
        await in_state(service, "permission_error", "permission_error")
