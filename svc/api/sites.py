"""/v1/sites: hosts whose pages are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from svc.api.accounts import config_state
from svc.api.ascii_forms import search_forms
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import DIGITS, Count, Cursor, ExcludedPaths, Host, Id, Moment, Search
from svc.api.shape import LARGE_BYTES, Answer, Body, NoBody, Query, may_be_absent
from svc.errors import with_remedy
from svc.model import ConfigState, SiteOrder, SiteState
from svc.worker import snippet

if TYPE_CHECKING:
    from svc import model


class NewSite(Body):
    """A site to be counted."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    account_id: Id
    host: Host = Field(
        description="The apex of a zone of the account, or a host in it. The zone may still be pending, and the DNS"
        " record may still be missing: `warnings` of the site gives what is left to do."
    )
    excluded_paths: ExcludedPaths = Field(
        (),
        description="Pages whose path begins with one of these are not counted. Letters and blanks are percent-encoded"
        " as browsers do; the answer has the encoded form. Default: `[]`.",
    )
    respect_gpc: bool = Field(
        False, description="Do not count visitors whose browser sends `Sec-GPC: 1` or `DNT: 1`. Default: `false`."
    )


class SiteChange(Body):
    """What is to change of a site; what is absent or null stays as it is."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    excluded_paths: ExcludedPaths | None = Field(None, description="Replaces the earlier paths; `[]` removes them.")
    respect_gpc: bool | None = None


class SiteQuery(Query):
    """Which sites are listed, and in which order; at most 1,000 at once."""

    account_id: Id | None = may_be_absent("Only those of this account.")
    q: Search = Field("", description="Only those whose host contains this, in capitals or not.")
    order: SiteOrder = Field("oldest", description="By when they were added, or by `host`.")
    state: Literal["active", "deleted"] = Field(
        "active", description="`active`: all that are not deleted, whatever became of their routes."
    )
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(1000, description="How many at the most.")
    cursor: Cursor | None = may_be_absent("`next_cursor` of the page before, whose other parameters were the same.")

    @property
    def listing(self) -> tuple[str | None, ...]:
        """What a cursor of this list is of."""
        return ("sites", self.order, self.account_id, self.q, self.state)

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms in which `q` is looked for."""
        return search_forms(self.q)


class Snippet(Answer):
    """What to put into the pages: one of the two."""

    inline: str = Field(description="A script element with the code in it.")
    script_tag: str = Field(description="A script element that loads the same code from the site's own host.")
    csp_hash: str = Field(description="What a Content-Security-Policy names to allow the inline form.")


class Retiring(Answer):
    """A path from before a rotation, still counted."""

    path: str
    until: Moment


class Site(Answer):
    """A site; a deleted one has no snippet."""

    id: str
    account_id: str
    host: str
    state: SiteState
    path: str
    snippet: Snippet | None
    excluded_paths: tuple[str, ...]
    respect_gpc: bool
    config: ConfigState
    live_at: Moment | None = Field(
        description="From then on every visitor gets this version. Null: not synced yet, or synced before version 0.8."
    )
    retiring: tuple[Retiring, ...] = Field(
        description="Old paths that are still counted, at most ten.", json_schema_extra={"maxItems": 10}
    )
    error: ErrorObject | None
    warnings: tuple[ErrorObject, ...] = Field(
        description="What keeps visitors from the counter although the site is set up: `zone_not_active`,"
        " `dns_not_proxied`. Each is removed within an hour after its cause is fixed; `POST /v1/accounts/{id}/check`"
        " removes it immediately."
    )
    created_at: Moment
    first_view_at: Moment | None = Field(
        description="The hour of the first view that the worker has sent, no earlier than `created_at`."
    )
    views_7d: Count | None = may_be_absent(
        "In lists, for who may read reports: views of people in the last seven closed days (UTC)."
    )
    series_7d: tuple[Count, ...] | None = may_be_absent("The seven days of `views_7d`, oldest first.")

    @classmethod
    def of(cls, site: model.Site, synced_version: int, series_7d: tuple[int, ...] | None = None) -> Site:
        """A site. `synced_version`: what its account's worker has.

        `series_7d`: the views of the last seven closed days; None: not shown.
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
            respect_gpc=site.respect_gpc,
            config=config,
            live_at=site.live_at if config == "synced" else None,
            retiring=tuple(Retiring(path=old.path, until=old.until) for old in site.retiring),
            error=ErrorObject.of(site.error or site.config_error),
            warnings=tuple(ErrorObject(**with_remedy(warning)) for warning in site.warnings),
            created_at=site.created_at,
            first_view_at=site.first_view_at,
            views_7d=None if series_7d is None else sum(series_7d),
            series_7d=series_7d,
        )


class SiteList(Answer):
    """Sites, in the order that was asked for."""

    sites: tuple[Site, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = may_be_absent("Where there are more.")


class OneSite(Answer):
    """A site as it is now."""

    site: Site


LIST = Endpoint(
    method="GET",
    path="/v1/sites",
    tag="sites",
    summary="List your sites",
    scopes=("sites",),
    query=SiteQuery,
    answer=SiteList,
)
ADD = Endpoint(
    method="POST",
    path="/v1/sites",
    tag="sites",
    action="site.create",
    summary="Count a site",
    description="The snippet is in the answer. The site counts when `state` is `active` and `config` is `synced`.",
    scopes=("sites",),
    body=NewSite,
    answer=OneSite,
    status=202,
    codes=(
        "limit_reached",
        "not_found",
        "account_not_ready",
        "site_exists",
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
    answer=OneSite,
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/sites/{site_id}",
    tag="sites",
    action="site.change",
    summary="Change what a site does not count",
    description="The snippet stays as it is. The worker knows the change when `config` is `synced`.",
    scopes=("sites",),
    body=SiteChange,
    answer=OneSite,
    codes=("site_not_active",),
    example={"excluded_paths": ["/admin/", "/preview/"]},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/sites/{site_id}",
    tag="sites",
    action="site.delete",
    summary="Count a site no more",
    description="Its routes are removed, its old snippets count nothing. Its record, its totals and its report stay.",
    scopes=("sites",),
    body=NoBody,
    answer=OneSite,
    codes=("site_not_active",),
)
ROTATE = Endpoint(
    method="POST",
    path="/v1/sites/{site_id}/rotate",
    tag="sites",
    action="site.rotate",
    summary="Give a site another path and snippet",
    description="Pages with the old snippet are counted for 30 more days: `retiring` lists the old paths, at most ten."
    " Another rotation is `limit_reached`. The new snippet counts when `state` is `active` and `config` is `synced`.",
    scopes=("sites",),
    body=NoBody,
    answer=OneSite,
    codes=("site_not_active", "limit_reached"),
)

ENDPOINTS = (LIST, ADD, SHOW, CHANGE, DELETE, ROTATE)
