"""Tests of users with their email tokens, sessions, devices and API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS, day_of
from svc.errors import Forbidden
from svc.ids import digest, new_id
from svc.model import Key, User
from svc.store import devices, keys, sessions, users
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import a_user, new_session

if TYPE_CHECKING:
    from svc.store.tx import Tx

HOUR_MS = 3_600_000


def signed_up(email: str, password_hash: str, token: str, token_expires_at: int, now: int) -> Tx[User | None]:
    """Add a sign-up and the token for its confirmation email."""
    user = yield from users.add_user(email, password_hash, now)
    yield from users.put_mail_token(users.UNKNOWN_USER if user is None else user.id, "confirm", token, token_expires_at)
    return user


def new_key(user_id: int, **fields) -> Key:
    values = {
        "id": new_id("key"),
        "user_id": user_id,
        "name": None,
        "prefix": "svc_abcd",
        "scopes": ("sites", "reports"),
        "allow_accounts": None,
        "allow_ips": None,
        "created_at": START_MS,
        "last_used": None,
    }
    return Key(**{**values, **fields})


async def test_confirmed_address_is_unique_ignoring_case(store):
    added = await store.run(users.add_user("Ann@Example.com", "hash", START_MS, confirmed=True))
    assert added is not None
    assert await store.run(users.add_user("ann@example.COM", "other", START_MS)) is None
    assert await store.run(users.add_user("ann@example.COM", "other", START_MS, confirmed=True)) is None
    assert await store.read(users.find_user("ANN@example.com")) == (added, "hash")
    assert await store.read(users.get_user(added.id)) == added
    assert (added.email, added.email_confirmed, added.plan) == ("Ann@Example.com", True, "free")
    assert await store.read(users.find_user("bob@example.com")) is None


async def test_newest_of_several_sign_ups_is_found(store):
    for n in range(3):
        assert await store.run(users.add_user("ann@example.com", f"hash {n}", START_MS)) is not None
    found = await store.read(users.find_user("ANN@example.com"))
    assert found is not None
    assert (found[0].email_confirmed, found[1]) == (False, "hash 2")


async def test_oldest_sign_up_is_displaced_beyond_the_limit(store):
    waiting = []
    for n in range(users.MAX_SIGN_UPS + 2):
        user = await store.run(signed_up("ann@example.com", "hash", f"t{n}", START_MS + HOUR_MS, START_MS))
        waiting.append(user)
    assert [await store.read(users.get_user(user.id)) is not None for user in waiting] == [False] * 2 + [
        True
    ] * users.MAX_SIGN_UPS
    assert await store.run(users.confirm_user("t1", START_MS)) is None
    assert await store.run(users.confirm_user("t2", START_MS)) is not None


async def test_confirmation_keeps_one_sign_up_and_deletes_the_others(store):
    first = await store.run(signed_up("ann@example.com", "hash 1", "t1", START_MS + HOUR_MS, START_MS))
    second = await store.run(signed_up("Ann@example.com", "hash 2", "t2", START_MS + HOUR_MS, START_MS))
    other = await store.run(signed_up("bob@example.com", "hash 3", "t3", START_MS + HOUR_MS, START_MS))
    for user in (first, second, other):
        at = START_MS + HOUR_MS
        await store.run(sessions.add_session(new_session(user.id, str(user.id), until=at)))
        await store.run(keys.add_key(new_key(user.id), f"k{user.id}", 1))
    confirmed = await store.run(users.confirm_user("t1", START_MS))
    assert confirmed is not None
    assert confirmed.id == first.id
    assert await store.read(users.find_user("ann@example.com")) == (confirmed, "hash 1")
    assert await store.read(users.get_user(second.id)) is None
    assert await store.run(users.confirm_user("t2", START_MS)) is None
    alive = [await store.read(sessions.session_of_access(f"a-{user.id}", START_MS)) for user in (first, second, other)]
    assert [user is not None for user in alive] == [True, False, True]
    left = [await store.read(keys.key_by_digest(f"k{user.id}")) for user in (first, second, other)]
    assert [found is not None for found in left] == [False, False, True]
    # Later sign-ups with the same address are refused.
    assert await store.run(signed_up("ann@example.com", "hash 4", "t4", START_MS + HOUR_MS, START_MS)) is None
    assert await store.run(users.confirm_user("t4", START_MS)) is None


async def test_only_one_of_concurrent_confirmations_wins(store):
    for n in range(5):
        await store.run(signed_up("ann@example.com", f"hash {n}", f"t{n}", START_MS + HOUR_MS, START_MS))
    confirmed = []

    async def one(n):
        user = await store.run(users.confirm_user(f"t{n}", START_MS))
        if user is not None:
            confirmed.append(user)

    async with trio.open_nursery() as nursery:
        for n in range(5):
            nursery.start_soon(one, n)
    assert len(confirmed) == 1
    found = await store.read(users.find_user("ann@example.com"))
    assert found is not None
    assert found[0] == confirmed[0]


async def test_user_added_by_the_operator_replaces_sign_ups(store):
    stranger = await store.run(signed_up("ann@example.com", "hash", "t1", START_MS + HOUR_MS, START_MS))
    added = await store.run(users.add_user("ann@example.com", "hash 2", START_MS, confirmed=True))
    assert added is not None
    assert added.email_confirmed
    assert await store.read(users.get_user(stranger.id)) is None
    assert await store.run(users.confirm_user("t1", START_MS)) is None


async def test_resent_token_confirms_one_sign_up_but_resets_the_password_of_several(store):
    later = START_MS + HOUR_MS
    assert (await store.run(users.put_confirm_token("ann@example.com", "t0", later)))[1] == 0
    first = await store.run(users.add_user("ann@example.com", "hash 1", START_MS))
    assert (await store.run(users.put_confirm_token("ann@example.com", "t1", later)))[1] == 1
    await store.run(users.add_user("ann@example.com", "hash 2", START_MS))
    assert (await store.run(users.put_confirm_token("ann@example.com", "t2", later)))[1] == 2
    assert await store.run(users.confirm_user("t2", START_MS)) is None
    confirmed = await store.run(users.reset_password("t2", "hash 3", START_MS))
    assert confirmed is not None
    assert (confirmed.email_confirmed, confirmed.id == first.id) == (True, False)
    assert await store.run(users.confirm_user("t1", START_MS)) is None
    assert (await store.run(users.put_confirm_token("ann@example.com", "t4", later)))[1] == 0


async def test_known_devices_are_limited(store):
    user_id, other_id = await store.run(a_user()), await store.run(a_user())
    await store.run(devices.remember_device(other_id, "d0", START_MS))
    for n in range(devices.MAX_DEVICES + 1):
        await store.run(devices.remember_device(user_id, f"d{n}", START_MS + n))
        await store.run(devices.remember_device(user_id, "used often", START_MS + n))
    known = [n for n in range(devices.MAX_DEVICES + 1) if await store.read(devices.is_known_device(user_id, f"d{n}"))]
    assert known == list(range(2, devices.MAX_DEVICES + 1))
    assert await store.read(devices.is_known_device(user_id, "used often"))
    assert await store.read(devices.is_known_device(other_id, "d0"))
    await store.run(devices.forget_devices(user_id))
    assert not await store.read(devices.is_known_device(user_id, "used often"))


async def test_confirmation_token_works_once_before_expiry_for_its_purpose(store):
    user_id = await store.run(a_user())
    await store.run(users.put_mail_token(user_id, "confirm", "c1", START_MS + HOUR_MS))
    assert await store.run(users.reset_password("c1", "new", START_MS)) is None
    assert await store.run(users.confirm_user("c1", START_MS + HOUR_MS)) is None
    confirmed = await store.run(users.confirm_user("c1", START_MS))
    assert confirmed is not None
    assert confirmed.email_confirmed
    assert await store.run(users.confirm_user("c1", START_MS)) is None


async def test_only_the_newest_email_for_a_purpose_is_valid(store):
    user_id = await store.run(a_user())
    await store.run(users.put_mail_token(user_id, "confirm", "older", START_MS + HOUR_MS))
    await store.run(users.put_mail_token(user_id, "reset", "reset", START_MS + HOUR_MS))
    await store.run(users.put_mail_token(user_id, "confirm", "newer", START_MS + HOUR_MS))
    assert await store.run(users.confirm_user("older", START_MS)) is None
    assert await store.run(users.confirm_user("newer", START_MS)) is not None
    assert await store.run(users.reset_password("reset", "hash", START_MS)) is not None


async def test_password_reset_ends_all_sessions(store):
    user_id = await store.run(a_user())
    other_id = await store.run(a_user())
    for owner, name in ((user_id, "one"), (user_id, "two"), (other_id, "three")):
        await store.run(sessions.add_session(new_session(owner, name, until=START_MS + DAY_MS)))
    await store.run(users.put_mail_token(user_id, "reset", "token", START_MS + HOUR_MS))
    user = await store.run(users.reset_password("token", "new hash", START_MS))
    assert user is not None
    assert await store.read(users.find_user(user.email)) == (user, "new hash")
    assert await store.read(sessions.session_of_access("a-one", START_MS)) is None
    assert await store.read(sessions.session_of_access("a-two", START_MS)) is None
    assert await store.read(sessions.session_of_access("a-three", START_MS)) is not None


async def test_operator_changes_the_plan(store):
    user = await store.run(users.add_user("Ann@example.com", "hash", START_MS))
    assert user is not None
    assert await store.run(users.set_plan(user.id, "api"))
    assert not await store.run(users.set_plan(user.id, "api"))
    found = await store.read(users.find_user("ann@example.com"))
    assert found is not None
    assert found[0].plan == "api"
    assert not await store.run(users.set_plan(user.id + 1, "api"))


@pytest.mark.rule("C6")
async def test_only_the_digest_of_a_key_is_stored(store):
    user_id = await store.run(a_user())
    value = "svc_verysecretvalue"
    key = await store.run(keys.add_key(new_key(user_id), digest(value), 5))

    def every_column() -> Tx[list[str]]:
        rows = yield sql("select * from keys")
        return [str(field) for row in rows for field in row.values()]

    assert value not in await store.read(every_column())
    found = await store.read(keys.key_by_digest(digest(value)))
    assert found is not None
    assert (found[0], found[1].id) == (key, user_id)
    assert await store.read(keys.key_by_digest(digest("svc_another"))) is None


async def test_key_is_read_as_issued(store):
    user_id = await store.run(a_user())
    issued = [
        new_key(user_id, id="key_1", created_at=1, name="nächtlicher Bericht"),
        new_key(user_id, id="key_2", created_at=2, scopes=(), allow_accounts=(), allow_ips=()),
        new_key(user_id, id="key_3", created_at=3, allow_accounts=("a" * 32,), allow_ips=("10.0.0.0/8", "::1")),
    ]
    for key in issued:
        await store.run(keys.add_key(key, digest(key.id), 5))
    assert await store.read(keys.list_keys(user_id)) == issued
    assert await store.read(keys.list_keys(await store.run(a_user()))) == []


@pytest.mark.rule("C7")
async def test_concurrently_issued_keys_do_not_exceed_the_limit(store):
    user_id = await store.run(a_user())
    refused = []

    async def one(number):
        try:
            await store.run(keys.add_key(new_key(user_id), f"digest {number}", 5))
        except Forbidden as error:
            refused.append(error.code)

    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(one, number)
    assert len(await store.read(keys.list_keys(user_id))) == 5
    assert refused == ["limit_reached"] * 7


@pytest.mark.rule("C8")
async def test_revoked_key_is_invalid_immediately_and_only_its_owner_can_revoke_it(store):
    user_id = await store.run(a_user())
    key = await store.run(keys.add_key(new_key(user_id), "d", 1))
    assert not await store.run(keys.delete_key(await store.run(a_user()), key.id))
    assert await store.read(keys.key_by_digest("d")) is not None
    assert await store.run(keys.delete_key(user_id, key.id))
    assert await store.read(keys.key_by_digest("d")) is None
    assert not await store.run(keys.delete_key(user_id, key.id))


@pytest.mark.rule("C9")
async def test_last_used_day_never_decreases(store):
    user_id = await store.run(a_user())
    key = await store.run(keys.add_key(new_key(user_id), "d", 1))
    today = day_of(START_MS)
    for day, seen in ((today, today), (today - 1, today), (today + 1, today + 1)):
        await store.run(keys.touch_key(key.id, day))
        assert (await store.read(keys.list_keys(user_id)))[0].last_used == seen
