"""Check that the facts in docs/ that come from the API contract match the contract."""

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
from svc.store.site_paths import MAX_RETIRING

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if page.name != "plan.md"]  # plan.md describes future work
# Matches a method, path and body fields, e.g. `POST /v1/keys {scopes, allow_ips?}`, in backticks or indented.
REQUEST = re.compile(
    r"(?:`|^ {4})(GET|POST|PUT|PATCH|DELETE) (/[^ `?\n]*)(?:\?[^ `\n]*)?(?: \{([^`\n]*)\})?(?:`|$)", re.MULTILINE
)
BY_REQUEST = {(each.method, re.sub(r"{\w+}", "{id}", each.path)): each for each in ENDPOINTS}


def fields_of(endpoint: Endpoint[Any, Any]) -> set[str]:
    """Return the fields of the endpoint's body. Optional fields end with a question mark."""
    fields = endpoint.body.model_fields if endpoint.body else {}
    return {name if field.is_required() else f"{name}?" for name, field in fields.items()}


def test_every_documented_request_exists_with_these_fields():
    named = [(page.name, *found) for page in PAGES for found in REQUEST.findall(page.read_text())]
    assert len(named) > 20
    for page, method, shown_path, fields in named:
        path = re.sub(r"{(tag|secret)}", "{id}", shown_path)
        assert (method, path) in BY_REQUEST, (page, method, path)
        if fields:
            assert set(fields.split(", ")) == fields_of(BY_REQUEST[method, path]), (page, method, path)


def test_sign_in_table_has_every_endpoint_with_its_status():
    page = (DOCS / "use/sign-in.md").read_text()
    rows = re.findall(r"^\| `(?:GET|POST) (/auth/\S+?)(?: \{[^`]*\})?`[^|]*\| (\d+)", page, re.MULTILINE)
    assert {path: int(status) for path, status in rows} == {
        each.path: each.status for each in ENDPOINTS if each.tag == "sign-in"
    }


def test_every_state_and_warning_of_an_account_is_documented():
    # A row of the table may describe several states.
    assert named_in(table_of("use/accounts.md", "| `state` |")) == {"state", *get_args(AccountState)}
    assert named_in(table_of("use/accounts.md", "| warning |")) == set(get_args(AccountWarning))


def test_every_event_action_is_documented() -> None:
    cells = re.findall(r"^\| (`[^|]*) \|", table_of("use/history.md", "| action |"), re.MULTILINE)
    assert sorted(name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)) == sorted(
        [*get_args(OwnAction), *get_args(AccountAction)]
    )


def test_limits_table_matches_the_code() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", table_of("use/limits.md", "| limit |"), re.MULTILINE))
    limits = LimitsConfig()
    reserved = next(value for name, value in rows.items() if name.startswith("Reserved link codes"))
    assert re.findall(r"`([^`]+)`", reserved) == sorted(RESERVED_CODES)
    assert rows["Retired paths of a site"].startswith(f"{MAX_RETIRING}; ")
    assert rows["Accounts"] == f"{limits.accounts} per user"
    assert rows["Sites"] == f"{limits.sites} per user"
    assert rows["Links"] == f"{limits.links:,} per user"
    assert rows["Requests with an API key"].startswith(f"{limits.requests_per_minute} per minute")
    assert (
        f"{limits.report_reads_per_minute} per minute"
        in rows["Database reads for reports, across all of a user's accounts"]
    )
    assert rows["Exports"].startswith(f"{export.PER_HOUR} per user per hour")
    schemas = document("https://svc.example")["components"]["schemas"]
    countries = schemas["NewRule"]["properties"]["countries"]["anyOf"][0]
    assert rows["`countries` of a rule"] == f"{countries['minItems']} to {countries['maxItems']}"
    assert rows["Objects per page of a list"] == f"{schemas['LinkList']['properties']['links']['maxItems']:,}"
    assert schemas["Site"]["properties"]["retiring"]["maxItems"] == MAX_RETIRING


def table_of(page: str, head: str) -> str:
    """Return the page's first table that starts with `head`."""
    text = (DOCS / page).read_text()
    return text[text.index(f"\n{head}") + 1 :].partition("\n\n")[0]


def named_in(table: str) -> set[str]:
    """Return the names in the first column of the table."""
    return {name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
