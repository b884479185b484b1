"""Cursors: opaque strings that clients send to request the next page of a list.

A cursor contains a digest of its query without `cursor` and `limit`. If the order or a filter changes between pages,
the cursor is rejected, because the next page would otherwise silently omit items. Cursors are validated like any input.
They are not signed, because they contain only values that the client has seen.
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
    """Return the cursor for a position in a list.

    `of`: the values of the query's parameters, except `cursor` and `limit`. `place`: the sort key of the last item on
    the page.
    """
    text = json.dumps([_digest(of), *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_in(cursor: str, of: Sequence[str | None], kinds: Sequence[type]) -> tuple[int | str, ...]:
    """Return the position that a cursor contains. `kinds`: the expected type of each value, int or str.

    Raises Invalid if the cursor is malformed or belongs to a query other than `of`.
    """
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != 1 + len(kinds) or parts[0] != _digest(of):
        raise _mismatch()
    place = parts[1:]
    if not all(type(value) is kind and _is_small(value) for value, kind in zip(place, kinds, strict=True)):
        raise _mismatch()
    return tuple(place)


def expired() -> Invalid:
    """Return the error for a cursor whose list is no longer cached."""
    return Invalid([Issue("cursor", "has expired; start again without a cursor")])


def _mismatch() -> Invalid:
    return Invalid([Issue("cursor", "must be the next_cursor of a page with the same order and filters")])


def _is_small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isascii() and value.isprintable()
    return isinstance(value, int) and 0 <= value <= _LARGEST


def _digest(of: Sequence[str | None]) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:_DIGEST_CHARS]
