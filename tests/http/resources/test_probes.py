"""Tests of /healthz and /readyz."""

from __future__ import annotations

import time

from svc.errors import StoreUnavailable


async def test_health_endpoints_need_no_credential(world):
    for peer, client in (("<local>", None), ("192.0.2.7", "192.0.2.7")):
        response = await world.call("GET", "/healthz", scope_base={"client": (peer, 0)})
        assert (response.status, response.body) == (200, {"ok": True, "client": client})
    response = await world.call("GET", "/readyz")
    assert (response.status, response.body) == (200, {"ok": True})


async def test_failing_store_makes_the_service_not_ready_but_alive(world, expected_errors):
    expected_errors.allow("store unavailable")
    world.store.condition.failed(StoreUnavailable("The disk of the service's store is full."))
    response = await world.call("GET", "/readyz")
    assert (response.status, response.code, response.headers["Retry-After"]) == (503, "busy", "5")
    assert response.body["error"]["message"] == "The disk of the service's store is full."
    assert (await world.call("GET", "/healthz")).status == 200
    world.store.condition.written(time.monotonic())
    assert (await world.call("GET", "/readyz")).status == 200
