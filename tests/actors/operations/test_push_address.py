"""No worker is installed that could never report: its address of the service must be one that workers reach."""

from __future__ import annotations

import pytest

LOCAL = "http://127.0.0.1:8080/edge/push"


@pytest.mark.rule("A1")
async def test_a_connect_is_refused_before_the_bootstrap_token_is_used(place):
    place.push_url, public = LOCAL, place.push_url
    async with place.running() as service:
        refused = await service.connect()
        assert (refused.status, refused.body["error"]["code"]) == (503, "not_configured")
        assert "not https" in refused.body["error"]["message"]
        assert await service.emulator.requests() == []
        assert (await service.call("GET", "/v1/accounts")).body["accounts"] == []
    place.push_url = public
    async with place.running() as service:
        await service.ready()


@pytest.mark.rule("A12")
async def test_an_install_is_refused_also_one_that_was_begun_under_another_address(place):
    async with place.running() as service:
        await service.emulator.fault("refuse", "*/workers/scripts/svc-edge", method="PUT", times=None, status=500)
        assert (await service.connect()).status == 202
    await place.emulator.clear_faults()
    place.push_url = LOCAL
    async with place.running() as service:
        shown = await service.settled("connected")
        assert shown["error"]["code"] == "not_configured"
        refused = await service.call("POST", f"/v1/accounts/{shown['id']}/install")
        assert (refused.status, refused.body["error"]["code"]) == (503, "not_configured")
        assert (await service.held())["scripts"] == {}
