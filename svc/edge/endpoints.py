"""Classifies API paths by area, for the metrics."""

from __future__ import annotations

import re

# The areas, each with the pattern of its paths. The first pattern that matches determines the area.
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


def area_from_path(path: str) -> str:
    """Return the area of a path relative to the API's base URL, or `other`."""
    return next((area for pattern, area in _AREAS if pattern.fullmatch(path)), "other")
