"""A disabled user has no access, but the user's Workers continue to count."""

from __future__ import annotations

import json
from functools import partial

import pytest
import trio

from edge_worker.harness.service import eventually
from svc.store import user_directory, users
from tests.http.auth_steps import EMAIL, PASSWORD, a_confirmed_user, sign_in
from tests.http.browser import Browser
from tests.http.resources.test_push import place  # noqa: F401  # a fixture
from tests.http.serving.test_sockets import head, response_of, served


async def disable(world, email: str) -> None:
    found = await world.store.read(users.find_user(email))
    assert await world.store.run(user_directory.disable(found[0].id, world.clock()))


@pytest.mark.rule("Y7")
async def test_disabled_user_cannot_sign_in_and_learns_why_only_with_the_password(world):
    await a_confirmed_user(world)
    browser = Browser(world)
    signed_in = await browser.post("/auth/sign-in", {"email": EMAIL, "password": PASSWORD})
    access = {"Authorization": f"Bearer {signed_in.body['access_token']}"}
    assert (await world.call("GET", "/v1/me", headers=access)).status == 200
    await disable(world, EMAIL)

    assert (await world.call("GET", "/v1/me", headers=access)).code == "unauthorized"
    assert (await browser.post("/auth/refresh")).code == "unauthorized"
    refused = await sign_in(world)
    assert (refused.status, refused.code) == (403, "user_disabled")
    wrong = await sign_in(world, "wrong password")
    assert (wrong.status, wrong.code) == (401, "unauthorized")
    assert wrong.body == (await sign_in(world, address="unknown@example.com")).body

    found = await world.store.read(users.find_user(EMAIL))
    assert await world.store.run(user_directory.enable(found[0].id))
    assert (await sign_in(world)).status == 200


@pytest.mark.rule("Y7")
async def test_keys_of_a_disabled_user_are_refused(world):
    user, _, account = await world.ready()
    key = await world.key(user)
    await disable(world, user.email)
    link = {"account_id": account.id, "url": "https://example.org/"}
    for method, path, body in (("GET", "/v1/links", None), ("POST", "/v1/links", link), ("GET", "/v1/export", None)):
        refused = await world.call(method, path, body, headers=key)
        assert (refused.status, refused.code) == (403, "user_disabled")


@pytest.mark.rule("Y7")
async def test_user_disabled_before_the_body_arrives_writes_nothing(world):
    user, _, account = await world.ready()
    key = await world.key(user)
    raw = json.dumps({"account_id": account.id, "url": "https://example.org/"}).encode()
    sent = head("POST", "/v1/links", **key, Content_Type="application/json", Content_Length=len(raw))

    async def used_key() -> bool | None:
        [entry] = await world.store.read(user_directory.with_address(user.email))
        session = await world.session(user)
        [shown] = (await world.call("GET", "/v1/keys", headers=session)).body["keys"]
        return True if entry.keys == 1 and shown["last_used"] else None

    async with served(world) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(sent + raw[:-1])
        await eventually(partial(used_key), every_s=0.01)
        await disable(world, user.email)
        await stream.send_all(raw[-1:])
        status, _, body = await response_of(stream)
        assert (status, json.loads(body)["error"]["code"]) == (403, "user_disabled")
    [entry] = await world.store.read(user_directory.with_address(user.email))
    assert entry.links == 0


@pytest.mark.rule("Y7")
async def test_workers_of_a_disabled_user_continue_to_count(place):  # noqa: F811
    [entry] = await place.world.store.read(user_directory.with_address("user1@example.com"))
    assert await place.world.store.run(user_directory.disable(entry.user.id, place.world.clock()))
    pushed = await place.push(place.part(hours=[(0, [[place.site, 5, 1, 3]])], days=[[place.site, 5, 1, 3]]))
    assert pushed.status == 200
    assert await place.world.store.run(user_directory.enable(entry.user.id))
    place.session = await place.world.session(entry.user)
    assert (await place.report())["totals"] == {"views": 5, "visitors": 3, "bots": 1}
