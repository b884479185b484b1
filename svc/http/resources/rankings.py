"""Orders by clicks, kept in memory while somebody turns their pages.

Clicks change with every push of a worker, and whoever turns pages meanwhile is to see each link once. So a ranking is
read as a whole, and its pages are cut from that. The next reader of the same list gets it again as long as nothing has
changed that it depends on, so a list that is looked at often is ranked once a push. A restart forgets them: a cursor of
one that is gone is refused, and the list begun again.
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
# Of one user, so that nobody ends another's; and of all, some 25 bytes a link.
_MOST_OF_A_USER = 8
_MOST_LINKS = 2_000_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ids of a list's links, in one text because a hundred thousand of them are many objects."""

    name: str
    which: LinkFilter
    as_of: Hashable  # what it depends on: while that is the same, so is the order
    _ids: str
    _id_chars: int

    def __len__(self) -> int:
        return len(self._ids) // self._id_chars if self._id_chars else 0

    def page(self, first: int, limit: int) -> list[str]:
        """At most `limit` ids from the place `first` on."""
        size = self._id_chars
        end = min(len(self), first + limit)
        return [self._ids[number * size : (number + 1) * size] for number in range(first, end)]


class Rankings:
    """The rankings that were used last."""

    def __init__(self, most_links: int = _MOST_LINKS) -> None:
        self._kept: OrderedDict[str, Ranking] = OrderedDict()
        self._most_links = most_links

    def current(self, which: LinkFilter, as_of: Hashable) -> Ranking | None:
        """The ranking of this list, if it is kept and nothing has changed since."""
        for ranking in self._of(which.user_id):
            if ranking.which == which and ranking.as_of == as_of:
                return self._used(ranking)
        return None

    def named(self, name: str, which: LinkFilter) -> Ranking | None:
        """The ranking of that name, if it is kept and of this list."""
        ranking = self._kept.get(name)
        return self._used(ranking) if ranking is not None and ranking.which == which else None

    def keep(self, which: LinkFilter, as_of: Hashable, link_ids: Sequence[str]) -> Ranking:
        """Keep a new ranking; the ones that were not used for longest give way."""
        size = len(link_ids[0]) if link_ids else 0
        ranking = Ranking(random_base32(_NAME_CHARS), which, as_of, "".join(link_ids), size)
        self._kept[ranking.name] = ranking
        for older in self._of(which.user_id)[:-_MOST_OF_A_USER]:
            del self._kept[older.name]
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._most_links:
            self._kept.popitem(last=False)
        return ranking

    def _used(self, ranking: Ranking) -> Ranking:
        self._kept.move_to_end(ranking.name)
        return ranking

    def _of(self, user_id: int) -> list[Ranking]:
        return [ranking for ranking in self._kept.values() if ranking.which.user_id == user_id]
