"""Cursors: where a page of a list ended, in a form that clients pass on unread.

A cursor names the list that it is of, which is the query without `cursor` and `limit`: with another order or another
filter it would silently leave something out, so it is refused. What is in it is checked like everything that comes in;
it tells nothing that its reader has not seen, so it is not signed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

from svc.errors import Invalid, Issue

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_TEXT = 100
_LARGEST = 2**63 - 1
_DIGEST_CHARS = 12


def cursor_of(of: Sequence[str | None], place: Sequence[int | str]) -> str:
    """The cursor behind `place` in the list that `of` describes."""
    text = json.dumps([_digest(of), *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_in(cursor: str, of: Sequence[str | None], kinds: Sequence[type]) -> tuple[int | str, ...]:
    """The place in a cursor of the list that `of` describes: values of these kinds, int or str. Raises Invalid."""
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != 1 + len(kinds) or found[0] != _digest(of):
        raise _foreign()
    place = found[1:]
    if not all(type(value) is kind and _is_small(value) for value, kind in zip(place, kinds, strict=True)):
        raise _foreign()
    return tuple(place)


def expired() -> Invalid:
    """A cursor whose list is not kept any more."""
    return Invalid([Issue("cursor", "has expired: begin again without one")])


def _foreign() -> Invalid:
    return Invalid([Issue("cursor", "must be the next_cursor of a page with the same order and the same filters")])


def _is_small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isascii() and value.isprintable()
    return isinstance(value, int) and 0 <= value <= _LARGEST


def _digest(of: Sequence[str | None]) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:_DIGEST_CHARS]
