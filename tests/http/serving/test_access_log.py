"""The access log has one line per request, with route, outcome and duration but no data about the client."""

from __future__ import annotations

import json

import pytest

from tests.http.conftest import config_of, open_world
from tests.secrecy import log_lines


def requests_of(lines):
    return [found for text in lines if (found := json.loads(text))["message"] == "request"]


@pytest.mark.rule("X14")
async def test_request_is_logged_by_route_without_client_path_or_query(world):
    user = await world.user()
    account = await world.account(user)
    session = await world.session(user)
    far = {**session, "X-Forwarded-For": "203.0.113.9", "User-Agent": "curious"}
    with log_lines() as lines:
        shown = await world.call(
            "GET", f"/v1/accounts/{account.id}", headers=far, scope_base={"client": ("203.0.113.9", 1)}
        )
        await world.call("GET", "/v1/links?q=hunter2", headers=far)
        await world.call("GET", "/no/such/path")
        await world.call("POST", "/edge/push", {}, headers={"Authorization": "Bearer svcw_wrong"})
    text = "".join(lines)
    for secret in ("203.0.113.9", "curious", "hunter2", "/no/such", "svcw_", session["Authorization"][7:]):
        assert secret not in text
    found = requests_of(lines)
    assert found[0]["request"] == shown.headers["X-Request-Id"]
    assert len({one["request"] for one in found}) == 4
    logged = [{name: one.get(name) for name in ("method", "route", "status", "code", "account")} for one in found]
    assert logged == [
        {"method": "GET", "route": "/v1/accounts/{account_id}", "status": 200, "code": None, "account": account.id},
        {"method": "GET", "route": "/v1/links", "status": 200, "code": None, "account": None},
        {"method": "GET", "route": "other", "status": 404, "code": "not_found", "account": None},
        {"method": "POST", "route": "/edge/push", "status": 401, "code": "unauthorized", "account": None},
    ]
    assert all(0 <= one["ms"] < 600_000 and one["level"] == "info" for one in found)


@pytest.mark.rule("X14")
async def test_access_log_can_be_turned_off(store, clock, tmp_path):
    config = config_of(tmp_path)
    quiet = config.model_copy(update={"http": config.http.model_copy(update={"access_log": False})})
    async with open_world(store, clock, tmp_path, quiet) as world:
        with log_lines() as lines:
            assert (await world.call("GET", "/v1/me")).status == 401
    assert requests_of(lines) == []
