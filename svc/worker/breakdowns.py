"""The breakdowns of a site or link for one day, which count events by key (page, source, country, …). No I/O.

The module finds the keys of an event and applies the Worker's limits, in the same way as edge_worker/src/fold.js.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, get_args

from svc.model import Dimension, VisitList

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The key that combines all values beyond a breakdown's limits. The values that occur first in a day keep their own
# keys.
OTHER = "(other)"
# The key of a view that followed another view on the same site.
INTERNAL = "(internal)"
_OF_PEOPLE: tuple[Dimension, ...] = ("pages", "sources", "countries", "devices", "browsers", "os")
# The breakdowns that count only events with the corresponding optional field.
_IF_ANY: tuple[Dimension, ...] = ("campaigns", "targets")
# The breakdowns that older Workers do not count. The row of a day has all of them or none.
VISIT_LISTS: tuple[VisitList, ...] = get_args(VisitList)
SITE_LISTS: tuple[VisitList, ...] = ("campaigns", "entries", "arrivals")
# The breakdowns that every report has.
COMMON_LISTS: tuple[Dimension, ...] = (*_OF_PEOPLE, "bots")
LINK_LISTS: tuple[VisitList, ...] = ("campaigns", "targets")
# The size of a UTF-16 unit of a non-ASCII key, in bytes. UTF-8 needs at most 3 bytes per UTF-16 unit.
_UNIT_BYTES = 3


class Cap(NamedTuple):
    """The limits of a breakdown: the number of its keys, not including `(other)`, and their total size in bytes."""

    keys: int
    bytes: int


class Arrival(NamedTuple):
    """The source of a visit, and the first page of the visit."""

    source: str
    page: str


@dataclass
class CappedCounts:
    """The counts of a breakdown, kept within the Worker's limits."""

    cap: Cap
    counts: dict[str, int] = field(default_factory=dict)
    _bytes: int = -1

    def add(self, key: str) -> None:
        """Add 1 to the count for a key. If the key exceeds the limits, add 1 to `(other)` instead."""
        if key not in self.counts and key != OTHER and not self._fits(key):
            key = OTHER
        self.counts[key] = self.counts.get(key, 0) + 1

    def _fits(self, key: str) -> bool:
        if self._bytes < 0:
            self._bytes = sum(_size_bytes(each) for each in self.counts if each != OTHER)
        size_bytes = _size_bytes(key)
        is_full = len(self.counts) - (OTHER in self.counts) >= self.cap.keys
        if is_full or self._bytes + size_bytes > self.cap.bytes:
            return False
        self._bytes += size_bytes
        return True


def event_keys(detail: Sequence[str]) -> Iterator[tuple[Dimension, str]]:
    """Yield the keys of one event by a person.

    `detail`: page, source and client ("country|device|browser|os"), then the campaign and the key of the target URL, if
    any. If the Worker omitted the details to save writes, all keys are `(other)`.
    """
    if not detail:
        yield from ((dimension, OTHER) for dimension in _OF_PEOPLE)
        return
    page, source, client, *more = detail
    yield from zip(_OF_PEOPLE, (page, source, *client.split("|")), strict=True)
    if page and source != INTERNAL:
        yield "entries", page
        yield "arrivals", f"{source} {page}"
    for dimension, key in zip(_IF_ANY, more, strict=False):
        if key:
            yield dimension, key


def arrival_of(key: str) -> Arrival:
    """Split a key of `arrivals` into its source and its page.

    This is unambiguous, because pages never contain spaces.
    """
    source, _, page = (OTHER, "", OTHER) if key == OTHER else key.rpartition(" ")
    return Arrival(source, page)


def _size_bytes(key: str) -> int:
    if key.isascii():
        return len(key)
    return _UNIT_BYTES * (len(key) + sum(char > "\uffff" for char in key))
