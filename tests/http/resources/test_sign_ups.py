"""Tests of sign-ups, and of the confirmation of addresses."""

from __future__ import annotations

import pytest

from svc.store import users
from tests.http.auth_steps import (
    EMAIL,
    PASSWORD,
    confirm,
    cookie_of,
    read_email,
    sign_in,
    sign_up,
    token_of,
)
from tests.http.browser import bearer_of


@pytest.mark.rule("G7")
async def test_link_of_the_email_confirms_a_sign_up_once(world):
    response = await sign_up(world, "Ann@Example.com")
    assert (response.status, response.body) == (202, {"ok": True})
    (text,) = await world.inbox()
    to, subject, _ = read_email(text)
    assert (to, subject) == (EMAIL, "Confirm your email address for svc")
    signed_in = await sign_in(world)
    assert signed_in.body["user"] == {
        "id": signed_in.body["user"]["id"],
        "email": EMAIL,
        "email_confirmed": False,
        "notify": True,
        "language": None,
        "email_refused_at": None,
    }
    token = await token_of(world, "confirm")
    assert (await world.call("POST", "/auth/confirm", {"token": token})).body == {"ok": True}
    me = await world.call("GET", "/v1/me", headers=bearer_of(signed_in))
    assert me.body["user"]["email_confirmed"] is True
    again = await world.call("POST", "/auth/confirm", {"token": token})
    assert (again.status, again.code) == (400, "invalid_request")


async def test_link_of_an_email_expires(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    world.clock.advance_s(86_400)
    assert (await world.call("POST", "/auth/confirm", {"token": token})).code == "invalid_request"
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    fresh = await token_of(world, "confirm")
    assert fresh != token
    assert (await world.call("POST", "/auth/confirm", {"token": fresh})).status == 200


@pytest.mark.parametrize("password", ["Password1", "ann@example.com", "ann12345", "zzzzzzzzzzzz", "seven77"])
async def test_weak_password_is_refused(world, password):
    async def refused(path: str, **body: str) -> None:
        response = await world.call("POST", path, {"password": password, **body})
        assert (response.status, response.code) == (400, "invalid_request")
        [issue] = response.body["error"]["details"]["issues"]
        assert issue["path"] == "password"
        assert issue["message"].startswith(("must", "is too easy"))

    await refused("/auth/sign-up", email=EMAIL)
    assert await world.inbox() == []
    # sign-in must not reveal that the password violates the rules for new passwords
    assert (await sign_in(world, password)).status == 401
    await sign_up(world)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    token = await token_of(world, "reset")
    await refused("/auth/password-reset/confirm", token=token)
    body = {"token": token, "password": "another horse"}  # the link is still valid after the refused attempts
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200


async def test_earlier_sign_up_of_a_stranger_gets_no_access_to_the_confirmed_address(world):
    await sign_up(world, password="strangers horse")
    strangers_token = await token_of(world, "confirm")
    stranger = await sign_in(world, "strangers horse")
    issued = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=bearer_of(stranger))
    await sign_up(world)
    session = await sign_in(world)
    own = await token_of(world, "confirm")
    assert own != strangers_token
    assert (await confirm(world, own)).status == 200
    # The owner's password and session remain valid. The stranger's password, session and key are no longer valid.
    assert (await sign_in(world)).body["user"]["email_confirmed"] is True
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).body["user"]["email_confirmed"] is True
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(stranger))).status == 401
    key = {"Authorization": f"Bearer {issued.body['key']}"}
    assert (await world.call("GET", "/v1/me", headers=key)).status == 401
    assert (await confirm(world, strangers_token)).code == "invalid_request"


async def test_later_sign_up_of_a_stranger_does_not_void_the_owners_link(world):
    await sign_up(world)
    own = await token_of(world, "confirm")
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    assert stranger.status == 200
    assert (await confirm(world, own)).status == 200
    assert (await sign_in(world)).status == 200
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401


async def test_keys_issued_before_the_confirmation_are_revoked_and_later_ones_are_not(world):
    await sign_up(world)
    session = bearer_of(await sign_in(world))
    token = await token_of(world, "confirm")
    early = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    assert (await confirm(world, token)).status == 200
    assert (await world.call("GET", "/v1/keys", headers=session)).body == {"keys": []}
    assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {early.body['key']}"})).status == 401
    late = await world.call("POST", "/v1/keys", {"scopes": ["links"]}, headers=session)
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {late.body['key']}"})).status == 200


async def test_resend_after_several_sign_ups_lets_the_owner_choose_the_password(world):
    await sign_up(world)
    await sign_up(world, password="strangers horse")
    stranger = await sign_in(world, "strangers horse")
    assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "a@b@c",
        "ann @example.com",
        "ann@example.com\r\nBcc: x@example.com",
        "=?utf-8?q?a=0d=0ab?=@x",
        "=?utf-8?q?a=0d=0ab?=@example.com",
        "ä@example.com",
    ],
)
async def test_invalid_address_is_refused(world, address):
    assert (await sign_up(world, address)).code == "invalid_request"
    assert await world.inbox() == []


async def test_passwords_are_not_in_responses_or_emails(world):
    refused = await sign_up(world, password="short")
    assert refused.code == "invalid_request"
    assert b"short" not in refused.raw.replace(b"shortly", b"")
    await sign_up(world)
    found = await world.store.read(users.find_user(EMAIL))
    assert found is not None
    assert found[1].startswith("$argon2id$")
    assert all(PASSWORD not in text for text in await world.inbox())
