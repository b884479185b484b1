"""The list of all endpoints, grouped by resource."""

from __future__ import annotations

from typing import Any

from svc.api import (
    accounts,
    auth,
    bulk,
    email_changes,
    events,
    explain,
    export,
    keys,
    ledger,
    links,
    me,
    notes,
    overview,
    probes,
    push,
    reports,
    sessions,
    sites,
    totals,
)
from svc.api.endpoint import Endpoint, Tag

TAGS: dict[Tag, str] = {
    "sign-in": "Sign-up, confirmation of the email address, sign-in and sign-out. These paths are outside /v1.",
    "me": "The signed-in user: limits, usage, sessions and password.",
    "events": "The activity log: changes with actor, time and IP address.",
    "keys": "API keys.",
    "accounts": "Connected Cloudflare accounts with their worker, zones and link host.",
    "sites": "Hosts whose page views are counted.",
    "links": "Short links and their QR codes.",
    "reports": "Counts of sites and links.",
    "worker": "Requests that installed workers send.",
    "service": "Probes and API descriptions.",
}

ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    *auth.ENDPOINTS,
    *me.ENDPOINTS,
    *events.ENDPOINTS,
    *sessions.ENDPOINTS,
    *email_changes.ENDPOINTS,
    *keys.ENDPOINTS,
    *accounts.ENDPOINTS,
    *sites.ENDPOINTS,
    *links.ENDPOINTS,
    *bulk.ENDPOINTS,
    *explain.ENDPOINTS,
    *reports.ENDPOINTS,
    *overview.ENDPOINTS,
    *totals.ENDPOINTS,
    *notes.ENDPOINTS,
    *export.ENDPOINTS,
    *ledger.ENDPOINTS,
    *push.ENDPOINTS,
    *probes.ENDPOINTS,
)
