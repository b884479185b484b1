"""/v1/sites: hosts whose page views are counted."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from svc import model
from svc.api.ascii_forms import search_forms
from svc.api.disabled import Disabled
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import (
    DIGITS,
    Count,
    Cursor,
    ExcludedAsns,
    ExcludedCountries,
    ExcludedNetworks,
    ExcludedPaths,
    Host,
    Id,
    Moment,
    Search,
    config_state,
)
from svc.api.shape import LARGE_BYTES, Body, EmptyBody, Query, ResponseBody, optional_field
from svc.errors import with_remedy
from svc.model import ConfigState, SiteOrder, SiteState
from svc.worker import snippet

_NETWORKS = (
    "IP addresses and networks from which views are not counted, such as those of your own team. The response contains"
    " each network in its canonical form: without host bits, and without a prefix length if it is a single address."
)
_COUNTRIES = "Countries from which views are not counted, as ISO 3166-1 alpha-2 codes."
_ASNS = "Numbers of the autonomous systems (networks of providers and companies) from which views are not counted."

_OPT_OUT = (
    "Offer visitors a page at `https://<host><path>/off` on which they can turn counting off for their browser. The"
    " browser stores a cookie only for visitors who do so. If the site's path is rotated, the address of the page"
    " changes, and existing cookies have no effect on views with the new snippet."
)


class NewSite(Body):
    """A site to add."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    account_id: Id
    host: Host = Field(
        description="A host in one of the account's zones, or a zone's apex. If the zone is pending or the DNS record"
        " is missing, the site's `warnings` say what to do."
    )
    excluded_paths: ExcludedPaths = Field(
        (),
        description="Path prefixes of pages whose views are not counted. Non-ASCII characters and spaces are"
        " percent-encoded as in browsers; the response contains the encoded form. Default: `[]`.",
    )
    excluded_networks: ExcludedNetworks = Field((), description=f"{_NETWORKS} Default: `[]`.")
    excluded_countries: ExcludedCountries = Field((), description=f"{_COUNTRIES} Default: `[]`.")
    excluded_asns: ExcludedAsns = Field((), description=f"{_ASNS} Default: `[]`.")
    respect_gpc: bool = Field(
        False, description="Do not count visitors whose browser sends `Sec-GPC: 1` or `DNT: 1`. Default: `false`."
    )
    visitor_opt_out: bool = Field(False, description=f"{_OPT_OUT} Default: `false`.")

    @property
    def settings(self) -> model.SiteChange:
        """The settings of the new site."""
        return _settings(self)


class SiteChange(Body):
    """Changes to a site. Fields that are absent or null keep their value."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    excluded_paths: ExcludedPaths | None = Field(
        None, description="The new paths, which replace all existing paths. `[]` removes all paths."
    )
    excluded_networks: ExcludedNetworks | None = Field(
        None, description=f"{_NETWORKS} The list replaces the existing list. `[]` removes all networks."
    )
    excluded_countries: ExcludedCountries | None = Field(
        None, description=f"{_COUNTRIES} The list replaces the existing list. `[]` removes all countries."
    )
    excluded_asns: ExcludedAsns | None = Field(
        None, description=f"{_ASNS} The list replaces the existing list. `[]` removes all autonomous systems."
    )
    respect_gpc: bool | None = None
    visitor_opt_out: bool | None = Field(None, description=_OPT_OUT)

    @property
    def settings(self) -> model.SiteChange:
        """The settings to change."""
        return _settings(self)


def _settings(body: NewSite | SiteChange) -> model.SiteChange:
    return model.SiteChange(**{field.name: getattr(body, field.name) for field in fields(model.SiteChange)})


class SiteQuery(Query):
    """Filters, order and page of a list of sites. A page has at most 1,000 sites."""

    account_id: Id | None = optional_field("Only sites of this account.")
    q: Search = Field("", description="Only sites whose host contains this text. Case is ignored.")
    order: SiteOrder = Field("oldest", description="Sort order: by creation time, or by `host`.")
    state: Literal["active", "deleted"] = Field(
        "active", description="`active` means all sites that are not deleted, even if their routes are not active."
    )
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(1000, description="Maximum number of sites.")
    cursor: Cursor | None = optional_field("`next_cursor` of the previous page. All other parameters must be the same.")

    @property
    def listing(self) -> tuple[str | None, ...]:
        """The parameters that must be the same for all pages of this list."""
        return ("sites", self.order, self.account_id, self.q, self.state)

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms of `q` to search for in the store."""
        return search_forms(self.q)


class Snippet(ResponseBody):
    """The code to add to each of the site's pages, in two forms."""

    inline: str = Field(description="A script element that contains the snippet's code.")
    script_tag: str = Field(description="A script element that loads the code of `inline` from the site's own host.")
    csp_hash: str = Field(
        description="The Content-Security-Policy source expression that allows the script in `inline`."
    )


class Retiring(ResponseBody):
    """A path that a rotation has replaced. The Worker still counts views with this path until `until`."""

    path: str
    until: Moment


class Site(ResponseBody):
    """A site. Deleted sites have no snippet."""

    id: str
    account_id: str
    host: str
    state: SiteState
    path: str
    snippet: Snippet | None
    excluded_paths: tuple[str, ...]
    excluded_networks: tuple[str, ...]
    excluded_countries: tuple[str, ...]
    excluded_asns: tuple[int, ...]
    respect_gpc: bool
    visitor_opt_out: bool
    config: ConfigState
    live_at: Moment | None = Field(
        description="The time at which the current settings take effect for all visitors. Null while `config` is"
        " `pending`."
    )
    retiring: tuple[Retiring, ...] = Field(
        description="Previous paths of the snippet (at most ten). Views with these paths are still counted.",
        json_schema_extra={"maxItems": 10},
    )
    error: ErrorObject | None
    warnings: tuple[ErrorObject, ...] = Field(
        description="Problems at Cloudflare that prevent counting: `zone_not_active` and `dns_not_proxied`. After you"
        " have fixed the cause of a warning, the service removes the warning within an hour, or immediately if you send"
        " `POST /v1/accounts/{id}/check`."
    )
    created_at: Moment
    disabled: Disabled | None = optional_field(
        "Present if the operator has disabled the site. The Worker then counts no views of the site."
    )
    first_view_at: Moment | None = Field(
        description="The start of the hour in which the Worker counted the first view, or `created_at` if that is"
        " later. Null until the Worker has sent this view."
    )
    views_7d: Count | None = optional_field(
        "Views by people in the last seven complete UTC days. Present only in lists, and only with the `reports` scope."
    )
    series_7d: tuple[Count, ...] | None = optional_field("`views_7d` by day, oldest first.")

    @classmethod
    def from_model(cls, site: model.Site, synced_version: int, series_7d: tuple[int, ...] | None = None) -> Site:
        """Return the response object for a site. `synced_version`: the configuration version that the Worker has.

        `series_7d`: the views of the last seven complete days, or None to omit them.
        """
        config = config_state(site.version, synced_version, site.config_error)
        return cls(
            id=site.id,
            account_id=site.account_id,
            host=site.host,
            state=site.state,
            path=site.path,
            snippet=None
            if site.state == "deleted"
            else Snippet(
                inline=snippet.inline(site.snippet, site.path),
                script_tag=snippet.script_tag(site.path, site.script_name),
                csp_hash=snippet.csp_hash(site.snippet, site.path),
            ),
            excluded_paths=site.excluded_paths,
            excluded_networks=site.excluded_networks,
            excluded_countries=site.excluded_countries,
            excluded_asns=site.excluded_asns,
            respect_gpc=site.respect_gpc,
            visitor_opt_out=site.visitor_opt_out,
            config=config,
            live_at=site.live_at if config == "synced" else None,
            retiring=tuple(Retiring(path=old.path, until=old.until) for old in site.retiring),
            error=ErrorObject.from_model(site.error or site.config_error),
            warnings=tuple(ErrorObject(**with_remedy(warning)) for warning in site.warnings),
            created_at=site.created_at,
            disabled=Disabled.from_model(site.disabled),
            first_view_at=site.first_view_at,
            views_7d=None if series_7d is None else sum(series_7d),
            series_7d=series_7d,
        )


class SiteList(ResponseBody):
    """A page of sites, in the requested order."""

    sites: tuple[Site, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = optional_field("Present if there are more sites.")


class OneSite(ResponseBody):
    """The site as it is after the request."""

    site: Site


LIST = Endpoint(
    method="GET",
    path="/v1/sites",
    tag="sites",
    summary="List your sites",
    scopes=("sites",),
    query=SiteQuery,
    response=SiteList,
)
ADD = Endpoint(
    method="POST",
    path="/v1/sites",
    tag="sites",
    action="site.create",
    summary="Add a site",
    description="The response contains the snippet. Views are counted as soon as `state` is `active` and `config` is"
    " `synced`.",
    scopes=("sites",),
    body=NewSite,
    response=OneSite,
    status=202,
    codes=(
        "limit_reached",
        "not_found",
        "account_not_ready",
        "site_exists",
        "site_disabled",
        "site_on_link_host",
        "zone_not_found",
        "cloudflare_unavailable",
    ),
    example={"account_id": "acc_k3v5d2m7q4x6a5c3e7zp", "host": "shop.example.com", "excluded_paths": ["/admin/"]},
)
SHOW = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}",
    tag="sites",
    summary="Show a site",
    scopes=("sites",),
    response=OneSite,
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/sites/{site_id}",
    tag="sites",
    action="site.change",
    summary="Change a site's exclusions",
    description="The snippet stays the same. Once `config` is `synced`, the Worker has received the change.",
    scopes=("sites",),
    body=SiteChange,
    response=OneSite,
    codes=("site_not_active", "site_disabled"),
    example={"excluded_paths": ["/admin/", "/preview/"]},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/sites/{site_id}",
    tag="sites",
    action="site.delete",
    summary="Delete a site",
    description="The service removes the site's routes, so existing snippets no longer count views. The site's totals"
    " and report remain available.",
    scopes=("sites",),
    body=EmptyBody,
    response=OneSite,
    codes=("site_not_active",),
)
ROTATE = Endpoint(
    method="POST",
    path="/v1/sites/{site_id}/rotate",
    tag="sites",
    action="site.rotate",
    summary="Replace a site's path and snippet",
    description="Views on pages with the old snippet are counted for another 30 days. `retiring` lists the old paths."
    " If this list already contains ten paths, the response is `limit_reached`. The new snippet counts views as soon as"
    " `state` is `active` and `config` is `synced`.",
    scopes=("sites",),
    body=EmptyBody,
    response=OneSite,
    codes=("site_not_active", "site_disabled", "limit_reached"),
)

ENDPOINTS = (LIST, ADD, SHOW, CHANGE, DELETE, ROTATE)
