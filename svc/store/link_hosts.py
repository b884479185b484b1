"""Transactions on link hosts; a replaced one stays as `deleted` until its route is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.errors import Invalid
from svc.model import LinkHost, RouteState
from svc.store.links import links_to
from svc.store.locks import lock_account
from svc.store.targets import path_segments, used_codes
from svc.store.tx import Row, Tx, note_from_json, sql, to_json
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from svc.errors import ErrorNote

# Links that a refusal names: enough to find the pattern, few enough to read.
_LINKS_NAMED = 10


def put_link_host(account_id: str, host: str, zone_id: str) -> Tx[LinkHost]:
    """Set the link host; one that it replaces stays as `deleted` until its route is removed.

    Raises NotFound; Invalid: a link leads to `host`, so that clicks would go round, or the path of the site on `host`
    is the code of a link.
    """
    yield from lock_account(account_id)
    hosts = yield sql("select * from link_hosts where account_id = $1 and state <> 'deleted'", account_id)
    current = link_host_of(hosts[0]) if hosts else None
    if current is not None and current.host == host and current.zone_id == zone_id:
        return current
    yield from _check_host(account_id, host)
    version = yield from bump_version(account_id)
    yield sql("update link_hosts set state = 'deleted' where account_id = $1 and host <> $2", account_id, host)
    yield sql(
        "insert into link_hosts (account_id, host, zone_id, state, route_id, error, version)"
        " values ($1, $2, $3, 'route_pending', null, null, $4) on conflict (account_id, host) do update"
        " set state = 'route_pending', zone_id = excluded.zone_id, error = null, version = excluded.version",
        account_id,
        host,
        zone_id,
        version,
    )
    return LinkHost(host, zone_id, "route_pending", None, None, version)


def _check_host(account_id: str, host: str) -> Tx[None]:
    looping = yield from links_to(account_id, host)
    segments = yield from path_segments(account_id, host)
    hidden = yield from used_codes(account_id, segments)
    issues = [("host", f"the link {link.code} leads to this host") for link in looping[:_LINKS_NAMED]]
    issues += [("host", f"the link {code} would be hidden by the counter of the site on this host") for code in hidden]
    if issues:
        raise Invalid(issues, "The links of the account do not allow this host; details.issues names them.")


def set_link_host_route(
    account_id: str, host: str, zone_id: str, state: RouteState, route_id: str | None, error: ErrorNote | None
) -> Tx[None]:
    """How the making of the link host's route ended; one that was replaced meanwhile stays deleted."""
    yield sql(
        "update link_hosts set state = case when state = 'deleted' then state else $4 end, zone_id = $3,"
        " route_id = $5, error = $6 where account_id = $1 and host = $2",
        account_id,
        host,
        zone_id,
        state,
        route_id,
        to_json(error),
    )


def replaced_link_hosts(account_id: str) -> Tx[list[LinkHost]]:
    """Link hosts that were replaced and whose routes are still to be removed."""
    rows = yield sql("select * from link_hosts where account_id = $1 and state = 'deleted'", account_id)
    return [link_host_of(row) for row in rows]


def forget_link_host(account_id: str, host: str) -> Tx[None]:
    """A replaced link host's route is gone."""
    yield sql("delete from link_hosts where account_id = $1 and host = $2 and state = 'deleted'", account_id, host)


def link_host_of(row: Row) -> LinkHost:
    """A row of link_hosts."""
    return LinkHost(
        host=row["host"],
        zone_id=row["zone_id"],
        state=row["state"],
        route_id=row["route_id"],
        error=note_from_json(row["error"]),
        version=row["version"],
    )
