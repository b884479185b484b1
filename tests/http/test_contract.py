"""The OpenAPI document and the reference are valid and complete, and responses match them."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from svc.api.contract import ENDPOINTS, TAGS
from svc.api.openapi import document, resolve, to_json, to_yaml
from svc.errors import CATALOGUE, Code
from tests import contract
from tests.http.serving.test_refusals import is_error

BASE_URL = "https://svc.example"
# The operations of the original API specification.
SPECIFIED = """
POST /edge/push
GET /healthz
GET /openapi.json
GET /openapi.yaml
GET /readyz
GET /reference
GET /reference.md
GET /v1/accounts
POST /v1/accounts
DELETE /v1/accounts/{account_id}
GET /v1/accounts/{account_id}
POST /v1/accounts/{account_id}/install
PUT /v1/accounts/{account_id}/link-host
POST /v1/accounts/{account_id}/token
GET /v1/accounts/{account_id}/zones
GET /v1/keys
POST /v1/keys
DELETE /v1/keys/{key_id}
GET /v1/links
POST /v1/links
DELETE /v1/links/{link_id}
GET /v1/links/{link_id}
PATCH /v1/links/{link_id}
GET /v1/links/{link_id}/qr.svg
GET /v1/links/{link_id}/report
DELETE /v1/me
GET /v1/me
GET /v1/sites
POST /v1/sites
DELETE /v1/sites/{site_id}
GET /v1/sites/{site_id}
PATCH /v1/sites/{site_id}
GET /v1/sites/{site_id}/report
POST /v1/sites/{site_id}/rotate
POST /auth/confirm
POST /auth/confirm/resend
POST /auth/password-reset
POST /auth/password-reset/confirm
POST /auth/refresh
POST /auth/sign-in
POST /auth/sign-out
POST /auth/sign-up
"""


@pytest.mark.rule("D1")
def test_document_is_valid_openapi_3_1_0_and_has_the_api_version():
    made = document(BASE_URL)
    OpenAPIV31SpecValidator(made).validate()
    assert (made["openapi"], made["info"]["version"]) == ("3.1.0", "0.8.0")
    assert made["servers"] == [{"url": BASE_URL}]


@pytest.mark.rule("D1")
async def test_document_lists_exactly_the_existing_routes(world):
    routes = {
        (method, re.sub(r"<(?:id|tag):(\w+)>", r"{\1}", rule.rule))
        for rule in world.app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    announced = {
        (method.upper(), path) for path, operations in document(BASE_URL)["paths"].items() for method in operations
    }
    assert announced == routes
    assert len(ENDPOINTS) == len(announced)


async def test_every_route_has_a_handler(world):
    directly = {f"{method} {path}" for method, path in world.app.asgi_app._directly}
    assert {*world.app.view_functions, *directly} == {f"{one.method} {one.path}" for one in ENDPOINTS}


def schemas_in(schema, made, field=None, seen=()):
    """Yield a schema and all schemas within it, as (field, schema) pairs.

    `field`: the field's name and whether it is required, or None if the schema does not belong directly to a field.
    """
    if isinstance(schema, list):
        for each in schema:
            yield from schemas_in(each, made, None, seen)
    elif isinstance(schema, dict):
        yield field, schema
        target = schema.get("$ref", "").rpartition("/")[2]
        if target and target not in seen:
            yield from schemas_in(made["components"]["schemas"][target], made, None, (*seen, target))
        for keyword in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "schema", "content", "application/json"):
            yield from schemas_in(schema.get(keyword), made, None, seen)
        for name, each in schema.get("properties", {}).items():
            yield from schemas_in(each, made, (name, name in schema.get("required", ())), seen)


@pytest.mark.rule("D1")
def test_no_accepted_string_may_contain_nul():
    made = document(BASE_URL)
    operations = [one for each in made["paths"].values() for one in each.values()]
    accepted = [[one.get("requestBody"), one["parameters"]] for one in operations]
    strings = [schema for _, schema in schemas_in(accepted, made) if "string" in schema.get("type", ())]
    assert len(strings) > 100
    for schema in strings:
        bound = schema.keys() & {"enum", "const", "format"} or not re.search(schema.get("pattern", ""), "\0")
        assert bound, schema


@pytest.mark.rule("A21", "D1")
@pytest.mark.parametrize(
    ("model", "field"), [("Edge", "schema"), ("Edge", "installed_at"), ("WorkingToken", "expires_at")]
)
def test_field_that_is_not_nullable_in_the_specification_is_not_nullable(model, field):
    schema = document(BASE_URL)["components"]["schemas"][model]
    assert field in schema["required"]
    assert "anyOf" not in schema["properties"][field]


@pytest.mark.rule("D1")
def test_request_fields_have_no_default_because_generated_clients_would_require_them():
    made = document(BASE_URL)
    operations = [one for each in made["paths"].values() for one in each.values()]
    operations = [one for one in operations if one["security"] != [{"worker": []}]]
    bodies = [one.get("requestBody") for one in operations]
    fields = [(*field, schema) for field, schema in schemas_in(bodies, made) if field is not None]
    assert len(fields) > 30
    assert [name for name, _, field in fields if "default" in field] == []
    optional = [(name, field) for name, required, field in fields if not required]
    nullable = [field for _, field in optional if {"type": "null"} in field.get("anyOf", ())]
    assert nullable
    undocumented = [
        name for name, field in optional if field not in nullable and "Default: " not in field.get("description", "")
    ]
    assert undocumented == []


@pytest.mark.rule("D1")
def test_operations_share_equal_error_responses():
    made = document(BASE_URL)
    for endpoint in ENDPOINTS:
        responses = made["paths"][endpoint.path][endpoint.method.lower()]["responses"]
        codes = []
        for status, response in responses.items():
            if status < "400":
                continue
            assert response.keys() == {"$ref"}
            shared = resolve(made, response)
            own = list(shared["content"]["application/json"]["examples"])
            assert {CATALOGUE[code].status for code in own} == {int(status)}
            assert ("Idempotent-Replayed" in shared["headers"]) == endpoint.changes, endpoint.path
            codes += own
        assert sorted(codes) == sorted(endpoint.all_codes), endpoint.path
    assert len(made["components"]["responses"]) < len(ENDPOINTS)


def test_document_marks_each_operation_that_the_specification_does_not_have():
    made = document(BASE_URL)
    unmarked = [
        f"{method.upper()} {path}"
        for path, operations in made["paths"].items()
        for method, operation in operations.items()
        if not operation.get("x-addition")
    ]
    assert sorted(unmarked) == sorted(SPECIFIED.strip().splitlines())


def test_every_operation_is_documented_completely():
    made = document(BASE_URL)
    names = set()
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            names.add(operation["operationId"])
            assert operation["summary"], path
            assert set(operation["tags"]) <= set(TAGS)
            assert {"400", "500", "503"} <= set(operation["responses"])
            parameters = {parameter["name"] for parameter in operation["parameters"]}
            if path.startswith("/v1"):
                assert operation["security"] == [{"bearer": []}]
                assert {"401", "429"} <= set(operation["responses"])
                assert ("Idempotency-Key" in parameters) == (method != "get")
                success = next(each for status, each in operation["responses"].items() if status < "300")
                assert {"RateLimit", "RateLimit-Policy", "X-Request-Id"} <= set(success["headers"])
                assert ("404" in operation["responses"]) or "{" not in path
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
            assert "example" in body or schema in ("", "EmptyBody", "Push"), path
    assert len(names) == len(ENDPOINTS)


def test_document_has_every_error_code():
    made = document(BASE_URL)
    assert set(made["x-codes"]) == set(get_args(Code))
    for code, meaning in made["x-codes"].items():
        assert meaning["message"] == CATALOGUE[code].message
        assert meaning.get("remedy") == CATALOGUE[code].remedy
    for endpoint in ENDPOINTS:
        for code in endpoint.all_codes:
            assert CATALOGUE[code].shown_as is None, (endpoint.path, code)


def test_example_bodies_are_valid():
    for endpoint in ENDPOINTS:
        if endpoint.body is not None and endpoint.example:
            endpoint.body.model_validate_json(json.dumps(endpoint.example).encode().replace(b"\\u2026", b"token"))


@pytest.mark.rule("D1")
async def test_json_and_yaml_are_the_same_document(world):
    in_json = await world.call("GET", "/openapi.json")
    in_yaml = await world.call("GET", "/openapi.yaml")
    made = document(BASE_URL)
    assert in_json.body == yaml.load(in_yaml.raw, yaml.CSafeLoader) == made
    assert in_json.raw == to_json(made)
    assert in_yaml.raw == to_yaml(made)
    assert (in_json.headers["Content-Type"], in_yaml.headers["Content-Type"]) == (
        "application/json",
        "application/yaml",
    )
    assert b"&id" not in in_yaml.raw


@pytest.mark.rule("D2")
@pytest.mark.parametrize("path", ["/reference", "/reference.md"])
async def test_markdown_reference_has_every_endpoint_and_every_code(world, path):
    markdown = await world.call("GET", path, headers={"Accept": "text/markdown"})
    assert markdown.headers["Content-Type"] == "text/markdown; charset=utf-8"
    text = markdown.raw.decode()
    for endpoint in ENDPOINTS:
        assert f"\n### {endpoint.method} {endpoint.path}\n" in text
    for code in get_args(Code):
        assert f"| `{code}` |" in text


async def test_documents_can_be_cached_for_an_hour(world):
    for path in ("/openapi.json", "/openapi.yaml", "/reference", "/reference.md"):
        response = await world.call("GET", path)
        assert response.headers["Cache-Control"] == "public, max-age=3600"
        is_error(await world.call("POST", path), 405, "method_not_allowed")


def response_of(status: int, body: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
    shown = {"Content-Type": "application/json", "X-Request-Id": "req_" + "a" * 20, **headers}
    return status, shown, json.dumps(body).encode()


def error_of(code: str, **more: Any) -> Any:
    return {"error": {"code": code, "message": "m", **more}}


@pytest.mark.parametrize(
    ("method", "target", "response"),
    [
        ("GET", "/v1/keys", response_of(418, error_of("not_found"))),
        ("GET", "/v1/keys", response_of(404, error_of("not_found"))),
        ("GET", "/v1/keys", response_of(400, error_of("site_exists"))),
        ("GET", "/v1/keys", response_of(400, error_of("invalid_request", extra=1))),
        ("GET", "/v1/keys", response_of(200, {"keys": [{"id": "key_1"}]})),
        ("GET", "/v1/keys", response_of(200, {"keys": [], "more": 1})),
        ("GET", "/v1/keys", (200, {"Content-Type": "text/html", "X-Request-Id": "r"}, b"{}")),
        ("GET", "/v1/keys", (200, {"Content-Type": "application/json"}, b'{"keys": []}')),
        ("GET", "/v1/keys", response_of(401, error_of("unauthorized"))),
        ("GET", "/v1/sites/site_a/report", response_of(200, {"report": {}})),
        ("GET", "/v1/nothing", response_of(200, {})),
        ("PATCH", "/v1/keys", response_of(405, error_of("invalid_request"))),
    ],
)
def test_response_that_does_not_match_the_document_fails(method, target, response):
    with pytest.raises((contract.OutsideTheContract, KeyError)):
        contract.check(method, target, *response)


def test_response_that_matches_the_document_passes():
    contract.check("GET", "/v1/keys?x=1", *response_of(200, {"keys": []}))
    contract.check("GET", "/v1/keys", *response_of(400, error_of("invalid_request", details={"issues": []})))
    contract.check("GET", "/v1/nothing", *response_of(404, error_of("not_found")))
    contract.check("PATCH", "/v1/keys", *response_of(405, error_of("method_not_allowed")))
