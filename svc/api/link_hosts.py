"""/v1/accounts/{account_id}/link-host: set, replace and change the host of an account's links, and show its usage."""

from __future__ import annotations

from typing import ClassVar, get_args

from pydantic import Field

from svc import model
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import Count, Day, Host, HttpsUrl, Moment, config_state
from svc.api.shape import LARGE_BYTES, Body, ResponseBody, optional_field
from svc.model import ConfigState, RouteState, UnavailableReason

_ROOT_URL = (
    "The URL to which the Worker redirects `/` of the link host. It cannot be on the link host. If no URL is set,"
    " visitors get a short 404 page in their language."
)
_NOT_FOUND_URL = (
    "The URL to which the Worker redirects requests for codes and paths that do not exist. It cannot be on the link"
    " host. If no URL is set, visitors get a short 404 page in their language."
)
_FALLBACKS: tuple[model.Fallback, ...] = get_args(model.Fallback)


class _FallbackBody(Body):
    """Changes to the fallback URLs of a link host."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    def fallbacks(self) -> model.FallbackChanges:
        """Return the fallback URLs to change, which are those in the body."""
        return {name: getattr(self, name) for name in _FALLBACKS if name in self.model_fields_set}


class LinkHostChange(_FallbackBody):
    """Changes to a link host. Fields that are absent keep their value. Null removes the value."""

    root_url: HttpsUrl | None = Field(None, description=_ROOT_URL)
    not_found_url: HttpsUrl | None = Field(None, description=_NOT_FOUND_URL)


class PutLinkHost(_FallbackBody):
    """The host for all of an account's links."""

    host: Host
    replace_website: bool = Field(
        False,
        description="Use the host even if it serves a website, for example the zone's apex or `www`. The website is"
        " unreachable while the host is the link host. It is reachable again afterwards, because the service does not"
        " change DNS records. Default: `false`.",
    )
    has_certificate: bool = Field(
        False,
        description="Accept a host that is more than one label below its zone. Cloudflare's free certificate does not"
        " cover such a host, so the zone must have another certificate for it. Default: `false`.",
    )
    root_url: HttpsUrl | None = Field(
        None, description=f"{_ROOT_URL} If the field is absent, the URL stays the same; null removes it."
    )
    not_found_url: HttpsUrl | None = Field(
        None, description=f"{_NOT_FOUND_URL} If the field is absent, the URL stays the same; null removes it."
    )

    def wish(self) -> model.LinkHostRequest:
        """Return the request as the type that the actors use."""
        return model.LinkHostRequest(self.host, self.replace_website, self.has_certificate, self.fallbacks())


class LinkHost(ResponseBody):
    """The host of an account's links."""

    host: str
    state: RouteState
    config: ConfigState
    live_at: Moment | None = Field(
        description="The time at which the current settings take effect for all visitors. Null while `config` is"
        " `pending`."
    )
    root_url: str | None = Field(
        description="The URL to which the Worker redirects `/`. Null if the Worker shows a page instead."
    )
    not_found_url: str | None = Field(
        description="The URL to which the Worker redirects requests for codes and paths that do not exist. Null if the"
        " Worker shows a page instead."
    )
    error: ErrorObject | None

    @classmethod
    def from_model(cls, host: model.LinkHost, synced_version: int) -> LinkHost:
        """Return the response for a link host; `synced_version` is the configuration version that the Worker has."""
        config = config_state(host.version, synced_version, host.config_error)
        return cls(
            host=host.host,
            state=host.state,
            config=config,
            live_at=host.live_at if config == "synced" else None,
            root_url=host.root_url,
            not_found_url=host.not_found_url,
            error=ErrorObject.from_model(host.error or host.config_error or host.visit_error),
        )


class ReplacedLinkHost(ResponseBody):
    """The link host that was replaced."""

    host: str
    clicks_30d: Count = Field(
        description="The number of clicks by people in the last 30 days, including today. Clicks that the Worker has"
        " not sent to the service yet are not included. Short links with the replaced host no longer work."
    )


class OneLinkHost(ResponseBody):
    """The link host as it is after the request."""

    link_host: LinkHost
    replaced: ReplacedLinkHost | None = optional_field(
        "Present only if the request replaced another host, and the caller has the `reports` scope."
    )


class LinkHostUsage(ResponseBody):
    """Clicks and scans on the link host in the last 30 UTC days, including today.

    If a different link host is set, short links and QR codes that contain this host stop working.
    """

    host: str
    since: Day = Field(description="The first day that `clicks_30d` covers.")
    clicks_30d: Count = Field(
        description="The number of clicks by people on the account's existing links in the last 30 days, including"
        " scans. Clicks that the Worker has not sent to the service yet are not included."
    )
    scans_30d: Count | None = Field(
        description="The number of QR code scans in `clicks_30d`. Null if the Worker's database cannot be read;"
        " `unavailable` gives the reason."
    )
    scans_since: Day | None = Field(
        description="The first day that `scans_30d` covers. It is later than `since` if the Worker has deleted older"
        " breakdowns (`days_kept`)."
    )
    unavailable: UnavailableReason | None

    @classmethod
    def from_model(cls, usage: model.LinkHostUsage) -> LinkHostUsage:
        """Return the response for the usage of a link host."""
        return cls(
            host=usage.host,
            since=usage.first_day,
            clicks_30d=usage.clicks,
            scans_30d=usage.scans,
            scans_since=usage.scans_since,
            unavailable=usage.unavailable,
        )


class OneLinkHostUsage(ResponseBody):
    """The usage of an account's link host."""

    usage: LinkHostUsage


_DISABLED = (
    "While any link of the account is disabled by the operator, a request that sets `not_found_url` fails with"
    " `link_disabled`."
)

PUT = Endpoint(
    method="PUT",
    path="/v1/accounts/{account_id}/link-host",
    tag="accounts",
    action="link_host.set",
    summary="Set or replace the host of the account's links",
    description="First create a proxied DNS record for the host. If the host serves only links, create an AAAA"
    " record with the address `100::`. A new host replaces the old one. Links keep their codes, but short links and QR"
    " codes with the old host stop working. A website on the host is unreachable while the host is the link host. The"
    " service therefore rejects a host that serves a website, unless you send `replace_website: true`. It always"
    f" rejects a host that is one of the account's sites. {_DISABLED}",
    scopes=("sites",),
    body=PutLinkHost,
    response=OneLinkHost,
    status=202,
    codes=(
        "account_not_ready",
        "cloudflare_unavailable",
        "zone_not_found",
        "zone_not_active",
        "dns_not_proxied",
        "link_disabled",
        "link_host_is_website",
        "link_host_without_certificate",
    ),
    example={"host": "go.example.com"},
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/accounts/{account_id}/link-host",
    tag="accounts",
    addition=True,
    action="link_host.change",
    summary="Change where the link host redirects `/` and unknown codes",
    description="The host and its route stay the same. The change reaches the Worker with the next sync. The Worker"
    " redirects exactly to the URL that you set, without the path or query of the request, and does not count the"
    f" request. {_DISABLED}",
    scopes=("sites",),
    body=LinkHostChange,
    response=OneLinkHost,
    codes=("link_host_required", "link_disabled"),
    example={"root_url": "https://www.example.com/", "not_found_url": None},
)
USAGE = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/link-host/usage",
    tag="accounts",
    addition=True,
    summary="Show the link host's clicks and QR code scans in the last 30 days",
    description="Check these numbers before you replace the link host: short links and QR codes with the old host stop"
    " working. The service reads the scans from the Worker's database, and caches them for five minutes.",
    scopes=("reports",),
    response=OneLinkHostUsage,
    codes=("link_host_required",),
)

ENDPOINTS = (PUT, CHANGE, USAGE)
