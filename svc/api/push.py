"""/edge/push: the totals of an account's worker (docs/push.md has the format and its reasons).

The head of a push is checked as a whole; its parts one by one, so that a part that is wrong is refused by its number
and leaves the worker's outbox, instead of holding up all that come after it.
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
from svc.api.shape import LARGE_BYTES, Answer, issues_of, parse_body
from svc.errors import Invalid, Issue
from svc.model import NO_NUL
from svc.worker.pushed import Count, PushedPart, TargetId

# Bounds of what is read at all, so that no body makes more work than an honest one of its size. A part has some 60
# fields and lists beside its rows, and a row more bytes than this for its list, and for each of its four commas.
_MOST_PARTS = 100
_MOST_FIELDS = 80 * _MOST_PARTS
_BYTES_A_ROW = 30

_PART = TypeAdapter(PushedPart)


class _FromWorker(BaseModel):
    """Unknown fields of a newer worker are ignored. Not strict, because JSON arrays become tuples; scalars are strict
    one by one."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _PartId(_FromWorker):
    id: Count


class Dropped(_FromWorker):
    """What was refused, by reason; reasons of a newer worker are ignored, as its fields are."""

    budget: Count = 0
    invalid: Count = 0
    unknown_target: Count = 0
    too_old: Count = 0
    busy: Count = 0
    expired: Count = 0


class PushHead(_FromWorker):
    """A push, its parts not looked at."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)]
    install: TargetId
    bundle: TargetId
    schema_: Annotated[Count | None, Field(alias="schema")]
    sent_at: Count
    queue: Count
    error: Annotated[str, Field(max_length=1000, pattern=NO_NUL, strict=True)] | None
    error_kind: TargetId | None = None  # a newer worker may have other kinds; one before this field sends none
    dropped: Dropped
    parts: Annotated[tuple[Any, ...], Field(max_length=_MOST_PARTS)]


class Push(PushHead):
    """A worker's push."""

    parts: Annotated[tuple[PushedPart, ...], Field(max_length=_MOST_PARTS), FailFast()]


class RefusedPart(Answer):
    """A part that is not taken and never will be."""

    id: int
    code: Literal["invalid", "too_old"]


class PushAnswer(Answer):
    """What became of each part."""

    ok: bool = True
    accepted: tuple[int, ...]
    refused: tuple[RefusedPart, ...]
    unknown_targets: tuple[str, ...]


PUSH = Endpoint(
    method="POST",
    path="/edge/push",
    tag="worker",
    summary="An installed worker's totals",
    description="For workers only. Sent twice, it changes nothing. `docs/push.md` has the format and its reasons.",
    access="worker",
    codes=("rate_limited",),
    body=Push,
    answer=PushAnswer,
)

ENDPOINTS = (PUSH,)


def read_push(raw: bytes) -> tuple[PushHead, list[PushedPart], list[int]]:
    """The head, the parts that are well-formed, and the ids of those that are not. Raises Invalid.

    A push is nearly always right, and then read in one go; each part by itself only where one of them is wrong.
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
    """Refuse a large body that is no push by its marks, before it is read. Raises Invalid."""
    rows = len(raw) // _BYTES_A_ROW
    lists, fields, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b":"), raw.count(b",")
    if fields > _MOST_FIELDS or lists > _MOST_FIELDS + rows or commas > _MOST_FIELDS + 4 * rows:
        raise Invalid([Issue("", "has more fields, lists or items than any push", "too_much")])


def read_parts(raw: tuple[Any, ...]) -> tuple[list[PushedPart], list[int]]:
    """The parts that are well-formed, and the ids of the others. Raises Invalid when a part has no usable id."""
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
