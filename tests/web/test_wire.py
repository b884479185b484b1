"""Tests of the types and constants that are generated for the web application."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, get_args

import pytest

from svc.api.contract import ENDPOINTS
from svc.api.openapi import document
from svc.errors import CATALOGUE, QUOTES
from svc.finding import THINGS, WORDS, fact_names, names_in
from svc.german.errors import GERMAN_ERRORS
from svc.german.findings import GERMAN_FINDINGS, GERMAN_REMAINING_RESOURCES
from svc.imports.links import restrictions, table
from svc.imports.reader import NULLS
from svc.remaining_resource import ENGLISH, LeftKind, LeftWhy
from svc.web.wire import german, import_columns, remedies, type_of, types

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    assert not [name for name in named if "__" in name]  # "__" would mean that two models have the same name
    assert '"PATCH /v1/sites/{site_id}": { response: OneSite; body: SiteChange; params: { site_id: string } };' in text


def test_all_codes_have_texts():
    exported = json.loads(remedies().partition("REMEDIES = ")[2].rstrip(";\n"))
    assert exported == {code: {"message": each.message, "remedy": each.remedy} for code, each in CATALOGUE.items()}


def exported_by(text: str) -> dict[str, Any]:
    """Return the constants that a generated module exports."""
    return {name: json.loads(value) for name, value in re.findall(r"^export const (\w+) = (.*);$", text, re.MULTILINE)}


def test_pages_have_the_german_texts_of_emails():
    exported = exported_by(german())
    assert exported["ERRORS"] == {code: [each.message, each.remedy] for code, each in GERMAN_ERRORS.items()}
    assert exported["LEFT"] == GERMAN_REMAINING_RESOURCES.kinds
    assert exported["WHYS"] == GERMAN_REMAINING_RESOURCES.whys
    assert exported["MOMENTS"] == ["since", "at", "until"]
    assert exported["FINDINGS"].keys() == GERMAN_FINDINGS.words.keys()
    for kind, (thing, expected, found, *unexplained) in exported["FINDINGS"].items():
        words = GERMAN_FINDINGS.words[kind]
        assert (thing, expected, found) == (GERMAN_FINDINGS.things[words.subject], words.expected, words.found)
        assert (unexplained != []) == (kind == "route_not_made"), kind


def test_german_findings_and_remaining_resources_have_all_kinds_and_facts():
    assert list(GERMAN_FINDINGS.words) == list(WORDS)
    assert GERMAN_FINDINGS.things.keys() == THINGS.keys()
    for kind, words in GERMAN_FINDINGS.words.items():
        assert words.subject == WORDS[kind].subject, kind
        assert words.variants.keys() == WORDS[kind].variants.keys(), kind
        texts = (GERMAN_FINDINGS.things[words.subject], words.expected, words.found, *words.variants.values())
        assert frozenset[str]().union(*map(names_in, texts)) == set(fact_names(kind)), kind
    assert GERMAN_REMAINING_RESOURCES.kinds.keys() == set(get_args(LeftKind))
    assert GERMAN_REMAINING_RESOURCES.whys.keys() == set(get_args(LeftWhy))
    pairs: list[tuple[Mapping[Any, str], Mapping[Any, str]]] = [
        (ENGLISH.kinds, GERMAN_REMAINING_RESOURCES.kinds),
        (ENGLISH.whys, GERMAN_REMAINING_RESOURCES.whys),
    ]
    for english, translated in pairs:
        for key, text in english.items():
            assert names_in(translated[key]) == names_in(text), key


def test_codes_whose_message_is_quoted_are_those_of_emails():
    assert exported_by(remedies())["QUOTES"] == list(QUOTES)


def test_import_page_has_the_column_names_of_the_command():
    exported = exported_by(import_columns())
    assert exported["CODES"] == list(table.CODES)
    assert dict(exported["FLAGS"]) == {kind: list(names) for kind, names in restrictions.FLAGS.items()}
    assert dict(exported["STATE_WORDS"]) == restrictions.STATE_WORDS
    assert set(exported["UNSET"]) > {*exported["FALSE"], *exported["NULLS"]}
    assert exported["NULLS"] == list(NULLS)
    assert [exported["EDGE_ACCOUNT"], exported["STATE"], exported["RULES"]] == [
        table.EDGE_ACCOUNT,
        table.STATE,
        list(table.RULES),
    ]
    # The import page has a text for each kind of column or value.
    kinds = {*dict(exported["FLAGS"]), *dict(exported["STATE_WORDS"]).values()}
    assert kinds < set(exported["RESTRICTIONS"]) == set(restrictions.RESTRICTIONS)
