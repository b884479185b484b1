"""DELETE /v1/me deletes a user and all of the user's data, does not affect other users, and always completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from svc.errors import ServiceError
from svc.security.passwords import hash_password
from svc.store import user_deletions, users
from svc.store.tx import sql
from tests.http.auth_steps import read_email
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, open_world
from tests.http.serving.overtaken import RacingStore
from tests.store.whole_store import all_rows, user_with_all_rows

if TYPE_CHECKING:
    from svc.model import User
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

PASSWORD = "correct horse battery staple"
HASH, OTHER_HASH = hash_password(PASSWORD), hash_password("another password")


async def a_person(world: World, *, confirmed: bool = True) -> tuple[User, dict[str, str]]:
    """Create a user with the password PASSWORD. Return the user, and the headers of a session."""
    user = await world.user(confirmed=confirmed)
    await world.store.run(users.set_password_hash(user.id, HASH))
    return user, await world.session(user)


async def leave(world: World, headers: dict[str, str], password: str = PASSWORD) -> Response:
    return await world.call("DELETE", "/v1/me", {"password": password}, headers=headers)


async def waited_for(world: World, user: User, requests: int) -> None:
    """Wait until this many requests are waiting for the deletion of the user to end."""
    deletion = world.supervisor.user_deletions._going_on[user.id]
    while deletion.ended.statistics().tasks_waiting < requests:
        await trio.lowlevel.checkpoint()


class Held:
    """A barrier that holds every disconnect until `release` is set."""

    def __init__(self, world: World) -> None:
        self.reached = trio.Event()
        self.release = trio.Event()
        world.supervisor.before = self._wait

    async def _wait(self) -> None:
        self.reached.set()
        await self.release.wait()


@pytest.mark.rule("C12")
async def test_response_lists_the_remaining_resources_of_every_account(world):
    user, session = await a_person(world)
    first, second = [await world.account(user, edge) for edge in (EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT)]
    response = await leave(world, session)
    assert (response.status, list(response.body), response.body["ok"]) == (
        200,
        ["ok", "left", "leftovers", "revoke_tokens"],
        True,
    )
    assert response.headers["Clear-Site-Data"] == '"cache"'
    assert sorted(response.body["left"]) == sorted(
        f"Example ({account.edge_account_id}): Worker svc-edge: it was changed outside the service."
        for account in (first, second)
    )
    assert response.body["revoke_tokens"] == ["svc-op", "svc-op"]
    assert world.supervisor.asked == ["disconnect", "disconnect"]


@pytest.mark.rule("C12")
async def test_store_keeps_nothing_but_the_last_email(world):
    await world.store.run(user_with_all_rows())
    before = await world.store.read(all_rows())
    user_id = await world.store.run(user_with_all_rows())
    await world.store.run(users.set_password_hash(user_id, HASH))
    user = await world.store.read(users.get_user(user_id))
    session = await world.session(user)
    assert (await world.call("GET", "/v1/sites", headers=session)).body["sites"]
    response = await leave(world, {**session, "Idempotency-Key": "the last"})
    assert response.status == 200
    assert [thing.partition("): ")[2] for thing in response.body["left"]] == [
        "Worker svc-edge: it was changed outside the service."
    ]
    emails = [read_email(text) for text in await world.inbox()]
    after = await world.store.read(all_rows())
    assert {**after, "outbox": None} == {**before, "outbox": None}
    assert not after["outbox"]  # the other user's email has been sent by now, so the outbox is empty
    [text] = [text for to, subject, text in emails if (to, subject) == (user.email, "Your account at svc was deleted")]
    for line in (*response.body["left"], *response.body["revoke_tokens"]):
        assert line in " ".join(text.split())


@pytest.mark.rule("C12", "C10")
async def test_wrong_password_has_no_effect(world):
    user, session = await a_person(world)
    await world.account(user)
    wrong = await leave(world, {**session, "Idempotency-Key": "one"}, "another password")
    assert (wrong.status, wrong.code) == (403, "invalid_password")
    for body in ({}, {"password": 1}, {"password": None}):
        assert (await world.call("DELETE", "/v1/me", body, headers=session)).code == "invalid_request"
    with_key = await leave(world, await world.key(user))
    assert (with_key.status, with_key.code) == (403, "session_required")
    assert (await leave(world, {})).status == 401
    assert (await world.call("GET", "/v1/me", headers=session)).status == 200
    assert world.supervisor.asked == []
    [kept] = await world.store.read(_rows("select count(*) as n from idempotency"))
    assert kept["n"] == 0  # responses to requests with a password are not stored
    # After a mistyped password, the same key works with the correct password.
    assert (await leave(world, {**session, "Idempotency-Key": "one"})).status == 200


@pytest.mark.rule("C12")
async def test_password_changed_during_the_check_prevents_the_deletion(store, clock, tmp_path):
    racing = RacingStore(store)
    async with open_world(racing, clock, tmp_path) as world:
        user, session = await a_person(world)
        racing.first = lambda: store.run(users.set_password_hash(user.id, OTHER_HASH))
        assert (await leave(world, session)).code == "invalid_password"
        assert await store.read(users.get_user(user.id)) == user
        assert (await leave(world, session, "another password")).status == 200


@pytest.mark.rule("C12")
async def test_credentials_are_void_and_the_address_is_free_immediately(world):
    user, session = await a_person(world)
    other, key = await world.session(user), await world.key(user)
    await world.account(user)
    held = Held(world)
    responses = []

    async def ask() -> None:
        responses.append(await leave(world, session))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await held.reached.wait()
        for headers in (session, other, key):
            assert (await world.call("GET", "/v1/me", headers=headers)).status == 401
            assert (await world.call("PATCH", "/v1/me", {"notify": True}, headers=headers)).status == 401
            assert (await world.call("GET", "/v1/export", headers=headers)).status == 401
        assert (await leave(world, other)).status == 401
        signed_in = await world.call("POST", "/auth/sign-in", {"email": user.email, "password": PASSWORD})
        assert signed_in.status == 401
        body = {"email": user.email, "password": "another long password"}
        assert (await world.call("POST", "/auth/sign-up", body)).status == 202
        held.release.set()
    assert responses[0].status == 200
    subjects = [read_email(text)[1] for text in await world.inbox()]
    assert sorted(subjects) == ["Confirm your email address for svc", "Your account at svc was deleted"]
    assert (await leave(world, session)).status == 401


@pytest.mark.rule("C12")
async def test_client_that_disconnects_can_repeat_the_request_and_gets_the_response(world):
    user, session = await a_person(world)
    await world.account(user)
    held = Held(world)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave, world, session)
        await held.reached.wait()
        nursery.cancel_scope.cancel()
    assert (await leave(world, session, "another password")).code == "invalid_password"
    responses = []

    async def ask(**headers: str) -> None:
        responses.append(await leave(world, {**session, **headers}))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        for _ in range(2):
            nursery.start_soon(lambda: ask(**{"Idempotency-Key": "one"}))
        await waited_for(world, user, 3)
        held.release.set()
    assert {response.status for response in responses} == {200}
    assert len({response.raw for response in responses}) == 1
    assert world.supervisor.asked == ["disconnect"]
    assert (await leave(world, session)).status == 401


@pytest.mark.rule("C12")
async def test_concurrent_requests_of_two_sessions_get_one_response(world):
    user, session = await a_person(world)
    other = await world.session(user)
    await world.account(user)
    responses = []

    async def ask(headers: dict[str, str]) -> None:
        responses.append(await leave(world, headers))

    async with trio.open_nursery() as nursery:
        for headers in (session, other, session):
            nursery.start_soon(ask, headers)
    assert {response.status for response in responses} <= {
        200,
        401,
    }  # 401 is possible, because another request had already begun the deletion
    assert len({response.raw for response in responses if response.status == 200}) == 1
    assert world.supervisor.asked == ["disconnect"]


@pytest.mark.rule("C12")
async def test_at_most_eight_accounts_are_disconnected_at_a_time(world):
    user, session = await a_person(world)
    for number in range(20):
        await world.account(user, f"{number:032x}")
    held = Held(world)
    responses = []

    async def ask() -> None:
        responses.append(await leave(world, session))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        while len(world.supervisor.asked) < 8:
            await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()
        assert len(world.supervisor.asked) == 8
        held.release.set()
    assert (responses[0].status, len(responses[0].body["left"])) == (200, 20)


@pytest.mark.rule("C12")
async def test_interrupted_deletion_continues_after_a_restart(store, clock, tmp_path):
    with trio.CancelScope() as process:
        async with open_world(store, clock, tmp_path) as world, trio.open_nursery() as nursery:
            user, session = await a_person(world)
            await world.account(user)
            held = Held(world)
            nursery.start_soon(leave, world, session)
            await held.reached.wait()
            process.cancel()
    assert await store.read(user_deletions.under_way()) == [user.id]
    async with open_world(store, clock, tmp_path) as restarted:
        held = Held(restarted)
        await restarted.supervisor.user_deletions.load()
        await held.reached.wait()
        responses = []

        async def ask() -> None:
            responses.append(await leave(restarted, session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await waited_for(restarted, user, 1)
            held.release.set()
        assert [(response.status, len(response.body["left"])) for response in responses] == [(200, 1)]
    assert await store.read(user_deletions.under_way()) == []


@pytest.mark.rule("C12")
async def test_failing_account_does_not_prevent_the_deletion(world, monkeypatch, expected_errors):
    """After an account's third failure, the deletion disconnects the account without calls to the platform. In this
    test, the first such attempt also fails.
    """
    monkeypatch.setattr("svc.actors.service.user_deletions._FIRST_WAIT_S", 0.001)
    expected_errors.allow("user deletion crashed")
    user, session = await a_person(world)
    await world.account(user)
    refusals = [*[ServiceError("internal")] * 4, ServiceError("busy"), ServiceError("internal"), None]

    async def fail() -> None:
        world.supervisor.refusal = refusals.pop(0)

    world.supervisor.before = fail
    assert (await leave(world, session)).status == 500
    while await world.store.read(user_deletions.under_way()):
        await trio.lowlevel.checkpoint()
    assert not refusals
    assert await world.store.read(users.find_user(user.email)) is None


@pytest.mark.rule("C12")
async def test_deleting_an_unconfirmed_sign_up_keeps_another_one_of_the_same_address(world):
    user, session = await a_person(world, confirmed=False)
    other = await world.store.run(users.add_user(user.email, HASH, world.clock()))
    assert other is not None
    response = await leave(world, session)
    assert response.body == {"ok": True, "left": [], "leftovers": [], "revoke_tokens": []}
    assert await world.inbox() == []
    body = {"email": user.email, "password": PASSWORD}
    assert (await world.call("POST", "/auth/sign-in", body)).body["user"]["id"] == other.id


@pytest.mark.rule("C12", "A9")
async def test_another_user_can_connect_the_account_afterwards(world):
    user, session = await a_person(world)
    await world.account(user)
    other = await world.session(await world.user())
    body = {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "t"}
    assert (await world.call("POST", "/v1/accounts", body, headers=other)).code == "account_taken"
    assert (await leave(world, session)).status == 200
    assert (await world.call("POST", "/v1/accounts", body, headers=other)).status == 202


def _rows(text: str) -> Tx[list[Any]]:
    rows = yield sql(text)
    return list(rows)
