"""The tags of a user's links, with the number of links and of clicks for each tag, and the counts for one tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.model import Counts
from svc.store.tx import Tx, sql
from svc.store.user_lists import DAYS_SHOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.link_lists import LinkFilter
    from svc.store.tx import Parameter


@dataclass(frozen=True)
class TagUse:
    """A tag, the number of links with this tag, and their clicks by people in the last 7 closed UTC days."""

    tag: str
    links: int
    clicks_7d: int


def list_tags(which: LinkFilter, today: int) -> Tx[list[TagUse]]:
    """Return the tags of the links that match the filter. Tags with the most links come first."""
    parameters: list[Parameter] = [today - DAYS_SHOWN, today]
    conditions = which.conditions(parameters)
    # Many links have the same combination of tags, so the database first adds up the links with each combination.
    rows = yield sql(
        "select tags, count(*) as n, cast(sum(clicks) as bigint) as clicks from (select t.tags,"  # noqa: S608  # names of this file and placeholders
        " (select coalesce(sum(d.views), 0) from days d where d.target = t.id and d.day >= $1 and d.day < $2) as clicks"
        f" from links t where {conditions} and t.tags <> '') tagged group by tags",
        *parameters,
    )
    uses: dict[str, tuple[int, int]] = {}
    for row in rows:
        for tag in row["tags"].split():
            links, clicks = uses.get(tag, (0, 0))
            uses[tag] = links + row["n"], clicks + row["clicks"]
    ordered = sorted(uses.items(), key=lambda use: (-use[1][0], use[0]))
    return [TagUse(tag, links, clicks) for tag, (links, clicks) in ordered]


@dataclass(frozen=True)
class Tagged:
    """The links with a tag: their number, their accounts, and when the first of them was created."""

    links: int
    account_ids: Sequence[str]
    created_at: int


def tagged(which: LinkFilter) -> Tx[Tagged | None]:
    """Return a summary of the links that match the filter; None if there are none. The filter must select a tag."""
    parameters: list[Parameter] = []
    conditions = which.conditions(parameters)
    rows = yield sql(
        "select t.account_id, count(*) as n, min(t.created_at) as first from links t"  # noqa: S608  # as above
        f" where {conditions} group by t.account_id order by t.account_id",
        *parameters,
    )
    if not rows:
        return None
    return Tagged(
        sum(row["n"] for row in rows), tuple(row["account_id"] for row in rows), min(row["first"] for row in rows)
    )


def first_day(which: LinkFilter) -> Tx[int | None]:
    """Return the first day with counts of any matching link, including imported counts; None if there are no counts."""
    parameters: list[Parameter] = []
    conditions = which.conditions(parameters)
    rows = yield sql(
        "select min(first) as day from (select (select min(d.day) from days d where d.target = t.id) as first"  # noqa: S608  # as above
        f" from links t where {conditions}) counted",
        *parameters,
    )
    day: int | None = rows[0]["day"]
    return day


def day_sums(which: LinkFilter, first: int, last: int) -> Tx[dict[int, tuple[Counts, bool]]]:
    """Return the sums of the matching links' counts by day, and True if a sum contains estimates."""
    parameters: list[Parameter] = [first, last]
    conditions = which.conditions(parameters)
    rows = yield sql(
        f"select d.day, {_SUMS}, max(d.estimated) as estimated from links t"  # noqa: S608  # as above
        f" join days d on d.target = t.id and d.day >= $1 and d.day <= $2 where {conditions} group by d.day",
        *parameters,
    )
    return {row["day"]: (Counts(row["views"], row["bots"], row["visitors"]), row["estimated"] == 1) for row in rows}


def hour_sums(which: LinkFilter, from_ms: int, to_ms: int) -> Tx[dict[int, Counts]]:
    """Return the sums of the matching links' counts in each hour that begins in [from_ms, to_ms) and has counts."""
    parameters: list[Parameter] = [from_ms, to_ms]
    conditions = which.conditions(parameters)
    rows = yield sql(
        f"select d.at, {_SUMS} from links t"  # noqa: S608  # as above
        f" join hours d on d.target = t.id and d.at >= $1 and d.at < $2 where {conditions} group by d.at",
        *parameters,
    )
    return {row["at"]: Counts(row["views"], row["bots"], row["visitors"]) for row in rows}


_SUMS = ", ".join(f"cast(sum(d.{name}) as bigint) as {name}" for name in ("views", "bots", "visitors"))
