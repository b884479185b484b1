"""Which part of the platform's API a call is of, by its path: what the metrics tell calls apart by."""

from __future__ import annotations

import re

# Names no account, zone or script. The first that fits counts.
_AREAS = (
    (re.compile(r"/graphql"), "analytics"),
    (re.compile(r"/accounts/[^/]+/tokens(/.*)?"), "tokens"),
    (re.compile(r"/accounts/[^/]+/d1/.*"), "d1"),
    (re.compile(r"/accounts/[^/]+/workers/.*"), "workers"),
    (re.compile(r"/accounts/[^/]+"), "accounts"),
    (re.compile(r"/zones/[^/]+/workers/routes(/.*)?"), "routes"),
    (re.compile(r"/zones/[^/]+/dns_records"), "dns"),
    (re.compile(r"/zones"), "zones"),
)


def area_of(path: str) -> str:
    """The area of a path below the API's base; `other` for one that is not known."""
    return next((area for pattern, area in _AREAS if pattern.fullmatch(path)), "other")
