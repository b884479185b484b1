"""Tests of password resets."""

from __future__ import annotations

import pytest

from tests.http.auth_steps import (
    EMAIL,
    a_confirmed_user,
    cookie_of,
    device_of,
    limited,
    read_email,
    sign_in,
    sign_up,
    token_of,
)
from tests.http.browser import bearer_of
from tests.http.conftest import open_world


@pytest.mark.rule("G7")
async def test_reset_sets_the_password_and_ends_every_session(world):
    await sign_up(world)
    session = await sign_in(world)
    assert (await world.call("POST", "/auth/password-reset", {"email": EMAIL})).status == 202
    token = await token_of(world, "reset")
    body = {"token": token, "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).body == {"ok": True}
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(session))).status == 401
    assert (await sign_in(world)).code == "unauthorized"
    assert (await sign_in(world, "another horse")).status == 200
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"


async def test_reset_sends_one_notice(world):
    await a_confirmed_user(world)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    before = await world.inbox()
    assert (await world.call("POST", "/auth/password-reset/confirm", {**body, "password": EMAIL})).status == 400
    assert await world.inbox() == before
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 400
    [notice] = [text for text in await world.inbox() if text not in before]
    to, subject, text = read_email(notice)
    assert (to, subject) == (EMAIL, "Your password for svc was changed")
    assert "token=" not in text
    assert "another horse" not in text


async def test_token_works_for_its_purpose_only(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    body = {"token": token, "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"


async def test_reset_of_an_unconfirmed_address_confirms_it(world):
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True


async def test_locked_out_owner_can_reset_the_password(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=2)) as world:
        await a_confirmed_user(world)
        thief = device_of(await sign_in(world))
        for _ in range(3):
            await sign_in(world, "wrong password")
        assert (await sign_in(world)).status == 429
        await world.call("POST", "/auth/password-reset", {"email": EMAIL})
        body = {"token": await token_of(world, "reset"), "password": "another horse"}
        reset = await world.call("POST", "/auth/password-reset/confirm", body)
        assert (await sign_in(world, "another horse", headers=device_of(reset))).status == 200
        # Browsers that were known before the reset are no longer known.
        assert (await sign_in(world, "another horse", headers=thief)).status == 429
