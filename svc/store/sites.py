"""Transactions on sites. For old paths, see `site_paths`; for lists, see `site_lists`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from svc.errors import Conflict, Forbidden, NotFound
from svc.ids import new_site_path
from svc.model import EndedPath, Retiring, RouteState, Site
from svc.store import mailings, unwanted_routes
from svc.store.disabled_objects import check_enabled, disabled_host, disabled_of
from svc.store.locks import lock_account, lock_user
from svc.store.tx import UNCHANGED, Row, Tx, from_json, note_from_json, placeholders, sql, to_json
from svc.store.user_limits import limit_of
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.errors import ErrorNote
    from svc.model import SiteChange


def add_site(site: Site, default_limit: int) -> Tx[Site]:
    """Add a site, and increment the version of its account's configuration. Returns the site as stored.

    If the site's path has already been used on this host, the site gets another path.
    `default_limit`: the maximum number of sites, unless the operator has set another limit for the user. Raises:

    - NotFound if there is no such account
    - Conflict site_on_link_host if the host is the account's link host
    - Conflict site_exists if the account already has a site with this host
    - Forbidden site_disabled if the operator has disabled a site with this host
    - Forbidden limit_reached if the user already has the maximum number of sites.
    """
    yield from lock_user(site.user_id)
    version = yield from bump_version(site.account_id)
    added = replace(site, version=version, path=(yield from unused_path(site.account_id, site.host, site.path)))
    if (yield sql("select 1 from link_hosts where account_id = $1 and host = $2", site.account_id, site.host)):
        raise Conflict("site_on_link_host", details={"host": site.host})
    disabled = yield from disabled_host(site.account_id, site.host)
    if disabled is not None:
        raise Forbidden("site_disabled", details=disabled.details)
    rows = yield sql(
        "insert into sites (id, account_id, user_id, host, zone_id, state, path, script_name, excluded_paths,"
        " respect_gpc, route_id, error, version, created_at, snippet, warnings,"
        " excluded_networks, excluded_countries, excluded_asns, visitor_opt_out)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
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
        added.snippet,
        to_json(added.warnings),
        to_json(added.excluded_networks),
        to_json(added.excluded_countries),
        to_json(added.excluded_asns),
        int(added.visitor_opt_out),
    )
    if not rows:
        raise Conflict("site_exists")
    limit = yield from limit_of(site.user_id, "sites", default_limit)
    if (yield from count_sites(site.user_id)) > limit:
        raise Forbidden("limit_reached", f"The limit of {limit} sites has been reached.")
    if added.warnings:  # accounts with warnings are checked hourly, not only once a day
        yield sql("update accounts set well_at = null where id = $1", site.account_id)
    return added


def change_site(account_id: str, site_id: str, change: SiteChange) -> Tx[Site]:
    """Change the site's settings, and return the site. A change creates a new version of the configuration.

    Also clears an error about a route that was not removed, because the user has seen the error.

    Raises NotFound if the account has no such site, or Conflict site_not_active if the site has been deleted. Raises
    Forbidden site_disabled if the operator has disabled the site.
    """
    site = yield from lock_site(account_id, site_id)
    check_enabled(site)
    error = None if _is_about_remaining_route(site.error) else site.error
    changed = replace(change.apply_to(site), error=error)
    if changed == site:
        yield UNCHANGED
        return site
    if replace(changed, error=site.error) != site:
        changed = replace(changed, version=(yield from bump_version(account_id)), config_error=None)
    yield sql(
        "update sites set excluded_paths = $2, respect_gpc = $3, error = $4, version = $5, config_error = $6,"
        " excluded_networks = $7, excluded_countries = $8, excluded_asns = $9, visitor_opt_out = $10"
        " where id = $1",
        site_id,
        to_json(changed.excluded_paths),
        int(changed.respect_gpc),
        to_json(changed.error),
        changed.version,
        to_json(changed.config_error),
        to_json(changed.excluded_networks),
        to_json(changed.excluded_countries),
        to_json(changed.excluded_asns),
        int(changed.visitor_opt_out),
    )
    return changed


def delete_site(account_id: str, site_id: str) -> Tx[Site]:
    """Delete the site. Its row in the store stays, and its routes become unwanted.

    A new site can have the same host, unless the operator has disabled the deleted site. Raises NotFound if the account
    has no such site, or Conflict site_not_active if the site has already been deleted.
    """
    site = yield from lock_site(account_id, site_id)
    version = yield from bump_version(account_id)
    yield sql(
        "update sites set state = 'deleted', route_id = null, error = null, config_error = null, version = $2,"
        " warnings = '[]' where id = $1",
        site_id,
        version,
    )
    yield sql(
        "update retiring_paths set ended_version = $2 where site_id = $1 and ended_version is null", site_id, version
    )
    yield from unwanted_routes.add(site.routes)
    yield from mailings.delete_mailing(site_id)
    ended = tuple(EndedPath(old.path, version) for old in site.retiring)
    return replace(
        site,
        state="deleted",
        route_id=None,
        error=None,
        config_error=None,
        warnings=(),
        version=version,
        retiring=(),
        ended_paths=(*site.ended_paths, *ended),
    )


def lock_site(account_id: str, site_id: str) -> Tx[Site]:
    """Lock the account and return the site, so that the caller can change it.

    Raises NotFound if the account has no such site, or Conflict site_not_active if the site has been deleted.
    """
    yield from lock_account(account_id)
    rows = yield sql("select * from sites where id = $1 and account_id = $2", site_id, account_id)
    sites = yield from sites_of_rows(rows)
    if not sites:
        raise NotFound
    if sites[0].state == "deleted":
        raise Conflict("site_not_active")
    return sites[0]


def unused_path(account_id: str, host: str, path: str) -> Tx[str]:
    """Return `path`, or a new random path if one of the account's sites has ever used `path` on this host."""
    while True:
        rows = yield sql(
            "select 1 from sites where account_id = $1 and host = $2 and path = $3"
            " union all select 1 from retiring_paths r join sites s on s.id = r.site_id"
            " where s.account_id = $1 and s.host = $2 and r.path = $3",
            account_id,
            host,
            path,
        )
        if not rows:
            return path
        path = new_site_path()


def count_sites(user_id: int) -> Tx[int]:
    """Return the number of the user's sites. Deleted sites do not count."""
    rows = yield sql("select count(*) as n from sites where user_id = $1 and state <> 'deleted'", user_id)
    return int(rows[0]["n"])


def get_site(user_id: int, site_id: str) -> Tx[Site | None]:
    """Return a site of this user, even if deleted; None if it does not exist or belongs to another user."""
    rows = yield sql("select * from sites where id = $1 and user_id = $2", site_id, user_id)
    sites = yield from sites_of_rows(rows)
    return sites[0] if sites else None


def sites_of(account_id: str) -> Tx[list[Site]]:
    """Return all sites of an account, including deleted sites."""
    rows = yield sql("select * from sites where account_id = $1 order by created_at, id", account_id)
    return (yield from sites_of_rows(rows))


def changed_sites(account_id: str, after_version: int) -> Tx[list[Site]]:
    """Return the account's sites with a version after `after_version`, including deleted sites, by version."""
    rows = yield sql(
        "select * from sites where account_id = $1 and version > $2 order by version", account_id, after_version
    )
    return (yield from sites_of_rows(rows))


def unrouted_sites(account_id: str) -> Tx[list[Site]]:
    """Return the account's sites that have a pending route or a route conflict.

    This includes sites whose route for an old path is pending.
    """
    rows = yield sql(
        "select * from sites s where account_id = $1 and (state in ('route_pending', 'route_conflict')"
        " or exists (select 1 from retiring_paths r"
        " where r.site_id = s.id and r.ended_version is null and r.route_id is null))"
        " order by created_at, id",
        account_id,
    )
    return (yield from sites_of_rows(rows))


def set_site_route(
    site_id: str,
    path: str,
    zone_id: str,
    state: RouteState,
    route_id: str | None,
    error: ErrorNote | None,
    warning: ErrorNote | None = None,
) -> Tx[bool]:
    """Store the result of creating the route for the site's `path`.

    `warning`: the reason why the route is still pending.

    Returns True if `path` is the site's current path.

    If `path` has become an old path, only its route id is stored. If the path has expired or the site was deleted,
    nothing is stored, because the route is already unwanted. If the route is pending, the route ids of old paths are
    cleared, so that their routes are also recreated.
    """
    error_before, warnings = yield from _error_and_warnings(site_id)
    if warning is not None:
        warnings = (warning, *(other for other in warnings if other.code != warning.code))
    elif error is not None and error.code == "zone_not_found":
        warnings = ()  # the warnings were about a zone that has left the account
    rows = yield sql(
        "update sites set state = $4, zone_id = $3, route_id = $5, error = $6, warnings = $7"
        " where id = $1 and path = $2 and state <> 'deleted' returning id",
        site_id,
        path,
        zone_id,
        state,
        route_id,
        to_json(_error_to_show(error_before, error)),
        to_json(warnings),
    )
    if not rows:
        yield from set_old_route(site_id, path, route_id)
    elif state == "route_pending":
        yield sql("update retiring_paths set route_id = null where site_id = $1 and ended_version is null", site_id)
    return bool(rows)


def set_old_route(site_id: str, path: str, route_id: str | None) -> Tx[None]:
    """Store the route id of one of the site's old paths, unless the path was removed from the configuration."""
    yield sql(
        "update retiring_paths set route_id = $3 where site_id = $1 and path = $2 and ended_version is null",
        site_id,
        path,
        route_id,
    )


def record_site_route(
    site: Site,
    state: RouteState,
    route_id: str | None,
    error: ErrorNote | None,
    warnings: Sequence[ErrorNote] = (),
) -> Tx[bool]:
    """Store a health check's result for the site's active route.

    Does nothing and returns False if the route is no longer active, or if the path has changed since `site` was read.
    """
    error_before, _ = yield from _error_and_warnings(site.id)
    rows = yield sql(
        "update sites set state = $3, route_id = $4, error = $5, warnings = $6"
        " where id = $1 and path = $2 and state = 'active' returning id",
        site.id,
        site.path,
        state,
        route_id,
        to_json(_error_to_show(error_before, error)),
        to_json(warnings),
    )
    return bool(rows)


def set_warnings(site_id: str, warnings: Sequence[ErrorNote]) -> Tx[None]:
    """Replace the site's warnings, unless the site is deleted."""
    yield sql("update sites set warnings = $2 where id = $1 and state <> 'deleted'", site_id, to_json(tuple(warnings)))


def _error_and_warnings(site_id: str) -> Tx[tuple[ErrorNote | None, tuple[ErrorNote, ...]]]:
    """Return the site's error and warnings; (None, ()) if there is no such site."""
    rows = yield sql("select error, warnings from sites where id = $1", site_id)
    return (note_from_json(rows[0]["error"]), _warnings(rows[0])) if rows else (None, ())


def _warnings(row: Row) -> tuple[ErrorNote, ...]:
    notes = (note_from_json(to_json(fields)) for fields in from_json(row["warnings"]))
    return tuple(note for note in notes if note is not None)


def _error_to_show(before: ErrorNote | None, error: ErrorNote | None) -> ErrorNote | None:
    """Return the error to store on the site.

    `before`: the current error. `error`: the newest error of the site's route.

    An earlier error about a route that was not removed is kept until the user has seen the error.
    """
    return before if error is None and _is_about_remaining_route(before) else error


def _is_about_remaining_route(note: ErrorNote | None) -> bool:
    return note is not None and note.code == "route_not_ours"


def sites_of_rows(rows: list[Row]) -> Tx[list[Site]]:
    """Return the sites that are stored in these rows of `sites`, with their old paths."""
    if not rows:
        return []
    retiring: dict[str, list[Retiring]] = defaultdict(list)
    ended: dict[str, list[EndedPath]] = defaultdict(list)
    places = placeholders(len(rows))
    paths = yield sql(
        f"select * from retiring_paths where site_id in ({places}) order by until, path",  # noqa: S608  # placeholders
        *(row["id"] for row in rows),
    )
    for path in paths:
        if path["ended_version"] is None:
            retiring[path["site_id"]].append(Retiring(path["path"], path["route_id"], path["until"]))
        else:
            ended[path["site_id"]].append(EndedPath(path["path"], path["ended_version"]))
    return [_site(row, tuple(retiring[row["id"]]), tuple(ended[row["id"]])) for row in rows]


def _site(row: Row, retiring: tuple[Retiring, ...], ended_paths: tuple[EndedPath, ...]) -> Site:
    return Site(
        id=row["id"],
        account_id=row["account_id"],
        user_id=row["user_id"],
        host=row["host"],
        zone_id=row["zone_id"],
        state=row["state"],
        path=row["path"],
        script_name=row["script_name"],
        snippet=row["snippet"],
        excluded_paths=tuple(from_json(row["excluded_paths"])),
        respect_gpc=row["respect_gpc"] == 1,
        route_id=row["route_id"],
        retiring=retiring,
        error=note_from_json(row["error"]),
        version=row["version"],
        created_at=row["created_at"],
        config_error=note_from_json(row["config_error"]),
        live_at=row["live_at"],
        warnings=_warnings(row),
        ended_paths=ended_paths,
        disabled=disabled_of(row),
        first_view_at=row["first_view_at"],
        excluded_networks=tuple(from_json(row["excluded_networks"])),
        excluded_countries=tuple(from_json(row["excluded_countries"])),
        excluded_asns=tuple(from_json(row["excluded_asns"])),
        visitor_opt_out=row["visitor_opt_out"] == 1,
    )
