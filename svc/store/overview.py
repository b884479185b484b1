"""Counts of a user's sites and links in a period and in the previous period, from stored totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.model import Counts
from svc.store.links import link_of
from svc.store.sites import sites_of_rows
from svc.store.tx import Tx, placeholders, sql
from svc.store.user_lists import UserConditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Link, OverviewOrder, Site
    from svc.store.tx import Parameter, Row

# The number of days in an entry's `series`, including today.
SERIES_DAYS = 30

Table = Literal["sites", "links"]
_STATE: dict[Table, str] = {"sites": "t.state <> 'deleted'", "links": "t.state = 'active'"}
_NAME: dict[Table, str] = {"sites": "host", "links": "code"}
_ORDERS: dict[OverviewOrder, str] = {
    "views": "views desc, name, id",
    "change": "abs(views - views_before) desc, views desc, name, id",
    "name": "name, id",
}
# SQL expressions that sum the columns of the table `days d` over the period and over the previous period. $1 is the
# period's first day.
_COLUMNS = {
    "views": "case when d.day >= $1 then d.views end",
    "bots": "case when d.day >= $1 then d.bots end",
    "visitors": "case when d.day >= $1 then d.visitors end",
    "views_before": "case when d.day < $1 then d.views end",
    "bots_before": "case when d.day < $1 then d.bots end",
    "visitors_before": "case when d.day < $1 then d.visitors end",
    "days_before": "case when d.day < $1 then 1 end",
}
_SUMS = ", ".join(f"cast(coalesce(sum({value}), 0) as bigint) as {name}" for name, value in _COLUMNS.items())
_TOTALS = ", ".join(f"cast(sum({name}) over () as bigint) as all_{name}" for name in _COLUMNS)


@dataclass(frozen=True)
class Days:
    """A period from the epoch day `first` to `today`, inclusive. The previous period has the same length."""

    first: int
    today: int

    @property
    def first_before(self) -> int:
        """The first day of the previous period."""
        return self.first - (self.today - self.first + 1)


@dataclass(frozen=True)
class Entry:
    """The counts of a site or link. `before`: the counts in the previous period; None if nothing was counted then.

    `series`: views per day for `SERIES_DAYS` days, today last.
    """

    id: str
    counts: Counts
    before: Counts | None
    series: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """The number of sites or links, the sums of their counts, and the first entries in the requested order."""

    number: int
    counts: Counts
    before: Counts | None
    entries: tuple[Entry, ...]


def group(
    table: Table, user_id: int, edge_accounts: Sequence[str] | None, days: Days, order: OverviewOrder, limit: int
) -> Tx[Group]:
    """Return the counts of the user's sites or links that are not deleted, in connected accounts.

    `edge_accounts`: only these Cloudflare accounts; None means all. `limit`: the maximum number of entries.
    """
    parameters: list[Parameter] = [days.first, days.today, days.first_before]
    conditions = UserConditions(parameters, user_id, None, edge_accounts, deleted=False)
    conditions.add(_STATE[table])
    counted = (
        f"select t.id, t.{_NAME[table]} as name, {_SUMS}"  # noqa: S608  # names of this file and placeholders
        f" from {table} t left join days d on d.target = t.id and d.day >= $3 and d.day <= $2"
        f" where {conditions} group by t.id, t.{_NAME[table]}"
    )
    rows = yield sql(
        f"select counted.*, count(*) over () as number, {_TOTALS} from ({counted}) counted"  # noqa: S608  # as above
        f" order by {_ORDERS[order]} limit {conditions.parameter(limit)}",
        *parameters,
    )
    if not rows:
        return Group(0, Counts(), None, ())
    series = yield from _series([row["id"] for row in rows], days.today)
    entries = tuple(Entry(row["id"], *_both(row), series[row["id"]]) for row in rows)
    return Group(rows[0]["number"], *_both(rows[0], "all_"), entries)


def sites_by_id(site_ids: Sequence[str]) -> Tx[dict[str, Site]]:
    """Return the sites with these ids."""
    if not site_ids:
        return {}
    rows = yield sql(f"select * from sites where id in ({placeholders(len(site_ids))})", *site_ids)  # noqa: S608  # placeholders only
    return {site.id: site for site in (yield from sites_of_rows(rows))}


def links_by_id(link_ids: Sequence[str]) -> Tx[dict[str, Link]]:
    """Return the links with these ids."""
    if not link_ids:
        return {}
    rows = yield sql(f"select * from links where id in ({placeholders(len(link_ids))})", *link_ids)  # noqa: S608  # placeholders only
    return {row["id"]: link_of(row) for row in rows}


def _both(row: Row, prefix: str = "") -> tuple[Counts, Counts | None]:
    """Return a row's counts in the period, and those in the previous period or None if nothing was counted then."""
    now, before = (
        Counts(*(row[f"{prefix}{count}{suffix}"] for count in ("views", "bots", "visitors")))
        for suffix in ("", "_before")
    )
    return now, before if row[f"{prefix}days_before"] else None


def _series(ids: Sequence[str], today: int) -> Tx[dict[str, tuple[int, ...]]]:
    first = today - SERIES_DAYS + 1
    series = {target: [0] * SERIES_DAYS for target in ids}
    if series:
        rows = yield sql(
            "select target, day, views from days"  # noqa: S608  # placeholders only
            f" where day >= $1 and day <= $2 and target in ({placeholders(len(ids), first=3)})",
            first,
            today,
            *ids,
        )
        for row in rows:
            series[row["target"]][row["day"] - first] = row["views"]
    return {target: tuple(days) for target, days in series.items()}
