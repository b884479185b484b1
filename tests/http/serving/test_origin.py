"""/auth accepts requests from the service's own pages and from non-browser clients, but not from other origins."""

from __future__ import annotations

from itertools import product

import pytest

from svc.http.serving.origin import is_cross_origin, origin_of
from tests.cases import cases
from tests.http.conftest import config_of, open_world

FORMS = ["sign-up", "confirm", "confirm/resend", "sign-in", "refresh", "sign-out", "password-reset"]
FORMS.append("password-reset/confirm")
ELSEWHERE = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # a sibling subdomain
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://svc.example"},
    {"Sec-Fetch-Site": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "https://svc.example.evil.example"},
    {"Origin": "http://svc.example"},
    {"Origin": "https://svc.example:8443"},
    {"Origin": "null"},
]
OURS = [
    {},
    {"Origin": "https://svc.example"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://svc.example"},
    {"Sec-Fetch-Site": "none"},
    # Behind a proxy, the Host header differs, but the origin is that of base_url.
    {"Host": "10.0.0.7:8080", "Origin": "https://svc.example"},
]


@cases("path", FORMS)
async def test_requests_of_another_origin_are_refused(world, path):
    for headers in ELSEWHERE:
        response = await world.call("POST", f"/auth/{path}", {}, headers=headers)
        assert (response.status, response.code) == (403, "cross_origin"), headers
        assert "Set-Cookie" not in response.headers
    for headers in OURS:
        response = await world.call("POST", f"/auth/{path}", {}, headers=headers)
        assert response.code != "cross_origin", headers


@cases(
    ("path", "kind"),
    product(FORMS, [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]),
)
async def test_content_types_of_html_forms_are_refused_even_with_an_empty_body(world, path, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    for body in (b"", b"{}"):
        response = await world.call("POST", f"/auth/{path}", data=body, headers=headers)
        assert (response.status, response.code) == (400, "invalid_request")
        assert response.body["error"]["details"]["issues"][0]["path"] == "Content-Type"


async def test_cross_origin_request_does_not_count_as_an_attempt(store, clock, tmp_path):
    config = config_of(tmp_path)
    config = config.model_copy(update={"limits": config.limits.model_copy(update={"sign_ins_per_minute": 1})})
    async with open_world(store, clock, tmp_path, config) as world:
        for _ in range(5):
            await world.call("POST", "/auth/sign-in", {}, headers={"Sec-Fetch-Site": "cross-site"})
        assert (await world.call("POST", "/auth/sign-in", {})).status == 400


async def test_v1_accepts_requests_of_other_origins(world):
    session = await world.session(await world.user())
    assert (await world.call("GET", "/v1/me", headers={**session, "Sec-Fetch-Site": "cross-site"})).status == 200


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://svc.example", "https://svc.example"),
        ("https://SVC.example:443/base", "https://svc.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_origin_is_serialized_as_by_browsers(url, origin):
    assert origin_of(url) == origin
    assert not is_cross_origin([], [origin], origin_of(url))


def test_each_value_of_a_repeated_header_counts():
    assert is_cross_origin(["same-origin", "cross-site"], [], "https://svc.example")
    assert is_cross_origin([], ["https://svc.example", "null"], "https://svc.example")
