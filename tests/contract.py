"""Validation of responses against the OpenAPI document, applied to every response in the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import yaml
from jsonschema_rs import Draft202012Validator

from svc.api.openapi import document, resolve

# The codes of error responses to requests that match no endpoint, by status.
BEFORE_AN_ENDPOINT = {404: "not_found", 405: "method_not_allowed"}


_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "application/json": json.loads,
    # cached, because all responses with YAML are the same document
    "application/yaml": lru_cache(maxsize=4)(partial(yaml.load, Loader=yaml.CSafeLoader)),
    "application/zip": bytes.hex,
    "image/png": bytes.hex,
}


class OutsideTheContract(AssertionError):
    """A response that does not conform to the OpenAPI document."""


@lru_cache(maxsize=1)
def contract() -> Any:
    """Return the OpenAPI document."""
    return document("https://svc.example")


@lru_cache(maxsize=1_000)
def _validator(method: str, path: str, status: str, media_type: str) -> Draft202012Validator:
    responses = contract()["paths"][path][method]["responses"]
    if status not in responses:
        raise OutsideTheContract(f"{method} {path} does not document {status}")
    content = resolve(contract(), responses[status])["content"]
    if media_type not in content:
        raise OutsideTheContract(f"{method} {path} does not document {media_type} with {status}")
    # References are resolved relative to the schema's root.
    schema = {**content[media_type]["schema"], "components": contract()["components"]}
    return Draft202012Validator(schema, validate_formats=True)


@lru_cache(maxsize=1_000)
def path_of(target: str) -> str | None:
    """Return the path template that matches a request's path, or None. Templates without parameters take precedence."""
    if target in contract()["paths"]:
        return target
    for path in contract()["paths"]:
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)), target):
            return str(path)
    return None


def check(method: str, target: str, status: int, headers: Any, raw: bytes) -> None:
    """Raise OutsideTheContract if the response to `method` on `target` does not conform to the OpenAPI document."""
    path = path_of(target.partition("?")[0])
    described = "get" if method == "HEAD" else method.lower()
    known = path is not None and described in contract()["paths"][path]
    media_type = headers["Content-Type"].partition(";")[0]
    if not known and method == "HEAD":
        return
    if not known:
        code = json.loads(raw)["error"]["code"]
        if BEFORE_AN_ENDPOINT.get(status) != code:
            raise OutsideTheContract(f"{method} {target} is not documented, but gets {status} {code}")
        return
    assert path is not None
    validator = _validator(described, path, str(status), media_type)
    if method != "HEAD":
        value = _PARSERS.get(media_type, bytes.decode)(raw)
        wrong = next(validator.iter_errors(value), None)
        if wrong is not None:
            raise OutsideTheContract(f"{method} {path} {status}: {wrong.message} at {wrong.instance_path}")
    response = resolve(contract(), contract()["paths"][path][described]["responses"][str(status)])
    for name, reference in response["headers"].items():
        if resolve(contract(), reference).get("required") and name not in headers:
            raise OutsideTheContract(f"{method} {path} {status} lacks the header {name}")
