"""Links for creating a bootstrap token request exactly the permissions that the service needs."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from svc.edge.tokens import WORKING_PERMISSIONS
from svc.security.token_page import FULL_TOKEN_PAGE, TOKEN_PAGE

# The keys of permissions in the URLs of Cloudflare's token form (Cloudflare docs: API token template URLs), with the
# names of the permissions.
PERMISSIONS = {
    ("account_settings", "read"): "Account Settings Read",
    ("account_api_tokens", "edit"): "Account API Tokens Write",
    ("workers_scripts", "edit"): "Workers Scripts Write",
    ("d1", "edit"): "D1 Write",
    ("account_analytics", "read"): "Account Analytics Read",
    ("workers_routes", "edit"): "Workers Routes Write",
    ("zone", "read"): "Zone Read",
    ("dns", "read"): "DNS Read",
}


def permissions_in(page: str) -> set[str]:
    parts = urlsplit(page)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "https://dash.cloudflare.com/"
    query = parse_qs(parts.query, strict_parsing=True)
    assert (query["to"], query["name"]) == (["/:account/api-tokens"], ["svc bootstrap"])
    return {PERMISSIONS[each["key"], each["type"]] for each in json.loads(query["permissionGroupKeys"][0])}


@pytest.mark.rule("A3")
def test_token_pages_request_required_permissions():
    needed = {"Account Settings Read", "Account API Tokens Write"}
    assert permissions_in(TOKEN_PAGE) == needed
    assert permissions_in(FULL_TOKEN_PAGE) == needed | {permission.name for permission in WORKING_PERMISSIONS}
