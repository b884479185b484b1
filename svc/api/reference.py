"""The API reference in Markdown, generated from the OpenAPI document. No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from svc.api.openapi import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]

_ACCESS = {
    "bearer": "`Authorization: Bearer <access token or API key>`",
    "worker": "`Authorization: Bearer <the Worker's key>`",
    "refresh": "the refresh cookie",
}


def to_markdown(contract: Json) -> bytes:
    """Return the reference as CommonMark with tables."""
    return "\n".join(_lines(contract)).encode()


def _lines(contract: Json) -> Iterator[str]:
    info = contract["info"]
    yield f"# {info['title']}: API reference"
    yield ""
    yield f"Version {info['version']}. {info['description']} Base URL: `{contract['servers'][0]['url']}`."
    yield ""
    yield "Every response has the `X-Request-Id` header, which identifies the request in the service's log. Error"
    yield 'responses have the body `{"error": {"code", "message", "details"?}}`. A table at the end lists the codes.'
    yield ""
    yield from _table(
        ("endpoint", ""),
        (
            (f"[{method.upper()} {path}](#{_anchor(f'{method} {path}')})", operation["summary"])
            for path, operations in contract["paths"].items()
            for method, operation in operations.items()
        ),
    )
    for tag in contract["tags"]:
        yield f"## {tag['name'].capitalize()}"
        yield ""
        yield tag["description"]
        yield ""
        for path, operations in contract["paths"].items():
            for method, operation in operations.items():
                if operation["tags"] == [tag["name"]]:
                    yield from _operation(contract, method.upper(), path, operation)
    yield "## Objects"
    yield ""
    for name, schema in sorted(contract["components"]["schemas"].items()):
        yield f"### {name}"
        yield ""
        yield from _fields(schema)
    yield "## Error codes"
    yield ""
    yield "In responses, `error.details.remedy` contains the remedy."
    yield ""
    yield from _table(("status", "code", "message", "remedy"), _codes(contract["x-codes"]))


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading, such as `post-v1links`."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _operation(contract: Json, method: str, path: str, operation: Json) -> Iterator[str]:
    yield f"### {method} {path}"
    yield ""
    yield " ".join([f"{operation['summary']}.", operation["description"]]).strip()
    yield ""
    allowed = [_ACCESS[name] for security in operation["security"] for name in security]
    if allowed:
        yield f"Credential: {' or '.join(allowed)}."
        yield ""
    parameters = operation["parameters"]
    if parameters:
        yield from _table(
            ("parameter", "in", "type", ""),
            (
                (f"`{each['name']}`", each["in"], _type(each["schema"]), each.get("description", ""))
                for each in parameters
            ),
        )
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        yield f"Body: {_type(content['schema'])}"
        yield ""
        yield from _fields(resolve(contract, content["schema"]))
    responses = {status: resolve(contract, each) for status, each in operation["responses"].items()}
    for status, response in responses.items():
        if status.startswith("2"):
            kinds = (
                _type(content["schema"]) if "$ref" in content["schema"] else f"`{kind}`"
                for kind, content in response["content"].items()
            )
            yield f"Response: {status}, {', '.join(kinds)}"
            yield ""
    codes = [
        f"{status} {', '.join(f'`{code}`' for code in response['content']['application/json']['examples'])}"
        for status, response in responses.items()
        if not status.startswith("2")
    ]
    yield f"Errors: {'; '.join(codes)}"
    yield ""


def _fields(schema: Json) -> Iterator[str]:
    if "description" in schema:
        yield schema["description"]
        yield ""
    properties: Json = schema.get("properties", {})
    if not properties:
        return
    required = schema.get("required", [])
    yield from _table(
        ("field", "type", ""),
        (
            (f"`{name}`{'' if name in required else ' (optional)'}", _type(field), field.get("description", ""))
            for name, field in properties.items()
        ),
    )


def _codes(codes: Json) -> Iterator[tuple[str, ...]]:
    for code, meaning in codes.items():
        shown_as = f" Responses contain `{meaning['shown_as']}` instead of this code." if "shown_as" in meaning else ""
        yield str(meaning["status"]), f"`{code}`", meaning["message"] + shown_as, meaning.get("remedy", "")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _type(schema: Json) -> str:
    """Return a short description of a schema, such as `string (hostname), at most 253 characters`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any")
    if kind == "array":
        inner = _type(schema["items"]) if schema.get("items") else "any"
        return f"list of {inner}{_bounds(schema, 'Items', 'items')}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    form = f" ({schema['format']})" if "format" in schema else ""
    default = f", default `{schema['default']}`" if "default" in schema else ""
    return f"{kind}{form}{_bounds(schema, 'Length', 'characters')}{_range(schema)}{default}"


def _bounds(schema: Json, of: str, unit: str) -> str:
    low, high = schema.get(f"min{of}"), schema.get(f"max{of}")
    if low is not None and high is not None:
        return f", {low} to {high} {unit}"
    if high is not None:
        return f", at most {high} {unit}"
    return "" if low is None else f", at least {low} {unit}"


def _range(schema: Json) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    return ""
