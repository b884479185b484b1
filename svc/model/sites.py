"""Sites whose page views are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from svc.model.routes import ObsoleteRoute, RouteState, site_pattern

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model.disabled import Disabled

# Reasons why a site's visitors do not reach the Worker, although its zone is in the account.
SiteWarning = Literal["zone_not_active", "dns_not_proxied"]
SITE_WARNINGS: tuple[SiteWarning, ...] = get_args(SiteWarning)
SiteState = Literal[RouteState, "deleted"]
SiteOrder = Literal["oldest", "newest", "host"]


@dataclass(frozen=True)
class Retiring:
    """An old path of a site, which still counts views until `until`. `route_id`: None if the path has no route."""

    path: str
    route_id: str | None
    until: int


@dataclass(frozen=True)
class EndedPath:
    """A site's old path that no longer counts views. `version`: the configuration version that removed the path."""

    path: str
    version: int


@dataclass(frozen=True)
class Site:
    """A host whose page views are counted."""

    id: str
    account_id: str
    user_id: int
    host: str
    zone_id: str
    state: SiteState
    path: str  # one or two segments, such as "/ab3/x9k"
    script_name: str  # without .js
    snippet: str  # the HTML for the site's pages, with the placeholder __PATH__ for the path
    excluded_paths: tuple[str, ...]
    respect_gpc: bool  # do not count visitors whose browser sends Sec-GPC or DNT
    route_id: str | None
    retiring: tuple[Retiring, ...]
    error: ErrorNote | None
    version: int
    created_at: int
    config_error: ErrorNote | None = None  # the reason why the sync could not apply the site
    live_at: int | None = None  # time from which all isolates serve the last synced version
    warnings: tuple[ErrorNote, ...] = ()  # each has a code from SiteWarning, and stays until its cause is fixed
    ended_paths: tuple[EndedPath, ...] = ()
    disabled: Disabled | None = None  # a disabled site is not in the Worker's configuration
    first_view_at: int | None = None  # first hour with views, or created_at if later; None if no views were pushed
    excluded_networks: tuple[str, ...] = ()  # canonical; see security/ip_networks
    excluded_countries: tuple[str, ...] = ()
    excluded_asns: tuple[int, ...] = ()
    visitor_opt_out: bool = False  # offer visitors a page that turns counting off for their browser

    @property
    def routes(self) -> list[ObsoleteRoute]:
        """The routes of the site's current and old paths, so that they can be removed. Empty for a deleted site."""
        if self.state == "deleted":
            return []
        old_routes = [self.route(old.path, old.route_id) for old in self.retiring]
        return [self.route(self.path, self.route_id), *old_routes]

    def route(self, path: str, route_id: str | None) -> ObsoleteRoute:
        """Return the route of one of the site's paths, so that it can be removed."""
        pattern = site_pattern(self.host, path)
        return ObsoleteRoute(self.account_id, self.zone_id, self.host, pattern, route_id, self.id)


@dataclass(frozen=True)
class SiteChange:
    """The settings of a site that a request changes. A setting that is None keeps its value."""

    excluded_paths: tuple[str, ...] | None = None
    excluded_networks: tuple[str, ...] | None = None
    excluded_countries: tuple[str, ...] | None = None
    excluded_asns: tuple[int, ...] | None = None
    respect_gpc: bool | None = None
    visitor_opt_out: bool | None = None

    def apply_to(self, site: Site) -> Site:
        """Return the site with these settings."""
        return replace(site, **{name: value for name, value in vars(self).items() if value is not None})
