"""Password checks of signed-in users are limited per user, independently of failed sign-ins."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio
from pydantic import SecretStr

from svc.errors import Forbidden, ServiceError, Unauthorized
from svc.http.resources.auth_events import AuthEvents
from svc.http.resources.password_check import PasswordCheck
from svc.security.passwords import hash_password, verify_password
from svc.store import users

RIGHT, WRONG = SecretStr("correct horse"), SecretStr("wrong horse")


def check_of(store, clock, wrong_per_hour):
    return PasswordCheck(store, clock, wrong_per_hour, AuthEvents(clock))


async def a_user(store, clock, email="ann@example.com"):
    return await store.run(users.add_user(email, hash_password(RIGHT.get_secret_value()), clock(), confirmed=True))


async def test_correct_password_passes_and_a_wrong_one_does_not(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    for _ in range(10):  # correct passwords do not count toward the limit
        await check.check(user, RIGHT, None)
    with pytest.raises(Forbidden) as refused:
        await check.check(user, WRONG, None)
    assert refused.value.code == "invalid_password"


async def test_concurrent_wrong_passwords_are_limited_per_user(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    codes: list[str] = []

    async def guess():
        with pytest.raises(ServiceError) as refused:
            await check.check(user, WRONG, None)
        codes.append(refused.value.code)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(guess)
    assert sorted(codes) == ["invalid_password"] * 3 + ["rate_limited"] * 5
    with pytest.raises(ServiceError) as over:
        await check.check(user, RIGHT, None)
    assert (over.value.code, over.value.retry_after_s) == ("rate_limited", 3600)
    await check.check(await a_user(store, clock, "bob@example.com"), RIGHT, None)
    clock.advance_s(3600)
    await check.check(user, RIGHT, None)


async def test_concurrent_correct_passwords_all_pass(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    async with trio.open_nursery() as nursery:
        for _ in range(12):
            nursery.start_soon(check.check, user, RIGHT, None)


async def test_guesses_at_sign_in_do_not_count_against_a_signed_in_user(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 1)
    assert not await check.is_correct("address of ann", "", WRONG, None, via="nobody", client=None)
    with pytest.raises(ServiceError):
        await check.is_correct("address of ann", "", WRONG, None, via="nobody", client=None)
    await check.check(user, RIGHT, None)


async def test_user_without_a_password_is_refused(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    await store.run(users.set_password_hash(user.id, ""))
    with pytest.raises(Forbidden):
        await check.check(user, RIGHT, None)


async def test_deleted_user_is_unauthorized(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 1)
    for _ in range(2):  # send the request twice, to check that such attempts do not count toward the limit
        with pytest.raises(Unauthorized):
            await check.check(replace(user, id=user.id + 1), WRONG, None)


def test_no_password_matches_a_missing_hash():
    for stored in (None, ""):
        assert not verify_password(stored, "any password")
        assert not verify_password(stored, "")
