"""/auth: sign-up, confirmation, sessions, password reset; what it does not tell."""

from __future__ import annotations

import email
import re
from email import policy
from typing import TYPE_CHECKING

import pytest

from svc.config import Limits
from svc.store import users
from tests.http.conftest import config_of, open_world

if TYPE_CHECKING:
    from tests.http.conftest import Answer, World

EMAIL, PASSWORD = "ann@example.com", "correct horse"
TOKEN = re.compile(r"https://svc\.example/(confirm|reset)\?token=(\S+)")


def read_letter(text: str) -> tuple[str, str, str]:
    message = email.message_from_string(text, policy=policy.default)
    assert message["From"] == "svc@localhost"
    return message["To"], message["Subject"], message.get_content()


async def token_of(world: World, purpose: str) -> str:
    found = [match for letter in await world.letters() for match in TOKEN.findall(read_letter(letter)[2])]
    assert found[-1][0] == purpose
    return str(found[-1][1])


async def sign_up(world: World, address: str = EMAIL, password: str = PASSWORD) -> Answer:
    return await world.call("POST", "/auth/sign-up", {"email": address, "password": password})


async def sign_in(world: World, password: str = PASSWORD, address: str = EMAIL) -> Answer:
    return await world.call("POST", "/auth/sign-in", {"email": address, "password": password})


def cookie_of(answer: Answer) -> dict[str, str]:
    return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}


def bearer_of(answer: Answer) -> dict[str, str]:
    return {"Authorization": f"Bearer {answer.body['access_token']}"}


@pytest.mark.rule("G7")
async def test_a_sign_up_is_confirmed_by_the_letters_link_once(world):
    answer = await sign_up(world, "Ann@Example.com")
    assert (answer.status, answer.body) == (202, {"ok": True})
    (letter,) = await world.letters()
    to, subject, _ = read_letter(letter)
    assert (to, subject) == (EMAIL, "Confirm your address")
    signed_in = await sign_in(world)
    assert signed_in.body["user"] == {"id": signed_in.body["user"]["id"], "email": EMAIL, "email_confirmed": False}
    token = await token_of(world, "confirm")
    assert (await world.call("POST", "/auth/confirm", {"token": token})).body == {"ok": True}
    me = await world.call("GET", "/v1/me", headers=bearer_of(signed_in))
    assert me.body["user"]["email_confirmed"] is True
    again = await world.call("POST", "/auth/confirm", {"token": token})
    assert (again.status, again.code) == (400, "invalid_request")


async def test_a_letters_link_ends_after_its_time(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    world.clock.advance_s(86_400)
    assert (await world.call("POST", "/auth/confirm", {"token": token})).code == "invalid_request"
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    fresh = await token_of(world, "confirm")
    assert fresh != token
    assert (await world.call("POST", "/auth/confirm", {"token": fresh})).status == 200


@pytest.mark.rule("G7")
async def test_a_sign_in_gives_an_access_token_and_a_refresh_cookie(world):
    await sign_up(world)
    answer = await sign_in(world)
    assert answer.status == 200
    assert set(answer.body) == {"access_token", "expires_at", "user"}
    assert answer.body["expires_at"] == "2026-11-21T05:00:00.000Z"
    cookie = answer.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/auth", "Max-Age=2592000"):
        assert part in cookie
    assert (await world.call("GET", "/v1/me", headers=bearer_of(answer))).body["via"] == "session"
    world.clock.advance_s(3600)
    assert (await world.call("GET", "/v1/me", headers=bearer_of(answer))).status == 401


async def test_a_refresh_gives_a_new_pair_and_ends_the_old_one(world):
    await sign_up(world)
    first = await sign_in(world)
    second = await world.call("POST", "/auth/refresh", headers=cookie_of(first))
    assert (second.status, set(second.body)) == (200, {"access_token", "expires_at", "user"})
    assert (await world.call("GET", "/v1/me", headers=bearer_of(first))).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(second))).status == 200
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(first))).code == "unauthorized"
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(second))).status == 200
    assert (await world.call("POST", "/auth/refresh")).code == "unauthorized"


@pytest.mark.parametrize("by", ["cookie", "token"])
async def test_a_sign_out_ends_both_tokens(world, by):
    await sign_up(world)
    session = await sign_in(world)
    headers = cookie_of(session) if by == "cookie" else bearer_of(session)
    answer = await world.call("POST", "/auth/sign-out", headers=headers)
    assert (answer.status, answer.body) == (200, {"ok": True})
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert (await world.call("GET", "/v1/me", headers=bearer_of(session))).status == 401
    assert (await world.call("POST", "/auth/refresh", headers=cookie_of(session))).status == 401


@pytest.mark.rule("G7")
async def test_a_reset_sets_the_password_and_ends_every_session(world):
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


async def test_a_token_of_one_purpose_does_not_serve_the_other(world):
    await sign_up(world)
    token = await token_of(world, "confirm")
    body = {"token": token, "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"


async def test_answers_do_not_tell_whether_an_address_is_known(world):
    await sign_up(world)
    for path, more in [
        ("/auth/sign-up", {"password": PASSWORD}),
        ("/auth/confirm/resend", {}),
        ("/auth/password-reset", {}),
        ("/auth/sign-in", {"password": "wrong password"}),
    ]:
        known = await world.call("POST", path, {"email": EMAIL, **more})
        unknown = await world.call("POST", path, {"email": "nobody@example.com", **more})
        assert (known.status, known.raw) == (unknown.status, unknown.raw)


async def test_an_unknown_address_gets_no_letter_and_a_known_one_is_told_of_a_second_sign_up(world):
    for path in ("/auth/confirm/resend", "/auth/password-reset"):
        await world.call("POST", path, {"email": "nobody@example.com"})
    assert await world.letters() == []
    await sign_up(world)
    await world.call("POST", "/auth/confirm", {"token": await token_of(world, "confirm")})
    assert (await sign_up(world, password="not the first")).status == 202
    assert read_letter((await world.letters())[-1])[1] == "You have an account already"
    assert (await sign_in(world, "not the first")).code == "unauthorized"
    assert (await sign_in(world)).status == 200
    before = len(await world.letters())
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.letters()) == before


async def test_an_address_gets_only_so_many_letters_an_hour(world):
    await sign_up(world)
    for _ in range(8):
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    assert len(await world.letters()) == 5
    world.clock.advance_s(3600)
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.letters()) == 6


async def test_tries_are_limited_by_client_address(store, clock, tmp_path):
    config = config_of(tmp_path).model_copy(update={"limits": Limits(sign_ins_per_minute=3)})
    async with open_world(store, clock, tmp_path, config) as world:
        body = {"email": EMAIL, "password": PASSWORD}
        here, there = {"client": ("192.0.2.1", 1)}, {"client": ("192.0.2.2", 1)}
        for _ in range(3):
            assert (await world.call("POST", "/auth/sign-in", body, scope_base=here)).status == 401
        over = await world.call("POST", "/auth/sign-in", body, scope_base=here)
        assert (over.status, over.code, over.headers["Retry-After"]) == (429, "rate_limited", "60")
        assert (await world.call("POST", "/auth/sign-in", body, scope_base=there)).status == 401
        clock.advance_s(60)
        assert (await world.call("POST", "/auth/sign-in", body, scope_base=here)).status == 401


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
        "ä@example.com",
    ],
)
async def test_what_is_no_address_is_refused(world, address):
    assert (await sign_up(world, address)).code == "invalid_request"
    assert await world.letters() == []


async def test_passwords_and_tokens_stay_out_of_answers_and_letters(world):
    refused = await sign_up(world, password="short")
    assert refused.code == "invalid_request"
    assert b"short" not in refused.raw.replace(b"shortly", b"")
    await sign_up(world)
    found = await world.store.read(users.find_user(EMAIL))
    assert found is not None
    assert found[1].startswith("$argon2id$")
    assert all(PASSWORD not in letter for letter in await world.letters())
