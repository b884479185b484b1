"""Lists of links ordered by clicks, cached in memory while clients page through them.

Click counts change with every push, but a client that pages through a list must see each link exactly once. The service
therefore reads each ranking as a whole and serves all of its pages from memory. A ranking is reused for the same list
until the list's data changes, so a list is ranked at most once per push. Rankings do not survive a restart. If a
ranking is no longer cached, the service rejects its cursor, and the client has to start with the first page again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.ids import random_base32

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc.store.link_lists import LinkFilter

_NAME_CHARS = 16
# Maximum number of cached rankings per user, so that users cannot evict each other's rankings. A link takes about 25
# bytes.
_MAX_PER_USER = 8
_MAX_LINKS = 2_000_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ordered ids of the links in a list.

    They are stored as one string, because 100,000 strings would use much more memory.
    """

    name: str
    which: LinkFilter
    as_of: Hashable  # the version of the data; the order is valid until this version changes
    _ids: str
    _id_chars: int

    def __len__(self) -> int:
        return len(self._ids) // self._id_chars if self._id_chars else 0

    def page(self, first: int, limit: int) -> list[str]:
        """Return at most `limit` ids, starting at index `first`."""
        size = self._id_chars
        end = min(len(self), first + limit)
        return [self._ids[number * size : (number + 1) * size] for number in range(first, end)]


class Rankings:
    """An LRU cache of rankings."""

    def __init__(self, most_links: int = _MAX_LINKS) -> None:
        self._kept: OrderedDict[str, Ranking] = OrderedDict()
        self._most_links = most_links

    def current(self, which: LinkFilter, as_of: Hashable) -> Ranking | None:
        """Return the cached ranking of the list `which`, or None if there is no up-to-date ranking."""
        for ranking in self._user_rankings(which.user_id):
            if ranking.which == which and ranking.as_of == as_of:
                return self._used(ranking)
        return None

    def named(self, name: str, which: LinkFilter) -> Ranking | None:
        """Return the cached ranking with this name if it belongs to the list `which`."""
        ranking = self._kept.get(name)
        return self._used(ranking) if ranking is not None and ranking.which == which else None

    def keep(self, which: LinkFilter, as_of: Hashable, link_ids: Sequence[str]) -> Ranking:
        """Cache a new ranking, and evict the least recently used rankings if there are too many."""
        size = len(link_ids[0]) if link_ids else 0
        ranking = Ranking(random_base32(_NAME_CHARS), which, as_of, "".join(link_ids), size)
        self._kept[ranking.name] = ranking
        for older in self._user_rankings(which.user_id)[:-_MAX_PER_USER]:
            del self._kept[older.name]
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._most_links:
            self._kept.popitem(last=False)
        return ranking

    def _used(self, ranking: Ranking) -> Ranking:
        self._kept.move_to_end(ranking.name)
        return ranking

    def _user_rankings(self, user_id: int) -> list[Ranking]:
        return [ranking for ranking in self._kept.values() if ranking.which.user_id == user_id]
