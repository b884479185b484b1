"""Base classes and parsing of request bodies, queries and responses. No I/O.

Invalid input raises `Invalid` with a list of issues. Unknown fields and NUL characters are rejected, and the sizes of
numbers and lists are limited. The number of values in a body is limited before validation, and only the first invalid
item of a list is reported, so that invalid input never takes more CPU time than valid input.

The models defer the building of their validators and serializers until they are first used (`defer_build`), because
building all of them at startup would take 0.4 s of CPU time. A single model takes at most 9 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from svc.api.fields import Wrong
from svc.errors import Invalid, Issue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

    from svc.errors import IssueCode

SMALL_BYTES = 4_096
# Maximum size of bodies with long lists, such as 50 paths of 1,000 characters, 1,000 account ids, or ten rules.
LARGE_BYTES = 65_536

# Maximum number of fields per object. Valid objects have far fewer.
_MAX_FIELDS = 50
_DEEPEST = 8
_MAX_ISSUES = 20
_LONGEST_PATH = 200  # in characters; a path can contain unknown field names, which clients choose


class Body(BaseModel):
    """A request body: a JSON object, validated strictly. Unknown fields and implicit type conversions are errors.

    Errors never quote the input.

    `most_bytes`: maximum size, sufficient for the largest valid body with some white space.
    `holds_password`: the body contains a password, so the body's digest that is stored with an Idempotency-Key must be
    slow to compute. `most_values`, `most_containers`: maximum number of fields and items, and of lists and objects. The
    largest body apart from bulk requests, a link with ten rules for 300 countries each, has 3,100 values in 31 lists
    and objects.
    """

    most_bytes: ClassVar[int] = SMALL_BYTES
    holds_password: ClassVar[bool] = False
    most_values: ClassVar[int] = 4_000
    most_containers: ClassVar[int] = 100

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)


class EmptyBody(Body):
    """No body, or an empty JSON object."""


class Query(BaseModel):
    """A query string. Numbers are parsed from text; unknown parameters are rejected.

    `most_chars`: maximum length. 1,000 is enough for most queries, because a cursor has at most 200 characters and an
    id has 25. The server's limit on request heads would allow 16,000.
    """

    most_chars: ClassVar[int] = 1_000

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class NoQuery(Query):
    """No query parameters."""


class ResponseBody(BaseModel):
    """A JSON object in a response."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, from_attributes=True, serialize_by_alias=True, defer_build=True
    )

    def to_bytes(self) -> bytes:
        """Return the object as JSON in UTF-8."""
        return self.__pydantic_serializer__.to_json(self)


class Ok(ResponseBody):
    """Confirmation that the request succeeded."""

    ok: bool = True


def optional_field(description: str | None = None, alias: str | None = None) -> Any:
    """Declare a field of a query or response that can be absent but is never null.

    Example: `cursor: str | None = optional_field()`. Pass `alias` if the field's name is a Python keyword. Request
    bodies rarely need this function, because a null field in a body means the same as an absent one.
    """
    return Field(None, exclude_if=_is_none, json_schema_extra=_never_null, description=description, alias=alias)


def _is_none(value: object) -> bool:
    return value is None


def _never_null(schema: dict[str, Any]) -> None:
    [only] = [each for each in schema.pop("anyOf") if each != {"type": "null"}]
    schema.update(only)


B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=Query)


def parse_body(model: type[B], raw: bytes) -> B:
    """Parse a request body. Raises Invalid."""
    try:
        return model.model_validate_json(_bounded(raw, model) if issubclass(model, Body) else raw or b"{}")
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def parsed(model: type[B], **fields: object) -> B:
    """Validate fields as if they were a request body. Raises Invalid."""
    return parse_body(model, to_json(fields))


def parse_query(model: type[Q], parameters: Mapping[str, list[str]]) -> Q:
    """Parse a query. Raises Invalid if a parameter is invalid or repeated."""
    twice = [name for name, values in parameters.items() if len(values) > 1]
    if twice:
        raise Invalid([Issue(_cut(name), "must not be repeated", "twice") for name in twice[:_MAX_ISSUES]])
    try:
        return model.model_validate({name: values[0] for name, values in parameters.items()})
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def issues_of(error: ValidationError) -> list[Issue]:
    """Return the first 20 issues. They contain no values from the input, only field names."""
    errors = error.errors(include_url=False, include_input=False)[:_MAX_ISSUES]
    return [_issue(_cut(".".join(str(part) for part in each["loc"])), each) for each in errors]


_TOO_MANY_VALUES = "has too many fields or items"
_TOO_MANY_CONTAINERS = "has too many lists and objects"


def _bounded(raw: bytes, model: type[Body]) -> bytes:
    """Return the body if it is JSON within all limits.

    If a field is repeated, only the last value is kept. Raises Invalid.
    """
    if len(raw) > LARGE_BYTES:
        _check_marks(raw, model)
    try:
        value = from_json(raw or b"{}")
    except ValueError:
        raise Invalid([Issue("", "must be valid JSON", "not_json")]) from None
    level = [value]
    values = containers = 0
    for _ in range(_DEEPEST):
        values += sum(len(container) for container in level if isinstance(container, (dict, list)))
        if values > model.most_values or any(isinstance(item, dict) and len(item) > _MAX_FIELDS for item in level):
            raise Invalid([Issue("", _TOO_MANY_VALUES, "too_much")])
        level = [item for container in level for item in _items(container) if isinstance(item, (dict, list))]
        containers += len(level)
        if containers > model.most_containers:
            raise Invalid([Issue("", _TOO_MANY_CONTAINERS, "too_much")])
        if not level:
            return to_json(value)
    raise Invalid([Issue("", "is nested too deeply", "too_much")])


def _check_marks(raw: bytes, model: type[Body]) -> None:
    """Raise Invalid if the punctuation of a large body shows that the body has too many values.

    Runs before the body is parsed, because parsing a MiB of empty lists would take 60 ms. If the body contains no
    escaped quotation mark, splitting it at quotation marks separates strings from structure.
    """
    if raw.count(b'"') > 4 * model.most_values:
        raise Invalid([Issue("", _TOO_MANY_VALUES, "too_much")])
    marks = raw if b'\\"' in raw else b"".join(raw.split(b'"')[::2])
    if marks.count(b",") > model.most_values:
        raise Invalid([Issue("", _TOO_MANY_VALUES, "too_much")])
    if marks.count(b"[") + marks.count(b"{") > model.most_containers + 1:
        raise Invalid([Issue("", _TOO_MANY_CONTAINERS, "too_much")])


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


# The service's message and code for each of pydantic's error types. The limits in a message come from the error's
# context.
_TEXTS: Mapping[str, tuple[str, IssueCode]] = {
    "json_invalid": ("must be valid JSON", "not_json"),
    "missing": ("is required", "required"),
    "extra_forbidden": ("is not a field of this request", "unknown"),
    "model_type": ("must be an object", "not_object"),
    "model_attributes_type": ("must be an object", "not_object"),
    "dict_type": ("must be an object", "not_object"),
    "tuple_type": ("must be a list", "not_list"),
    "list_type": ("must be a list", "not_list"),
    "string_type": ("must be a string", "not_text"),
    "string_unicode": ("must be a string", "not_text"),
    "string_too_long": ("must have at most {max_length} characters", "too_long"),
    "string_too_short": ("must have at least {min_length} characters", "too_short"),
    "string_pattern_mismatch": ("has an invalid format", "wrong_form"),
    "too_long": ("must have at most {max_length} items", "too_many"),
    "too_short": ("must have at least {min_length} items", "too_few"),
    "literal_error": ("must be one of {expected}", "not_offered"),
    "bool_type": ("must be true or false", "not_boolean"),
    "int_type": ("must be a whole number", "not_integer"),
    "int_from_float": ("must be a whole number", "not_integer"),
    "int_parsing": ("must be a whole number", "not_integer"),
    "int_parsing_size": ("must be a smaller number", "other"),
    "greater_than_equal": ("must be at least {ge}", "too_small"),
    "less_than_equal": ("must be at most {le}", "too_large"),
    "multiple_of": ("must be a multiple of {multiple_of}", "other"),
}
_OTHER_TEXT: tuple[str, IssueCode] = ("is not valid", "other")
_LIMITS = ("max_length", "min_length", "ge", "le")


def _issue(path: str, error: ErrorDetails) -> Issue:
    context = error.get("ctx", {})
    wrong = context.get("error")
    if isinstance(wrong, Wrong):
        return Issue(path, str(wrong), wrong.code, wrong.limit)
    # If a field has a validator of this module, pydantic reports the same error type for strings and lists.
    kind = f"string_{error['type']}" if context.get("field_type") == "Value" else error["type"]
    text, code = _TEXTS.get(kind, _OTHER_TEXT)
    limits = [context[name] for name in _LIMITS if isinstance(context.get(name), int)]
    return Issue(path, text.format_map(context), code, limits[0] if limits else None)


def _cut(text: str) -> str:
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= _LONGEST_PATH else clean[:_LONGEST_PATH] + "…"
