"""The parts of a Worker's push (docs/develop/push.md). Each part has the counts of one day. No I/O.

The classes are dataclasses, so that the service can also create parts from a Worker's database. A `TypeAdapter`
validates pushes, and ignores unknown fields from newer Workers. The models as a whole cannot be strict, because JSON
arrays are converted to tuples. Instead, each scalar field is declared strict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, FailFast, Field, StrictBool, WithJsonSchema

from svc.clock import HOUR_MS, day_number
from svc.model import NO_NUL

# The largest integer that is exact in JavaScript. Both database engines can store it.
LARGEST_COUNT = 2**53 - 1


def _day(text: object) -> int:
    """Parse YYYY-MM-DD to a day number. Reject other date formats, some of which Python accepts."""
    if not isinstance(text, str) or len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError("must be a date (YYYY-MM-DD)")
    return day_number(text)


Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT, strict=True)]
# The type `Id` of svc/api would be too slow here, because it would call a Python validator for each of the 200 ids in a
# push.
TargetId = Annotated[str, Field(max_length=100, pattern=NO_NUL, strict=True)]
_HourStart = Annotated[Count, Field(multiple_of=HOUR_MS)]
_Day = Annotated[int, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
# One target's counts for an hour or a day.
CountRow = Annotated[tuple[TargetId, Count, Count, Count], Field(description="Target, views, bots, visitors.")]
# Reject a list at its first invalid item, because collecting all errors would take seconds.
_Rows = Annotated[tuple[CountRow, ...], FailFast()]


@dataclass(frozen=True)
class PushedHour:
    """The targets' counts for the hour that begins at `at` (epoch ms)."""

    at: _HourStart
    rows: _Rows


@dataclass(frozen=True)
class PushedPart:
    """The targets' counts for a day up to `as_of`."""

    id: Count
    day: _Day  # YYYY-MM-DD in JSON, a day number here
    as_of: Count  # epoch ms, always the end of an hour
    final: StrictBool
    hours: Annotated[tuple[PushedHour, ...], Field(max_length=24), FailFast()]
    refused_hours: Annotated[tuple[_HourStart, ...], Field(max_length=24), FailFast()]
    days: _Rows
