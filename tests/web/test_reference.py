"""Tests of the API reference page: it shows the whole OpenAPI document, and sends real requests."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pytest
from playwright.sync_api import expect

from edge_worker.tools.node import node_command
from svc.api.openapi import document
from tests.web.places import EMAIL, PASSWORD, ROOT
from tests.web.visit import Visit
from tests.web.world import sign_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.web.places import Place

# Run the page's own modules with the schemas as input.
_KNOWN = """
import { inBrowser } from "./svc/web/test/browser.js";
import { FACTS, SHAPE, exampleOf, rowsOf } from "./svc/web/src/ui/schema.js";
inBrowser();
const { default: en } = await import("./svc/web/src/words/en/reference.js");
const contract = JSON.parse(await new Promise((read) => {
  let text = "";
  process.stdin.on("data", (part) => (text += part)).on("end", () => read(text));
}));
const { schemas } = contract.components;
const each = Object.entries(schemas);
console.log(JSON.stringify({
  keywords: [...FACTS, ...SHAPE],
  words: Object.keys(en.types.facts),
  examples: Object.fromEntries(each.map(([name, schema]) => [name, exampleOf(schema, schemas)])),
  rows: Object.fromEntries(each.map(([name, schema]) => [name, rowsOf(schema, schemas, en.types)])),
}));
"""


@pytest.fixture(scope="session")
def contract() -> dict[str, Any]:
    return document("http://svc.test")


@pytest.fixture(scope="session")
def known(contract: dict[str, Any]) -> dict[str, Any]:
    command = node_command("--input-type=module", "--eval", _KNOWN)
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(contract), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def schemas_in(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all schemas nested within it."""
    yield schema
    below = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("prefixItems", ())]
    below += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for each in below:
        yield from schemas_in(each)


def test_page_shows_every_schema_keyword(contract, known):
    parameters = [
        each["schema"]
        for operations in contract["paths"].values()
        for operation in operations.values()
        for each in operation["parameters"]
    ]
    schemas = [*contract["components"]["schemas"].values(), *parameters]
    used = {name for schema in schemas for each in schemas_in(schema) for name in each}
    assert used - set(known["keywords"]) == set()
    assert set(known["words"]) <= set(known["keywords"])


def test_examples_match_schemas_and_every_field_has_row(contract, known):
    """The test ignores constraints on strings, such as patterns, because generated examples do not have to satisfy
    them.
    """
    schemas = json.loads(json.dumps(contract["components"]["schemas"]))
    for schema in schemas.values():
        for each in schemas_in(schema):
            for strict in ("pattern", "multipleOf", "minLength"):
                each.pop(strict, None)  # type: ignore[attr-defined]  # it is a copy
    for name, example in known["examples"].items():
        whole = {**schemas[name], "components": {"schemas": schemas}}
        jsonschema.validate(example, whole)
        assert set(schemas[name].get("properties", {})) <= {row["path"] for row in known["rows"][name]}, name


def test_control_character_patterns_are_not_shown(known):
    facts = [fact for rows in known["rows"].values() for row in rows for fact in row["facts"]]
    assert any(fact.startswith("^") for fact in facts)
    assert [fact for fact in facts if "x00" in fact] == []


def test_types_are_written_like_code(known):
    types = {row["path"]: row["type"] for rows in known["rows"].values() for row in rows}
    assert types["links[].rules[].countries"] == "string[] | null"
    assert types["account_id"] == "string"
    assert types["series[].at"] == "string"


def access_token(place: Place, email: str) -> str:
    body = {"email": email, "password": PASSWORD}
    token: str = httpx.post(f"{place.url}/auth/sign-in", json=body, trust_env=False).json()["access_token"]
    return token


def test_commands_of_the_quick_start_work(stranger, furnished):
    """A new user creates the key, because the user with the site already has the maximum number of keys."""
    page = stranger.new_page()
    page.goto(f"{furnished.url}/reference")
    commands = page.locator(".quick-start pre")
    commands.first.wait_for()
    # The style of the headings can be loaded after the text.
    expect(page.get_by_role("heading", level=2).nth(2)).to_have_text("Reports", use_inner_text=True)
    assert page.get_by_role("heading", level=2).all_inner_texts()[:4] == [
        "Quick start",
        "Conventions",
        "Reports",
        "Links",
    ]

    def run(command: str, **values: str) -> Any:
        for name, value in values.items():
            command = command.replace(name, value)
        done = subprocess.run(["sh", "-c", f"{command} --noproxy '*' -sS"], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    sign_up(furnished, "program@example.com")
    first, second, third = commands.all_inner_texts()
    key = run(first, ACCESS_TOKEN=access_token(furnished, "program@example.com"))["key"]
    assert run(second, API_KEY=key) == {"sites": []}
    token = access_token(furnished, EMAIL)
    site = next(each for each in run(second, API_KEY=token)["sites"] if each["id"] == furnished.ids["sites"])
    report = run(third, API_KEY=token, SITE_ID=site["id"])["report"]
    assert (report["period"], report["totals"]["views"] > 0) == ("7d", True)


def test_request_with_session_shows_response(page, place):
    visit = Visit(page, place.url)
    visit.open("/reference", f"{place.url}/reference?op=get_v1_me")
    assert visit.found == []
    page.get_by_role("button", name="Send GET").click()
    shown = page.locator(".try-it pre.tall")
    shown.wait_for()
    session = httpx.post(
        f"{place.url}/auth/sign-in", json={"email": EMAIL, "password": PASSWORD}, trust_env=False
    ).json()
    headers = {"Authorization": f"Bearer {session['access_token']}"}
    assert json.loads(shown.inner_text()) == httpx.get(f"{place.url}/v1/me", headers=headers, trust_env=False).json()
    assert page.locator(".try-it [role=status]").first.inner_text().startswith("200 · ")
    written = page.locator(".try-it pre").last
    assert written.inner_text() == f"curl '{place.url}/v1/me' \\\n  -H \"Authorization: Bearer $SVC_KEY\""
    page.get_by_label("Code sample").select_option("Python (httpx)")
    compile(written.inner_text(), "shown", "exec")
    page.get_by_label("Code sample").select_option("JavaScript")
    assert "process.env.SVC_KEY" in written.inner_text()


def test_write_shows_warning_and_error_response_without_session(stranger, place):
    page = stranger.new_page()
    page.goto(f"{place.url}/reference")
    page.get_by_label("Find an operation").fill("post /v1/keys")
    page.get_by_role("button", name="POST /v1/keys").click()
    page.get_by_text("This sends a real request").wait_for()
    assert "q=post" in page.url
    page.get_by_label("API key").fill("svc_nonsense")
    page.get_by_role("button", name="Send POST").click()
    shown = page.locator(".try-it pre.tall")
    shown.wait_for()
    assert json.loads(shown.inner_text())["error"]["code"] == "unauthorized"
    written = page.locator(".try-it pre").last
    for language in ("curl", "Python (httpx)", "JavaScript"):
        page.get_by_label("Code sample").select_option(language)
        assert "svc_nonsense" not in written.inner_text()
        assert "nightly report" in written.inner_text()
    page.reload()
    page.get_by_role("heading", name="Try it").wait_for()  # the page shows the operation that the URL names
