"""/edge/push: the totals that an account's Worker sends. docs/develop/push.md describes and explains the format.

The head of a push is validated as a whole, and the parts (the totals of one day each) are validated one by one. The
response lists the ids of invalid parts, which the Worker then removes from its outbox, so that an invalid part does not
block later parts.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    ValidationError,
)

from svc.api.endpoint import Endpoint
from svc.api.shape import LARGE_BYTES, ResponseBody, issues_of, parse_body
from svc.errors import Invalid, Issue
from svc.model import NO_NUL
from svc.worker.pushed import Count, PushedPart, TargetId

# Limits that are checked before parsing, so that parsing an invalid body does not take longer than parsing a valid body
# of the same size. Besides its rows, a part has about 60 fields and lists. A row has one list, four commas and more
# than _BYTES_A_ROW bytes.
_MAX_PARTS = 100
_MAX_FIELDS = 80 * _MAX_PARTS
_BYTES_A_ROW = 30

_PART = TypeAdapter(PushedPart)


class _FromWorker(BaseModel):
    """The base class of the models in a push. Unknown fields, which newer Workers may send, are ignored.

    Validation is not strict, because it must convert JSON arrays to tuples. Scalar fields are declared strict
    individually.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, defer_build=True)


class _PartId(_FromWorker):
    id: Count


class Dropped(_FromWorker):
    """The number of events that the Worker did not count, by reason.

    Unknown reasons, which newer Workers may send, are ignored.
    """

    budget: Count = 0
    invalid: Count = 0
    unknown_target: Count = 0
    too_old: Count = 0
    busy: Count = 0
    expired: Count = 0


class PushHead(_FromWorker):
    """The head of a push, with parts that are not validated yet."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)]
    install: TargetId
    bundle: TargetId
    schema_: Annotated[Count | None, Field(alias="schema")]
    sent_at: Count
    queue: Count
    error: Annotated[str, Field(max_length=1000, pattern=NO_NUL, strict=True)] | None
    error_kind: TargetId | None = None  # newer Workers may send other kinds; old Workers send none
    dropped: Dropped
    parts: Annotated[tuple[Any, ...], Field(max_length=_MAX_PARTS)]


class Push(PushHead):
    """A Worker's push."""

    parts: Annotated[tuple[PushedPart, ...], Field(max_length=_MAX_PARTS), FailFast()]


class RefusedPart(ResponseBody):
    """A part that is permanently rejected."""

    id: int
    code: Literal["invalid", "too_old"]


class PushResponse(ResponseBody):
    """The outcome of each part of a push."""

    ok: bool = True
    accepted: tuple[int, ...]
    refused: tuple[RefusedPart, ...]
    unknown_targets: tuple[str, ...]


PUSH = Endpoint(
    method="POST",
    path="/edge/push",
    tag="worker",
    summary="Send the totals of an installed Worker",
    description="Only Workers send this request. If a Worker sends the same push again, nothing changes."
    " `docs/develop/push.md` describes the format.",
    access="worker",
    codes=("rate_limited",),
    body=Push,
    response=PushResponse,
)

ENDPOINTS = (PUSH,)


def read_push(raw: bytes) -> tuple[PushHead, list[PushedPart], list[int]]:
    """Return the head, the valid parts, and the ids of invalid parts. Raises Invalid.

    Parts are validated one by one only if the validation of the whole push fails, which is rare.
    """
    if len(raw) > LARGE_BYTES:
        _check_marks(raw)
    try:
        push = Push.model_validate_json(raw)
    except ValidationError:
        head = parse_body(PushHead, raw)
        return head, *read_parts(head.parts)
    return push, list(push.parts), []


def _check_marks(raw: bytes) -> None:
    """Raise Invalid if the punctuation of a large body shows that the body is not a valid push.

    Runs before the body is parsed.
    """
    rows = len(raw) // _BYTES_A_ROW
    lists, fields, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b":"), raw.count(b",")
    if fields > _MAX_FIELDS or lists > _MAX_FIELDS + rows or commas > _MAX_FIELDS + 4 * rows:
        raise Invalid([Issue("", "has too many fields, lists or items for a push", "too_much")])


def read_parts(raw: tuple[Any, ...]) -> tuple[list[PushedPart], list[int]]:
    """Return the valid parts, and the ids of invalid parts. Raises Invalid if a part has no valid id."""
    parts: list[PushedPart] = []
    wrong: list[int] = []
    for value in raw:
        try:
            parts.append(_PART.validate_python(value))
        except ValidationError:
            wrong.append(_id_of(value))
    return parts, wrong


def _id_of(value: Any) -> int:
    try:
        return _PartId.model_validate(value).id
    except ValidationError as error:
        raise Invalid([issue._replace(path=f"parts.{issue.path}") for issue in issues_of(error)]) from None
