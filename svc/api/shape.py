"""Bodies, queries and answers: their base classes, and how a request's bytes become one of them. Pure.

Whatever is wrong with them is `Invalid` with a list of issues, never a crash: text holds no NUL, numbers have bounds,
lists have lengths, unknown fields are refused. Nothing that is sent makes more work than what could be right: a body
has few values and no doubles before it is looked at closely, and of a list the first wrong item is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from svc.api.fields import Wrong
from svc.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

SMALL_BYTES = 4_096
# Of a body with long lists: 50 paths of 1,000 characters, 1,000 edge accounts, ten rules.
LARGE_BYTES = 65_536

# No object of a body has more than six fields.
_MOST_FIELDS = 50
_DEEPEST = 8
_MOST_ISSUES = 20
_LONGEST_PATH = 200  # characters: a field's name comes from the client


class Body(BaseModel):
    """A JSON object, taken strictly: no unknown fields, no number for a text, nothing repeated in errors.

    `most_bytes`: no larger body is read. It fits the largest that can be right, with some white space.
    `holds_password`: what is kept of it for an Idempotency-Key must not help to guess one.
    `most_values`, `most_containers`: how many fields and items, lists and objects, one that is right can have. Of the
    usual ones the largest, a link with ten rules for 300 countries each, has 3,100 values in 31 lists and objects.
    """

    most_bytes: ClassVar[int] = SMALL_BYTES
    holds_password: ClassVar[bool] = False
    most_values: ClassVar[int] = 4_000
    most_containers: ClassVar[int] = 100

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class NoBody(Body):
    """The body of a request that takes none: empty, or `{}`."""


class Query(BaseModel):
    """A query string: texts, so numbers are read from them; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class NoQuery(Query):
    """The query of a request that takes none."""


class Answer(BaseModel):
    """A JSON object of an answer, made from our own values."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, serialize_by_alias=True)

    def to_bytes(self) -> bytes:
        """The JSON text, in UTF-8."""
        return self.__pydantic_serializer__.to_json(self)


class Ok(Answer):
    """It was done."""

    ok: bool = True


def may_be_absent(description: str | None = None, alias: str | None = None) -> Any:
    """A field of a query or an answer that is there or absent, and never null: `cursor: str | None = may_be_absent()`.

    `alias`: its name outside, where Python has that word for itself. A body's field that may be null is no such: what a
    client sends as null is taken as absent.
    """
    return Field(None, exclude_if=_is_none, json_schema_extra=_never_null, description=description, alias=alias)


def _is_none(value: object) -> bool:
    return value is None


def _never_null(schema: dict[str, Any]) -> None:
    [shown] = [each for each in schema.pop("anyOf") if each != {"type": "null"}]
    schema.update(shown)


B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=Query)


def parse_body(model: type[B], raw: bytes) -> B:
    """The body as a `model`. Raises Invalid."""
    try:
        return model.model_validate_json(_bounded(raw, model) if issubclass(model, Body) else raw or b"{}")
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def parsed(model: type[B], **fields: object) -> B:
    """These fields as a `model`, as if they came in a body. Raises Invalid."""
    return parse_body(model, to_json(fields))


def parse_query(model: type[Q], parameters: Mapping[str, list[str]]) -> Q:
    """The query as a `model`. Raises Invalid, also for a parameter that comes twice."""
    twice = [name for name, values in parameters.items() if len(values) > 1]
    if twice:
        raise Invalid([(_cut(name), "must come once") for name in twice[:_MOST_ISSUES]])
    try:
        return model.model_validate({name: values[0] for name, values in parameters.items()})
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def issues_of(error: ValidationError) -> list[tuple[str, str]]:
    """Field path and message of the first problems; nothing of what was sent but the names of its fields."""
    found = error.errors(include_url=False, include_input=False)[:_MOST_ISSUES]
    return [(_cut(".".join(str(part) for part in issue["loc"])), _text_of(issue)) for issue in found]


_TOO_MANY_VALUES = "has more fields or items than any right one"
_TOO_MANY_CONTAINERS = "has more lists and objects than any right one"


def _bounded(raw: bytes, model: type[Body]) -> bytes:
    """The same JSON, once it is known to be small in each way; of a field that comes twice the last. Raises Invalid."""
    if len(raw) > LARGE_BYTES:
        _check_marks(raw, model)
    try:
        value = from_json(raw or b"{}")
    except ValueError:
        raise Invalid([("", _TEXTS["json_invalid"])]) from None
    level = [value]
    values = containers = 0
    for _ in range(_DEEPEST):
        values += sum(len(container) for container in level if isinstance(container, (dict, list)))
        if values > model.most_values or any(isinstance(item, dict) and len(item) > _MOST_FIELDS for item in level):
            raise Invalid([("", _TOO_MANY_VALUES)])
        level = [item for container in level for item in _items(container) if isinstance(item, (dict, list))]
        containers += len(level)
        if containers > model.most_containers:
            raise Invalid([("", _TOO_MANY_CONTAINERS)])
        if not level:
            return to_json(value)
    raise Invalid([("", "is nested too deep")])


def _check_marks(raw: bytes, model: type[Body]) -> None:
    """Count a large body's values by their marks, before it is read: a MiB of empty lists takes 60 ms. Raises Invalid.

    No text that is right holds a quotation mark, so between every other two of them stands no text.
    """
    if raw.count(b'"') > 4 * model.most_values:
        raise Invalid([("", _TOO_MANY_VALUES)])
    marks = raw if b'\\"' in raw else b"".join(raw.split(b'"')[::2])
    if marks.count(b",") > model.most_values:
        raise Invalid([("", _TOO_MANY_VALUES)])
    if marks.count(b"[") + marks.count(b"{") > model.most_containers + 1:
        raise Invalid([("", _TOO_MANY_CONTAINERS)])


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


# What pydantic calls its findings, in our words. Bounds are told where the library tells them.
_TEXTS = {
    "json_invalid": "must be JSON",
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "string_unicode": "must be a text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "does not have the form that this field takes",
    "too_long": "must have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
    "literal_error": "must be one of {expected}",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
}
_OTHER_TEXT = "is not right"


def _text_of(issue: ErrorDetails) -> str:
    context = issue.get("ctx", {})
    wrong = context.get("error")
    if isinstance(wrong, Wrong):
        return str(wrong)
    return _TEXTS.get(issue["type"], _OTHER_TEXT).format_map(context)


def _cut(text: str) -> str:
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= _LONGEST_PATH else clean[:_LONGEST_PATH] + "…"
