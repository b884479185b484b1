"""Tests of sign-in and sign-out. `test_refresh.py` tests the refresh of a session's tokens."""

from __future__ import annotations

import pytest

from tests.http.auth_steps import (
    cookie_of,
    sign_in,
    sign_up,
)
from tests.http.browser import bearer_of


@pytest.mark.rule("G7")
async def test_sign_in_returns_an_access_token_and_a_refresh_cookie(world):
    await sign_up(world)
    response = await sign_in(world)
    assert response.status == 200
    assert set(response.body) == {"access_token", "expires_at", "user"}
    assert response.body["expires_at"] == "2026-11-21T05:00:00.000Z"
    cookie = response.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/;", "Max-Age=2592000"):
        assert part in cookie
    assert (await world.call("GET", "/v1/me", headers=bearer_of(response))).body["via"] == "session"
    world.clock.advance_s(3600)
    assert (await world.call("GET", "/v1/me", headers=bearer_of(response))).status == 401


@pytest.mark.parametrize("by", ["cookie", "token"])
async def test_sign_out_ends_both_tokens(world, by):
    await sign_up(world)
    session = await sign_in(world)
    headers = cookie_of(session) if by == "cookie" else bearer_of(session)
    response = await world.call("POST", "/auth/sign-out", headers=headers)
    assert response.headers["Clear-Site-Data"] == '"cache"'
    assert (response.status, response.body) == (200, {"ok": True})
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(session))).status == 401
