"""Transactions on sites and their retiring paths."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden
from svc.ids import new_site_path
from svc.model import Retiring, RouteState, Site
from svc.store.locks import lock_user
from svc.store.targets import first_segment, listing, used_codes
from svc.store.tx import Row, Tx, from_json, note_from_json, placeholders, sql, to_json
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import ErrorNote


def add_site(site: Site, limit: int) -> Tx[Site]:
    """Add a site under a new version of its account's configuration; returns it as it is stored.

    On the link host it gets another path when its own begins with the code of a link.
    Raises NotFound (no such account), Conflict site_exists (its host is taken in the account), Forbidden
    limit_reached (its user has `limit` sites).
    """
    yield from lock_user(site.user_id)
    added = replace(site, version=(yield from bump_version(site.account_id)))
    on_link_host = yield sql(
        "select 1 from link_hosts where account_id = $1 and host = $2",
        site.account_id,
        site.host,
    )
    while on_link_host and (yield from used_codes(site.account_id, [first_segment(added.path)])):
        added = replace(added, path=new_site_path())
    rows = yield sql(
        "insert into sites (id, account_id, user_id, host, zone_id, state, path, script_name, excluded_paths,"
        " respect_gpc, route_id, error, version, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
        " on conflict (account_id, host) where state <> 'deleted' do nothing returning id",
        added.id,
        added.account_id,
        added.user_id,
        added.host,
        added.zone_id,
        added.state,
        added.path,
        added.script_name,
        to_json(added.excluded_paths),
        int(added.respect_gpc),
        added.route_id,
        to_json(added.error),
        added.version,
        added.created_at,
    )
    if not rows:
        raise Conflict("site_exists")
    if (yield from count_sites(site.user_id)) > limit:
        raise Forbidden("limit_reached", f"The limit of {limit} sites is reached.")
    return added


def count_sites(user_id: int) -> Tx[int]:
    """How many sites the user has; deleted ones do not count."""
    rows = yield sql("select count(*) as n from sites where user_id = $1 and state <> 'deleted'", user_id)
    return int(rows[0]["n"])


def get_site(user_id: int, site_id: str) -> Tx[Site | None]:
    """A user's own site, also a deleted one; another's is None, like one that does not exist."""
    rows = yield sql("select * from sites where id = $1 and user_id = $2", site_id, user_id)
    found = yield from _sites(rows)
    return found[0] if found else None


def list_sites(
    user_id: int,
    account_id: str | None = None,
    edge_accounts: Sequence[str] | None = None,
    limit: int = 1_000,
    cursor: str | None = None,
) -> Tx[list[Site]]:
    """A page of a user's sites without the deleted, oldest first; `cursor` is the last id of the page before."""
    rows = yield listing("sites", user_id, account_id, edge_accounts, limit, cursor)
    return (yield from _sites(rows))


def sites_of(account_id: str) -> Tx[list[Site]]:
    """All sites of an account, deleted ones included."""
    rows = yield sql("select * from sites where account_id = $1 order by created_at, id", account_id)
    return (yield from _sites(rows))


def changed_sites(account_id: str, after_version: int) -> Tx[list[Site]]:
    """The account's sites of a later version, deleted ones included, in the order of their versions."""
    rows = yield sql(
        "select * from sites where account_id = $1 and version > $2 order by version", account_id, after_version
    )
    return (yield from _sites(rows))


def unrouted_sites(account_id: str) -> Tx[list[Site]]:
    """The account's sites whose route is still to be made, or held by another worker."""
    rows = yield sql(
        "select * from sites where account_id = $1 and state in ('route_pending', 'route_conflict')"
        " order by created_at, id",
        account_id,
    )
    return (yield from _sites(rows))


def set_site_route(
    site_id: str, path: str, zone_id: str, state: RouteState, route_id: str | None, error: ErrorNote | None
) -> Tx[None]:
    """How the making of the route of the site's `path` ended; nothing when it was deleted or got another meanwhile."""
    yield sql(
        "update sites set state = $4, zone_id = $3, route_id = $5, error = $6"
        " where id = $1 and path = $2 and state <> 'deleted'",
        site_id,
        path,
        zone_id,
        state,
        route_id,
        to_json(error),
    )


def _sites(rows: list[Row]) -> Tx[list[Site]]:
    if not rows:
        return []
    retiring: dict[str, list[Retiring]] = defaultdict(list)
    places = placeholders(len(rows))
    paths = yield sql(
        f"select * from retiring_paths where site_id in ({places}) order by until, path",  # noqa: S608  # placeholders
        *(row["id"] for row in rows),
    )
    for path in paths:
        retiring[path["site_id"]].append(Retiring(path["path"], path["route_id"], path["until"]))
    return [_site(row, tuple(retiring[row["id"]])) for row in rows]


def _site(row: Row, retiring: tuple[Retiring, ...]) -> Site:
    return Site(
        id=row["id"],
        account_id=row["account_id"],
        user_id=row["user_id"],
        host=row["host"],
        zone_id=row["zone_id"],
        state=row["state"],
        path=row["path"],
        script_name=row["script_name"],
        excluded_paths=tuple(from_json(row["excluded_paths"])),
        respect_gpc=row["respect_gpc"] == 1,
        route_id=row["route_id"],
        retiring=retiring,
        error=note_from_json(row["error"]),
        version=row["version"],
        created_at=row["created_at"],
        config_error=note_from_json(row["config_error"]),
    )
