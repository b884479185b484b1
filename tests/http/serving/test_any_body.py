"""For any body and headers, the response is a success, or an error object with a status below 500."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_worker.harness.sampling import EVERYTHING
from svc.api.explain import AskedClick
from svc.api.keys import NewKey
from svc.api.link_hosts import PutLinkHost
from svc.api.links import LinkRow, NewLink
from svc.api.shape import Body, parse_body
from svc.api.sites import NewSite
from svc.errors import Invalid
from svc.store import open_store
from tests.clock import FrozenClock
from tests.databases import sqlite_config
from tests.http.conftest import EDGE_ACCOUNT, open_world
from tests.http.serving.test_refusals import ENDPOINTS, GOOD

texts = st.text(max_size=30) | st.sampled_from(
    ["\x00", "https://", "https://[", "/", ".", "example.com", "svc_", "9" * 400]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**80), 2**80) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
MODELS: list[type[Body]] = [NewKey, NewLink, LinkRow, AskedClick, NewSite, PutLinkHost]


@st.composite
def changed(draw: st.DrawFn) -> tuple[tuple[str, str], bytes]:
    """Draw an endpoint, and a body that is either almost valid or arbitrary."""
    endpoint = draw(st.sampled_from(ENDPOINTS))
    if draw(st.booleans()):
        return endpoint, draw(st.binary(max_size=60))
    body = dict(GOOD.get(endpoint, {}))
    for name in draw(st.sets(st.sampled_from([*body, "unknown"]), max_size=3)):
        body[name] = draw(values)
    return endpoint, json.dumps(body).encode()


@pytest.mark.rule("G8")
@settings(max_examples=50 if EVERYTHING else 15)
@given(st.lists(changed(), min_size=10, max_size=20), st.text(st.characters(max_codepoint=255), max_size=20))
def test_no_body_causes_an_internal_error(requests, key):
    async def send() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with (
                open_store(sqlite_config(Path(folder))) as store,
                open_world(store, FrozenClock(), Path(folder)) as world,
            ):
                user = await world.user()
                account = await world.account(user, EDGE_ACCOUNT, link_host="go.example.com")
                session = await world.session(user)
                for (method, path), body in requests:
                    headers = {**session, "Content-Type": "application/json"}
                    if key.isprintable():
                        headers["Idempotency-Key"] = key
                    response = await world.call(
                        method, path.replace("{account}", account.id), headers=headers, data=body
                    )
                    assert response.status < 500, (method, path, body, response.raw)
                    assert (response.status >= 400) == (response.code is not None)

    trio.run(send)


@pytest.mark.rule("G8")
@given(values, st.sampled_from(MODELS))
def test_body_is_refused_or_can_be_stored(value, model):
    raw = json.dumps(value).encode()
    try:
        body = parse_body(model, raw)
    except Invalid:
        return
    assert "\x00" not in body.model_dump_json()
    assert parse_body(model, raw) == body
