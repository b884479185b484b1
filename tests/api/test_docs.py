"""docs/api.md explains the API in words; what it repeats of the contract is the same there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from svc.api.contract import ENDPOINTS
from svc.api.endpoint import Endpoint
from svc.api.openapi import document
from svc.config import LimitsConfig
from svc.http.resources import export
from svc.model import RESERVED_CODES, AccountAction, AccountState, AccountWarning, OwnAction
from svc.store.site_paths import MOST_RETIRING

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in DOCS.glob("*.md") if page.name != "plan.md"]  # while there is one, it tells what is to come
API = (DOCS / "api.md").read_text()
# `POST /v1/keys {scopes, allow_ips?}`: method, path, fields of the body.
REQUEST = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) (/[^ `?]*)(?:\?[^ `]*)?(?: \{([^`]*)\})?`")
BY_REQUEST = {(each.method, re.sub(r"{\w+}", "{id}", each.path)): each for each in ENDPOINTS}


def fields_of(endpoint: Endpoint[Any, Any]) -> set[str]:
    """The fields of its body, those that may be absent with a question mark."""
    fields = endpoint.body.model_fields if endpoint.body else {}
    return {name if field.is_required() else f"{name}?" for name, field in fields.items()}


def test_every_request_that_the_documentation_names_exists_and_takes_these_fields():
    named = [(page.name, *found) for page in PAGES for found in REQUEST.findall(page.read_text())]
    assert len(named) > 20
    for page, method, path, fields in named:
        assert (method, path) in BY_REQUEST, (page, method, path)
        if fields:
            assert set(fields.split(", ")) == fields_of(BY_REQUEST[method, path]), (page, method, path)


def test_the_table_of_the_sign_in_has_every_endpoint_with_its_status():
    rows = re.findall(r"^\| `POST (/auth/\S+?)(?: \{[^`]*\})?`[^|]*\| (\d+)", API, re.MULTILINE)
    assert {path: int(status) for path, status in rows} == {
        each.path: each.status for each in ENDPOINTS if each.tag == "sign-in"
    }


def test_every_state_and_every_warning_of_an_account_is_explained():
    states = API[API.index("| `state` |") : API.index("`error.warnings` tells")]
    warnings = API[API.index("| warning |") : API.index("`GET /v1/accounts/{id}/zones`")]
    # Of states one row may explain several.
    assert named_in(states) == {"state", *get_args(AccountState)}
    assert named_in(warnings) == set(get_args(AccountWarning))


def test_every_action_of_the_events_is_explained() -> None:
    rows = API[API.index("| action | what was changed |") : API.index("\n## Lists")]
    cells = re.findall(r"^\| (`[^|]*) \|", rows, re.MULTILINE)
    assert sorted(name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)) == sorted(
        [*get_args(OwnAction), *get_args(AccountAction)]
    )


def test_the_table_of_limits_has_the_numbers_of_the_code() -> None:
    table = API[API.index("| limit | value |") : API.index("\n## Probes")]
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", table, re.MULTILINE))
    limits = LimitsConfig()
    reserved = next(value for name, value in rows.items() if name.startswith("Reserved link codes"))
    assert re.findall(r"`([^`]+)`", reserved) == sorted(RESERVED_CODES)
    assert rows["Old paths of a site that are still counted"].startswith(f"{MOST_RETIRING},")
    assert rows["Accounts"] == f"{limits.accounts} per user"
    assert rows["Sites"] == f"{limits.sites} per user"
    assert rows["Links"] == f"{limits.links:,} per user"
    assert rows["Requests of an API key"].startswith(f"{limits.requests_per_minute} per minute")
    assert f"{limits.report_reads_per_minute} per minute" in rows["Reads of accounts' databases for reports"]
    assert rows["Exports"].startswith(f"{export.PER_HOUR} per hour")
    schemas = document("https://svc.example")["components"]["schemas"]
    countries = schemas["NewRule"]["properties"]["countries"]["anyOf"][0]
    assert rows["`countries` of a rule"] == f"{countries['minItems']} to {countries['maxItems']}"
    assert rows["Objects on a page of a list"] == f"{schemas['LinkList']['properties']['links']['maxItems']:,}"
    assert schemas["Site"]["properties"]["retiring"]["maxItems"] == MOST_RETIRING


def named_in(table: str) -> set[str]:
    """The names in the first column."""
    return {name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
