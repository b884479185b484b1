"""Changes of a user's email address: request, confirmation by the new address, reversal by the old one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.store import user_directory, users
from svc.store.email_changes import cancel_change, new_change, request_change
from tests.http.auth_steps import EMAIL, PASSWORD, a_confirmed_user, confirm, read_email, sign_in, sign_up, token_of
from tests.http.browser import bearer_of
from tests.http.conftest import open_world
from tests.http.recording_store import IN_REQUEST, RecordingStore

if TYPE_CHECKING:
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

NEW, OTHER = "ann@new.example.org", "other@example.com"
NEXT_PASSWORD = "four more words of mine"
LINK = re.compile(r"https://svc\.example/(email|email/revert)\?token=(\S+)")


async def links(world: World, address: str) -> list[tuple[str, str]]:
    """Return the (purpose, token) pairs of the links in all emails to the address, oldest first."""
    found = [read_email(text) for text in await world.inbox()]
    return [link for to, _, text in found if to == address for link in LINK.findall(text)]


async def subjects(world: World, address: str) -> list[str]:
    found = [read_email(text) for text in await world.inbox()]
    return [subject for to, subject, _ in found if to == address]


async def a_session(world: World) -> dict[str, str]:
    await a_confirmed_user(world)
    return bearer_of(await sign_in(world))


async def request(world: World, session: dict[str, str], email: str = NEW, password: str = PASSWORD) -> Response:
    return await world.call("POST", "/v1/me/email", {"email": email, "password": password}, headers=session)


async def requested(world: World, session: dict[str, str], email: str = NEW) -> tuple[str, str]:
    """Request a change of the user's address. Return the tokens that confirm and revert the change."""
    me = (await world.call("GET", "/v1/me", headers=session)).body["user"]
    response = await request(world, session, email)
    assert (response.status, response.body) == (202, {"ok": True})
    [*_, (_, to_confirm)] = [link for link in await links(world, email) if link[0] == "email"]
    [*_, (_, to_revert)] = [link for link in await links(world, me["email"]) if link[0] == "email/revert"]
    return to_confirm, to_revert


async def use(world: World, token: str) -> Response:
    return await world.call("POST", "/auth/email/confirm", {"token": token})


async def revert(world: World, token: str, password: str = NEXT_PASSWORD) -> Response:
    return await world.call("POST", "/auth/email/revert", {"token": token, "password": password})


async def address_of(world: World, session: dict[str, str]) -> Any:
    return (await world.call("GET", "/v1/me", headers=session)).body["user"]["email"]


async def test_address_changes_only_when_the_new_address_confirms(world):
    session = await a_session(world)
    elsewhere = bearer_of(await sign_in(world))
    key = (await world.call("POST", "/v1/keys", {"scopes": ["accounts"]}, headers=session)).body["key"]
    token, _ = await requested(world, session)
    assert await address_of(world, session) == EMAIL
    assert await subjects(world, EMAIL) == [
        "Confirm your email address for svc",
        "Your email address for svc is about to change",
    ]
    assert (await use(world, token)).body == {"ok": True}
    assert await address_of(world, session) == NEW  # the session that requested the change does not end
    assert (await world.call("GET", "/v1/me", headers=elsewhere)).status == 401
    assert await address_of(world, {"Authorization": f"Bearer {key}"}) == NEW
    assert (await sign_in(world, address=NEW)).status == 200
    assert (await sign_in(world)).status == 401
    assert (await use(world, token)).code == "invalid_request"
    events = (await world.call("GET", "/v1/events", headers=session)).body["events"]
    found = [(event["via"], event["action"]) for event in events if event["action"].startswith("email.")]
    assert found == [("mail", "email.change"), ("session", "email.request")]


@pytest.mark.parametrize(
    ("email", "password", "code"),
    [
        (NEW, "not the password", "invalid_password"),
        ("no address", PASSWORD, "invalid_request"),
        (EMAIL, PASSWORD, "invalid_request"),
    ],
)
async def test_refused_request_sends_nothing(world, email, password, code):
    session = await a_session(world)
    before = len(await world.inbox())
    assert (await request(world, session, email, password)).code == code
    assert len(await world.inbox()) == before


async def test_unconfirmed_user_cannot_change_the_address(world):
    await sign_up(world)
    assert (await request(world, bearer_of(await sign_in(world)))).code == "email_unconfirmed"


async def test_link_expires_and_a_new_request_replaces_it(world):
    session = await a_session(world)
    first, _ = await requested(world, session, "first@example.org")
    second, _ = await requested(world, session)
    assert (await use(world, first)).code == "invalid_request"
    world.clock.advance_s(86_400)
    assert (await use(world, second)).code == "invalid_request"
    assert (await sign_in(world)).status == 200


async def pending(world: World, session: dict[str, str]) -> Any:
    return (await world.call("GET", "/v1/me/email", headers=session)).body["pending"]


async def cancel(world: World, session: dict[str, str]) -> None:
    response = await world.call("DELETE", "/v1/me/email", headers=session)
    assert (response.status, response.body) == (200, {"ok": True})


async def test_pending_change_is_shown_until_it_is_confirmed_or_expires(world):
    session = await a_session(world)
    assert await pending(world, session) is None
    await requested(world, session, "first@example.org")
    to_confirm, _ = await requested(world, session)
    assert await pending(world, session) == {
        "email": NEW,
        "requested_at": "2026-11-21T04:00:00.000Z",
        "expires_at": "2026-11-22T04:00:00.000Z",
    }
    _, password_hash = await world.store.read(users.find_user(EMAIL))
    await world.store.run(users.add_user(OTHER, password_hash, world.clock(), confirmed=True))
    assert await pending(world, bearer_of(await sign_in(world, address=OTHER))) is None
    await use(world, to_confirm)
    assert await pending(world, session) is None
    await requested(world, session, "later@example.org")
    world.clock.advance_s(86_400)
    assert await pending(world, bearer_of(await sign_in(world, address=NEW))) is None


async def test_canceled_change_cannot_be_confirmed_but_reverted(world):
    session = await a_session(world)
    to_confirm, to_revert = await requested(world, session)
    await cancel(world, session)
    assert await pending(world, session) is None
    assert (await use(world, to_confirm)).code == "invalid_request"
    await cancel(world, session)  # the second cancellation has no effect
    events = (await world.call("GET", "/v1/events", headers=session)).body["events"]
    assert [event["action"] for event in events[:2]] == ["email.cancel", "email.request"]
    again, _ = await requested(world, session)
    assert (await use(world, again)).status == 200
    await cancel(world, session)  # the cancellation has no effect after the change is confirmed
    assert await address_of(world, session) == NEW
    # the links of the first request are no longer valid after the second request
    assert (await revert(world, to_revert)).code == "invalid_request"


async def test_old_address_can_revert_after_the_cancellation(world):
    session = await a_session(world)
    _, to_revert = await requested(world, session)
    await cancel(world, session)
    assert (await revert(world, to_revert)).status == 200
    assert (await world.call("GET", "/v1/me", headers=session)).status == 401
    assert (await sign_in(world, password=NEXT_PASSWORD)).status == 200


async def test_change_that_is_canceled_immediately_sends_only_the_notice(world):
    session = await a_session(world)
    user, password_hash = await world.store.read(users.find_user(EMAIL))
    now = world.clock()
    change = new_change(user, NEW, "", now, expires_at=now + 1_000, revert_until=now + 2_000)

    def request_and_cancel() -> Tx[None]:
        yield from request_change(change, password_hash, None)
        yield from cancel_change(user.id, now)

    await world.store.run(request_and_cancel())
    assert await links(world, NEW) == []
    assert [purpose for purpose, _ in await links(world, EMAIL)] == ["email/revert"]
    assert await pending(world, session) is None


async def test_confirm_token_does_not_revert_and_vice_versa(world):
    to_confirm, to_revert = await requested(world, await a_session(world))
    assert (await use(world, to_revert)).code == "invalid_request"
    assert (await revert(world, to_confirm)).code == "invalid_request"


async def test_address_of_another_user_gets_a_notice_without_a_link(world):
    session = await a_session(world)
    await world.store.run(users.add_user(OTHER, "hash", world.clock(), confirmed=True))
    assert (await request(world, session, OTHER)).body == {"ok": True}
    assert await links(world, OTHER) == []
    assert await subjects(world, OTHER) == ["This email address already has an account at svc"]
    assert await address_of(world, session) == EMAIL


async def test_address_that_gets_a_user_in_the_meantime_is_refused(world):
    session = await a_session(world)
    token, _ = await requested(world, session)
    await world.store.run(users.add_user(NEW, "hash", world.clock(), confirmed=True))
    assert (await use(world, token)).code == "invalid_request"
    assert await address_of(world, session) == EMAIL


async def test_sign_ups_with_the_new_address_end(world):
    session = await a_session(world)
    token, _ = await requested(world, session)
    await sign_up(world, NEW, "password of a stranger")
    stranger = await token_of(world, "confirm")
    assert (await use(world, token)).status == 200
    assert (await confirm(world, stranger)).code == "invalid_request"
    assert (await sign_in(world, "password of a stranger", NEW)).status == 401
    assert (await sign_in(world, address=NEW)).status == 200


@pytest.mark.both_engines
async def test_one_of_two_users_gets_the_same_new_address(world):
    tokens = []
    for address in (EMAIL, OTHER):
        await sign_up(world, address)
        await confirm(world, await token_of(world, "confirm"))
        session = bearer_of(await sign_in(world, address=address))
        tokens.append((await requested(world, session))[0])
    statuses: list[int] = []

    async def try_it(token: str) -> None:
        statuses.append((await use(world, token)).status)

    async with trio.open_nursery() as nursery:
        for token in tokens:
            nursery.start_soon(try_it, token)
    assert sorted(statuses) == [200, 400]
    assert len(await world.store.read(user_directory.with_address(NEW))) == 1


async def test_old_address_reverts_a_requested_change(world):
    session = await a_session(world)
    to_confirm, to_revert = await requested(world, session)
    # the new password is rejected because it equals the email address
    assert (await revert(world, to_revert, EMAIL)).code == "invalid_request"
    assert (await revert(world, to_revert)).body == {"ok": True}
    assert (await use(world, to_confirm)).code == "invalid_request"
    assert (await world.call("GET", "/v1/me", headers=session)).status == 401
    assert (await sign_in(world)).status == 401
    assert (await sign_in(world, NEXT_PASSWORD)).status == 200
    assert (await revert(world, to_revert)).code == "invalid_request"


async def test_old_address_recovers_a_stolen_user(world):
    """A thief who knows the password changes the address twice. The link that the thief gets must not undo the owner's
    reversal.
    """
    thief = await a_session(world)
    first, to_revert = await requested(world, thief, "thief@example.org")
    assert (await use(world, first)).status == 200
    second, of_thief = await requested(world, thief, "thief@example.net")
    assert (await use(world, second)).status == 200
    assert (await world.call("POST", "/auth/password-reset", {"email": "thief@example.net"})).status == 202
    reset = await token_of(world, "reset")
    assert (await revert(world, to_revert)).status == 200
    assert (await revert(world, of_thief, "the password of the thief")).code == "invalid_request"
    body = {"token": reset, "password": "the password of the thief"}
    assert (await world.call("POST", "/auth/password-reset/confirm", body)).code == "invalid_request"
    assert (await world.call("GET", "/v1/me", headers=thief)).status == 401
    signed_in = await sign_in(world, NEXT_PASSWORD)
    assert signed_in.body["user"]["email"] == EMAIL


async def test_change_cannot_be_reverted_after_a_week(world):
    session = await a_session(world)
    to_confirm, to_revert = await requested(world, session)
    assert (await use(world, to_confirm)).status == 200
    world.clock.advance_s(7 * 86_400)
    assert (await revert(world, to_revert)).code == "invalid_request"
    assert (await sign_in(world, address=NEW)).status == 200


async def test_new_password_ends_a_change_that_another_session_requested(world):
    thief = await a_session(world)
    to_confirm, to_revert = await requested(world, thief)
    owner = bearer_of(await sign_in(world))
    passwords = {"old": PASSWORD, "new": NEXT_PASSWORD}
    assert (await world.call("POST", "/v1/me/password", passwords, headers=owner)).status == 200
    assert await pending(world, owner) is None
    assert (await use(world, to_confirm)).code == "invalid_request"
    assert await address_of(world, owner) == EMAIL
    assert (await revert(world, to_revert, "a third password of mine")).status == 200


async def test_new_password_keeps_a_change_that_the_same_session_requested(world):
    session = await a_session(world)
    to_confirm, _ = await requested(world, session)
    passwords = {"old": PASSWORD, "new": NEXT_PASSWORD}
    assert (await world.call("POST", "/v1/me/password", passwords, headers=session)).status == 200
    assert (await use(world, to_confirm)).status == 200
    assert await address_of(world, session) == NEW


async def test_password_reset_ends_a_requested_change(world):
    to_confirm, _ = await requested(world, await a_session(world))
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    reset = {"token": await token_of(world, "reset"), "password": NEXT_PASSWORD}
    assert (await world.call("POST", "/auth/password-reset/confirm", reset)).status == 200
    assert (await use(world, to_confirm)).code == "invalid_request"
    assert await address_of(world, bearer_of(await sign_in(world, NEXT_PASSWORD))) == EMAIL


async def test_disabled_user_cannot_confirm(world):
    session = await a_session(world)
    token, _ = await requested(world, session)
    [entry] = await world.store.read(user_directory.with_address(EMAIL))
    await world.store.run(user_directory.disable(entry.user.id, world.clock()))
    assert (await use(world, token)).code == "invalid_request"
    assert await world.store.read(user_directory.with_address(NEW)) == []


async def test_number_of_requests_is_limited(world):
    session = await a_session(world)
    statuses = [(await request(world, session, f"ann{number}@example.org")).status for number in range(6)]
    assert statuses == [202] * 5 + [429]


async def test_request_causes_the_same_work_for_known_and_unknown_addresses(store, clock, tmp_path):
    recording = RecordingStore(store)
    async with open_world(recording, clock, tmp_path) as world:
        session = await a_session(world)
        await store.run(users.add_user(OTHER, "hash", clock(), confirmed=True))
        await world.outbox.settled()
        work = []
        for address in (OTHER, "unknown@example.com", OTHER):
            recording.by_request.clear()
            recording.by_email.clear()
            in_request = IN_REQUEST.set(True)
            response = await request(world, session, address)
            IN_REQUEST.reset(in_request)
            await world.outbox.settled()
            work.append((response.status, response.body, list(recording.by_request), sorted(recording.by_email)))
        assert work[0] == work[1] == work[2]
        assert any(text.startswith("insert into email_changes") for text in work[0][2])
        assert any(text.startswith("insert into email_change_tokens") for text in work[0][3])
