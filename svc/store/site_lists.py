"""Lists of sites: which, in which order, page by page; and the views of a week that a list shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc.store.sites import sites_of_rows
from svc.store.tx import Tx, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Site, SiteOrder
    from svc.store.tx import Parameter

VIEW_DAYS = 7
# For each order: the columns, what comes after a place in it, the direction.
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
    """A page of a user's sites: those that are not deleted, or those that are, also of disconnected accounts.

    `account_id`, `edge_accounts` and `contains` (the host contains one of these, in any case) narrow it when given.
    `after` is the last id of the page before: what it is compared by never changes, so no page repeats or skips a site
    that was there all the time. One that is not the user's gives an empty page.
    """
    parameters: list[Parameter] = [user_id]

    def parameter(value: Parameter) -> str:
        parameters.append(value)
        return f"${len(parameters)}"

    allowed = ""
    if edge_accounts is not None:
        allowed = f" and edge_account_id in ({', '.join(map(parameter, edge_accounts)) or 'null'})"
    tables = ("accounts", "former_accounts") if deleted else ("accounts",)
    seen = " union all ".join(f"select id from {table} where user_id = $1{allowed}" for table in tables)  # noqa: S608  # names of this line
    conditions = ["s.user_id = $1", f"s.state {'=' if deleted else '<>'} 'deleted'", f"s.account_id in ({seen})"]
    if account_id is not None:
        conditions.append(f"s.account_id = {parameter(account_id)}")
    if contains:
        patterns = [parameter("%" + re.sub(r"([!%_])", r"!\1", text.lower()) + "%") for text in contains]
        conditions.append("(" + " or ".join(f"s.host like {each} escape '!'" for each in patterns) + ")")
    columns, beyond, direction = _ORDERS[order]
    if after is not None:
        last = f"select {columns} from sites where id = {parameter(after)} and user_id = $1"  # noqa: S608  # as below
        conditions.append(f"({columns}) {beyond} ({last})")
    ordered = ", ".join(f"{column} {direction}" for column in columns.split(", "))
    rows = yield sql(
        f"select * from sites s where {' and '.join(conditions)}"  # noqa: S608  # names of this file and placeholders
        f" order by {ordered} limit {parameter(limit)}",
        *parameters,
    )
    return (yield from sites_of_rows(rows))


def series_7d(site_ids: Sequence[str], today: int) -> Tx[dict[str, tuple[int, ...]]]:
    """The views of people on each site in each of the last 7 closed UTC days before `today`, oldest first."""
    views = {site_id: [0] * VIEW_DAYS for site_id in site_ids}
    if views:
        rows = yield sql(
            "select target, day, views from days"  # noqa: S608  # placeholders only
            f" where day >= $1 and day < $2 and target in ({placeholders(len(site_ids), first=3)})",
            today - VIEW_DAYS,
            today,
            *site_ids,
        )
        for row in rows:
            views[row["target"]][row["day"] - today + VIEW_DAYS] = row["views"]
    return {site_id: tuple(days) for site_id, days in views.items()}
