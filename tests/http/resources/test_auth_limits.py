"""Tests of the limits on attempts per network, on wrong passwords, and on emails per address."""

from __future__ import annotations

import pytest
import trio

from tests.http.auth_steps import (
    EMAIL,
    a_confirmed_user,
    client,
    confirm,
    device_of,
    limited,
    sign_in,
    sign_up,
    token_of,
)
from tests.http.browser import bearer_of
from tests.http.conftest import open_world


async def test_emails_to_an_address_are_limited_per_hour(world):
    await sign_up(world)
    for _ in range(8):
        await world.inbox()  # send the queued email, which the next one would otherwise replace
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    assert len(await world.inbox()) == 5
    world.clock.advance_s(3600)
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.inbox()) == 6


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
    ],
)
async def test_attempts_are_limited_by_network(store, clock, tmp_path, first, same, other):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=3)) as world:
        for address in (first, same, first):
            assert (await sign_in(world, **client(address))).status == 401
        over = await sign_in(world, **client(same))
        assert (over.status, over.code, over.headers["Retry-After"]) == (429, "rate_limited", "60")
        assert (await sign_in(world, **client(other))).status == 401
        clock.advance_s(60)
        assert (await sign_in(world, **client(same))).status == 401


@pytest.mark.parametrize("address", ["198.51.100.{}", "2001:db8:7:{}::1"])
async def test_larger_network_has_a_limit_too(store, clock, tmp_path, address):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=2)) as world:
        statuses = [
            (await world.call("POST", "/auth/confirm", {}, **client(address.format(n)))).status for n in range(1, 13)
        ]
        assert statuses == [400] * 10 + [429] * 2


@pytest.mark.parametrize(
    "path",
    [
        "sign-up",
        "confirm",
        "confirm/resend",
        "sign-in",
        "password-reset",
        "password-reset/confirm",
    ],
)
async def test_every_attempt_counts_before_its_body_is_read(store, clock, tmp_path, path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, sign_ins_per_minute=2)) as world:
        json = {"Content-Type": "application/json"}
        bodies = [b"{" + b'"a":1,' * 500, b" " * 5_000, b"{}"]
        responses = [await world.call("POST", f"/auth/{path}", data=raw, headers=json) for raw in bodies]
        assert [response.code for response in responses] == ["invalid_request", "payload_too_large", "rate_limited"]


async def test_guesses_from_many_networks_are_limited_per_address(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=5)) as world:
        await a_confirmed_user(world)
        for known in (EMAIL, "unknown@example.com"):
            guesses = [
                await sign_in(world, "wrong password", known.upper() if n % 2 else known, **client(f"203.0.{n}.1"))
                for n in range(8)
            ]
            assert [guess.status for guess in guesses] == [401] * 5 + [429] * 3
            assert guesses[-1].headers["Retry-After"] == "3600"
        assert (await sign_in(world, **client("203.0.99.1"))).status == 429  # even the correct password is rejected
        clock.advance_s(3600)
        assert (await sign_in(world, **client("203.0.99.1"))).status == 200


async def test_concurrent_guesses_are_limited(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=3)) as world:
        statuses = []

        async def guess(n: int) -> None:
            statuses.append((await sign_in(world, "wrong password", **client(f"203.0.{n}.1"))).status)

        async with trio.open_nursery() as nursery:
            for n in range(8):
                nursery.start_soon(guess, n)
        assert sorted(statuses) == [401] * 3 + [429] * 5


async def test_guessing_stranger_does_not_lock_out_the_owner(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path, limited(tmp_path, wrong_passwords_per_hour=3)) as world:
        await a_confirmed_user(world)
        browser = device_of(await sign_in(world))
        for _ in range(5):
            await sign_in(world, "wrong password", **client("203.0.113.1"))
        assert (await sign_in(world, **client("203.0.113.1"))).status == 429
        for _ in range(10):  # correct passwords do not count toward the limit
            again = await sign_in(world, headers=browser)
            assert again.status == 200
            # the response sets no cookie that identifies the browser, because the service already knows the browser
            assert len(again.headers.getlist("Set-Cookie")) == 1
        # A known browser has a separate limit for failed sign-ins of its user. For other addresses, the usual limit
        # applies.
        other = {"email": "bob@example.com", "password": "wrong password"}
        for _ in range(3):
            assert (await sign_in(world, "wrong password", headers=browser)).status == 401
            assert (await world.call("POST", "/auth/sign-in", other, headers=browser)).status == 401
        assert (await sign_in(world, headers=browser)).status == 429
        assert (await world.call("POST", "/auth/sign-in", other)).status == 429


async def test_stranger_who_uses_up_the_email_limit_gets_no_access(world):
    """The stranger's sign-ups use up the limit of emails. The owner's own sign-up therefore sends no email, and the
    owner opens a link from one of the stranger's sign-ups.
    """
    for _ in range(5):
        assert (await sign_up(world, password="strangers horse")).status == 202
    stranger = await sign_in(world, "strangers horse")
    strangers_link = await token_of(world, "confirm")
    assert (await sign_up(world)).status == 202
    assert len(await world.inbox()) == 5
    assert (await confirm(world, strangers_link)).status == 200
    assert (await sign_in(world, "strangers horse")).status == 401
    assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
    assert (await sign_in(world)).status == 401
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
    assert (await sign_in(world, "another horse")).body["user"]["email_confirmed"] is True


async def test_requests_that_send_nothing_do_not_use_up_reset_emails(world):
    await a_confirmed_user(world)
    before = len(await world.inbox())
    for _ in range(8):
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    assert len(await world.inbox()) == before + 1
    body = {"token": await token_of(world, "reset"), "password": "another horse"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).status == 200
