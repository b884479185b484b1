"""The contract fuzzer reports responses that differ from the permission table."""

from __future__ import annotations

import pytest

from svc.api.contract import ENDPOINTS
from tools.fuzz.callers import KINDS, Callers, refusal_of

MINE, OTHERS = "site_aaaaaaaaaaaaaaaaaaaa", "site_bbbbbbbbbbbbbbbbbbbb"


@pytest.fixture
def callers() -> Callers:
    nowhere = "http://127.0.0.1:1"
    world = {"known": {"site_id": MINE}, "credentials": {}, "emails": {}, "kept": [], "zone": "shop.example"}
    return Callers({**world, "url": nowhere, "control": nowhere})


@pytest.mark.parametrize(
    ("kind", "endpoint", "right", "wrong"),
    [
        ("anonymous", "GET /v1/me", "unauthorized", None),
        ("signed out", "POST /v1/links", "unauthorized", "invalid_request"),
        ("session", "POST /edge/push", "unauthorized", None),
        ("links", "GET /v1/sites/{site_id}", "scope_required", None),
        ("reports", "PATCH /v1/sites/{site_id}", "scope_required", "not_found"),
        ("links", "GET /v1/export", "scope_required", None),
        ("key", "GET /v1/keys", "session_required", None),
        ("key", "GET /v1/export", None, "scope_required"),
        ("session", "GET /v1/me", None, "unauthorized"),
        ("limited", "GET /v1/sites/{site_id}", "not_found", None),
        ("limited", "PATCH /v1/sites/{site_id}", "invalid_request", "site_not_active"),
        ("stranger", "DELETE /v1/sites/{site_id}", "not_found", None),
        ("unconfirmed", "DELETE /v1/sites/{site_id}", "not_found", None),
        ("unconfirmed", "POST /v1/accounts", "email_unconfirmed", None),
        ("worker", "POST /edge/push", None, None),
        ("cookie", "POST /auth/refresh", None, None),
    ],
)
def test_response_that_differs_from_the_table_is_a_fault(callers, kind, endpoint, right, wrong):
    asked = endpoint.format(site_id=MINE)
    assert callers.fault(kind, endpoint, right, asked) is None
    assert (callers.fault(kind, endpoint, wrong, asked) is None) == (right == wrong)


def test_stranger_can_see_only_objects_of_other_users(callers):
    assert callers.fault("stranger", "GET /v1/sites/{site_id}", None, OTHERS) is None
    assert callers.fault("stranger", "GET /v1/sites/{site_id}", None, MINE) is not None
    assert callers.fault("limited", "GET /v1/sites/{site_id}", None, OTHERS) is not None


def test_table_covers_every_kind_of_caller_at_every_endpoint():
    for endpoint in ENDPOINTS:
        refused = {kind: refusal_of(kind, f"{endpoint.method} {endpoint.path}") for kind in KINDS}
        assert refused["anonymous"] == ("unauthorized" if endpoint.access in ("user", "session", "worker") else None)
        assert "worker" in refused if endpoint.access == "worker" else refused["session"] is None


def test_order_by_clicks_needs_the_scope_reports(callers):
    asked = "/v1/links limit=1&order=clicks "
    assert callers.fault("links", "GET /v1/links", "scope_required", asked) is None
    assert callers.fault("links", "GET /v1/links", None, asked) is not None
    assert callers.fault("session", "GET /v1/links", None, asked) is None
    assert callers.fault("session", "GET /v1/links", "scope_required", asked) is not None
