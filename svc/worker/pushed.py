"""The parts of a worker's push, as docs/push.md describes them. Pure.

The classes are plain, so that the service can make parts of what it reads in a worker's database. A `TypeAdapter`
validates them by the annotations of their fields. Fields of a newer worker are ignored. Scalars are strict one by one,
because JSON arrays become tuples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, FailFast, Field, StrictBool, WithJsonSchema

from svc.clock import HOUR_MS, day_number
from svc.model import NO_NUL

# What both engines keep, and JavaScript counts exactly.
LARGEST_COUNT = 2**53 - 1


def _day(text: object) -> int:
    """A day number of YYYY-MM-DD and nothing else that Python would take for a date."""
    if not isinstance(text, str) or len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError("must be a day, YYYY-MM-DD")
    return day_number(text)


Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT, strict=True)]
# Not the API's `Id`: there are two hundred of them in a push, so that they are read without a call into Python each.
TargetId = Annotated[str, Field(max_length=100, pattern=NO_NUL, strict=True)]
_HourStart = Annotated[Count, Field(multiple_of=HOUR_MS)]
_Day = Annotated[int, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
# What one target counted in an hour or a day.
CountRow = Annotated[tuple[TargetId, Count, Count, Count], Field(description="Target, views, bots, visitors.")]
# Of a list the first wrong item is enough to refuse it: to note them all takes seconds.
_Rows = Annotated[tuple[CountRow, ...], FailFast()]


@dataclass(frozen=True)
class PushedHour:
    """The counts of the hour that begins at `at` (epoch ms)."""

    at: _HourStart
    rows: _Rows


@dataclass(frozen=True)
class PushedPart:
    """What was counted of a day up to `as_of`."""

    id: Count
    day: _Day  # read from YYYY-MM-DD, kept as a day number
    as_of: Count  # epoch ms, the end of an hour
    final: StrictBool
    hours: Annotated[tuple[PushedHour, ...], Field(max_length=24), FailFast()]
    refused_hours: Annotated[tuple[_HourStart, ...], Field(max_length=24), FailFast()]
    days: _Rows
