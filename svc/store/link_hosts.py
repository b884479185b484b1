"""Transactions on link hosts, which are the hosts of short links. An account has at most one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Invalid, Issue
from svc.model import LinkHost, RouteState, link_pattern, url_host
from svc.store import unwanted_routes
from svc.store.disabled_objects import check_fallback
from svc.store.links import links_to
from svc.store.locks import lock_account
from svc.store.tx import UNCHANGED, Row, Tx, note_from_json, sql, to_json
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model import FallbackChanges

# The maximum number of links that an error names.
_LINKS_NAMED = 10
# The time of the first test request to a new link host (epoch ms). 0 means as soon as the host is live.
_VISIT_WHEN_LIVE = 0


def put_link_host(account_id: str, host: str, zone_id: str, changes: FallbackChanges | None = None) -> Tx[LinkHost]:
    """Set the link host and change its fallback URLs. The route of the previous link host becomes unwanted.

    Fallbacks that are not in `changes` keep their URLs, even if the host changes.

    Raises NotFound if the account does not exist. Raises Conflict link_host_is_website if the account has a site with
    this host. Raises Invalid if a link or a fallback points to `host`, which would cause a redirect loop. Raises
    Forbidden link_disabled if `not_found_url` is set while the operator has disabled a link.
    """
    yield from lock_account(account_id)
    if (changes or {}).get("not_found_url") is not None:
        yield from check_fallback(account_id)
    current = yield from get_link_host(account_id)
    if current is not None and current.host == host and current.zone_id == zone_id:
        return (yield from _change_fallbacks(account_id, current, changes or {}))
    yield from _check_host(account_id, host)
    before = current or LinkHost(host, zone_id, "route_pending", None, None, 0)
    wanted = replace(before, host=host).with_fallbacks(changes or {})
    _check_fallbacks(wanted, changes or {})
    version = yield from bump_version(account_id)
    if current is not None:
        yield from unwanted_routes.add([current.route(account_id)])
    yield sql(
        "insert into link_hosts (account_id, host, zone_id, state, route_id, error, version, root_url, not_found_url,"
        " visit_at)"
        " values ($1, $2, $3, 'route_pending', null, null, $4, $5, $6, $7) on conflict (account_id) do update"
        " set host = excluded.host, zone_id = excluded.zone_id, state = excluded.state, route_id = null, error = null,"
        " version = excluded.version, root_url = excluded.root_url, not_found_url = excluded.not_found_url,"
        " config_error = null, visit_at = excluded.visit_at, failed_visits = 0, visit_error = null",
        account_id,
        host,
        zone_id,
        version,
        wanted.root_url,
        wanted.not_found_url,
        _VISIT_WHEN_LIVE,
    )
    yield from unwanted_routes.cancel_removal(account_id, zone_id, link_pattern(host))
    return LinkHost(
        host,
        zone_id,
        "route_pending",
        None,
        None,
        version,
        root_url=wanted.root_url,
        not_found_url=wanted.not_found_url,
        visit_at=_VISIT_WHEN_LIVE,
    )


def change_link_host(account_id: str, changes: FallbackChanges) -> Tx[LinkHost]:
    """Change the link host's fallback URLs. The host and its route stay the same.

    Raises Conflict link_host_required if the account has no link host. Raises Invalid if a fallback points to the link
    host. Raises Forbidden link_disabled if `not_found_url` is set while the operator has disabled a link.
    """
    yield from lock_account(account_id)
    if changes.get("not_found_url") is not None:
        yield from check_fallback(account_id)
    current = yield from get_link_host(account_id)
    if current is None:
        raise Conflict("link_host_required")
    return (yield from _change_fallbacks(account_id, current, changes))


def _change_fallbacks(account_id: str, current: LinkHost, changes: FallbackChanges) -> Tx[LinkHost]:
    changed = current.with_fallbacks(changes)
    if changed == current:
        yield UNCHANGED
        return current
    _check_fallbacks(changed, changes)
    changed = replace(changed, version=(yield from bump_version(account_id)), config_error=None)
    yield sql(
        "update link_hosts set root_url = $2, not_found_url = $3, version = $4, config_error = null"
        " where account_id = $1",
        account_id,
        changed.root_url,
        changed.not_found_url,
        changed.version,
    )
    return changed


def get_link_host(account_id: str) -> Tx[LinkHost | None]:
    """Return the account's link host, or None."""
    hosts = yield sql("select * from link_hosts where account_id = $1", account_id)
    return link_host_of(hosts[0]) if hosts else None


def _check_fallbacks(wanted: LinkHost, changes: FallbackChanges) -> None:
    """Raise Invalid if a fallback points to the link host, which would cause a redirect loop."""
    looping = [name for name, url in wanted.fallbacks().items() if url_host(url) == wanted.host]
    issues = [
        Issue(name, "must not be on the link host", "on_link_host")
        if name in changes
        else Issue("host", f"{name} points to this host", "target_of_fallback")
        for name in looping
    ]
    if issues:
        raise Invalid(issues)


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
    """Store the result of creating the link host's route. Does nothing if `host` is no longer the link host."""
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
) -> Tx[bool]:
    """Store a health check's result for the link host's active route.

    Returns False if `host` is no longer the link host, or if its route is no longer active.
    """
    rows = yield sql(
        "update link_hosts set state = $3, route_id = $4, error = $5"
        " where account_id = $1 and host = $2 and state = 'active' returning host",
        account_id,
        host,
        state,
        route_id,
        to_json(error),
    )
    return bool(rows)


def record_visit(
    account_id: str, visited: LinkHost, failed_visits: int, visit_at: int | None, error: ErrorNote | None
) -> Tx[bool]:
    """Store the result of a test request. Returns False if the link host has changed since the request was sent.

    `visited`: the link host when the request was sent. `failed_visits`: the number of consecutive failed requests.
    `visit_at`: when to send the next request (epoch ms); None for no request. `error`: the problem to show, if any.
    """
    rows = yield sql(
        "update link_hosts set failed_visits = $4, visit_at = $5, visit_error = $6"
        " where account_id = $1 and host = $2 and version = $3 returning host",
        account_id,
        visited.host,
        visited.version,
        failed_visits,
        visit_at,
        to_json(error),
    )
    return bool(rows)


# The columns that store a LinkHost.
LINK_HOST_COLUMNS = (
    "host", "zone_id", "state", "route_id", "error", "version", "live_at", "root_url", "not_found_url", "config_error",
    "visit_at", "failed_visits", "visit_error",
)  # fmt: skip


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
        root_url=row["root_url"],
        not_found_url=row["not_found_url"],
        config_error=note_from_json(row["config_error"]),
        visit_at=row["visit_at"],
        failed_visits=row["failed_visits"],
        visit_error=note_from_json(row["visit_error"]),
    )
