"""Sign-up that the operator has closed or restricted to invited addresses."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, get_args

import pytest
import trio

from svc.clock import DAY_MS
from svc.config import AuthConfig, SignUpMode
from svc.ids import digest, new_secret
from svc.store import invitations, outbox, users
from tests.http.auth_steps import EMAIL, PASSWORD, a_confirmed_user, read_email, sign_in, sign_up, token_of
from tests.http.browser import bearer_of
from tests.http.conftest import config_of, open_world
from tests.http.recording_store import IN_REQUEST, RecordingStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from svc.store.tx import Store
    from tests.clock import FrozenClock
    from tests.http.conftest import Response, World

GUEST = "guest@example.com"


@asynccontextmanager
async def a_world(mode: SignUpMode, store: Store, clock: FrozenClock, folder: Path) -> AsyncIterator[World]:
    config = config_of(folder).model_copy(update={"auth": AuthConfig(sign_up=mode)})
    async with open_world(store, clock, folder, config) as world:
        yield world


@pytest.fixture
async def world(store, clock, tmp_path):
    """The application with sign-up by invitation."""
    async with a_world("invite", store, clock, tmp_path) as world:
        yield world


async def invited(world: World, address: str = GUEST, days: int = 7) -> str:
    """Invite an address, and return the token in the invitation link."""
    token = new_secret("svm_")
    now = world.clock()
    invitation = await world.store.run(invitations.invite(address, now, now + days * DAY_MS))
    await world.store.run(invitations.add_token(invitation.id, digest(token)))
    return token


async def accept(world: World, token: str, address: str = GUEST, password: str = PASSWORD) -> Response:
    body = {"email": address, "password": password, "invitation": token}
    return await world.call("POST", "/auth/sign-up", body)


async def has_user(world: World, address: str) -> bool:
    return await world.store.read(users.find_user(address)) is not None


@pytest.mark.rule("Y6")
@pytest.mark.parametrize("mode", ["invite", "closed"])
async def test_sign_up_without_an_invitation_is_refused_and_leaves_nothing(store, clock, tmp_path, mode):
    async with a_world(mode, store, clock, tmp_path) as world:
        for more in ({}, {"invitation": ""}, {"invitation": new_secret("svm_")}):
            body = {"email": GUEST, "password": PASSWORD, **more}
            response = await world.call("POST", "/auth/sign-up", body)
            assert (response.status, response.code) == (403, "sign_up_closed")
        assert not await has_user(world, GUEST)
        assert await world.inbox() == []


@pytest.mark.parametrize("mode", get_args(SignUpMode))
async def test_users_can_still_sign_in_and_reset_their_password(store, clock, tmp_path, mode):
    async with a_world("open", store, clock, tmp_path) as world:
        await a_confirmed_user(world)
    async with a_world(mode, store, clock, tmp_path) as world:
        assert (await sign_in(world)).status == 200
        assert (await world.call("POST", "/auth/password-reset", {"email": EMAIL})).status == 202
        assert "Reset your password for svc" in [read_email(text)[1] for text in await world.inbox()]


async def test_sign_ups_from_before_the_closing_can_be_confirmed(store, clock, tmp_path):
    async with a_world("open", store, clock, tmp_path) as world:
        await sign_up(world)
        await world.outbox.settled()
    async with a_world("closed", store, clock, tmp_path) as world:
        assert (await world.call("POST", "/auth/confirm/resend", {"email": EMAIL})).status == 202
        token = await token_of(world, "confirm")
        assert (await world.call("POST", "/auth/confirm", {"token": token})).status == 200


async def test_invited_person_gets_a_confirmed_user_without_another_email(world):
    token = await invited(world)
    shown = await world.call("POST", "/auth/invitation", {"invitation": token})
    assert shown.body == {"email": GUEST, "expires_at": "2026-11-28T04:00:00.000Z"}
    response = await accept(world, token, GUEST.upper())
    assert (response.status, response.body) == (202, {"ok": True})
    session = await sign_in(world, address=GUEST)
    assert session.body["user"]["email_confirmed"] is True
    assert await world.inbox() == []
    events = (await world.call("GET", "/v1/events", headers=bearer_of(session))).body["events"]
    assert [(event["via"], event["action"]) for event in events][-2:] == [
        ("mail", "user.sign_up"),
        ("operator", "user.invite"),
    ]


@pytest.mark.rule("Y6")
async def test_invitation_works_once(world):
    token = await invited(world)
    assert (await accept(world, token)).status == 202
    assert (await accept(world, token, password="another long password")).code == "sign_up_closed"
    assert (await world.call("POST", "/auth/invitation", {"invitation": token})).code == "sign_up_closed"
    assert (await sign_in(world, address=GUEST)).status == 200  # the first password is still valid


@pytest.mark.both_engines
async def test_one_of_several_concurrent_sign_ups_gets_the_invitation(world):
    token = await invited(world)
    passwords = [f"password of number {number}" for number in range(4)]
    responses: list[Response] = []

    async def try_it(password: str) -> None:
        responses.append(await accept(world, token, password=password))

    async with trio.open_nursery() as nursery:
        for password in passwords:
            nursery.start_soon(try_it, password)
    assert sorted(response.status for response in responses) == [202, 403, 403, 403]
    signed_in = [(await sign_in(world, password, GUEST)).status for password in passwords]
    assert sorted(signed_in) == [200, 401, 401, 401]


async def test_invitation_is_for_one_address(world):
    token = await invited(world)
    for other in ("other@example.com", "guest@example.com.example.org", f"x{GUEST}"):
        assert (await accept(world, token, other)).code == "sign_up_closed"
        assert not await has_user(world, other)
    assert (await accept(world, token)).status == 202  # the refused attempts have not used up the invitation


async def test_invitation_expires(world):
    token = await invited(world, days=1)
    world.clock.advance_s(86_400)
    assert (await accept(world, token)).code == "sign_up_closed"
    assert (await world.call("POST", "/auth/invitation", {"invitation": token})).code == "sign_up_closed"


async def test_new_invitation_and_revocation_end_earlier_links(world):
    first = await invited(world)
    second = await invited(world, GUEST.upper())
    assert (await accept(world, first)).code == "sign_up_closed"
    assert await world.store.run(invitations.withdraw(GUEST)) is not None
    assert (await accept(world, second)).code == "sign_up_closed"


async def test_weak_password_does_not_use_up_an_invitation(world):
    token = await invited(world)
    assert (await accept(world, token, password=GUEST)).code == "invalid_request"
    assert (await accept(world, token)).status == 202


async def test_closing_ends_invitations(store, clock, tmp_path):
    async with a_world("invite", store, clock, tmp_path) as world:
        token = await invited(world)
    async with a_world("closed", store, clock, tmp_path) as world:
        assert (await accept(world, token)).code == "sign_up_closed"


async def test_confirmed_user_ends_an_invitation_for_the_address(store, clock, tmp_path):
    async with a_world("open", store, clock, tmp_path) as world:
        token = await invited(world, EMAIL)
        await a_confirmed_user(world)
        assert (await accept(world, token, EMAIL, "another long password")).code == "sign_up_closed"
        assert (await sign_in(world)).status == 200  # the password has not changed


async def test_invitation_replaces_sign_ups_of_others_with_the_address(store, clock, tmp_path):
    async with a_world("open", store, clock, tmp_path) as world:
        assert (await sign_up(world, GUEST, "password of a stranger")).status == 202
        stranger = await sign_in(world, "password of a stranger", GUEST)
        token = await invited(world)
        assert (await accept(world, token)).status == 202
        assert (await world.call("GET", "/v1/me", headers=bearer_of(stranger))).status == 401
        assert (await sign_in(world, "password of a stranger", GUEST)).status == 401
        assert (await sign_in(world, address=GUEST)).status == 200


@pytest.mark.parametrize(("language", "subject"), [(None, "Invitation to svc"), ("de", "Einladung zu svc")])
async def test_link_of_the_email_is_the_invitation(world, language, subject):
    now = world.clock()
    invitation = await world.store.run(invitations.invite(GUEST, now, now + DAY_MS))
    facts = {"invitation": invitation.id}
    await world.store.run(outbox.post("invitation", GUEST, now, now + DAY_MS, facts=facts, language=language))
    [text] = await world.inbox()
    to, found, plain = read_email(text)
    assert (to, found) == (GUEST, subject)
    assert ("November 22, 2026, 04:00 UTC" in plain) is (language is None)
    token = plain.partition("https://svc.example/sign-up?invitation=")[2].split()[0]
    assert (await accept(world, token)).status == 202


async def test_revoked_invitation_is_not_sent(world):
    now = world.clock()
    invitation = await world.store.run(invitations.invite(GUEST, now, now + DAY_MS))
    await world.store.run(invitations.withdraw(GUEST))
    await world.store.run(outbox.post("invitation", GUEST, now, now + DAY_MS, facts={"invitation": invitation.id}))
    assert await world.inbox() == []


@pytest.mark.rule("Y6")
@pytest.mark.parametrize("mode", ["invite", "closed"])
@pytest.mark.parametrize("has_token", [False, True])
async def test_refused_sign_ups_cause_the_same_work_for_all_addresses(store, clock, tmp_path, mode, has_token):
    recording = RecordingStore(store)
    async with a_world("open", store, clock, tmp_path) as world:
        await a_confirmed_user(world)
        await sign_up(world, "unconfirmed@example.com")
    async with a_world(mode, recording, clock, tmp_path) as world:
        token = await invited(world)
        answers = []
        for address in (EMAIL, "unconfirmed@example.com", "unknown@example.com"):
            recording.by_request.clear()
            in_request = IN_REQUEST.set(True)
            body = {"email": address, "password": PASSWORD} | ({"invitation": token} if has_token else {})
            response = await world.call("POST", "/auth/sign-up", body)
            IN_REQUEST.reset(in_request)
            answers.append((response.status, response.body, list(recording.by_request)))
        assert answers[0] == answers[1] == answers[2]
        assert answers[0][0] == 403
        assert len(answers[0][2]) == (1 if has_token and mode == "invite" else 0)
