"""Transactions on a site's old paths.

After a site gets a new path, the Worker still counts views on the old path until the old path expires. A path is never
assigned twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc.clock import iso
from svc.errors import Forbidden
from svc.model import Retiring
from svc.store import unwanted_routes
from svc.store.disabled_objects import check_enabled
from svc.store.locks import lock_account
from svc.store.sites import lock_site, unused_path
from svc.store.tx import Tx, sql
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from svc.model import Site

# Maximum number of old paths per site. Each old path needs a route, and Cloudflare allows 1,000 routes per zone.
MAX_RETIRING = 10


def rotate_site(account_id: str, site_id: str, path: str, script_name: str, snippet: str, until: int) -> Tx[Site]:
    """Give the site a new path, script name and snippet. Views on the old path are counted until `until` (epoch ms).

    If `path` has already been used on this host, the site gets another path. The route for the new path is pending. The
    route for the old path stays.

    Raises NotFound if the account has no such site, or Conflict site_not_active if the site has been deleted. Raises
    Forbidden limit_reached if the site has `MAX_RETIRING` old paths, and Forbidden site_disabled if the operator has
    disabled the site.
    """
    site = yield from lock_site(account_id, site_id)
    check_enabled(site)
    if len(site.retiring) >= MAX_RETIRING:
        raise Forbidden(
            "limit_reached",
            f"The limit of {MAX_RETIRING} old paths has been reached. The first of them expires at"
            f" {iso(site.retiring[0].until)}.",
            {"remedy": "Try again after this time."},
        )
    version = yield from bump_version(account_id)
    retiring = [*site.retiring, Retiring(site.path, site.route_id, until)]
    rotated = replace(
        site,
        path=(yield from unused_path(account_id, site.host, path)),
        script_name=script_name,
        snippet=snippet,
        state="route_pending",
        route_id=None,
        error=None,
        config_error=None,
        version=version,
        retiring=tuple(sorted(retiring, key=lambda old: (old.until, old.path))),
    )
    yield sql(
        "update sites set path = $2, script_name = $3, state = $4, route_id = null, error = null,"
        " config_error = null, version = $5, snippet = $6 where id = $1",
        site_id,
        rotated.path,
        script_name,
        rotated.state,
        version,
        snippet,
    )
    yield sql(
        "insert into retiring_paths (site_id, path, route_id, until) values ($1, $2, $3, $4)",
        site_id,
        site.path,
        site.route_id,
        until,
    )
    return rotated


def next_path_end(account_id: str) -> Tx[int | None]:
    """Return the time when the account's next old path expires (epoch ms); None if there is none."""
    rows = yield sql(
        "select min(r.until) as until from retiring_paths r join sites s on s.id = r.site_id"
        " where s.account_id = $1 and r.ended_version is null",
        account_id,
    )
    return None if rows[0]["until"] is None else int(rows[0]["until"])


def end_paths(account_id: str, now: int) -> Tx[None]:
    """Remove expired old paths from the Worker's configuration. Their routes become unwanted."""
    yield from lock_account(account_id)
    rows = yield sql(
        "select distinct r.site_id from retiring_paths r join sites s on s.id = r.site_id"
        " where s.account_id = $1 and r.ended_version is null and r.until <= $2",
        account_id,
        now,
    )
    if not rows:
        return
    version = yield from bump_version(account_id)
    for row in rows:
        site = yield from lock_site(account_id, row["site_id"])
        # The sync writes a site's ended paths together with the site, so the site needs the new version.
        yield sql("update sites set version = $2 where id = $1", site.id, version)
        yield sql(
            "update retiring_paths set ended_version = $2 where site_id = $1 and ended_version is null and until <= $3",
            site.id,
            version,
            now,
        )
        yield from unwanted_routes.add(
            [site.route(old.path, old.route_id) for old in site.retiring if old.until <= now]
        )
