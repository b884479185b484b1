"""The lines in the worker's `event_log` and `event_page` rows, decoded. Pure.

A row has many lines, each a JSON array with its end (edge_worker/src/event_log.js, edge_worker/src/ledger.js).
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, TypeAdapter

# Target, epoch hour, bot's reason, visitor's hash; then, of a person and unless the worker's write budget refused its
# detail, page, source and client, which is "country|device|browser|os".
Event = tuple[str, int, str, str, str, str, str] | tuple[str, int, str, str]
# Target, day number, views, bots; then the ledger's entry unless it is `accepted`.
Tally = tuple[str, int, int, int] | tuple[str, int, int, int, str]

# From left to right: their lengths tell the forms apart, so the first that fits is the only one.
_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Annotated[Event, Field(union_mode="left_to_right")]])
_TALLIES: TypeAdapter[list[Tally]] = TypeAdapter(list[Annotated[Tally, Field(union_mode="left_to_right")]])


def read_events(lines: object) -> list[Event]:
    """The events in a row's column `lines`. Raises ValueError on what the worker did not write."""
    return _EVENTS.validate_json(_array(lines))


def read_events_of(lines: object, target: str) -> list[Event]:
    """The events of one target. Raises ValueError, KeyError, TypeError on what the worker did not write.

    Other targets' events, often most of a hundred thousand, are not validated.
    """
    return _EVENTS.validate_python([line for line in json.loads(_array(lines)) if line[:1] == [target]])


def read_tallies(lines: object) -> list[Tally]:
    """The tallies in a row's column `tally`. Raises ValueError on what the worker did not write."""
    return _TALLIES.validate_json(_array(lines))


def _array(lines: object) -> str:
    return "[" + str(lines)[:-1].replace("\n", ",") + "]"
