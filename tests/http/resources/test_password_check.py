"""Whether a password is a user's: counted by the user, whatever strangers guess."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio
from pydantic import SecretStr

from svc.errors import Forbidden, ServiceError, Unauthorized
from svc.http.resources.password_check import PasswordCheck
from svc.http.resources.sign_in_trail import Trail
from svc.security.passwords import hash_password, verify_password
from svc.store import users

RIGHT, WRONG = SecretStr("correct horse"), SecretStr("wrong horse")


def check_of(store, clock, wrong_per_hour):
    return PasswordCheck(store, clock, wrong_per_hour, Trail(clock))


async def a_user(store, clock, email="ann@example.com"):
    return await store.run(users.add_user(email, hash_password(RIGHT.get_secret_value()), clock(), confirmed=True))


async def test_the_right_password_passes_and_a_wrong_one_does_not(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    for _ in range(10):  # right ones are never used up
        await check.check(user, RIGHT, None)
    with pytest.raises(Forbidden) as refused:
        await check.check(user, WRONG, None)
    assert refused.value.code == "invalid_password"


async def test_wrong_passwords_are_limited_by_user_also_when_they_come_at_once(store, clock):
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


async def test_what_strangers_guess_at_the_sign_in_does_not_count_against_who_is_signed_in(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 1)
    assert not await check.is_right("address of ann", "", WRONG, None, via="nobody", client=None)
    with pytest.raises(ServiceError):
        await check.is_right("address of ann", "", WRONG, None, via="nobody", client=None)
    await check.check(user, RIGHT, None)


async def test_a_user_without_a_password_has_no_right_one(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 3)
    await store.run(users.set_password_hash(user.id, ""))
    with pytest.raises(Forbidden):
        await check.check(user, RIGHT, None)


async def test_of_a_user_who_is_gone_no_password_is_wrong(store, clock):
    user, check = await a_user(store, clock), check_of(store, clock, 1)
    for _ in range(2):  # and none is counted
        with pytest.raises(Unauthorized):
            await check.check(replace(user, id=user.id + 1), WRONG, None)


def test_no_password_is_right_where_none_counts():
    for stored in (None, ""):
        assert not verify_password(stored, "nobody has this password")
        assert not verify_password(stored, "")
