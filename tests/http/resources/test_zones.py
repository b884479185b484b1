"""Tests of the list of zones."""

from __future__ import annotations

import pytest

from tests.http.stand_in import Zone


@pytest.mark.rule("A18")
async def test_zones_have_name_and_status(world):
    _, session, account = await world.ready()
    world.supervisor.zone_list = [Zone("z1", "a.example"), Zone("z2", "b.example", "pending")]
    response = await world.call("GET", f"/v1/accounts/{account.id}/zones", headers=session)
    listed = [{"name": "a.example", "status": "active"}, {"name": "b.example", "status": "pending"}]
    assert response.body == {"zones": listed, "truncated": False}
