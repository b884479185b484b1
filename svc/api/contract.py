"""The list of all endpoints, grouped by resource."""

from __future__ import annotations

from typing import Any

from svc.api import (
    accounts,
    auth,
    bulk,
    bulk_changes,
    email_changes,
    events,
    explain,
    export,
    imports,
    keys,
    ledger,
    link_hosts,
    links,
    mailings,
    me,
    notes,
    overview,
    page_titles,
    probes,
    push,
    qr_codes,
    reports,
    sessions,
    shared,
    shares,
    sites,
    tags,
    totals,
)
from svc.api.endpoint import Endpoint, Tag

# Tag → description, in the order of the API reference. The resources that API clients use most come first.
TAGS: dict[Tag, str] = {
    "reports": "Counts of sites and links.",
    "links": "Short links and their QR codes.",
    "shares": "The public pages of shares. These paths are outside /v1, and need no credential.",
    "sites": "Hosts whose page views are counted.",
    "accounts": "Connected Cloudflare accounts with their Worker, zones and link host.",
    "keys": "API keys.",
    "me": "The signed-in user: limits, usage, sessions and password.",
    "events": "The activity log: changes with actor, time and IP address.",
    "sign-in": "Sign-up, confirmation of the email address, sign-in and sign-out. These paths are outside /v1.",
    "service": "Probes and API descriptions.",
    "worker": "Requests that installed Workers send.",
}

ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    *auth.ENDPOINTS,
    *me.ENDPOINTS,
    *events.ENDPOINTS,
    *sessions.ENDPOINTS,
    *email_changes.ENDPOINTS,
    *keys.ENDPOINTS,
    *accounts.ENDPOINTS,
    *link_hosts.ENDPOINTS,
    *sites.ENDPOINTS,
    *links.ENDPOINTS,
    *qr_codes.ENDPOINTS,
    *bulk.ENDPOINTS,
    *bulk_changes.ENDPOINTS,
    *page_titles.ENDPOINTS,
    *tags.ENDPOINTS,
    *explain.ENDPOINTS,
    *reports.ENDPOINTS,
    *overview.ENDPOINTS,
    *totals.ENDPOINTS,
    *notes.ENDPOINTS,
    *shares.ENDPOINTS,
    *shared.ENDPOINTS,
    *mailings.ENDPOINTS,
    *imports.ENDPOINTS,
    *export.ENDPOINTS,
    *ledger.ENDPOINTS,
    *push.ENDPOINTS,
    *probes.ENDPOINTS,
)
