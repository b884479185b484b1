"""Tests of POST /v1/links/title. `tests/actors/requests/test_page_titles.py` tests how pages are read."""

from __future__ import annotations

import pytest

from svc.http.resources.page_titles import PER_MINUTE
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
