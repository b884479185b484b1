"""Changes to an account's sites."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from svc.actors.checks import account_state
from svc.actors.requests.zones import obstacles, zone_and_records
from svc.clock import DAY_MS
from svc.ids import new_id, new_site_path, random_base32
from svc.model import SERVING, Site
from svc.store import automatic_notes, site_paths, sites

if TYPE_CHECKING:
    from svc.actors.context import Commit, Context
    from svc.model import Account, SiteChange
    from svc.store.tx import Tx

R = TypeVar("R")


async def add(
    context: Context,
    account: Account,
    host: str,
    settings: SiteChange,
    commit: Commit[Site, R],
) -> R:
    """Add a site. Its snippet is available immediately. A duty creates its route afterwards.

    If the zone is inactive, or if there is no proxied DNS record, the site gets a warning.

    Raises EdgeError, Conflict (codes account_not_ready, site_on_link_host and site_exists), Forbidden (code
    limit_reached) or ServiceError (code zone_not_found).
    """
    check_serving(account)
    zone, records = await zone_and_records(context, account, host)
    site = new_site(account, host, zone.id, context.clock(), snippet=context.bundle.snippet)
    site = replace(settings.apply_to(site), warnings=obstacles(host, zone, records))
    return await context.store.run(commit(sites.add_site(site, context.config.limits.sites)))


async def rotate(context: Context, site: Site, commit: Commit[Site, R]) -> R:
    """Give a site a new path for its script and beacons. A duty then creates the route for this path.

    The Worker continues to count views on the old path for `retiring_days`.

    Raises NotFound, or Conflict with the code site_not_active. If the site has too many old paths, raises Forbidden
    with the code limit_reached.
    """
    now = context.clock()
    until = now + round(context.config.timing.retiring_days * DAY_MS)
    path, script_name = new_site_path(), new_script_name(other_than=site.script_name)
    snippet = context.bundle.snippet
    return await context.store.run(commit(_rotate(site, path, script_name, snippet, until, now)))


def _rotate(site: Site, path: str, script_name: str, snippet: str, until: int, now: int) -> Tx[Site]:
    rotated = yield from site_paths.rotate_site(site.account_id, site.id, path, script_name, snippet, until)
    yield from automatic_notes.snippet_rotated(rotated, until, now)
    return rotated


def check_serving(account: Account) -> None:
    """Raise Conflict with the code account_not_ready unless the account's state allows new sites."""
    account_state.check_state(account, SERVING, "a site needs it to be ready")


def new_site(account: Account, host: str, zone_id: str, now: int, *, snippet: str) -> Site:
    """Return a new site without exclusions, with a random path and script name. The caller has to store it.

    `snippet`: the snippet from the Worker's bundle.
    """
    return Site(
        id=new_id("site"),
        account_id=account.id,
        user_id=account.user_id,
        host=host,
        zone_id=zone_id,
        state="route_pending",
        path=new_site_path(),
        script_name=new_script_name(),
        snippet=snippet,
        excluded_paths=(),
        respect_gpc=False,
        route_id=None,
        retiring=(),
        error=None,
        version=0,
        created_at=now,
    )


def new_script_name(other_than: str = "") -> str:
    """Return a random script name of 2 to 5 characters, without `.js`, that differs from `other_than`."""
    while (name := random_base32(2 + secrets.randbelow(4))) == other_than:
        pass
    return name
