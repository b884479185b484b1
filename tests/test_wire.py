"""Types and constants generated for the web application."""

from __future__ import annotations

import json
import re

import pytest

from svc.api.contract import ENDPOINTS
from svc.api.openapi import document
from svc.errors import CATALOGUE
from svc.imports.links import restrictions, table
from svc.web.wire import import_columns, remedies, type_of, types


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "maxLength": 5, "pattern": "^a"}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "number | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"enum": ["a", "b"], "type": "string"}, '"a" | "b"'),
        ({"const": True}, "true"),
        ({"items": {"enum": ["a", "b"]}, "type": "array"}, '("a" | "b")[]'),
        ({"prefixItems": [{"type": "string"}, {"type": "null"}], "type": "array"}, "[string, null]"),
        ({"additionalProperties": {"$ref": "#/components/schemas/Link"}, "type": "object"}, "Record<string, Link>"),
        ({"additionalProperties": True, "type": "object"}, "Record<string, unknown>"),
        ({"additionalProperties": False, "type": "object"}, "Record<string, never>"),
        (
            {
                "properties": {"a": {"type": "string", "description": "A."}, "b": {}},
                "required": ["a"],
                "type": "object",
            },
            "{\n  /** A. */\n  a: string;\n  b?: unknown;\n}",
        ),
    ],
)
def test_schema_is_converted_to_a_type(schema, expected):
    assert type_of(schema, "here") == expected


@pytest.mark.parametrize("schema", [{"type": "string", "contentMediaType": "x"}, {"type": "file"}, {"oneOf": []}])
def test_unknown_schema_is_an_error(schema):
    whole = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    with pytest.raises(ValueError, match=r"Thing\.a: unknown"):
        type_of(whole, "Thing")


def test_all_endpoints_and_schemas_have_types():
    contract = document("")
    text = types(contract)
    assert set(re.findall(r'^  "([A-Z]+ [^"]+)": ', text, re.MULTILINE)) == {
        f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS
    }
    named = set(re.findall(r"^export type (\w+) =", text, re.MULTILINE))
    assert named == set(contract["components"]["schemas"])
    assert not [name for name in named if "__" in name]  # would mean two models with the same name
    assert '"PATCH /v1/sites/{site_id}": { answer: OneSite; body: SiteChange; params: { site_id: string } };' in text


def test_all_codes_have_texts():
    exported = json.loads(remedies().partition("REMEDIES = ")[2].rstrip(";\n"))
    assert exported == {code: {"message": each.message, "remedy": each.remedy} for code, each in CATALOGUE.items()}


def test_import_page_has_the_column_names_of_the_command():
    exported = {
        name: json.loads(value)
        for name, value in re.findall(r"^export const (\w+) = (.*);$", import_columns(), re.MULTILINE)
    }
    assert exported["CODES"] == list(table.CODES)
    assert dict(exported["FLAGS"]) == {kind: list(names) for kind, names in restrictions.FLAGS.items()}
    assert dict(exported["STATE_WORDS"]) == restrictions.STATE_WORDS
    assert set(exported["UNSET"]) > set(exported["FALSE"])
    # The page has a text for each kind of column or value.
    kinds = {*dict(exported["FLAGS"]), *dict(exported["STATE_WORDS"]).values()}
    assert kinds < set(exported["RESTRICTIONS"]) == set(restrictions.RESTRICTIONS)
