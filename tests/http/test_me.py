"""PATCH /v1/me: whether e-mails about the accounts are wanted."""

from __future__ import annotations

import pytest


@pytest.mark.rule("X13", "C11")
async def test_e_mails_are_switched_off_and_on_with_any_credential(world):
    user = await world.user()
    session, key = await world.session(user), await world.key(user, "reports")
    shown = await world.call("GET", "/v1/me", headers=session)
    assert shown.body["user"]["notify"] is True
    answer = await world.call("PATCH", "/v1/me", {"notify": False}, headers=session)
    expected = {**shown.body, "user": {**shown.body["user"], "notify": False}}
    assert (answer.status, answer.body) == (200, expected)
    assert (await world.call("GET", "/v1/me", headers=session)).body == expected
    answer = await world.call("PATCH", "/v1/me", {"notify": True}, headers=key)
    assert (answer.status, answer.body["user"]["notify"], answer.body["via"]) == (200, True, "key")
    again = await world.call("PATCH", "/v1/me", {"notify": True}, headers=key)
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("body", [{}, {"notify": "no"}, {"notify": None}, {"notify": True, "plan": "api"}])
async def test_a_wrong_body_changes_nothing(world, body):
    session = await world.session(await world.user())
    assert (await world.call("PATCH", "/v1/me", body, headers=session)).code == "invalid_request"
    assert (await world.call("GET", "/v1/me", headers=session)).body["user"]["notify"] is True


async def test_another_user_is_not_touched(world):
    mine, other = await world.session(await world.user()), await world.session(await world.user())
    assert (await world.call("PATCH", "/v1/me", {"notify": False}, headers=mine)).status == 200
    assert (await world.call("GET", "/v1/me", headers=other)).body["user"]["notify"] is True
