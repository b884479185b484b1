"""Lists of links, with filters, orders and pages, and the links' clicks in the last week.

There are two ways to read a page. In a list by age or code, the positions of links never change, so a page continues
after the last link of the previous page (`after`). In a list by clicks, positions change. One query therefore reads the
ids of all links in order (`ranked_by_clicks`), and each page is read by id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.store.broken_targets import HAS_BROKEN_TARGET
from svc.store.links import link_of
from svc.store.tx import Tx, placeholders, sql
from svc.store.user_lists import DAYS_SHOWN, UserConditions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import Link, LinkState
    from svc.store.tx import Parameter

# The orders with keyset pagination. `PLACE_KINDS`: the types of a position's values. `_PLACES`: the position in SQL,
# the comparison operator that selects the next page, and the `order by` clause.
PagedOrder = Literal["oldest", "newest", "code"]
PLACE_KINDS: Mapping[PagedOrder, tuple[type, ...]] = {
    "oldest": (int, str),
    "newest": (int, str),
    "code": (str, str, str),
}
_PLACES: Mapping[PagedOrder, tuple[str, str, str]] = {
    "oldest": ("(t.created_at, t.id)", ">", "t.created_at, t.id"),
    "newest": ("(t.created_at, t.id)", "<", "t.created_at desc, t.id desc"),
    "code": ("(lower(t.code), t.code, t.id)", ">", "lower(t.code), t.code, t.id"),
}


@dataclass(frozen=True)
class LinkFilter:
    """The filter for a list of a user's links. Lists of deleted links include the links of disconnected accounts.

    A link matches if its code or destination URL contains one of the texts in `contains`, ignoring case, or if its
    title contains `title_contains` (in the form of `link_texts.folded`). If both are empty, all links match. `tag`: a
    normalized tag. `broken`: only links with broken targets. `account_id` and `edge_accounts`: None means any account.
    """

    user_id: int
    account_id: str | None = None
    edge_accounts: Sequence[str] | None = None
    contains: tuple[str, ...] = ()
    state: LinkState = "active"
    title_contains: str = ""
    tag: str | None = None
    broken: bool = False

    @property
    def has_texts(self) -> bool:
        """True if the list depends on titles or tags.

        A cached ranking of such a list is not reused, because a changed title or tag does not change the configuration
        version.
        """
        return self.tag is not None or bool(self.title_contains)

    def conditions(self, parameters: list[Parameter]) -> str:
        """Return the filter as an SQL condition on a row `t` of `links`.

        Appends the condition's parameters to `parameters`.
        """
        deleted = self.state == "deleted"
        conditions = UserConditions(parameters, self.user_id, self.account_id, self.edge_accounts, deleted=deleted)
        conditions.add(f"t.state = {conditions.parameter(self.state)}")
        likes = conditions.contains(self.contains, "t.code", "t.url")
        if self.title_contains:
            likes += conditions.contains((self.title_contains,), "t.title_folded")
        if likes:
            conditions.add_any(likes)
        if self.tag is not None:  # the format is explained at links.tags_text
            conditions.add_any(conditions.contains((f" {self.tag} ",), "t.tags"))
        if self.broken:
            conditions.add(HAS_BROKEN_TARGET)
        return str(conditions)


def place_of(order: PagedOrder, link: Link) -> tuple[int | str, ...]:
    """Return the position of a link in an order."""
    return (link.code.lower(), link.code, link.id) if order == "code" else (link.created_at, link.id)


def list_links(
    which: LinkFilter, order: PagedOrder = "oldest", limit: int = 1_000, after: Sequence[int | str] | None = None
) -> Tx[list[Link]]:
    """Return a page of links: the `oldest` or the `newest` first, or sorted by `code`.

    Sorting by code ignores case unless two codes differ only in case. `after`: the position of the previous page's last
    link.
    """
    place, beyond, order_by = _PLACES[order]
    parameters: list[Parameter] = []
    conditions = which.conditions(parameters)
    if after is not None:
        if order == "code":  # SQLite uses the index for this condition, but not for row values with an expression
            conditions += f" and lower(t.code) >= ${len(parameters) + 1}"
        conditions += f" and {place} {beyond} ({placeholders(len(after), first=len(parameters) + 1)})"
        parameters.extend(after)
    parameters.append(limit)
    text = f"select t.* from links t where {conditions} order by {order_by} limit ${len(parameters)}"  # noqa: S608  # names of this file and placeholders
    rows = yield sql(text, *parameters)
    return [link_of(row) for row in rows]


def ranked_by_clicks(which: LinkFilter, today: int) -> Tx[list[str]]:
    """Return the ids of all matching links. Links with the most clicks in the last 7 closed UTC days come first.

    Links with the same number of clicks are sorted by age, oldest first.
    """
    parameters: list[Parameter] = [today - DAYS_SHOWN, today]
    conditions = which.conditions(parameters)
    rows = yield sql(
        "select id from (select t.id, t.created_at, (select coalesce(sum(d.views), 0) from days d"  # noqa: S608  # as above
        f" where d.target = t.id and d.day >= $1 and d.day < $2) as clicks from links t where {conditions}) ranked"
        " order by clicks desc, created_at, id",
        *parameters,
    )
    return [row["id"] for row in rows]


def listed(which: LinkFilter, link_ids: Sequence[str]) -> Tx[list[Link]]:
    """Return the links with these ids (at most 1,000) that match the filter, in the order of `link_ids`."""
    parameters: list[Parameter] = []
    conditions = which.conditions(parameters)
    ids = placeholders(len(link_ids), first=len(parameters) + 1)
    # With the limit, SQLite reads only these links. Without it, SQLite would read all of the user's links.
    these = f"select * from links where id in ({ids}) limit 1000"  # noqa: S608  # as above
    rows = yield sql(f"select t.* from ({these}) t where {conditions}", *parameters, *link_ids)  # noqa: S608  # as above
    by_id = {row["id"]: link_of(row) for row in rows}
    return [by_id[link_id] for link_id in link_ids if link_id in by_id]


def clicks_of_account(account_id: str, first_day: int, last_day: int) -> Tx[int]:
    """Return the stored number of clicks by people on these UTC days, for the account's active links."""
    [row] = yield sql(
        "select cast(coalesce(sum(d.views), 0) as bigint) as n from links l"
        " join days d on d.target = l.id and d.day between $2 and $3"
        " where l.account_id = $1 and l.state = 'active'",
        account_id,
        first_day,
        last_day,
    )
    return int(row["n"])


def clicks_7d(link_ids: Sequence[str], today: int) -> Tx[dict[str, int]]:
    """Return each link's clicks by people in the last 7 closed UTC days before `today` (rule L4)."""
    clicks = dict.fromkeys(link_ids, 0)
    if clicks:
        rows = yield sql(
            "select target, cast(sum(views) as bigint) as n from days"  # noqa: S608  # placeholders only
            f" where day >= $1 and day < $2 and target in ({placeholders(len(link_ids), first=3)}) group by target",
            today - DAYS_SHOWN,
            today,
            *link_ids,
        )
        clicks.update((row["target"], row["n"]) for row in rows)
    return clicks
