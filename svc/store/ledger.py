"""Stored totals for one day, by target (site or link).

The service compares them with the ledger in the Worker's database, in which the Worker records each accepted event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.clock import DAY_MS
from svc.store.tx import sql
from svc.worker.ledger import Events, Stored

if TYPE_CHECKING:
    from svc.store.tx import Tx


def stored_day(account_id: str, day: int) -> Tx[dict[str, Stored]]:
    """Return the stored totals for a day (day number), by site id or link id.

    The result includes sites and links without totals. Imported totals are ignored.
    """
    totals: dict[str, Events] = {}
    hours: dict[str, Events] = {}
    for table in ("sites", "links"):
        rows = yield sql(
            "select t.id, coalesce(days.views, 0) as views, coalesce(days.bots, 0) as bots"  # noqa: S608  # names of this line
            f" from {table} t left join days on days.target = t.id and days.day = $2 and days.imported = 0"
            " where t.account_id = $1",
            account_id,
            day,
        )
        totals.update({row["id"]: Events(row["views"], row["bots"]) for row in rows})
        rows = yield sql(
            "select hours.target, sum(hours.views) as views, sum(hours.bots) as bots"  # noqa: S608  # names of this line
            f" from {table} t join hours on hours.target = t.id and hours.at >= $2 and hours.at < $3"
            " where t.account_id = $1 group by hours.target",
            account_id,
            day * DAY_MS,
            (day + 1) * DAY_MS,
        )
        hours.update({row["target"]: Events(int(row["views"]), int(row["bots"])) for row in rows})
    none = Events()
    return {target: Stored(total, hours.get(target, none)) for target, total in totals.items()}


def stored_target_day(target: str, day: int) -> Tx[Stored]:
    """Return one target's stored totals for a day (day number). Imported totals are ignored."""
    rows = yield sql("select views, bots from days where target = $1 and day = $2 and imported = 0", target, day)
    total = Events(rows[0]["views"], rows[0]["bots"]) if rows else Events()
    rows = yield sql(
        "select coalesce(sum(views), 0) as views, coalesce(sum(bots), 0) as bots from hours"
        " where target = $1 and at >= $2 and at < $3",
        target,
        day * DAY_MS,
        (day + 1) * DAY_MS,
    )
    return Stored(total, Events(int(rows[0]["views"]), int(rows[0]["bots"])))
