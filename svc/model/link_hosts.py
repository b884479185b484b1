"""Link hosts: the host names of an account's short links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from svc.model.routes import ObsoleteRoute, RouteState, link_pattern

if TYPE_CHECKING:
    from svc.errors import ErrorNote
    from svc.model.reports import UnavailableReason

# The names of the fallback URLs. The link host redirects `/` to `root_url`, and paths without a link to
# `not_found_url`.
Fallback = Literal["root_url", "not_found_url"]
# New URLs for the given fallbacks. None removes the fallback.
FallbackChanges = Mapping[Fallback, str | None]


@dataclass(frozen=True)
class LinkHostRequest:
    """A request to set the link host, with the user's confirmations.

    `replace_website`: True if the host may be used even if it serves a website. `has_certificate`: True if the zone has
    a certificate for the host in addition to Cloudflare's free certificate. `fallbacks`: the fallback URLs to change.
    """

    host: str
    replace_website: bool = False
    has_certificate: bool = False
    fallbacks: FallbackChanges = field(default_factory=dict)


@dataclass(frozen=True)
class LinkHost:
    """The host of all short links of an account."""

    host: str
    zone_id: str
    state: RouteState
    route_id: str | None
    error: ErrorNote | None
    version: int  # the account's configuration version that set the link host
    live_at: int | None = None  # time from which all isolates serve the last synced version
    root_url: str | None = None
    not_found_url: str | None = None
    config_error: ErrorNote | None = None  # the reason why the sync could not apply this version
    visit_at: int | None = None  # time of the next test request to the host (epoch ms); None if none is due
    failed_visits: int = 0  # number of consecutive requests with a problem
    visit_error: ErrorNote | None = None  # the problem of the last request; None until it has lasted for a while

    def with_fallbacks(self, changes: FallbackChanges) -> LinkHost:
        """Return a copy with these changes."""
        return replace(
            self,
            root_url=changes.get("root_url", self.root_url),
            not_found_url=changes.get("not_found_url", self.not_found_url),
        )

    def fallbacks(self) -> dict[str, str]:
        """Return the fallback URLs that are set, by name."""
        urls = {"root_url": self.root_url, "not_found_url": self.not_found_url}
        return {name: url for name, url in urls.items() if url is not None}

    def route(self, account_id: str) -> ObsoleteRoute:
        """Return the link host's route, so that it can be removed."""
        return ObsoleteRoute(account_id, self.zone_id, self.host, link_pattern(self.host), self.route_id)


@dataclass(frozen=True)
class LinkHostUsage:
    """The clicks by people and the QR code scans on a link host since `first_day`. Each scan is also a click.

    `scans`: None if they cannot be read. `scans_since`: the first day that the scans cover.
    """

    host: str
    first_day: int
    clicks: int
    scans: int | None
    scans_since: int | None
    unavailable: UnavailableReason | None
