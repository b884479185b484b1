"""PATCH /v1/me turns emails about the user's accounts on or off."""

from __future__ import annotations

import pytest

from svc.store import user_limits
from tests.cases import cases


@pytest.mark.rule("X13", "C11")
async def test_emails_can_be_turned_off_and_on(world):
    session = await world.session(await world.user())
    shown = await world.call("GET", "/v1/me", headers=session)
    assert shown.body["user"]["notify"] is True
    response = await world.call("PATCH", "/v1/me", {"notify": False}, headers=session)
    expected = {**shown.body, "user": {**shown.body["user"], "notify": False}}
    assert (response.status, response.body) == (200, expected)
    assert (await world.call("GET", "/v1/me", headers=session)).body == expected
    keyed = {**session, "Idempotency-Key": "one"}
    assert (await world.call("PATCH", "/v1/me", {"notify": True}, headers=keyed)).body == shown.body
    again = await world.call("PATCH", "/v1/me", {"notify": True}, headers=keyed)
    assert (again.body, again.headers["Idempotent-Replayed"]) == (shown.body, "true")


@pytest.mark.rule("C3", "X13")
async def test_api_key_cannot_turn_off_emails(world):
    user = await world.user()
    response = await world.call("PATCH", "/v1/me", {"notify": False}, headers=await world.key(user))
    assert response.code == "session_required"
    shown = await world.call("GET", "/v1/me", headers=await world.session(user))
    assert shown.body["user"]["notify"] is True


@pytest.mark.parametrize("body", [{}, {"notify": "no"}, {"notify": None}, {"notify": True, "plan": "api"}])
async def test_invalid_body_changes_nothing(world, body):
    session = await world.session(await world.user())
    assert (await world.call("PATCH", "/v1/me", body, headers=session)).code == "invalid_request"
    assert (await world.call("GET", "/v1/me", headers=session)).body["user"]["notify"] is True


async def test_other_users_are_not_affected(world):
    mine, other = await world.session(await world.user()), await world.session(await world.user())
    assert (await world.call("PATCH", "/v1/me", {"notify": False}, headers=mine)).status == 200
    assert (await world.call("GET", "/v1/me", headers=other)).body["user"]["notify"] is True


async def test_limits_of_the_operator_are_shown_and_applied(world):
    user = await world.user()
    session = await world.session(user)
    before = (await world.call("GET", "/v1/me", headers=session)).body["limits"]
    await world.store.run(user_limits.set_limits(user.id, {"sites": 500, "keys": 2}))
    expected = {**before, "sites": 500, "keys": 2}
    assert (await world.call("GET", "/v1/me", headers=session)).body["limits"] == expected
    changed = await world.call("PATCH", "/v1/me", {"notify": False}, headers=session)
    assert changed.body["limits"] == expected
    issued = [(await world.call("POST", "/v1/keys", {"scopes": ["sites"]}, headers=session)).status for _ in range(3)]
    assert issued == [201, 201, 403]


@cases(
    ("sent", "address", "network"),
    [
        ("8.8.8.8", "8.8.8.8", "8.8.8.8"),
        ("::ffff:8.8.4.4", "8.8.4.4", "8.8.4.4"),
        ("2606:4700::1:2:3:4", "2606:4700::1:2:3:4", "2606:4700::/64"),
        ("8.8.8.8, 2606:4700:1:2:3::", "2606:4700:1:2:3::", "2606:4700:1:2::/64"),
        ("192.168.1.5", "192.168.1.5", None),
        ("100.64.0.1", "100.64.0.1", None),
        ("fd00::7", "fd00::7", None),
        ("::1", "::1", None),
        ("unknown", None, None),
    ],
)
async def test_own_address_is_the_one_that_trusted_proxies_see(world, ready, sent, address, network):
    _, session, _ = ready
    headers = {**session, "X-Forwarded-For": sent}
    response = await world.call("GET", "/v1/me/address", headers=headers, scope_base={"client": ("10.0.0.1", 1)})
    assert (response.status, response.body) == (200, {"address": address, "network": network})
