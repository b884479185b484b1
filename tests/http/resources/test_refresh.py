"""/auth/refresh: concurrent tabs and lost responses do not end a session, but the use of a stolen token does."""

from __future__ import annotations

import heapq
import random
import re
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.config import LimitsConfig, TimingConfig
from svc.security.passwords import hash_password
from svc.store import users
from tests.http.browser import Browser, bearer_of
from tests.http.conftest import config_of, open_world

if TYPE_CHECKING:
    from tests.http.conftest import Response, World

EMAIL, PASSWORD = "ann@example.com", "correct horse"
HASH = hash_password(PASSWORD)
REFRESH = "__Host-svc_refresh"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


async def signed_in(world: World) -> Browser:
    """Return the browser of a user who signed in an hour ago."""
    await world.store.run(users.add_user(EMAIL, HASH, world.clock(), confirmed=True))
    browser = Browser(world)
    assert (await browser.post("/auth/sign-in", CREDENTIALS)).status == 200
    world.clock.advance_s(3600)
    return browser


async def works(world: World, response: Response) -> bool:
    return (await world.call("GET", "/v1/me", headers=bearer_of(response))).status == 200


async def test_refresh_returns_a_new_pair_and_ends_the_old_one(world):
    browser = await signed_in(world)
    world.clock.advance_s(-1800)
    first = await browser.post("/auth/refresh")
    old = dict(browser.cookies)
    world.clock.advance_s(60)
    second = await browser.post("/auth/refresh")
    assert second.status == 200
    assert second.body["access_token"] != first.body["access_token"]
    assert browser.cookies[REFRESH] != old[REFRESH]
    # the first token still works, because the response to the second refresh could be delayed
    assert await works(world, first)
    world.clock.advance_s(30)
    assert not await works(world, first)
    assert await works(world, second)
    assert (await browser.call("/auth/refresh", cookies={})).code == "unauthorized"


async def test_concurrent_tabs_get_the_same_pair(world):
    browser = await signed_in(world)
    responses: list[Response] = []

    async def tab() -> None:
        responses.append(await browser.call("/auth/refresh"))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(tab)
    assert {(response.status, response.raw) for response in responses} == {(200, responses[0].raw)}
    # The framework computes Expires from the real time, so it can differ by a second.
    assert len({re.sub(r" Expires=[^;]*;", "", response.headers["Set-Cookie"]) for response in responses}) == 1
    assert await works(world, responses[0])


async def test_lost_response_is_sent_again_even_after_a_restart(store, clock, tmp_path):
    async with open_world(store, clock, tmp_path) as world:
        browser = await signed_in(world)
        lost = await browser.call("/auth/refresh")
    clock.advance_s(29)
    async with open_world(store, clock, tmp_path) as world:
        again = await Browser(world, browser.cookies).post("/auth/refresh")
        assert (again.status, again.raw) == (200, lost.raw)
        # The repeated response must not extend the cookie's expiry.
        assert "Max-Age=2591971" in again.headers["Set-Cookie"]
        browser = Browser(world, browser.cookies)
        browser.keep(again)
        clock.advance_s(30)
        once_more = await browser.post("/auth/refresh")
        assert once_more.raw == lost.raw
        # this response sets no cookie, because it could arrive after a newer one
        assert "Set-Cookie" not in once_more.headers
        assert await works(world, once_more)


@pytest.mark.parametrize("exchanged", [1, 3])
async def test_reuse_of_an_old_token_ends_the_session(world, exchanged):
    owner = await signed_in(world)
    thief = Browser(world, dict(owner.cookies))
    for _ in range(exchanged):
        stolen = await thief.post("/auth/refresh")
        world.clock.advance_s(60)
    other = Browser(world)
    elsewhere = await other.post("/auth/sign-in", CREDENTIALS)
    assert await works(world, stolen)
    assert (await owner.post("/auth/refresh")).code == "unauthorized"
    assert not await works(world, stolen)
    assert (await thief.post("/auth/refresh")).code == "unauthorized"
    assert await works(world, elsewhere)


async def test_manipulated_token_counts_as_an_old_one(world):
    browser = await signed_in(world)
    made_up = {REFRESH: browser.cookies[REFRESH][:-4] + "AAAA"}
    assert (await browser.call("/auth/refresh", cookies=made_up)).code == "unauthorized"
    assert (await browser.post("/auth/refresh")).code == "unauthorized"


@pytest.mark.parametrize("seed", range(4))
async def test_no_order_of_requests_and_responses_ends_the_session(world, seed):
    """For 10 minutes, several tabs refresh the session. Responses arrive within 5 s in any order, or are lost, and
    the request is repeated.

    No refresh gets a 401, every access token works when it arrives, and the last cookie still works an hour later.
    """
    dice = random.Random(seed)
    browser = await signed_in(world)
    start, numbers = world.clock(), count()
    events: list[tuple[int, int, str, Any, int]] = []

    def plan(at: int, what: str, value: Any, losses: int) -> None:
        heapq.heappush(events, (at, next(numbers), what, value, losses))

    for _ in range(25):  # several tabs may refresh at about the same time
        at = start + dice.randrange(20) * 30_000 + dice.randrange(1_500)
        plan(at, "send", None, 0)
    while events:
        at, _, what, value, losses = heapq.heappop(events)
        world.clock.now_ms = at
        if what == "send":
            plan(at + dice.randrange(2_000), "handle", dict(browser.cookies), losses)
        elif what == "handle":
            response = await browser.call("/auth/refresh", cookies=value)
            assert response.status == 200
            lost = losses < 3 and dice.random() < 0.3
            plan(at + dice.randrange(5_000), "send" if lost else "arrive", response, losses + 1 if lost else 0)
        else:
            browser.keep(value)
            assert await works(world, value)
    world.clock.advance_s(3600)
    last = await browser.post("/auth/refresh")
    assert last.status == 200
    assert await works(world, last)


async def test_access_token_shorter_than_the_repeat_window_is_renewed(store, clock, tmp_path):
    config = config_of(tmp_path).model_copy(update={"timing": TimingConfig(session_s=4)})
    async with open_world(store, clock, tmp_path, config) as world:
        browser = await signed_in(world)
        first = await browser.post("/auth/refresh")
        clock.advance_s(3)
        second = await browser.post("/auth/refresh")
        clock.advance_s(1)
        assert not await works(world, first)
        assert await works(world, second)


# ------------------------------------------------------------------------------------------------------------- limits


def limited(tmp_path, **limits):
    return config_of(tmp_path).model_copy(update={"limits": LimitsConfig(**limits)})


async def test_each_session_has_a_separate_limit(store, clock, tmp_path):
    config = limited(tmp_path, sign_ins_per_minute=2, refreshes_per_minute=3)
    async with open_world(store, clock, tmp_path, config) as world:
        ann = await signed_in(world)
        bob = Browser(world)
        await bob.post("/auth/sign-in", CREDENTIALS)
        wrong = {**CREDENTIALS, "password": "wrong horse"}
        assert [(await ann.call("/auth/sign-in", wrong)).status for _ in range(3)] == [401, 429, 429]
        strangers = [(await ann.call("/auth/refresh", cookies={REFRESH: f"made-up-{n}"})).status for n in range(5)]
        assert strangers == [401] * 3 + [429] * 2
        assert [(await ann.post("/auth/refresh")).status for _ in range(4)] == [200] * 3 + [429]
        assert (await bob.post("/auth/refresh")).status == 200
        assert (await bob.post("/auth/sign-out")).status == 200
        assert (await ann.post("/auth/sign-out")).status == 200
        clock.advance_s(60)
        assert (await ann.call("/auth/refresh", cookies={REFRESH: "made-up"})).status == 401


async def test_refresh_limit_does_not_block_sign_in(store, clock, tmp_path):
    config = limited(tmp_path, sign_ins_per_minute=2, refreshes_per_minute=2)
    async with open_world(store, clock, tmp_path, config) as world:
        browser = await signed_in(world)
        for _ in range(5):
            await browser.call("/auth/refresh", cookies={})
        assert (await browser.post("/auth/sign-in", CREDENTIALS)).status == 200
