"""Lists of sites, with filters, orders and pages, and the sites' views in the last week."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.store.sites import sites_of_rows
from svc.store.tx import Tx, placeholders, sql
from svc.store.user_lists import DAYS_SHOWN, UserConditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Site, SiteOrder
    from svc.store.tx import Parameter

# For each order: the columns to sort by, the comparison operator that selects the next page, and the sort direction.
_ORDERS: dict[SiteOrder, tuple[str, str, str]] = {
    "oldest": ("created_at, id", ">", "asc"),
    "newest": ("created_at, id", "<", "desc"),
    "host": ("host, id", ">", "asc"),
}


def list_sites(
    user_id: int,
    account_id: str | None = None,
    edge_accounts: Sequence[str] | None = None,
    limit: int = 1_000,
    after: str | None = None,
    *,
    contains: Sequence[str] = (),
    order: SiteOrder = "oldest",
    deleted: bool = False,
) -> Tx[list[Site]]:
    """Return a page of a user's sites.

    `account_id`, `edge_accounts`: include only sites of these accounts; None means all.
    `contains`: the host must contain at least one of these texts, ignoring case. If empty, all hosts match.
    `deleted`: True to return only deleted sites, including sites of disconnected accounts.

    `after`: the id of the previous page's last site. If the user does not have this site, the page is empty.

    A site's sort key never changes, so pages neither repeat nor skip sites that existed the whole time.
    """
    parameters: list[Parameter] = []
    conditions = UserConditions(parameters, user_id, account_id, edge_accounts, deleted=deleted)
    conditions.add(f"t.state {'=' if deleted else '<>'} 'deleted'")
    conditions.add_contains(contains, "t.host")
    columns, beyond, direction = _ORDERS[order]
    if after is not None:
        place = f"{conditions.parameter(after)} and user_id = {conditions.parameter(user_id)}"
        conditions.add(f"({columns}) {beyond} (select {columns} from sites where id = {place})")  # noqa: S608  # as below
    ordered = ", ".join(f"{column} {direction}" for column in columns.split(", "))
    rows = yield sql(
        f"select * from sites t where {conditions}"  # noqa: S608  # names of this file and placeholders
        f" order by {ordered} limit {conditions.parameter(limit)}",
        *parameters,
    )
    return (yield from sites_of_rows(rows))


def series_7d(site_ids: Sequence[str], today: int) -> Tx[dict[str, tuple[int, ...]]]:
    """Return each site's page views by people in each of the last 7 closed UTC days before `today`, oldest first."""
    views = {site_id: [0] * DAYS_SHOWN for site_id in site_ids}
    if views:
        rows = yield sql(
            "select target, day, views from days"  # noqa: S608  # placeholders only
            f" where day >= $1 and day < $2 and target in ({placeholders(len(site_ids), first=3)})",
            today - DAYS_SHOWN,
            today,
            *site_ids,
        )
        for row in rows:
            views[row["target"]][row["day"] - today + DAYS_SHOWN] = row["views"]
    return {site_id: tuple(days) for site_id, days in views.items()}
