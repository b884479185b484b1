"""Transactions on unwanted routes.

A route is stored as unwanted until the account's actor has removed it at Cloudflare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.model import ObsoleteRoute
from svc.store.tx import Tx, many, sql, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import ErrorNote


def add(routes: Sequence[ObsoleteRoute]) -> Tx[None]:
    """Add routes that are to be removed. The caller's transaction must also wake the actor."""
    if not routes:
        return
    yield many(
        "insert into unwanted_routes (account_id, zone_id, host, pattern, route_id, site_id)"
        " values ($1, $2, $3, $4, $5, $6) on conflict (account_id, zone_id, pattern) do nothing",
        [
            (route.account_id, route.zone_id, route.host, route.pattern, route.route_id, route.site_id)
            for route in routes
        ],
    )


def of_account(account_id: str) -> Tx[list[ObsoleteRoute]]:
    """Return the account's unwanted routes, sorted by pattern."""
    rows = yield sql("select * from unwanted_routes where account_id = $1 order by pattern, zone_id", account_id)
    return [
        ObsoleteRoute(
            account_id=row["account_id"],
            zone_id=row["zone_id"],
            host=row["host"],
            pattern=row["pattern"],
            route_id=row["route_id"],
            site_id=row["site_id"],
            again_at=row["again_at"],
        )
        for row in rows
    ]


def schedule_retry(route: ObsoleteRoute, again_at: int) -> Tx[None]:
    """Schedule another search at `again_at` for a route that was not found.

    An earlier call to Cloudflare may still create the route.
    """
    yield sql(
        "update unwanted_routes set again_at = $4 where account_id = $1 and zone_id = $2 and pattern = $3",
        route.account_id,
        route.zone_id,
        route.pattern,
        again_at,
    )


def forget(route: ObsoleteRoute, error: ErrorNote | None = None) -> Tx[None]:
    """Remove the route from the unwanted routes.

    `error`: the reason why the route was not removed, which is shown on the route's site.
    """
    yield from _delete(route.account_id, route.zone_id, route.pattern)
    if error is not None and route.site_id is not None:
        yield sql("update sites set error = $2 where id = $1", route.site_id, to_json(error))


def cancel_removal(account_id: str, zone_id: str, pattern: str) -> Tx[None]:
    """Remove the route from the unwanted routes, because it is wanted again."""
    yield from _delete(account_id, zone_id, pattern)


def _delete(account_id: str, zone_id: str, pattern: str) -> Tx[None]:
    yield sql(
        "delete from unwanted_routes where account_id = $1 and zone_id = $2 and pattern = $3",
        account_id,
        zone_id,
        pattern,
    )
