"""What the web application is told of the service: `python -m svc.web.wire FOLDER`, as `make build` calls it.

`wire.d.ts` has the API's types, by which the type checker holds the pages to the contract; `remedies.js` has the
catalogue of errors, and the edge platform's page for a bootstrap token; `import-columns.js` has the names by which
exports of other products are read. A keyword of the schemas that this does not know stops it, so that no type says less
by mistake.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

from svc.api.openapi import document
from svc.errors import CATALOGUE, IssueCode
from svc.finding import FindingKind, fact_names
from svc.imports.links import restrictions, table
from svc.imports.reader import DELIMITERS
from svc.leftover import LeftKind, LeftWhy
from svc.security.token_page import TOKEN_PAGE

Json = dict[str, Any]

# Keywords that a type cannot tell: they are for people, or the service checks them.
_UNTYPED = {
    "default", "description", "examples", "format", "maximum", "maxItems", "maxLength", "minimum", "minItems",
    "minLength", "multipleOf", "not", "pattern", "propertyNames", "title", "uniqueItems", "writeOnly",
}  # fmt: skip
_TYPED = {"$ref", "additionalProperties", "anyOf", "const", "enum", "items", "prefixItems", "properties", "required"}
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_MADE = "// Made by svc/web/wire.py: do not edit."


def types(contract: Json) -> str:
    """The TypeScript of an OpenAPI document: a type for each schema, and `Calls`, by method and path.

    Raises ValueError: it has a schema that this cannot tell.
    """
    lines = [_MADE, ""]
    for name, schema in contract["components"]["schemas"].items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"no name of a type: {name}")
        lines += [*_comment(schema), f"export type {name} = {type_of(schema, name)};", ""]
    lines.append("export interface Calls {")
    for path, operations in contract["paths"].items():
        for method, operation in operations.items():
            call = f"{method.upper()} {path}"
            lines.append(f"  /** {operation['summary']} */")
            lines.append(f"  {json.dumps(call)}: {_call(operation, call)};")
    return "\n".join([*lines, "}", ""])


def remedies() -> str:
    """The catalogue of errors as a module, behind the page for a bootstrap token, to which some of them send; and the
    codes of what is wrong with a field, of what a check finds with the names of its facts, and of what a disconnect
    leaves, with the reasons.
    """
    entries = {code: {"message": each.message, "remedy": each.remedy} for code, each in CATALOGUE.items()}
    kind = "/** @type {Record<string, {message: string, remedy: string | null} | undefined>} */"
    page = f"export const TOKEN_PAGE = {json.dumps(TOKEN_PAGE)};"
    issues = f"export const ISSUES = {json.dumps(get_args(IssueCode))};"
    facts = {each: fact_names(each) for each in get_args(FindingKind)}
    findings = f"/** @type {{Record<string, string[]>}} */\nexport const FINDINGS = {json.dumps(facts)};"
    left = f"export const LEFT = {json.dumps(get_args(LeftKind))};"
    whys = f"export const LEFT_WHY = {json.dumps(get_args(LeftWhy))};"
    catalogue = f"export const REMEDIES = {json.dumps(entries, ensure_ascii=False, indent=2)};"
    return f"{_MADE}\n{page}\n{issues}\n{findings}\n{left}\n{whys}\n{kind}\n{catalogue}\n"


def import_columns() -> str:
    """The names of columns and values in exports of other products as a module, as `svc import links` has them."""
    kinds = " | ".join(json.dumps(kind) for kind in restrictions.RESTRICTIONS)
    values: list[tuple[str, str, object]] = [
        ("ADDRESSES", "string[]", table.ADDRESSES),
        ("CODES", "string[]", table.CODES),
        ("SHORT_ADDRESSES", "string[]", table.SHORT_ADDRESSES),
        ("DELIMITERS", "string[]", DELIMITERS),
        ("RESTRICTIONS", "Restriction[]", tuple(restrictions.RESTRICTIONS)),
        ("FLAGS", "[Restriction, string[]][]", tuple(restrictions.FLAGS.items())),
        ("ACTIVE", "string[]", restrictions.ACTIVE),
        ("ENDS", "string[]", restrictions.ENDS),
        ("STARTS", "string[]", restrictions.STARTS),
        ("VISITS", "string[]", restrictions.VISITS),
        ("STATES", "string[]", restrictions.STATES),
        ("STATE_WORDS", "[string, Restriction][]", tuple(restrictions.STATE_WORDS.items())),
        ("UNSET", "string[]", sorted(restrictions.UNSET)),
        ("FALSE", "string[]", sorted(restrictions.FALSE)),
        ("LAST_EPOCH_S", "number", restrictions.LAST_EPOCH_S),
    ]
    lines = [f"/** @type {{{kind}}} */\nexport const {name} = {json.dumps(value)};" for name, kind, value in values]
    return "\n".join([_MADE, f"/** @typedef {{{kinds}}} Restriction */", *lines, ""])


def type_of(schema: Json, where: str) -> str:
    """The type of a JSON schema. Raises ValueError: it has a keyword, or a type, that is not known; `where` it is."""
    unknown = schema.keys() - _UNTYPED - _TYPED - {"type"}
    if unknown:
        raise ValueError(f"{where}: unknown keywords {sorted(unknown)}; teach svc/web/wire.py what they mean")
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(type_of(each, where) for each in schema["anyOf"]))
    kind = schema.get("type")
    if kind is None:
        return "unknown"
    if kind == "array":
        return _array(schema, where)
    if kind == "object":
        return _object(schema, where)
    if kind not in _PLAIN:
        raise ValueError(f"{where}: unknown type {kind!r}")
    return _PLAIN[kind]


def _array(schema: Json, where: str) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(each, where) for each in schema['prefixItems'])}]"
    return f"({type_of(schema.get('items', {}), where)})[]"


def _object(schema: Json, where: str) -> str:
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        if values is False:
            return "Record<string, never>"
        return f"Record<string, {type_of(values if isinstance(values, dict) else {}, where)}>"
    fields = []
    for name, field in schema["properties"].items():
        mark = "" if name in schema.get("required", ()) else "?"
        fields += [f"  {line}" for line in _comment(field)]
        fields.append(f"  {name}{mark}: {type_of(field, f'{where}.{name}')};")
    return "\n".join(["{", *fields, "}"])


def _call(operation: Json, where: str) -> str:
    """What an operation takes and gives."""
    answer: Json = next((each for status, each in operation["responses"].items() if status.startswith("2")), {})
    body = operation.get("requestBody", {})
    params = {}
    for each in operation["parameters"]:
        if "$ref" not in each and each["in"] in ("path", "query"):
            mark = "" if each["required"] else "?"
            params[f"{each['name']}{mark}"] = type_of(each["schema"], f"{where} {each['name']}")
    shown = "; ".join(f"{name}: {kind}" for name, kind in params.items())
    return f"{{ answer: {_content(answer, where)}; body: {_content(body, where, 'undefined')}; params: {{ {shown} }} }}"


def _content(holder: Json, where: str, without: str = "unknown") -> str:
    """The type of a body or an answer, where it is JSON."""
    content = holder.get("content", {}).get("application/json")
    return without if content is None else type_of(content["schema"], where)


def _comment(schema: Json) -> list[str]:
    text = schema.get("description", "").replace("*/", "* /")
    return [f"/** {text} */"] if text else []


def main(folder: Path) -> None:
    """Write the files."""
    (folder / "wire.d.ts").write_text(types(document("")))
    (folder / "remedies.js").write_text(remedies())
    (folder / "import-columns.js").write_text(import_columns())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
