"""/v1/accounts/{id}/zones: list the zones of a Cloudflare account."""

from __future__ import annotations

from pydantic import Field

from svc.api.endpoint import Endpoint
from svc.api.shape import ResponseBody


class Zone(ResponseBody):
    """A zone of the Cloudflare account."""

    name: str
    status: str = Field(description="The zone's status at Cloudflare.")


class Zones(ResponseBody):
    """The zones of a Cloudflare account, sorted by name. `truncated` is true if there are more than 1,000."""

    zones: tuple[Zone, ...] = Field(json_schema_extra={"maxItems": 1000})
    truncated: bool


ZONES = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/zones",
    tag="accounts",
    summary="List the zones of the Cloudflare account",
    description="The service reads the zones from Cloudflare for each request.",
    scopes=("accounts", "sites"),
    response=Zones,
    codes=("account_not_ready", "cloudflare_unavailable"),
)

ENDPOINTS = (ZONES,)
