"""Transactions on link hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Conflict, Invalid, Issue
from svc.model import LinkHost, RouteState, link_pattern
from svc.store import unwanted_routes
from svc.store.links import links_to
from svc.store.locks import lock_account
from svc.store.tx import UNCHANGED, Row, Tx, note_from_json, sql, to_json
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from svc.errors import ErrorNote

# The maximum number of links that an error names.
_LINKS_NAMED = 10


def put_link_host(account_id: str, host: str, zone_id: str) -> Tx[LinkHost]:
    """Set the link host. The previous link host's route becomes unwanted.

    Raises NotFound. Raises Conflict link_host_is_website if `host` is a site. Raises Invalid if a link points to
    `host`, which would cause a redirect loop.
    """
    yield from lock_account(account_id)
    hosts = yield sql("select * from link_hosts where account_id = $1", account_id)
    current = link_host_of(hosts[0]) if hosts else None
    if current is not None and current.host == host and current.zone_id == zone_id:
        yield UNCHANGED
        return current
    yield from _check_host(account_id, host)
    version = yield from bump_version(account_id)
    if current is not None:
        yield from unwanted_routes.add([current.route(account_id)])
    yield sql(
        "insert into link_hosts (account_id, host, zone_id, state, route_id, error, version)"
        " values ($1, $2, $3, 'route_pending', null, null, $4) on conflict (account_id) do update"
        " set host = excluded.host, zone_id = excluded.zone_id, state = excluded.state, route_id = null, error = null,"
        " version = excluded.version",
        account_id,
        host,
        zone_id,
        version,
    )
    yield from unwanted_routes.cancel_removal(account_id, zone_id, link_pattern(host))
    return LinkHost(host, zone_id, "route_pending", None, None, version)


def _check_host(account_id: str, host: str) -> Tx[None]:
    counted = yield sql(
        "select 1 from sites where account_id = $1 and host = $2 and state <> 'deleted'", account_id, host
    )
    if counted:
        text = f"{host} is a site. Delete the site before you use the host for links."
        raise Conflict("link_host_is_website", text, {"host": host, "why": "site"})
    looping = yield from links_to(account_id, host)
    if looping:
        issues = [
            Issue("host", f"the link {link.code} points to this host", "target_of_link")
            for link in looping[:_LINKS_NAMED]
        ]
        raise Invalid(issues, "Links of the account point to this host. details.issues names them.")


def set_link_host_route(
    account_id: str, host: str, zone_id: str, state: RouteState, route_id: str | None, error: ErrorNote | None
) -> Tx[None]:
    """Store the result of creating the link host's route, if `host` is still the link host."""
    yield sql(
        "update link_hosts set state = $4, zone_id = $3, route_id = $5, error = $6 where account_id = $1 and host = $2",
        account_id,
        host,
        zone_id,
        state,
        route_id,
        to_json(error),
    )


def record_link_host_route(
    account_id: str, host: str, state: RouteState, route_id: str | None, error: ErrorNote | None
) -> Tx[None]:
    """Store a health check's result for the link host's active route, unless the host was replaced."""
    yield sql(
        "update link_hosts set state = $3, route_id = $4, error = $5"
        " where account_id = $1 and host = $2 and state = 'active'",
        account_id,
        host,
        state,
        route_id,
        to_json(error),
    )


# The columns that store a LinkHost.
LINK_HOST_COLUMNS = ("host", "zone_id", "state", "route_id", "error", "version", "live_at")


def link_host_of(row: Row) -> LinkHost:
    """Return the link host that is stored in a row with the columns LINK_HOST_COLUMNS."""
    return LinkHost(
        host=row["host"],
        zone_id=row["zone_id"],
        state=row["state"],
        route_id=row["route_id"],
        error=note_from_json(row["error"]),
        version=row["version"],
        live_at=row["live_at"],
    )
