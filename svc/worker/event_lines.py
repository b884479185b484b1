"""Decodes the lines in the Worker's `event_log` and `event_page` rows. No I/O.

A row has many lines. Each line is a JSON array followed by a newline (edge_worker/src/event_log.js, ledger.js).
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, TypeAdapter

# An event has these fields: target, epoch hour, bot reason, visitor hash. For people, the page, source and client
# ("country|device|browser|os") follow, unless the Worker omitted them to save writes. The last fields are the campaign
# and the key of the target URL, if any.
Event = (
    tuple[str, int, str, str, str, str, str]
    | tuple[str, int, str, str]
    | tuple[str, int, str, str, str, str, str, str]
    | tuple[str, int, str, str, str, str, str, str, str]
)
# (target, day number, views, bots), followed by the name of the ledger entry unless the name is `accepted`.
Tally = tuple[str, int, int, int] | tuple[str, int, int, int, str]

# The validator tries the variants from left to right. Their lengths differ, so only one variant can match.
_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Annotated[Event, Field(union_mode="left_to_right")]])
_TALLIES: TypeAdapter[list[Tally]] = TypeAdapter(list[Annotated[Tally, Field(union_mode="left_to_right")]])


def read_events(lines: object) -> list[Event]:
    """Return the events in a row's column `lines`. Raises ValueError if the text is malformed."""
    return _EVENTS.validate_json(_array(lines))


def read_events_of(lines: object, target: str) -> list[Event]:
    """Return one target's events in a row's column `lines`.

    Events of other targets are not validated, because there can be a hundred thousand of them. Raises ValueError,
    KeyError or TypeError if the text is malformed.
    """
    return _EVENTS.validate_python([line for line in json.loads(_array(lines)) if line[:1] == [target]])


def read_tallies(lines: object) -> list[Tally]:
    """Return the tallies in a row's column `tally`. Raises ValueError if the text is malformed."""
    return _TALLIES.validate_json(_array(lines))


def _array(lines: object) -> str:
    return "[" + str(lines)[:-1].replace("\n", ",") + "]"
