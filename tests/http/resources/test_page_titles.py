"""Tests of POST /v1/links/title. `tests/actors/requests/test_page_titles.py` tests how pages are read."""

from __future__ import annotations

import threading

import pytest
import trio

from svc.actors.requests import page_titles
from svc.edge import public_addresses
from svc.edge.visits import Visitor
from svc.http.resources.page_titles import AT_ONCE, PER_MINUTE
from tests.http.conftest import open_world
from tests.http.serving.test_refusals import is_error

PATH = "/v1/links/title"
# The service contacts only port 443, so this URL causes no request.
URL = "https://example.org:8443/"


async def test_url_must_be_an_https_url(world, ready):
    _, session, _ = ready
    assert (await world.call("POST", PATH, {"url": URL}, headers=session)).body == {"title": None}
    for body in ({}, {"url": "http://example.org"}, {"url": URL, "title": "x"}):
        is_error(await world.call("POST", PATH, body, headers=session), 400, "invalid_request")


@pytest.mark.rule("C13")
async def test_user_can_request_a_limited_number_of_titles_per_minute(world):
    user, session, _ = await world.ready()
    for _ in range(PER_MINUTE):
        assert (await world.call("POST", PATH, {"url": URL}, headers=session)).status == 200
    refused = await world.call("POST", PATH, {"url": URL}, headers=await world.session(user))
    is_error(refused, 429, "rate_limited")
    assert refused.headers["Retry-After"] == "60"
    _, other, _ = await world.ready(edge_account_id="e" * 32)
    assert (await world.call("POST", PATH, {"url": URL}, headers=other)).status == 200
    world.clock.advance_s(60)
    assert (await world.call("POST", PATH, {"url": URL}, headers=session)).status == 200


async def test_user_can_request_two_titles_at_the_same_time(store, clock, tmp_path, monkeypatch):
    for module, name in ((page_titles, "LONGEST_S"), (public_addresses, "LOOKUP_S")):
        monkeypatch.setattr(module, name, 300.0)
    started, responds = trio.Semaphore(0), threading.Event()

    def lookup(_: str) -> list[str]:
        trio.from_thread.run_sync(started.release)
        assert responds.wait(300)
        return []

    async with open_world(store, clock, tmp_path, visitor=Visitor(lookup=lookup, longest_s=300.0)) as world:
        user, session, _ = await world.ready()
        _, other, _ = await world.ready(edge_account_id="e" * 32)
        slow = {"url": "https://example.org/"}

        async def request() -> None:
            response = await world.call("POST", PATH, slow, headers=session)
            assert (response.status, response.body) == (200, {"title": None})

        async with trio.open_nursery() as nursery:
            try:
                for _ in range(AT_ONCE):
                    nursery.start_soon(request)
                for _ in range(AT_ONCE):
                    await started.acquire()
                refused = await world.call("POST", PATH, slow, headers=await world.session(user))
                is_error(refused, 429, "rate_limited")
                assert refused.headers["Retry-After"] == "300"
                assert (await world.call("POST", PATH, {"url": URL}, headers=other)).status == 200
            finally:
                responds.set()
        for _ in range(AT_ONCE + 1):
            await request()
