"""Tests that no response reveals whether an address is registered."""

from __future__ import annotations

import pytest

from svc.store import notifications, users
from tests.http.auth_steps import (
    EMAIL,
    PASSWORD,
    a_confirmed_user,
    read_email,
    sign_in,
    sign_up,
    token_of,
)
from tests.http.conftest import open_world
from tests.http.recording_store import IN_REQUEST, RecordingStore


async def test_responses_do_not_reveal_whether_an_address_is_registered(world):
    await sign_up(world)
    for path, more in [
        ("/auth/sign-up", {"password": PASSWORD}),
        ("/auth/confirm/resend", {}),
        ("/auth/password-reset", {}),
        ("/auth/sign-in", {"password": "wrong password"}),
    ]:
        known = await world.call("POST", path, {"email": EMAIL, **more})
        unknown = await world.call("POST", path, {"email": "unknown@example.com", **more})
        assert (known.status, known.raw) == (unknown.status, unknown.raw)


async def test_unknown_address_gets_no_email_and_a_user_is_notified_of_a_second_sign_up(world):
    for path in ("/auth/confirm/resend", "/auth/password-reset"):
        await world.call("POST", path, {"email": "unknown@example.com"})
    assert await world.inbox() == []
    await sign_up(world)
    await world.call("POST", "/auth/confirm", {"token": await token_of(world, "confirm")})
    assert (await sign_up(world, password="not the first")).status == 202
    assert read_email((await world.inbox())[-1])[1] == "You already have an account at svc"
    assert (await sign_in(world, "not the first")).code == "unauthorized"
    assert (await sign_in(world)).status == 200
    before = len(await world.inbox())
    await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})
    assert len(await world.inbox()) == before


@pytest.mark.parametrize("language", [None, "de"])
@pytest.mark.parametrize(
    ("path", "more"), [("password-reset", {}), ("confirm/resend", {}), ("sign-up", {"password": PASSWORD})]
)
async def test_store_does_the_same_work_for_known_and_unknown_addresses(store, clock, tmp_path, path, more, language):
    """The known user may have chosen a language other than that of the requests."""
    recording = RecordingStore(store)
    async with open_world(recording, clock, tmp_path) as world:
        await a_confirmed_user(world)
        found = await store.read(users.find_user(EMAIL))
        await store.run(notifications.set_language(found[0].id, language))
        work_by_address = []
        for address in (EMAIL, "unknown@example.com"):
            recording.by_request.clear()
            recording.by_email.clear()
            in_request = IN_REQUEST.set(True)
            asked = {"Accept-Language": "en"}
            response = await world.call("POST", f"/auth/{path}", {"email": address, **more}, headers=asked)
            IN_REQUEST.reset(in_request)
            assert response.status == 202
            await world.outbox.settled()
            work_by_address.append((list(recording.by_request), list(recording.by_email)))
        assert work_by_address[0] == work_by_address[1]
        by_request, by_email = work_by_address[0]
        assert any(text.startswith("insert into outbox") for text in by_request)
        assert any(text.startswith("insert into mail_tokens") for text in by_email)
        assert any(text.startswith("delete from outbox") for text in by_email)


async def test_token_without_a_user_is_invalid(world):
    await world.store.run(users.put_mail_token(users.UNKNOWN_USER, "confirm", "c", world.clock() + 1000))
    await world.store.run(users.put_mail_token(users.UNKNOWN_USER, "reset", "r", world.clock() + 1000))
    assert await world.store.run(users.confirm_user("c", world.clock())) is None
    assert await world.store.run(users.reset_password("r", "hash", world.clock())) is None
