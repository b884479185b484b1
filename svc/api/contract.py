"""All endpoints, by their resources: what exists, and nothing else."""

from __future__ import annotations

from typing import Any

from svc.api import (
    accounts,
    auth,
    bulk,
    events,
    explain,
    export,
    keys,
    ledger,
    links,
    me,
    probes,
    push,
    reports,
    sessions,
    sites,
    totals,
)
from svc.api.endpoint import Endpoint, Tag

TAGS: dict[Tag, str] = {
    "sign-in": "Sign up, confirm, sign in. Outside of /v1; for the page session.",
    "me": "The caller, its limits, what it uses of them; its sessions and its password.",
    "events": "What was changed, by whom, from where.",
    "keys": "API keys.",
    "accounts": "Connected edge accounts: the worker that runs in them, their zones, their link host.",
    "sites": "Hosts whose pages are counted.",
    "links": "Short links and their QR codes.",
    "reports": "What was counted.",
    "worker": "For the installed workers.",
    "service": "Probes, and this contract.",
}

ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    *auth.ENDPOINTS,
    *me.ENDPOINTS,
    *events.ENDPOINTS,
    *sessions.ENDPOINTS,
    *keys.ENDPOINTS,
    *accounts.ENDPOINTS,
    *sites.ENDPOINTS,
    *links.ENDPOINTS,
    *bulk.ENDPOINTS,
    *explain.ENDPOINTS,
    *reports.ENDPOINTS,
    *totals.ENDPOINTS,
    *export.ENDPOINTS,
    *ledger.ENDPOINTS,
    *push.ENDPOINTS,
    *probes.ENDPOINTS,
)
