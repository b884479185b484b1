"""What the web application is told of the service: all of it, or nothing."""

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
def test_a_schema_becomes_a_type(schema, expected):
    assert type_of(schema, "here") == expected


@pytest.mark.parametrize("schema", [{"type": "string", "contentMediaType": "x"}, {"type": "file"}, {"oneOf": []}])
def test_what_is_not_known_stops_it(schema):
    whole = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    with pytest.raises(ValueError, match=r"Thing\.a: unknown"):
        type_of(whole, "Thing")


def test_every_call_and_schema_of_the_contract_has_a_type():
    contract = document("")
    text = types(contract)
    assert set(re.findall(r'^  "([A-Z]+ [^"]+)": ', text, re.MULTILINE)) == {
        f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS
    }
    named = set(re.findall(r"^export type (\w+) =", text, re.MULTILINE))
    assert named == set(contract["components"]["schemas"])
    assert not [name for name in named if "__" in name]  # two models of one name
    assert '"PATCH /v1/sites/{site_id}": { answer: OneSite; body: SiteChange; params: { site_id: string } };' in text


def test_every_code_has_its_words():
    told = json.loads(remedies().partition("REMEDIES = ")[2].rstrip(";\n"))
    assert told == {code: {"message": each.message, "remedy": each.remedy} for code, each in CATALOGUE.items()}


def test_the_import_page_has_the_names_of_the_command():
    told = {
        name: json.loads(value)
        for name, value in re.findall(r"^export const (\w+) = (.*);$", import_columns(), re.MULTILINE)
    }
    assert told["CODES"] == list(table.CODES)
    assert dict(told["FLAGS"]) == {kind: list(names) for kind, names in restrictions.FLAGS.items()}
    assert dict(told["STATE_WORDS"]) == restrictions.STATE_WORDS
    assert set(told["UNSET"]) > set(told["FALSE"])
    # Each kind of a column or value is one that the page has a text for.
    kinds = {*dict(told["FLAGS"]), *dict(told["STATE_WORDS"]).values()}
    assert kinds < set(told["RESTRICTIONS"]) == set(restrictions.RESTRICTIONS)
