"""The API contract as an OpenAPI 3.1.0 document. No I/O.

Pydantic generates the JSON schemas of the models. The rest is generated from the endpoints' declarations and the
catalog of error codes.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from svc.api.auth import REFRESH_COOKIE, cookie_name
from svc.api.contract import ENDPOINTS, TAGS
from svc.api.endpoint import HTML_TYPE, ID_PREFIXES, JSON_TYPE, TAG_PARAMETER
from svc.api.errors import ErrorResponse
from svc.api.export import ZIP_TYPE
from svc.api.link_texts import TAG_SCHEMA
from svc.api.probes import YAML_TYPE
from svc.api.qr_codes import PNG_TYPE
from svc.errors import CATALOGUE, ServiceError
from svc.ids import ID_PATTERN
from svc.security.api_key import PATTERN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc.api.endpoint import Access, Endpoint
    from svc.errors import Code

Json = dict[str, Any]

OPENAPI_VERSION = "3.1.0"
VERSION = "0.8.0"  # version of the API description

_REF = "#/components/schemas/{model}"
_SECURITY: dict[Access, list[Json]] = {
    "user": [{"bearer": []}],
    "session": [{"bearer": []}],
    "worker": [{"worker": []}],
    "cookie": [{"refresh": []}],
    "anybody": [],
}


# Schemas of responses without a model, by media type. Binary content has no schema (OpenAPI 3.1.0, 4.8.14.4).
_OTHER_SCHEMAS: dict[str, Json] = {
    JSON_TYPE: {"type": "object"},
    YAML_TYPE: {"type": "object"},
    ZIP_TYPE: {},
    PNG_TYPE: {},
}


class _Generator(GenerateJsonSchema):
    """A schema generator that omits titles, which only repeat the field names, and omits defaults that are null.

    Fields of request bodies have no `default`, because client generators such as openapi-typescript treat fields with a
    default as required. Their descriptions state the default instead.
    """

    default_in_requests = False

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False

    def default_schema(self, schema: Any) -> Json:
        described = super().default_schema(schema)
        dropped = self.mode == "validation" and not self.default_in_requests
        if dropped or described.get("default") is None:
            described.pop("default", None)
        return described


class _QueryGenerator(_Generator):
    """A schema generator for query parameters.

    It keeps defaults, because `required: false` already makes parameters optional.
    """

    default_in_requests = True


def document(base_url: str) -> Json:
    """Return the OpenAPI document; `base_url` is the service's URL without a trailing slash."""
    schemas, refs = _schemas()
    paths: dict[str, Json] = {}
    refusals: dict[str, Json] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs, refusals)
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "Page counters and short links",
            "version": VERSION,
            "description": "Page counters and short links that run in the customer's own Cloudflare account."
            " Request bodies and most responses are JSON. Times are ISO 8601 in UTC; days end at midnight UTC.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": refusals,
            "headers": _HEADERS,
            "examples": {code: {"value": ServiceError(code).body()} for code in CATALOGUE},
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": f"The access token of a sign-in session, or an API key (`{PATTERN}`).",
                },
                "worker": {"type": "http", "scheme": "bearer", "description": "The key of an installed Worker."},
                "refresh": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie_name(REFRESH_COOKIE, base_url),
                    "description": "The refresh token, which the service sets when the user signs in.",
                },
            },
        },
        "x-codes": {code: _meaning(code) for code in CATALOGUE},
    }


def resolve(contract: Json, part: Json) -> Json:
    """Return the component of `contract` that `part` refers to, or `part` itself if it is not a reference."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    component: Json = contract["components"][kind][name]
    return component


def to_json(contract: Json) -> bytes:
    """Serialize the document as JSON."""
    return json.dumps(contract, ensure_ascii=False, separators=(",", ":")).encode()


def to_yaml(contract: Json) -> bytes:
    """Serialize the document as YAML. The fields keep their order."""
    import yaml  # imported when a client first requests the document, because the import takes 15 ms

    copy = json.loads(to_json(contract))  # without a copy, shared objects would become YAML anchors and aliases
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml is four times as fast, but not always available
    text: str = yaml.dump(copy, Dumper=dumper, allow_unicode=True, sort_keys=False, width=120)
    return text.encode()


def _schemas() -> tuple[Json, dict[tuple[type[BaseModel], str], Json]]:
    """Return all schemas, and each model's `$ref` by mode (validation or serialization)."""
    wanted: dict[tuple[type[BaseModel], Any], None] = {(ErrorResponse, "serialization"): None}
    for endpoint in ENDPOINTS:
        if endpoint.body is not None:
            wanted[endpoint.body, "validation"] = None
        if endpoint.response is not None:
            wanted[endpoint.response, "serialization"] = None
    refs, definitions = models_json_schema(list(wanted), ref_template=_REF, schema_generator=_Generator)
    return definitions["$defs"], refs  # type: ignore[return-value]  # declared as a wider type


def _operation(
    endpoint: Endpoint[Any, Any], refs: dict[tuple[type[BaseModel], str], Json], refusals: dict[str, Json]
) -> Json:
    """Describe an operation, and add its error responses to `refusals`."""
    parameters = [*_path_parameters(endpoint), *_query_parameters(endpoint)]
    if endpoint.changes:
        parameters.append(_IDEMPOTENCY_KEY)
    operation: Json = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": _description(endpoint),
        "security": _SECURITY[endpoint.access],
        "parameters": parameters,
        "responses": {
            str(endpoint.status): _success(endpoint, refs),
            **{
                status: _shared(refusal, refusals)
                for status, refusal in _refusals(endpoint, refs[ErrorResponse, "serialization"]).items()
            },
        },
    }
    if endpoint.body is not None:
        content: Json = {"schema": refs[endpoint.body, "validation"]}
        if endpoint.example:
            content["example"] = dict(endpoint.example)
        # Requests to forms must have the content type JSON even if the body is empty.
        required = endpoint.is_form or not _may_be_empty(endpoint.body)
        operation["requestBody"] = {"required": required, "content": {JSON_TYPE: content}}
    if endpoint.addition:
        operation["x-addition"] = True
    if endpoint.token_page is not None:
        operation["x-token-page"] = endpoint.token_page
    return operation


def _may_be_empty(body: type[BaseModel]) -> bool:
    try:
        body.model_validate({})
    except ValidationError:
        return False
    return True


def _description(endpoint: Endpoint[Any, Any]) -> str:
    texts = [endpoint.description]
    if endpoint.access == "session":
        texts.append("This request requires a sign-in session. Requests with an API key fail with `session_required`.")
    if endpoint.scopes:
        scopes = " or ".join(f"`{scope}`" for scope in endpoint.scopes)
        texts.append(endpoint.scopes_text or f"An API key needs the {scopes} scope.")
    return " ".join(text for text in texts if text)


def _path_parameters(endpoint: Endpoint[Any, Any]) -> Iterable[Json]:
    for name in endpoint.id_names:
        is_tag = name == TAG_PARAMETER
        schema = TAG_SCHEMA if is_tag else {"type": "string", "pattern": rf"^{ID_PREFIXES[name]}_{ID_PATTERN}$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(endpoint: Endpoint[Any, Any]) -> Iterable[Json]:
    if endpoint.query is None:
        return
    schema = endpoint.query.model_json_schema(schema_generator=_QueryGenerator)
    for name, field in schema["properties"].items():
        description = field.pop("description", None)
        parameter: Json = {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
        yield parameter if description is None else {**parameter, "description": description}


def _success(endpoint: Endpoint[Any, Any], refs: dict[tuple[type[BaseModel], str], Json]) -> Json:
    headers: Json = {"X-Request-Id": _header("X-Request-Id")}
    if endpoint.access in ("user", "session"):
        headers |= {name: _header(name) for name in ("RateLimit", "RateLimit-Policy")}
    if endpoint.changes:
        headers["Idempotent-Replayed"] = _header("Idempotent-Replayed")
    if endpoint.cookies:
        headers["Set-Cookie"] = _header("Set-Cookie")
    if endpoint.signs_out:
        headers["Clear-Site-Data"] = _header("Clear-Site-Data")
    content: Json = {
        media_type: {"schema": _OTHER_SCHEMAS.get(media_type, {"type": "string"})}
        for media_type in endpoint.media_types
    }
    if endpoint.response is not None:
        content[JSON_TYPE] = {"schema": refs[endpoint.response, "serialization"]}
    return {"description": endpoint.summary, "headers": headers, "content": content}


def _refusals(endpoint: Endpoint[Any, Any], error: Json) -> Json:
    """Return an error response for each HTTP status, with the error codes that have this status."""
    by_status: dict[int, list[Code]] = {}
    for code in endpoint.all_codes:
        by_status.setdefault(CATALOGUE[code].status, []).append(code)
    return {str(status): _refusal(endpoint, status, codes, error) for status, codes in by_status.items()}


def _refusal(endpoint: Endpoint[Any, Any], status: int, codes: list[Code], error: Json) -> Json:
    headers: Json = {"X-Request-Id": _header("X-Request-Id")}
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = _header("Retry-After")
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = _header("WWW-Authenticate")
    if endpoint.changes:
        headers["Idempotent-Replayed"] = _header("Idempotent-Replayed")
    page: Json = {HTML_TYPE: {"schema": {"type": "string"}}} if status in endpoint.error_pages else {}
    only_these = {"properties": {"error": {"properties": {"code": {"enum": list(codes)}}}}}
    return {
        "description": " ".join(f"`{code}`: {CATALOGUE[code].message}" for code in codes),
        "headers": headers,
        "content": {
            JSON_TYPE: {
                "schema": {"allOf": [error, only_these]},
                "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in codes},
            },
            **page,
        },
    }


def _shared(refusal: Json, refusals: dict[str, Json]) -> Json:
    """Add an error response to `refusals`, where operations with equal responses share it. Return a reference."""
    parts = ["-".join(refusal["content"][JSON_TYPE]["examples"])]
    if "Idempotent-Replayed" in refusal["headers"]:
        parts.append("replayable")
    if HTML_TYPE in refusal["content"]:
        parts.append("page")
    name = ".".join(parts)
    refusals[name] = refusal
    return {"$ref": f"#/components/responses/{name}"}


def _meaning(code: Code) -> Json:
    meaning = CATALOGUE[code]
    entry: Json = {"status": meaning.status, "message": meaning.message}
    if meaning.remedy is not None:
        entry["remedy"] = meaning.remedy
    if meaning.shown_as is not None:
        entry["shown_as"] = meaning.shown_as
    return entry


def _header(name: str) -> Json:
    return {"$ref": f"#/components/headers/{name}"}


# Printable characters. The only allowed space is U+0020, which must not be the first or the last character.
_PRINTABLE = r"^[^\x00-\x20\x7f-\xa0\xad]([^\x00-\x1f\x7f-\xa0\xad]*[^\x00-\x20\x7f-\xa0\xad])?$"
_IDEMPOTENCY_KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Required with an API key. If a request had an effect, you can repeat it with the same"
    " Idempotency-Key for 24 hours: you get the same response, and the effect does not happen again. If a request"
    " failed without an effect, the error is not stored: follow the remedy and send the request again with the same"
    " Idempotency-Key. While a response is stored or the first request is in progress, a request with the same"
    " Idempotency-Key and a different body fails with `idempotency_conflict`. The value consists of printable"
    " characters in UTF-8.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": _PRINTABLE},
    "example": "0d5f8a1e-8c0b-4f57-9a52-0f6d1a7c1a55",
}
_HEADERS: Json = {
    "X-Request-Id": {
        "description": "Identifies the request in the service's log.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req_[a-z2-7]{20}$"},
    },
    "RateLimit": {
        "description": "With an API key: the number of remaining requests, and the seconds until the limit resets, e.g."
        ' `"key";r=119;t=60`.',
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "With an API key: the maximum number of requests, and the length of the window in seconds, e.g."
        ' `"key";q=120;w=60`.',
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "The number of seconds to wait before retrying.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the response to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "const": "true"},
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme to use.",
        "required": True,
        "schema": {"type": "string", "const": "Bearer"},
    },
    "Clear-Site-Data": {
        "description": "Sent when the request has ended the caller's session. The browser then removes the session's"
        " pages from its cache.",
        "schema": {"type": "string", "const": '"cache"'},
    },
    "Set-Cookie": {
        "description": "The session's refresh token, or an identifier of this browser. Only the endpoints under"
        " /auth read these cookies.",
        "schema": {"type": "string"},
    },
}
